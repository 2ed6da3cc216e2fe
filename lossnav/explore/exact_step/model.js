// A step of one mode with ηk = h = 1, over Newton's: the exponential of the whole flow, and its first order.

import { linesOver } from "../kit.js";
import { meanDecay } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, fading: number, dt: number }} Setting */

/** s₊, at which forecasts are discounted; the mode relaxes at r = 1/s₊. */
export const forecastRate = (/** @type {number} */ gamma) => Math.hypot(gamma / 2, 1) + gamma / 2;

/** First order in Δt: v Δt. */
export const eulerStep = (/** @type {Setting} */ { gamma, fading, dt }) => dt / (forecastRate(gamma) + fading);

/** The first entry of the exponential (M3): a gradient that fades pulls a mode that relaxes. */
export function exactStep(/** @type {Setting} */ { gamma, fading, dt }) {
  const fast = forecastRate(gamma);
  const mean = meanDecay(Math.abs(1 / fast - fading) * dt);
  return (dt * Math.exp(-Math.min(1 / fast, fading) * dt) * mean) / (fast + fading);
}

/** Where the minimum of the believed loss is by then. */
const targetThen = (/** @type {Setting} */ { fading, dt }) => Math.exp(-fading * dt);

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const over = linesOver(SHARED.axis);
  const line = (/** @type {(setting: Setting) => number} */ height) => over((dt) => height({ ...given, dt }));
  return { edge: line(() => 2), target: line(targetThen), euler: line(eulerStep), exact: line(exactStep) };
}
