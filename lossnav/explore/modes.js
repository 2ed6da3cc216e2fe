// What a step keeps of a mode, and how far modes of SGD get in n steps: the exact recursion, stationary at its start.

/** @typedef {{ eta: number, beta: number }} Rates */

/** What a step θₙ₊₁ = a θₙ − b θₙ₋₁ leaves of a mode in the long run: the larger root of z² = a z − b. */
export function kept(/** @type {[number, number]} */ [a, b]) {
  const square = (a * a) / 4 - b;
  return square < 0 ? Math.sqrt(b) : Math.abs(a) / 2 + Math.sqrt(square);
}

/**
 * E|θ(k+n) − θ(k)|² for n = 0 … longest, of one mode of curvature h whose gradient has noise of variance 1.
 *
 * The second difference over n is 2η²⟨v(0)v(n)⟩, and the correlation obeys the recursion of the mean: no digits cancel
 * in flat directions, and h = 0 is no exception.
 * @type {(h: number, longest: number, rates: Rates) => Float64Array}
 */
export function modeDistances(h, longest, { eta, beta }) {
  const far = new Float64Array(longest + 1);
  const start = 2 / ((1 - beta) * (2 * (1 + beta) - eta * h));
  let [before, now] = [start, (beta - (eta * h) / 2) * start];
  let grows = eta * eta * start;
  for (let n = 1; n <= longest; n++) {
    far[n] = far[n - 1] + grows;
    grows += 2 * eta * eta * now;
    [before, now] = [now, (1 + beta - eta * h) * now - beta * before];
  }
  return far;
}

/**
 * The same of many modes together, for noise of these variances.
 * @type {(bends: number[], noises: number[], longest: number, rates: Rates) => Float64Array}
 */
export function distances(bends, noises, longest, rates) {
  const far = new Float64Array(longest + 1);
  bends.forEach((h, l) => modeDistances(h, longest, rates).forEach((value, n) => (far[n] += noises[l] * value)));
  return far;
}

/**
 * The exponent c of distances ∝ n^c at n >= 2: the slope in logarithms between n − 1 and n + 1.
 * @type {(far: Float64Array, n: number) => number}
 */
export const exponentAt = (far, n) => Math.log(far[n + 1] / far[n - 1]) / Math.log((n + 1) / (n - 1));
