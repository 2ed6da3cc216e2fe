// One singular value under Muon's quintic, and under Newton and Schulz's cubic after some steps of it.

import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ sigma: number, before: number, n: number }} Setting */

const [A, B, C] = SHARED.quintic;
const [, LAST] = SHARED.axis.range;

/** What is larger diverges under both iterations, and is held where it is. */
export const LOST = 1000;

export const quinticStep = (/** @type {number} */ x) => x * (A + x * x * (B + C * x * x));
const cubicStep = (/** @type {number} */ x) => (x * (3 - x * x)) / 2;

/** The quintic's largest fixed point, a + bσ² + cσ⁴ = 1. */
export const EDGE = Math.sqrt((-B + Math.sqrt(B * B - 4 * C * (A - 1))) / (2 * C));

/** The values after 0 … LAST steps, of which the first `before` are the quintic's. */
export function walk(/** @type {number} */ sigma, before = LAST) {
  const values = [sigma];
  for (let k = 0; k < LAST; k++) {
    const x = values[k];
    values.push(Math.abs(x) > LOST ? x : k < before ? quinticStep(x) : cubicStep(x));
  }
  return values;
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ sigma, before }) {
  const [quintic, cubic] = [walk(sigma), walk(sigma, before)].map((values) => values.map((x, k) => [k, x]));
  const gap = (/** @type {number[]} */ [k, x]) => [k, Math.log10(Math.max(Math.abs(1 - x), 1e-15))];
  return { edge: quintic.map(([k]) => [k, EDGE]), quintic, cubic, far: quintic.map(gap), near: cubic.map(gap) };
}
