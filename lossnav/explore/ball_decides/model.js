// A learner with a limit of speed ‖v‖ ≤ 1 that pays ∫e^{−γt}L dt on a bowl: steepest descent in the norm, against the best
// path of straight pieces, which a projected gradient method with momentum finds from there.

/** @import { Symmetric } from "../pairs.js" */

import { clamp, samples } from "../kit.js";
import { acted, alongTurn, radians } from "../pairs.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ angle: number, gamma: number, norm: number, start: number[] }} Setting */
/** @typedef {number[]} Pair */

const [ROUND, SQUARE] = [1, 2]; // the norms beside ℓ₁

/**
 * The velocity within the ball that goes down fastest.
 * @type {(norm: number, gradient: Pair) => Pair}
 */
function steepest(norm, [x, y]) {
  const long = Math.hypot(x, y);
  if (long === 0) return [0, 0];
  if (norm === ROUND) return [-x / long, -y / long];
  if (norm === SQUARE) return [-Math.sign(x), -Math.sign(y)];
  return Math.abs(x) >= Math.abs(y) ? [-Math.sign(x), 0] : [0, -Math.sign(y)];
}

const clip = (/** @type {number} */ v) => clamp(v, -1, 1);

/**
 * The nearest velocity within the ball; ℓ₁'s is ℓ∞'s, turned and smaller.
 * @type {(norm: number, v: Pair) => Pair}
 */
function nearest(norm, [x, y]) {
  if (norm === SQUARE) return [clip(x), clip(y)];
  if (norm === ROUND) {
    const share = 1 / Math.max(1, Math.hypot(x, y));
    return [x * share, y * share];
  }
  const [sum, difference] = [clip(x + y), clip(x - y)];
  return [(sum + difference) / 2, (sum - difference) / 2];
}

/** How large a vector is in the norm of the ball: the least time to the minimum. */
const sizeOf = (/** @type {number} */ norm, /** @type {Pair} */ [x, y]) =>
  norm === ROUND ? Math.hypot(x, y) : norm === SQUARE ? Math.max(Math.abs(x), Math.abs(y)) : Math.abs(x) + Math.abs(y);

/** @type {(start: Pair, v: Pair[], clock: number[]) => Pair[]} */
function joined(start, v, clock) {
  const places = [start];
  for (const [n, [x, y]] of v.entries()) {
    const [[px, py], dt] = [places[n], clock[n + 1] - clock[n]];
    places.push([px + dt * x, py + dt * y]);
  }
  return places;
}

/**
 * Steepest descent: it slides where it would go to and fro.
 * @type {(setting: Setting, h: Symmetric, clock: number[]) => Pair[]}
 */
function followed({ norm, start }, h, clock) {
  const places = [start];
  for (let n = 1; n < clock.length; n++) {
    const [[x, y], dt] = [places[n - 1], clock[n] - clock[n - 1]];
    const [dx, dy] = steepest(norm, acted(h, [x, y]));
    places.push([x + dt * dx, y + dt * dy]);
  }
  return places;
}

/**
 * The weights of Simpson's rule in ∫e^{−γt}L dt: at the start, in the middle and at the end of each piece.
 * @type {(gamma: number, clock: number[]) => number[][]}
 */
const weightsOf = (gamma, clock) => clock.slice(1).map((to, n) => {
  const from = clock[n];
  return [from, (from + to) / 2, to].map((t, i) => (((to - from) * [1, 4, 1][i]) / 6) * Math.exp(-gamma * t));
});

/**
 * J along straight pieces, and its derivatives by the velocities, per time.
 * @type {(h: Symmetric, weights: number[][], places: Pair[]) => { cost: number, slopes: Pair[] }}
 */
function billed(h, weights, places) {
  const slopes = new Array(weights.length);
  let [cost, upX, upY] = [0, 0, 0];
  for (let n = weights.length - 1; n >= 0; n--) {
    const [[ax, ay], [bx, by]] = [places[n], places[n + 1]];
    const [first, middle, last] = weights[n];
    const [[fx, fy], [lx, ly]] = [acted(h, [ax, ay]), acted(h, [bx, by])];
    const [mx, my] = [(middle * (fx + lx)) / 4, (middle * (fy + ly)) / 4]; // half of it for each end
    cost += (first * (ax * fx + ay * fy) + mx * (ax + bx) + my * (ay + by) + last * (bx * lx + by * ly)) / 2;
    upX += last * lx + mx;
    upY += last * ly + my;
    slopes[n] = [upX, upY];
    upX += first * fx + mx;
    upY += first * fy + my;
  }
  return { cost, slopes };
}

/**
 * The best velocities, from a guess: projected gradients with momentum, which is dropped where it goes uphill.
 * @type {(setting: Setting, h: Symmetric, weights: number[][], guess: Pair[], clock: number[]) => Pair[]}
 */
function best({ norm, start }, h, weights, guess, clock) {
  const steepness = Math.max(...SHARED.curvatures) * weights.reduce((sum, [a, b, c], n) => sum + clock[n + 1] * (a + b + c), 0);
  let [v, ahead, pace] = [guess, guess, 1];
  for (let round = 0; round < SHARED.rounds; round++) {
    const { slopes } = billed(h, weights, joined(start, ahead, clock));
    const [from, before] = [ahead, v];
    v = from.map((u, n) => nearest(norm, [u[0] - slopes[n][0] / steepness, u[1] - slopes[n][1] / steepness]));
    const uphill = v.reduce((sum, u, n) => sum + (from[n][0] - u[0]) * (u[0] - before[n][0]) + (from[n][1] - u[1]) * (u[1] - before[n][1]), 0) > 0;
    const next = uphill ? 1 : (1 + Math.sqrt(1 + 4 * pace * pace)) / 2;
    const share = uphill ? 0 : (pace - 1) / next;
    ahead = v.map((u, n) => [u[0] + share * (u[0] - before[n][0]), u[1] + share * (u[1] - before[n][1])]);
    pace = next;
  }
  return v;
}

/** The part of the pieces that is over after a part of the time: they are short at first. */
export const piecesAfter = Math.sqrt;

/**
 * Both paths at the ends of the pieces, and how much more steepest descent costs, which is billed in finer ones.
 * @param {Setting} setting
 */
export function compared(setting) {
  const { angle, gamma, norm, start } = setting;
  const h = alongTurn(radians(angle), SHARED.curvatures[0], SHARED.curvatures[1]);
  const span = SHARED.span * (sizeOf(norm, start) || 1);
  const [clock, fine] = [1, SHARED.parts].map((parts) => samples(0, 1, parts * SHARED.pieces).map((u) => span * u * u));
  const [weights, finely] = [clock, fine].map((ends) => weightsOf(gamma, ends));
  const whole = followed(setting, h, fine);
  const rule = clock.map((_, n) => whole[n * SHARED.parts]);
  const guess = rule.slice(1).map((to, n) => to.map((v, i) => (v - rule[n][i]) / (clock[n + 1] - clock[n])));
  const optimal = joined(start, best(setting, h, weights, guess, clock), clock);
  const [paid, least] = [billed(h, finely, whole).cost, billed(h, weights, optimal).cost];
  return { rule, optimal, excess: least > 0 ? Math.max(0, paid / least - 1) : 0 };
}

/** The corners of the unit ball, or as many points of a circle. */
export const corners = (/** @type {number} */ norm) =>
  samples(0, 2 * Math.PI, norm === ROUND ? 60 : 4).map((u) => {
    const [size, turn] = norm === SQUARE ? [Math.SQRT2, u + Math.PI / 4] : [1, u];
    return [size * Math.cos(turn), size * Math.sin(turn)];
  });
