// One mode with ηkh = 1, from θ = −1: the optimal path θ̈ = γθ̇ + θ, the ball θ̈ = −γθ̇ − θ from rest, and γθ̇ = −θ.

import { linesOver, mapped } from "../kit.js";
import { damped, restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, now: number }} Setting */

/** The optimal path's rate r. */
export const planRate = (/** @type {number} */ gamma) => restRate(gamma, 1);

/** The slower rate of a ball that does not swing, γ ≥ 2. */
export const slowRate = (/** @type {number} */ gamma) => 1 / (gamma / 2 + Math.sqrt(gamma ** 2 / 4 - 1));

/** Every line's height at one time. */
export function heights(/** @type {number} */ gamma, /** @type {number} */ t) {
  const [[left, gathered], r] = [damped(gamma / 2, 1, t), planRate(gamma)];
  return { flow: -Math.exp(-t / gamma), ball: -left, path: -Math.exp(-r * t), gathered, planned: r * Math.exp(-r * t) };
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ gamma }) {
  const line = linesOver(SHARED.axis);
  return mapped(SHARED.lines, (_, name) => line((t) => heights(gamma, t)[name]));
}
