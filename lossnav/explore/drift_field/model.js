// The optimum under the drift f = qQθ − jθ on L = (h/2)|θ − θ*|², with η = k = 1, in complex numbers θ₁ + iθ₂.
// There f = aθ with a = −j + iq, and one scalar formula holds Eqs. 108–121 (j = 0) and 122–128 (q = 0).

import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ start: number[], minimum: number[], rate: number, decay: number, gamma: number }} Setting */

const STIFF = SHARED.stiffness; // h of Fig. 3c, d

/** @type {(u: number[], v: number[]) => number[]} */
const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
/** @type {(u: number[], v: number[]) => number[]} */
const plus = (u, v) => [u[0] + v[0], u[1] + v[1]];
/** @type {(u: number[], v: number[]) => number[]} */
const minus = (u, v) => [u[0] - v[0], u[1] - v[1]];
const square = (/** @type {number[]} */ [a, b]) => a * a + b * b;
/** @type {(angle: number, size: number) => number[]} */
const turned = (angle, size) => [size * Math.cos(angle), size * Math.sin(angle)];

/** @typedef {ReturnType<typeof driftLaw>} DriftLaw */

/**
 * Everything about the optimum: its rate, where it ends, the minimum of L_eff, the cost, and the path itself.
 * @param {Setting} setting
 */
export function driftLaw({ start, minimum, rate, decay, gamma }) {
  const a = [-decay, rate];
  const pull = STIFF + decay * (decay + gamma);
  const lambda = restRate(gamma, pull);
  const alpha = pull + rate ** 2;
  const beta = gamma * rate;
  const share = STIFF / (alpha ** 2 + beta ** 2);
  const rest = times([share * alpha, share * beta], minimum); // Bθ*
  const effective = minimum.map((v) => (STIFF / alpha) * v);
  const drift = (/** @type {number[]} */ theta) => times(a, theta);
  const place = (/** @type {number} */ t) => plus(rest, times(turned(rate * t, Math.exp(-lambda * t)), minus(start, rest)));
  const velocity = (/** @type {number[]} */ theta) => times([-lambda, rate], minus(theta, rest));
  const alone = (/** @type {number} */ t) => times(turned(rate * t, Math.exp(-decay * t)), start);
  const held = drift(rest); // the drift that must be held off for ever
  const resting = square(held) / 2 + (STIFF / 2) * square(minus(rest, minimum));
  const away = minus(start, rest);
  const excess = ((lambda - decay) / 2) * square(away) + held[0] * away[0] + held[1] * away[1];
  const action = gamma > 0 ? excess + resting / gamma : resting > 1e-12 ? Infinity : excess;
  return { lambda, rest, effective, drift, place, velocity, alone, resting, excess, action };
}

/**
 * Times that follow a path which decays at `slow` and turns at `rate`, closely enough to draw it.
 * @param {number} slow
 * @param {number} rate
 */
export function driftTimes(slow, rate) {
  // What is so slow that its time has no number is not seen to move.
  const span = Math.min(slow > 0 ? 7 / slow : rate === 0 ? 0 : (2 * Math.PI) / Math.abs(rate), 1e9);
  const count = Math.min(900, Math.max(120, Math.ceil((span * Math.abs(rate)) / 0.12)));
  return Array.from({ length: count + 1 }, (_, i) => (span * i) / count);
}
