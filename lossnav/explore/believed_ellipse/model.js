// Beliefs about C = E[vec g vec gᵀ] of weights in two rows that do not mix: C₁ and C₂ on the diagonal; η = k = c = 1.

import { mapped } from "../kit.js";
import { acted, alongTurn, radians } from "../pairs.js";
import { fastRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {import("../pairs.js").Symmetric} Spread */
/** @typedef {{ gradient: number[], angle: number, turn: number, ratio: number, gamma: number }} Setting */

const OWN = SHARED.extents.map((v) => v * v);
const TRACES = [OWN[0] + OWN[1], SHARED.others];

/** The eigenvalues of a matrix, the larger first, and the direction of that one. */
export function spectrum(/** @type {Spread} */ [a, b, d]) {
  const far = Math.hypot((a - d) / 2, b);
  return { values: [(a + d) / 2 + far, (a + d) / 2 - far], turn: Math.atan2(2 * b, a - d) / 2 };
}

/** C₁ and C₂: the other row has the trace `others`, and its long axis `turn` degrees further. */
export function rowSpreads(/** @type {Setting} */ { angle, turn, ratio }) {
  const [a, b] = [angle, angle + turn].map(radians);
  const rest = TRACES[1] / (1 + ratio * ratio);
  return { own: alongTurn(a, OWN[0], OWN[1]), other: alongTurn(b, rest * ratio * ratio, rest) };
}

/**
 * What each belief takes for C₁. Kronecker's is L ⊗ R / tr L (M11), the eigenbasis' diagonal in the axes of R (M16).
 * @param {Setting} setting
 */
export function believed(setting) {
  const { own, other } = rowSpreads(setting);
  const shared = /** @type {Spread} */ (own.map((v, i) => v + other[i])); // R = E[gᵀg]
  const mean = (TRACES[0] + TRACES[1]) / 4;
  const { turn } = spectrum(shared);
  const [x, y] = [Math.cos(turn), Math.sin(turn)];
  const along = own[0] * x * x + 2 * own[1] * x * y + own[2] * y * y;
  return {
    scalar: /** @type {Spread} */ ([mean, 0, mean]),
    diagonal: /** @type {Spread} */ ([own[0], 0, own[2]]),
    kronecker: /** @type {Spread} */ (shared.map((v) => (v * TRACES[0]) / (TRACES[0] + TRACES[1]))),
    eigenbasis: alongTurn(turn, along, TRACES[0] - along),
    full: own,
  };
}

/** The local exponent of that (M17). */
export const exponent = (/** @type {number} */ h, /** @type {number} */ gamma) => -0.5 * (1 - gamma / 2 / Math.sqrt((gamma * gamma) / 4 + h));

/**
 * What each belief makes of the gradient, in units in which the scalar one leaves it as it is.
 * @param {Setting} setting
 */
export function steps(setting) {
  const { gradient: g, gamma } = setting;
  const unit = fastRate(gamma, (TRACES[0] + TRACES[1]) / 4);
  return mapped(believed(setting), (matrix) => {
    const { values, turn } = spectrum(matrix);
    const gains = values.map((h) => unit / fastRate(gamma, h));
    return acted(alongTurn(turn, gains[0], gains[1]), g);
  });
}
