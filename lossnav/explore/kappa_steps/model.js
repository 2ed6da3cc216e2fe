// Steps in which the flattest mode of a quadratic loss loses so many digits, from what a step keeps of it.

import { linesOver, mapped } from "../kit.js";
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
  const line = linesOver(SHARED.axis);
  return mapped(SHARED.lines, (_, rule) => line((kappa) => Math.log10(stepsFor(keptBy(kappa)[rule], digits))));
}
