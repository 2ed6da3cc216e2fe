// The step as a sum over the forecast gradient, ηk = c = 1 and γ = 0: forecasts are discounted at √V (M2).

import { linesOver } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ epsilon: number, size: number, time: number }} Setting */

/** The sum up to a time, over 1/√V. */
export const summed = (/** @type {number} */ size, /** @type {number} */ epsilon, /** @type {number} */ time) => (-size * Math.expm1(-(size + epsilon) * time)) / (size + epsilon);

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ epsilon, size }) {
  const line = linesOver(SHARED.axis);
  return {
    believed: line((time) => Math.exp(-epsilon * time)),
    weight: line((time) => Math.exp(-size * time)),
    counted: line((time) => Math.exp(-(size + epsilon) * time)),
    lasting: line((time) => summed(size, 0, time)),
    adam: line(() => size / (size + epsilon)),
    planned: line((time) => summed(size, epsilon, time)),
  };
}
