// A learner that pays ∫e^{−γt}{|θ̈|²/2 + c|θ̇|²/2 + L}dt. On a mode of curvature h its law is ẍ = −K₁x − K₂ẋ (W3), with the
// rates r = r_γ(q) for the heavy ball's rates q (W2). All start from rest.

import { clamp, lastOf, samples } from "../kit.js";
import { damped, restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, speed: number, start: number[] }} Setting */
/** @typedef {Pick<Setting, "gamma" | "speed">} Price */
/** @typedef {[number, number]} Gains K₁ and K₂ */
/** @typedef {(price: Price, h: number) => Gains} Law */
/** @typedef {[number, number]} Complex */

/** @type {Law} */
export function optimal({ gamma, speed }, h) {
  const product = Math.sqrt(gamma ** 4 / 16 + (gamma ** 2 * speed) / 4 + h);
  const sum = Math.sqrt(gamma ** 2 / 2 + speed + 2 * product);
  const first = h / (product + (gamma * sum) / 2 + gamma ** 2 / 4);
  return [first, (speed + (2 * ((gamma ** 2 * speed) / 4 + h)) / (product + gamma ** 2 / 4)) / (sum + gamma)];
}

/** The limit γ → ∞, in units of time that grow with γ. */
export const ball = (/** @type {Price} */ { speed }, /** @type {number} */ h) => /** @type {Gains} */ ([h, speed]);

/**
 * The rate of a walker that pays for speed alone, and that of the average of its places; c > 0.
 * @type {(price: Price, h: number) => Gains}
 */
function rates({ gamma, speed }, h) {
  return [restRate(gamma, h / speed), restRate(gamma, speed)];
}

/** @type {Law} */
const average = (price, h) => {
  const [r, b] = rates(price, h);
  return [r * b, r + b];
};

/** What is left after the time t of a mode that was let go at rest. @type {(gains: Gains, t: number) => number} */
const left = ([first, second], t) => damped(second / 2, first, t)[0];

/** How far beyond the minimum a mode swings that was let go at rest, as a part of the start. */
export function overshoot(/** @type {Gains} */ [first, second]) {
  const square = first - (second * second) / 4;
  return square > 1e-9 * first ? Math.exp((-Math.PI * second) / 2 / Math.sqrt(square)) : 0;
}

/** The time until a law rests, or until the flat mode has swung two and a half times. */
function lasting(/** @type {Gains} */ [first, second]) {
  const square = first - (second * second) / 4;
  const slow = square > 0 ? second / 2 : first / (second / 2 + Math.sqrt(-square));
  return Math.min(7 / slow, square > 0 ? (5 * Math.PI) / Math.sqrt(square) : Infinity);
}

/**
 * Places at times that are closer at the start.
 * @type {(setting: Setting, parts: (h: number, t: number) => number, span: number) => number[][]}
 */
const places = ({ start }, parts, span) => samples(0, 1, 600).map((u) => start.map((x, i) => x * parts(SHARED.curvatures[i], span * u * u)));

/** @type {(setting: Setting, law: Law) => number[][]} */
const pathOf = (setting, law) => places(setting, (h, t) => left(law(setting, h), t), lasting(law(setting, SHARED.curvatures[0])));

/**
 * The paths; without a price of speed a walker is there at once, and its average never moves.
 * @type {(setting: Setting) => Record<string, number[][]>}
 */
export function paths(setting) {
  const found = { optimal: pathOf(setting, optimal), ball: pathOf(setting, ball) };
  const span = lasting(average(setting, SHARED.curvatures[0]));
  if (!(span < Infinity)) return found;
  return { ...found, walker: places(setting, (h, t) => Math.exp(-rates(setting, h)[0] * t), span), average: pathOf(setting, average) };
}

/**
 * What a law costs from rest in one mode, by the integrals of x², xẋ and ẋ² along it.
 * @type {(price: Price, h: number, gains: Gains) => number}
 */
function cost({ gamma, speed }, h, [first, second]) {
  const pace = gamma + second + (2 * first) / (gamma + 2 * second);
  const xx = pace / (gamma * pace + 2 * first);
  const xv = (gamma * xx - 1) / 2;
  const vv = (-2 * first * xv) / (gamma + 2 * second);
  return (first ** 2 * xx + 2 * first * second * xv + second ** 2 * vv + speed * vv + h * xx) / 2;
}

/** How much more the average of a walker costs than the best path does. */
export function excess(/** @type {Setting} */ setting) {
  const [paid, least] = [average, optimal].map((law) =>
    SHARED.curvatures.reduce((sum, h, i) => sum + setting.start[i] ** 2 * cost(setting, h, law(setting, h)), 0));
  return least > 0 ? paid / least - 1 : 0;
}

/** @type {(value: Complex) => Complex} */
function root([a, b]) {
  const size = Math.hypot(a, b);
  return [Math.sqrt((size + a) / 2), Math.sqrt(clamp((size - a) / 2, 0, Infinity))];
}

/** @type {(gamma: number, p: Complex) => Complex} */
const slowed = (gamma, [a, b]) => {
  const [x, y] = root([(gamma * gamma) / 4 + a, b]);
  return [x - gamma / 2, y];
};

/**
 * The rates of a mode, those with an imaginary part ≥ 0: now, and for all γ from 0 on if it swings; and the ball's way.
 * @type {(price: Price, h: number) => { now: Complex[], all: Complex[], ball: Complex[] }}
 */
export function spectrum({ gamma, speed }, h) {
  const square = speed * speed - 4 * h;
  if (square >= 0) {
    const pair = [1, -1].map((sign) => (speed + sign * Math.sqrt(square)) / 2);
    return { now: pair.map((p) => slowed(gamma, [p, 0])), all: [], ball: [] };
  }
  const p = /** @type {Complex} */ ([speed / 2, Math.sqrt(-square) / 2]);
  const far = lastOf(SHARED.widest) / p[1];
  const all = samples(0, 0.99, 80).map((u) => slowed(2 * Math.tan((u * Math.PI) / 2), p));
  return { now: [slowed(gamma, p)], all, ball: [[0, 0], [far * p[0], far * p[1]]] };
}
