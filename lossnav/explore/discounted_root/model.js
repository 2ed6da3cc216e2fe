// The step of a learner that discounts at γ = 2ε, per unit of slope, and what it lies between; ηk = c = 1.

import { linesOver } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ epsilon: number, size: number }} Setting */

/** What the plan multiplies a slope by, where gradients have this size. */
export const planned = (/** @type {number} */ size, /** @type {number} */ epsilon) => 1 / (Math.hypot(size, epsilon) + epsilon);

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ epsilon }) {
  const line = linesOver(SHARED.axis);
  return {
    root: line((size) => -Math.log10(size)),
    descent: line(() => -Math.log10(2 * epsilon)),
    adam: line((size) => -Math.log10(size + epsilon)),
    planned: line((size) => Math.log10(planned(size, epsilon))),
    ratio: line((size) => planned(size, epsilon) * (size + epsilon)),
  };
}
