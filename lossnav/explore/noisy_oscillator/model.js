// One mode of SGD with momentum: the oscillator, the recursion with its noise, and the stationary laws of both.

import { damped } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ eta: number, beta: number, rho: number }} Setting */

/**
 * γ, ω and ζ of the oscillator, and α² = γ² − ω².
 * @param {Setting} setting
 */
export function rates({ eta, beta, rho }) {
  const mass = eta * (1 + beta);
  const [gamma, omega] = [(1 - beta) / mass, Math.sqrt((2 * rho) / mass)];
  return { gamma, omega, zeta: gamma / omega, alpha2: ((1 - beta) ** 2 - 2 * mass * rho) / mass ** 2 };
}

/** Whether the mean of SGD itself settles: ηρ < 2(1 + β). */
export const settles = (/** @type {Setting} */ { eta, beta, rho }) => eta * rho < 2 * (1 + beta);

/**
 * Position and velocity of the oscillator after a time t, from (a, b), in all three regimes.
 * @type {(setting: Setting, t: number, start: number[]) => number[]}
 */
export function oscillator(setting, t, [a, b]) {
  const { gamma, omega } = rates(setting);
  const [kept, pushed, speed] = damped(gamma, omega ** 2, t);
  return [a * kept + b * pushed, b * speed - omega ** 2 * a * pushed];
}

/**
 * The velocity with which the oscillator follows the steps: (βv₀ + v₁)/(1 + β).
 * @type {(setting: Setting, start: number[]) => number}
 */
export const matched = ({ beta, rho }, [theta, v]) => (2 * beta * v - rho * theta) / (1 + beta);

/**
 * Steps of SGD with noise of variance ρ·noise in each gradient, from (θ, v); it ends where it has left the picture.
 * @type {(setting: Setting, start: number[]) => number[][]}
 */
export function steps({ eta, beta, rho }, [theta, v]) {
  const size = Math.sqrt(rho * SHARED.noise);
  const found = [[theta, v]];
  for (const draw of SHARED.draws) {
    v = beta * v - rho * theta + size * draw;
    theta += eta * v;
    found.push([theta, v]);
    if (Math.abs(theta) > 4 * SHARED.edge) break;
  }
  return found;
}

/**
 * The stationary variances of θ and v and their covariance: of the recursion, and of the oscillator with noise.
 * @param {Setting} setting
 */
export function laws({ eta, beta, rho }) {
  const s2 = rho * SHARED.noise;
  const v = (2 * s2) / ((1 - beta) * (2 * (1 + beta) - eta * rho));
  const smooth = s2 / (1 - beta ** 2);
  const ratio = (eta * (1 + beta)) / (2 * rho);
  return { exact: { theta: ratio * v, v, both: (eta / 2) * v }, smooth: { theta: ratio * smooth, v: smooth, both: 0 } };
}
