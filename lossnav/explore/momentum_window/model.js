// What a step keeps of a mode in the long run, against αh: the larger root of z² = a z − b.

import { linesOver, mapped } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ beta: number, bend: number }} Setting */

/** @type {(a: number, b: number) => number} */
function largerRoot(a, b) {
  const square = (a * a) / 4 - b;
  return square < 0 ? Math.sqrt(b) : Math.abs(a) / 2 + Math.sqrt(square);
}

/** What each method keeps. */
export const keptAt = (/** @type {number} */ bend, /** @type {number} */ beta) => ({
  descent: Math.abs(1 - bend),
  nesterov: largerRoot((1 + beta) * (1 - bend), beta * (1 - bend)),
  heavy: largerRoot(1 + beta - bend, beta),
});

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ beta }) {
  const line = linesOver(SHARED.axis, 400);
  return mapped(SHARED.lines, (_, method) => line((bend) => keptAt(bend, beta)[method]));
}
