// Weights of the n-th datum for a random walk of which nothing is known at first, and under Adam's bias correction.

import { samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ beta: number, n: number }} Setting */

/** The exact filter's weight of datum n. */
export const kalmanGain = (/** @type {number} */ beta, /** @type {number} */ n) => ((1 - beta) * (1 + beta ** (2 * n - 1))) / -Math.expm1(2 * n * Math.log(beta));

/** Adam's. */
export const adamGain = (/** @type {number} */ beta, /** @type {number} */ n) => (1 - beta) / -Math.expm1(n * Math.log(beta));

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ beta }) {
  const counts = [...new Set(samples(0, Math.log10(SHARED.axis.range[1]), 240).map((u) => Math.round(10 ** u)))];
  const line = (/** @type {(n: number) => number} */ height) => counts.map((n) => [Math.log10(n), height(n)]);
  return {
    exact: line((n) => Math.log10(kalmanGain(beta, n))),
    adam: line((n) => Math.log10(adamGain(beta, n))),
    ratio: line((n) => adamGain(beta, n) / kalmanGain(beta, n)),
  };
}
