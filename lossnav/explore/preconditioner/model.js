// By what the optimal update multiplies the gradient along a direction of curvature h, η = k = 1, and its three limits.

import { gain } from "../rates.js";

/** @typedef {{ gamma: number, dt: number, curvature: number }} Setting */

/** φ(h). */
export const preconditioner = (/** @type {Setting} */ { gamma, dt, curvature }) => gain(curvature, gamma, dt);

/** Eqs. 86, 87 and 83. */
export const limits = {
  descent: (/** @type {Setting} */ { gamma, dt }) => dt / gamma,
  ballistic: (/** @type {Setting} */ { dt, curvature }) => dt / Math.sqrt(curvature),
  newton: (/** @type {Setting} */ { curvature }) => 1 / curvature,
};

/** The slope of ln φ over ln h. */
export function slopeThere(/** @type {Setting} */ setting) {
  const at = (/** @type {number} */ factor) => Math.log(preconditioner({ ...setting, curvature: setting.curvature * factor }));
  return (at(1.001) - at(1 / 1.001)) / (2 * Math.log(1.001));
}
