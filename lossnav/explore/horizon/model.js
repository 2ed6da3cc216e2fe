// The closed form of the optimal step on a quadratic, one eigendirection at a time; η = k = 1.

import { gain, restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

export const BOWL = SHARED.curvatures; // of Fig. 2c, d; the minimum is the origin
export const TOLERANCE = 0.1; // how close a limit must be to count as holding

/**
 * The displacement of Eq. 6 from gradient components g in eigendirections of curvature h.
 * @type {(h: number[], g: number[], gamma: number, dt: number) => number[]}
 */
export const optimalStep = (h, g, gamma, dt) => h.map((hi, i) => -gain(hi, gamma, dt) * g[i]);

/**
 * The rows of Eq. 7: Newton's step, …
 * @type {(h: number[], g: number[]) => number[]}
 */
export const newtonStep = (h, g) => h.map((hi, i) => -g[i] / hi);

/**
 * … gradient descent's …
 * @type {(h: number[], g: number[], gamma: number, dt: number) => number[]}
 */
export const descentStep = (_h, g, gamma, dt) => g.map((gi) => times(-gi, dt / gamma));

/**
 * … and the ballistic one.
 * @type {(h: number[], g: number[], gamma: number, dt: number) => number[]}
 */
export const ballisticStep = (h, g, _gamma, dt) => h.map((hi, i) => times(-g[i], Math.sqrt(1 / hi) * dt));

/**
 * 0·∞ = 0: a direction without slope does not move.
 * @type {(a: number, b: number) => number}
 */
const times = (a, b) => (a === 0 ? 0 : a * b);

/**
 * The two groups that decide the regime of one eigendirection: γ²/(4ηkh) and rΔt.
 * @type {(h: number, gamma: number, dt: number) => { damping: number, progress: number }}
 */
export const groups = (h, gamma, dt) => ({ damping: gamma ** 2 / (4 * h), progress: restRate(gamma, h) * dt });

/**
 * |limit − optimal| / |optimal|; infinite where the limit is.
 * @param {number[]} limit
 * @param {number[]} optimal
 */
export function error(limit, optimal) {
  const size = Math.hypot(...optimal);
  const gap = Math.hypot(...limit.map((v, i) => v - optimal[i]));
  return size === 0 ? (gap === 0 ? 0 : Infinity) : gap / size;
}

/**
 * Where each limit is within `tolerance` of the optimum in one eigendirection, as progress rΔt in terms of
 * q = γ²/(4ηkh): at least for Newton, at most for the two first-order limits (0 where never).
 * @param {number} q
 * @param {number} tolerance
 */
export function validity(q, tolerance) {
  const ratio = Math.sqrt(1 + q) + Math.sqrt(q); // √(ηkh)/r
  return {
    newton: Math.log(1 + 1 / tolerance),
    descent: largestProgress(((1 + tolerance) * 2 * Math.sqrt(q)) / ratio),
    ballistic: largestProgress((1 + tolerance) / ratio),
  };
}

/**
 * The largest x with x/(1 − e^{−x}) ≤ bound.
 * @param {number} bound
 */
function largestProgress(bound) {
  if (bound <= 1) return 0;
  let x = bound;
  for (let i = 0; i < 40; i++) x -= (x + bound * Math.expm1(-x)) / (1 - bound * Math.exp(-x));
  return x;
}
