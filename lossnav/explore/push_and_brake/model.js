// One mode with ηkh = 1, from θ = −1: the optimal path θ̈ = γθ̇ + θ, the ball θ̈ = −γθ̇ − θ from rest, and γθ̇ = −θ.

import { linesOver, mapped } from "../kit.js";
import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, now: number }} Setting */

/** The optimal path's rate r. */
export const planRate = (/** @type {number} */ gamma) => restRate(gamma, 1);

/** The slower rate of a ball that does not swing, γ ≥ 2. */
export const slowRate = (/** @type {number} */ gamma) => 1 / (gamma / 2 + Math.sqrt(gamma ** 2 / 4 - 1));

/** @type {(gamma: number, t: number) => { place: number, momentum: number }} */
function ballAt(gamma, t) {
  const square = gamma ** 2 / 4 - 1;
  const pace = Math.sqrt(Math.abs(square));
  const [even, odd] = square < 0 ? [Math.cos(pace * t), Math.sin(pace * t)] : [Math.cosh(pace * t), Math.sinh(pace * t)];
  const way = pace * t < 1e-8 ? t : odd / pace;
  const fade = Math.exp((-gamma * t) / 2);
  return { place: -fade * (even + (gamma / 2) * way), momentum: fade * way };
}

/** Every line's height at one time. */
export function heights(/** @type {number} */ gamma, /** @type {number} */ t) {
  const [ball, r] = [ballAt(gamma, t), planRate(gamma)];
  return { flow: -Math.exp(-t / gamma), ball: ball.place, path: -Math.exp(-r * t), gathered: ball.momentum, planned: r * Math.exp(-r * t) };
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ gamma }) {
  const line = linesOver(SHARED.axis);
  return mapped(SHARED.lines, (_, name) => line((t) => heights(gamma, t)[name]));
}
