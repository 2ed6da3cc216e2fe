// What a planner that discounts makes of a gradient along a curvature ηkh, over ηk, and its local exponent (M17).

import { linesOver } from "../kit.js";
import { fastRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, curvature: number }} Setting */

/** @type {(given: Setting) => number} */
export const gainOf = ({ gamma, curvature }) => 1 / fastRate(gamma, curvature);

/** −½(1 − γ/2S₀), with nothing subtracted. @type {(given: Setting) => number} */
export const exponentOf = ({ gamma, curvature }) => -curvature / (curvature + fastRate(gamma, curvature) ** 2);

/** Where the exponent is −¼. */
export const quarterAt = (/** @type {{ gamma: number }} */ { gamma }) => 0.75 * gamma ** 2;

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ gamma }) {
  const line = linesOver(SHARED.axis);
  return {
    flat: line(() => -Math.log10(gamma)),
    steep: line((curvature) => -0.5 * Math.log10(curvature)),
    gain: line((curvature) => Math.log10(gainOf({ gamma, curvature }))),
    shampoo: line(() => -0.25),
    crossing: SHARED.rows.exponent.range.map((v) => [Math.log10(quarterAt({ gamma })), v]),
    exponent: line((curvature) => exponentOf({ gamma, curvature })),
  };
}
