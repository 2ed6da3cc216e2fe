// One weight of a myopic learner (Eq. 148) with v(0) = 1 and η = k = γ = 1: its variance, and what is left of its way.

import { linesOver } from "../kit.js";
import { meanDecay } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ curvature: number, entropy: number, now: number }} Setting */

/** The precision 1/v, an average of curvature that forgets at the rate of the entropy. */
export function precisionAt(/** @type {number} */ t, /** @type {number} */ curvature, /** @type {number} */ entropy) {
  return Math.exp(-entropy * t) + curvature * t * meanDecay(entropy * t);
}

/** (μ − μ*)/(μ₀ − μ*). */
export const leftAt = (/** @type {number} */ t, /** @type {number} */ curvature, /** @type {number} */ entropy) => Math.exp(-entropy * t) / precisionAt(t, curvature, entropy);

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ curvature, entropy }) {
  const line = linesOver(SHARED.axis);
  return {
    bayes: line((t) => -Math.log10(precisionAt(t, curvature, 0))),
    forgets: line((t) => -Math.log10(precisionAt(t, curvature, entropy))),
    slow: line((t) => leftAt(t, curvature, 0)),
    left: line((t) => leftAt(t, curvature, entropy)),
  };
}
