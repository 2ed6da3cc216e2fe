// r⁴ begins at F times its new rest when the rate drops by F, and forgets that (T33); the angle per step goes with η/r².

import { linesOver } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ drop: number, memory: number, n: number }} Setting */

/** r⁴ over its new rest, n steps after the drop. */
export const fourthPower = (/** @type {Setting} */ { drop, memory, n }) => 1 + (drop - 1) * Math.exp(-n / memory);

/** The angle per step over that before the drop. */
export const angleAt = (/** @type {Setting} */ given) => 1 / Math.sqrt(given.drop * fourthPower(given));

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const line = linesOver(SHARED.axis);
  return {
    radius: line((n) => fourthPower({ ...given, n }) ** 0.25),
    angle: line((n) => angleAt({ ...given, n })),
    law: line(() => given.drop ** -0.5),
    fixed: line(() => 1 / given.drop),
  };
}
