// By what the optimal update multiplies the gradient along a direction of curvature h, η = k = 1, and its three limits.

import { fastRate } from "../rates.js";

/** @typedef {{ gamma: number, dt: number, curvature: number }} Setting */

/** φ(h) = (1 − e^{−rΔt})/h (Eq. 6), with nothing subtracted. */
export function preconditioner(/** @type {Setting} */ { gamma, dt, curvature }) {
  const over = fastRate(gamma, curvature);
  const x = (curvature / over) * dt;
  return (dt / over) * (x < 1e-12 ? 1 : -Math.expm1(-x) / x);
}

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
