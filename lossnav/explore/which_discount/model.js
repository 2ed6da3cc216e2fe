// Paths e^{−λhᵖt} from (1, 1) on curvatures 1 and κ (η = k = 1), each at the pace λ that suits it best: what they regret,
// and how well they are aligned with the optimum of each γ.

import { bisect, linesOver } from "../kit.js";
import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ power: number, kappa: number, gamma: number }} Setting */

/** The rates of a rule and those of the optimum. @type {(given: Setting) => [number[], number[]]} */
const ratesOf = ({ power, kappa, gamma }) => [[1, kappa ** power], [restRate(gamma, 1), restRate(gamma, kappa)]];

/**
 * The regret over V (L25 in each direction), which is convex in λ, at its lowest, where its slope is zero.
 * @type {(given: Setting) => number}
 */
export function leastRegret(given) {
  const [q, r] = ratesOf(given);
  const slope = (/** @type {number} */ pace) =>
    q.reduce((sum, rate, i) => sum + (rate * (pace * rate - r[i]) * (given.gamma + pace * rate + r[i])) / (given.gamma + 2 * pace * rate) ** 2, 0);
  const ends = [r[0], r[1] / q[1]];
  const pace = bisect((tried) => slope(tried) >= 0, Math.min(...ends), Math.max(...ends));
  return q.reduce((sum, rate, i) => sum + (pace * rate - r[i]) ** 2 / (given.gamma + 2 * pace * rate), 0) / (r[0] + r[1]);
}

/** The regret of standing still, over V. @type {(given: Setting) => number} */
export function stillRegret(given) {
  const [, r] = ratesOf(given);
  return (r[0] ** 2 + r[1] ** 2) / (given.gamma * (r[0] + r[1]));
}

/** C(γ) of the path (L26), which no pace changes. @type {(given: Setting) => number} */
export function alignmentOf(given) {
  const [q, r] = ratesOf(given);
  return (r[0] + r[1]) / Math.sqrt((q[0] + q[1]) * (r[0] ** 2 / q[0] + r[1] ** 2 / q[1]));
}

/** γ at which C is largest: 1 between p = ½ and 1. */
export function likeliest(/** @type {{ power: number, kappa: number }} */ { power, kappa }) {
  if (power <= 0.5) return 0;
  const q = kappa ** power;
  const pace = Math.sqrt((kappa - q) / (q * q - q));
  return pace > 0 ? 1 / pace - pace : Infinity;
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const over = linesOver(SHARED.axis);
  const line = (/** @type {(given: Setting) => number} */ height, power = given.power) => over((gamma) => height({ ...given, power, gamma }));
  const shown = (/** @type {Setting} */ one) => Math.log10(Math.max(leastRegret(one), SHARED.floor));
  return {
    own: line(shown),
    descent: line(shown, 1),
    still: line((one) => Math.log10(stillRegret(one))),
    ownC: line(alignmentOf),
    descentC: line(alignmentOf, 1),
  };
}
