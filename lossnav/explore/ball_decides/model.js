// A learner with a limit of speed ‖v‖ ≤ 1 that pays ∫e^{−γt}L dt on a bowl: steepest descent in the norm, against the best
// path of straight pieces, which a projected gradient method with momentum finds from there.

import { samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ angle: number, gamma: number, norm: number, start: number[] }} Setting */
/** @typedef {number[]} Pair */
/** @typedef {[number, number, number]} Matrix its entries 11, 12, 22 */

const [ROUND, SQUARE] = [1, 2]; // the norms beside ℓ₁

/** @type {(angle: number) => Matrix} */
export function hessian(angle) {
  const [[a, b], turn] = [SHARED.curvatures, (angle * Math.PI) / 180];
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  return [a * c * c + b * s * s, (a - b) * c * s, a * s * s + b * c * c];
}

/** @type {(h: Matrix, x: Pair) => Pair} */
const times = ([a, b, d], [x, y]) => [a * x + b * y, b * x + d * y];

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

const clip = (/** @type {number} */ v) => Math.max(-1, Math.min(1, v));

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

/** @type {(start: Pair, v: Pair[], dt: number) => Pair[]} */
function joined(start, v, dt) {
  const places = [start];
  for (const [x, y] of v) {
    const [px, py] = places[places.length - 1];
    places.push([px + dt * x, py + dt * y]);
  }
  return places;
}

/** The mean velocities of steepest descent over the pieces: it slides where it would go to and fro. */
function followed(/** @type {Setting} */ { norm, start }, /** @type {Matrix} */ h, /** @type {number} */ dt) {
  const v = [];
  let [x, y] = start;
  for (let n = 0; n < SHARED.pieces; n++) {
    const [fromX, fromY] = [x, y];
    for (let i = 0; i < SHARED.parts; i++) {
      const [dx, dy] = steepest(norm, times(h, [x, y]));
      x += (dt / SHARED.parts) * dx;
      y += (dt / SHARED.parts) * dy;
    }
    v.push([(x - fromX) / dt, (y - fromY) / dt]);
  }
  return v;
}

/**
 * J along straight pieces, the loss by Simpson's rule, and its derivatives by the velocities.
 * @type {(h: Matrix, weights: number[], start: Pair, v: Pair[], dt: number) => { cost: number, slopes: Pair[] }}
 */
function billed(h, weights, start, v, dt) {
  const places = joined(start, v, dt);
  const slopes = new Array(v.length);
  let [cost, upX, upY] = [0, 0, 0];
  for (let n = v.length - 1; n >= 0; n--) {
    const [[ax, ay], [bx, by]] = [places[n], places[n + 1]];
    const [atEnd, atStart] = [times(h, [ax + 2 * bx, ay + 2 * by]), times(h, [2 * ax + bx, 2 * ay + by])];
    const share = weights[n] / 6;
    cost += share * (ax * atStart[0] + ay * atStart[1] + bx * atEnd[0] + by * atEnd[1]) / 2;
    upX += share * atEnd[0];
    upY += share * atEnd[1];
    slopes[n] = [dt * upX, dt * upY];
    upX += share * atStart[0];
    upY += share * atStart[1];
  }
  return { cost, slopes };
}

/**
 * The best velocities, from a guess: projected gradients with momentum, which is dropped where it goes uphill.
 * @type {(setting: Setting, h: Matrix, weights: number[], guess: Pair[], dt: number) => Pair[]}
 */
function best({ norm, start }, h, weights, guess, dt) {
  const steepness = Math.max(...SHARED.curvatures) * dt * dt * weights.reduce((sum, w, n) => sum + (n + 1) * w, 0);
  let [v, ahead, pace] = [guess, guess, 1];
  for (let round = 0; round < SHARED.rounds; round++) {
    const { slopes } = billed(h, weights, start, ahead, dt);
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

/**
 * Both paths, and how much more steepest descent costs.
 * @param {Setting} setting
 */
export function compared(setting) {
  const dt = SHARED.span / SHARED.pieces;
  const h = hessian(setting.angle);
  const weights = samples(0, SHARED.pieces - 1, SHARED.pieces - 1).map((n) => dt * Math.exp(-setting.gamma * dt * (n + 0.5)));
  const rule = followed(setting, h, dt);
  const optimal = best(setting, h, weights, rule, dt);
  const [paid, least] = [rule, optimal].map((v) => billed(h, weights, setting.start, v, dt).cost);
  return { rule: joined(setting.start, rule, dt), optimal: joined(setting.start, optimal, dt), excess: least > 0 ? Math.max(0, paid / least - 1) : 0 };
}

/** The corners of the unit ball, or as many points of a circle. */
export const corners = (/** @type {number} */ norm) =>
  samples(0, 2 * Math.PI, norm === ROUND ? 60 : 4).map((u) => {
    const [size, turn] = norm === SQUARE ? [Math.SQRT2, u + Math.PI / 4] : [1, u];
    return [size * Math.cos(turn), size * Math.sin(turn)];
  });
