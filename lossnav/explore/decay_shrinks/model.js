// Modes of a quadratic loss under decay f = −jθ: where they rest, and how fast they get there (Eqs. 124, 125).

import { linesOver } from "../kit.js";
import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ decay: number, gamma: number, curvature: number }} Setting */

/** Eq. 124. */
export const decayedRate = (/** @type {number} */ h, /** @type {number} */ j, /** @type {number} */ gamma) =>
  restRate(gamma, h + j * (j + gamma));

/** Eq. 125. */
export const restingShare = (/** @type {number} */ h, /** @type {number} */ j, /** @type {number} */ gamma) => h / (h + j * (j + gamma));

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ decay, gamma }) {
  const line = linesOver(SHARED.axis);
  return {
    share: line((h) => restingShare(h, decay, gamma)),
    rate: line((h) => Math.log10(decayedRate(h, decay, gamma))),
    plain: line((h) => Math.log10(decayedRate(h, 0, gamma))),
  };
}
