// What a planner that discounts makes of a gradient along a curvature ηkh, over ηk, and its local exponent (M17).

import { samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, curvature: number }} Setting */

/** s₊ = √(γ²/4 + ηkh) + γ/2, by which a gradient is divided. */
const forecast = (/** @type {Setting} */ { gamma, curvature }) => Math.sqrt(gamma ** 2 / 4 + curvature) + gamma / 2;

/** @type {(given: Setting) => number} */
export const gainOf = (given) => 1 / forecast(given);

/** −½(1 − γ/2S₀), with nothing subtracted. @type {(given: Setting) => number} */
export const exponentOf = (given) => -given.curvature / (given.curvature + forecast(given) ** 2);

/** Where the exponent is −¼. */
export const quarterAt = (/** @type {{ gamma: number }} */ { gamma }) => 0.75 * gamma ** 2;

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ gamma }) {
  const [low, high] = [SHARED.axis.range[0], SHARED.axis.range[1]].map(Math.log10);
  const line = (/** @type {(given: Setting) => number} */ height) => samples(low, high, 240).map((u) => [u, height({ gamma, curvature: 10 ** u })]);
  return {
    flat: line(() => -Math.log10(gamma)),
    steep: line(({ curvature }) => -0.5 * Math.log10(curvature)),
    gain: line((given) => Math.log10(gainOf(given))),
    shampoo: line(() => -0.25),
    crossing: SHARED.rows.exponent.range.map((v) => [Math.log10(quarterAt({ gamma })), v]),
    exponent: line(exponentOf),
  };
}
