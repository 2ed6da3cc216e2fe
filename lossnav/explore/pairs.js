// Two dimensions: symmetric matrices, and angles.

/** @typedef {[number, number, number]} Symmetric a matrix as [m₁₁, m₁₂, m₂₂] */

/**
 * The matrix with two eigenvalues, the first along the direction `turn` in radians.
 * @type {(turn: number, first: number, second: number) => Symmetric}
 */
export function alongTurn(turn, first, second) {
  const [mean, half] = [(first + second) / 2, (first - second) / 2];
  return [mean + half * Math.cos(2 * turn), half * Math.sin(2 * turn), mean - half * Math.cos(2 * turn)];
}

/** A matrix times a vector. @type {(matrix: Symmetric, v: number[]) => number[]} */
export const acted = ([a, b, d], [x, y]) => [a * x + b * y, b * x + d * y];

/**
 * The angle between two directions in degrees, 0 to 180; 0 where one has no length.
 * @type {(u: number[], v: number[]) => number}
 */
export const angleBetween = ([a, b], [c, d]) => (Math.abs(Math.atan2(a * d - b * c, a * c + b * d)) * 180) / Math.PI;

/** Degrees in radians. */
export const radians = (/** @type {number} */ degrees) => (degrees * Math.PI) / 180;
