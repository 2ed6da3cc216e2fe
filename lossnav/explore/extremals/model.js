// All extremals of L = θ²/2 with η = k = 1 from θ = 1 (Eq. 46), and what they cost up to a horizon (Eq. 51).

/** @typedef {{ growing: number, gamma: number, horizon: number }} Setting */

/** s₊, s₋ and Ω (Eq. 43). */
export function roots(/** @type {number} */ gamma) {
  const omega = Math.hypot(gamma / 2, 1);
  return { plus: omega + gamma / 2, minus: -1 / (omega + gamma / 2), omega };
}

/** θ(t) with the coefficient c₊ of the growing root. */
export function extremal(/** @type {number} */ growing, /** @type {number} */ gamma, /** @type {number} */ t) {
  const { plus, minus } = roots(gamma);
  return growing * Math.exp(plus * t) + (1 - growing) * Math.exp(minus * t);
}

/** J up to the horizon. */
export function extremalCost(/** @type {Setting} */ { growing, gamma, horizon }) {
  const { plus, minus, omega } = roots(gamma);
  return (plus * growing ** 2 * Math.expm1(2 * omega * horizon) + minus * (1 - growing) ** 2 * Math.expm1(-2 * omega * horizon)) / 2;
}

/** The c₊ that costs least up to the horizon: it stops steering there. */
export function bestGrowing(/** @type {number} */ gamma, /** @type {number} */ horizon) {
  const { plus, minus, omega } = roots(gamma);
  const faded = -minus * Math.exp(-2 * omega * horizon);
  return faded / (plus + faded);
}
