// Steps towards the minimum of L = θ²/2 with η = k = 1, from θ = 1: each multiplies the distance by a factor m.

/** @typedef {{ gamma: number, dt: number }} Setting */

/** The rate of the continuous path (Eq. 53). */
export const limitRate = (/** @type {number} */ gamma) => 1 / (Math.hypot(gamma / 2, 1) + gamma / 2);

/**
 * The factor when all steps are planned: the smaller root of ρm² − (1 + ρ + Δt²)m + 1 = 0, ρ = e^{−γΔt}.
 * @type {(setting: Setting) => number}
 */
export function plannedFactor({ gamma, dt }) {
  const rho = Math.exp(-gamma * dt);
  const b = 1 + rho + dt * dt;
  return 2 / (b + Math.sqrt(b * b - 4 * rho));
}

/** The factor when one step is planned: ρ = 0. */
export const myopicFactor = (/** @type {Setting} */ { dt }) => 1 / (1 + dt * dt);

/**
 * The discounted sum of what steps cost that multiply by `m`.
 * @type {(setting: Setting, m: number) => number}
 */
export const sumCost = ({ gamma, dt }, m) => ((dt / 2) * (((1 - m) / dt) ** 2 + m * m)) / (1 - Math.exp(-gamma * dt) * m * m);
