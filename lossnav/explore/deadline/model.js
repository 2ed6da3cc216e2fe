// The rate at a deadline for three curvatures (η = k = 1), and the loss weight that a drawn schedule asks for.

import { lastOf, mapped } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ span: number, gamma: number, charge: number, drawn: number[] }} Setting */
/** @typedef {keyof typeof SHARED.lines} Line */
/** @typedef {Pick<Setting, "gamma" | "charge">} Terms */

/**
 * The rate a of θ̇ = −a∇L with a time s left (theory: L1).
 * @type {(h: number, s: number, terms: Terms) => number}
 */
function deadlineRate(h, s, { gamma, charge }) {
  const root = Math.sqrt(gamma ** 2 / 4 + h);
  const tau = root * s < 1e-6 ? s : Math.tanh(root * s) / root;
  return (charge * (1 - (gamma * tau) / 2) + tau) / (1 + (gamma / 2 + charge * h) * tau);
}

/**
 * The rate as a share of the largest on the way, which is at one of its ends.
 * @type {(h: number, s: number, setting: Setting) => number}
 */
export const shareOfRate = (h, s, setting) =>
  deadlineRate(h, s, setting) / Math.max(deadlineRate(h, setting.span, setting), deadlineRate(h, 0, setting));

/**
 * The share of a straight line from one value to another that lies below zero, but for rounding.
 * @type {(from: number, to: number) => number}
 */
function belowZero(from, to) {
  const [low, high] = [Math.min(from, to), Math.max(from, to)];
  return low > -1e-9 ? 0 : high <= 0 ? 1 : low / (low - high);
}

/** The mean size along a straight line from one value to another. @type {(from: number, to: number) => number} */
const meanSize = (from, to) => (from * to >= 0 ? Math.abs(from + to) / 2 : (from * from + to * to) / (2 * Math.abs(to - from)));

/**
 * The weight k·T of a linear loss in equal parts of the time that makes the drawn schedule optimal (theory: L4), and
 * the charge at the deadline.
 * @type {(setting: Setting) => { weights: number[], end: number, negative: number, endShare: number }}
 */
export function impliedWeight({ span, gamma, drawn }) {
  const count = drawn.length - 1;
  const weights = [];
  let [negative, total] = [0, lastOf(drawn)];
  for (let i = 0; i < count; i++) {
    const rise = drawn[i + 1] - drawn[i];
    const weight = (/** @type {number} */ share) => gamma * span * (drawn[i] + rise * share) - rise * count;
    for (let j = 0; j < SHARED.parts; j++) weights.push(weight((j + 0.5) / SHARED.parts));
    negative += belowZero(weight(0), weight(1)) / count;
    total += meanSize(weight(0), weight(1)) / count;
  }
  const end = lastOf(drawn);
  return { weights, end, negative, endShare: total > 0 ? end / total : 0 };
}

/** What is left of each line's rate when a tenth of the time is left. */
export const atATenth = (/** @type {Setting} */ setting) => mapped(SHARED.lines, ({ h }) => shareOfRate(h, setting.span / 10, setting));
