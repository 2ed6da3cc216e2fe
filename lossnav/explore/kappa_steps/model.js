// Steps in which the flattest mode of a quadratic loss loses so many digits, from what a step keeps of it.

import { lastOf, mapped, samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ digits: number, kappa: number }} Setting */

/** What each method keeps of the flattest mode in a step, where its rates are made for κ. */
export function keptBy(/** @type {number} */ kappa) {
  const root = Math.sqrt(kappa);
  const share = (root - 1) / (root + 1);
  return { descent: (kappa - 1) / (kappa + 1), nesterov: 1 - 1 / root, ballistic: share, heavy: share };
}

/** The loss is a square: each digit of it is half a digit of the mode. */
export const stepsFor = (/** @type {number} */ kept, /** @type {number} */ digits) => (digits * Math.LN10) / (-2 * Math.log(kept));

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ digits }) {
  const grid = samples(Math.log10(SHARED.axis.range[0]), Math.log10(lastOf(SHARED.axis.range)), 240);
  return mapped(SHARED.lines, (_, rule) => grid.map((u) => [u, Math.log10(stepsFor(keptBy(10 ** u)[rule], digits))]));
}
