// What a step keeps of a mode in the long run, against αh.

import { linesOver, mapped } from "../kit.js";
import { kept } from "../modes.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ beta: number, bend: number }} Setting */

/** What each method keeps. */
export const keptAt = (/** @type {number} */ bend, /** @type {number} */ beta) => ({
  descent: Math.abs(1 - bend),
  nesterov: kept([(1 + beta) * (1 - bend), beta * (1 - bend)]),
  heavy: kept([1 + beta - bend, beta]),
});

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ beta }) {
  const line = linesOver(SHARED.axis, 400);
  return mapped(SHARED.lines, (_, method) => line((bend) => keptAt(bend, beta)[method]));
}
