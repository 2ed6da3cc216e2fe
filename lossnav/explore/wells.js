// A tilted double well L = a(θ²−b)² + dθ (Eq. 28, θ₁ part), with a dip if wanted, and its optimal paths, η = k = 1; no
// page needed.
//
// Optimal paths lie on the stable manifolds of the saddles (minimum, 0) of θ̇ = p, ṗ = γp + L′(θ) (Eq. 3). Followed
// backwards in time from its minimum, where p = −r(θ − minimum), such an orbit attracts its neighbours, so a plain
// Runge–Kutta integration is accurate; forwards it would not be. One orbit holds the path from every start.

import { bisect, clamp, mapped } from "./kit.js";
import { restRate } from "./rates.js";

/**
 * `depth`, if given, digs a dip −depth·exp(−(θ−place)²/2wide²) into it; a negative one heaps a hill up.
 * @typedef {{ a: number, b: number, d: number, place?: number, depth?: number, wide?: number }} Well
 */

/**
 * One side's paths into a minimum, as samples of one orbit.
 * @typedef {object} Orbit
 * @property {Well} well
 * @property {number} gamma
 * @property {number} minimum
 * @property {number} side −1 or 1
 * @property {number} rate
 * @property {number} floor L at the minimum
 * @property {number} step time between two samples
 * @property {number[]} x
 * @property {number[]} p θ̇
 * @property {number[]} cost excess J − L(minimum)/γ of the path from there
 * @property {number} reach the farthest start
 * @property {boolean} turned whether the orbit ends there
 */

/** @typedef {{ left: number, barrier: number, right: number }} Rests */
/** @typedef {{ left: Orbit, right: Orbit }} Family */
/** @typedef {{ speed: number, excess: number, action: number, index: number, time: number }} Path */
/** @typedef {Path & { end: number, points: number[][] }} Plan `points` are [t, θ] */
/** @typedef {{ gamma: number, rests: Rests, stay: Family, cross: Family, indifference: number | null }} Policy */

const NEAR = 1e-4; // where the orbit leaves the saddle's series expansion
const STEP = 0.008;
const MOST = 40000; // steps: a well that is hardly one is left slowly

/** @type {(well: Well, x: number) => number} */
export function wellLoss({ a, b, d, place = 0, depth = 0, wide = 1 }, x) {
  const plain = a * (x * x - b) ** 2 + d * x;
  return depth ? plain - depth * Math.exp(-(((x - place) / wide) ** 2) / 2) : plain;
}
/** @type {(well: Well, x: number) => number} */
export function wellSlope({ a, b, d, place = 0, depth = 0, wide = 1 }, x) {
  const plain = 4 * a * x * (x * x - b) + d;
  if (!depth) return plain;
  const z = (x - place) / wide;
  return plain + ((depth * z) / wide) * Math.exp((-z * z) / 2);
}
/** @type {(well: Well, x: number) => number} */
export function wellBend({ a, b, place = 0, depth = 0, wide = 1 }, x) {
  const z = (x - place) / wide;
  return 4 * a * (3 * x * x - b) + (depth && ((depth * (1 - z * z)) / wide ** 2) * Math.exp((-z * z) / 2));
}
/** @type {(well: Well, x: number) => number} */
function wellTwist({ a, place = 0, depth = 0, wide = 1 }, x) {
  const z = (x - place) / wide;
  return 24 * a * x + (depth && ((depth * z * (z * z - 3)) / wide ** 3) * Math.exp((-z * z) / 2));
}

/**
 * All minima between two places, from left to right, and what separates them.
 * @type {(well: Well, ends: number[]) => { minima: number[], barriers: number[] }}
 */
export function wellFloor(well, [low, high]) {
  /** @type {{ minima: number[], barriers: number[] }} */
  const found = { minima: [], barriers: [] };
  const count = 200;
  let [x, slope] = [low, wellSlope(well, low)];
  for (let i = 1; i <= count; i++) {
    const next = low + ((high - low) * i) / count;
    const then = wellSlope(well, next);
    if (slope * then < 0 || then === 0) {
      const [side, kind] = [slope, slope < 0 ? found.minima : found.barriers];
      kind.push(bisect((middle) => wellSlope(well, middle) * side <= 0, x, next));
    }
    [x, slope] = [next, then || -slope];
  }
  return found;
}

/**
 * The stationary points, by Newton's iteration from those without tilt.
 * @type {(well: Well) => Rests}
 */
export function wellRests(well) {
  const polish = (/** @type {number} */ x) => {
    for (let i = 0; i < 60; i++) x -= wellSlope(well, x) / wellBend(well, x);
    return x;
  };
  return { left: polish(-Math.sqrt(well.b)), barrier: polish(0), right: polish(Math.sqrt(well.b)) };
}

/**
 * The paths into `minimum` from one side (−1 or 1), as one orbit followed backwards until it turns (p = 0) or passes
 * `limit`. Sample i is `i·step` before sample 0.
 * @param {Well} well
 * @param {number} gamma
 * @param {number} minimum
 * @param {number} side
 * @param {number} limit
 * @returns {Orbit}
 */
export function wellOrbit(well, gamma, minimum, side, limit) {
  const r = restRate(gamma, wellBend(well, minimum));
  const floor = wellLoss(well, minimum);
  const bent = -wellTwist(well, minimum) / (2 * (3 * r + gamma));
  let x = minimum + side * NEAR;
  let p = -r * side * NEAR + bent * NEAR * NEAR;
  let cost = (r * NEAR * NEAR) / 2;
  const h = STEP * clamp(gamma / 4, 1, 3); // the slower, the longer an orbit
  const found = { well, gamma, minimum, side, rate: r, floor, step: h, x: [x], p: [p], cost: [cost] };
  const half = h / 2;
  // Runge–Kutta, number by number: an orbit has hundreds of steps, and a redraw has several orbits.
  for (let i = 0; i < MOST; i++) {
    const [x1, p1] = [-p, -gamma * p - wellSlope(well, x)];
    const c1 = (p * p) / 2 + wellLoss(well, x) - floor - gamma * cost;
    const [xa, pa, ca] = [x + half * x1, p + half * p1, cost + half * c1];
    const [x2, p2] = [-pa, -gamma * pa - wellSlope(well, xa)];
    const c2 = (pa * pa) / 2 + wellLoss(well, xa) - floor - gamma * ca;
    const [xb, pb, cb] = [x + half * x2, p + half * p2, cost + half * c2];
    const [x3, p3] = [-pb, -gamma * pb - wellSlope(well, xb)];
    const c3 = (pb * pb) / 2 + wellLoss(well, xb) - floor - gamma * cb;
    const [xc, pc, cc] = [x + h * x3, p + h * p3, cost + h * c3];
    const [x4, p4] = [-pc, -gamma * pc - wellSlope(well, xc)];
    const c4 = (pc * pc) / 2 + wellLoss(well, xc) - floor - gamma * cc;
    const next = p + (h / 6) * (p1 + 2 * p2 + 2 * p3 + p4);
    if (next * side >= 0) return { ...found, ...turn(found, next) };
    x += (h / 6) * (x1 + 2 * x2 + 2 * x3 + x4);
    p = next;
    cost += (h / 6) * (c1 + 2 * c2 + 2 * c3 + c4);
    found.x.push(x);
    found.p.push(p);
    found.cost.push(cost);
    if ((x - limit) * side > 0) return { ...found, reach: limit, turned: false };
    if (Math.abs(p) < 1e-9) break; // creeping into the barrier, an overdamped rest
  }
  return { ...found, reach: x, turned: true };
}

/**
 * Where, between the last sample and the next, the speed vanishes.
 * @param {Pick<Orbit, "well" | "gamma" | "x" | "p" | "step">} found
 * @param {number} pNext
 */
function turn(found, pNext) {
  const last = found.x.length - 1;
  const [x, p] = [found.x[last], found.p[last]];
  const [slow, fast] = [-found.gamma * p - wellSlope(found.well, x), pNext - p];
  // p(s) ≈ p + s·slow·found.step + s²(fast − slow·found.step): its root in (0, 1].
  const curve = fast - slow * found.step;
  let s = -p / fast;
  for (let i = 0; i < 8; i++) s -= (p + s * slow * found.step + s * s * curve) / (slow * found.step + 2 * s * curve);
  const way = -found.step * (p * s + (slow * found.step * s * s) / 2 + (curve * s ** 3) / 3);
  return { reach: x + way, turned: true };
}

/** @typedef {(y: number[]) => number[]} Rates */

/** @type {(rates: Rates, y: number[], h: number) => number[]} */
export function rungeKutta(rates, y, h) {
  /** @type {(k: number[], by: number) => number[]} */
  const along = (k, by) => y.map((v, i) => v + by * k[i]);
  const k1 = rates(y);
  const k2 = rates(along(k1, h / 2));
  const k3 = rates(along(k2, h / 2));
  const k4 = rates(along(k3, h));
  return y.map((v, i) => v + (h / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]));
}

/**
 * The path of an orbit that starts at `start`, with the time left to sample 0; null beyond reach.
 * @param {Orbit} found
 * @param {number} start
 * @returns {Path | null}
 */
export function pathFrom(found, start) {
  const { well, gamma, minimum, side, rate, floor, x, p, cost, step } = found;
  const away = (start - minimum) * side;
  const sum = (/** @type {number} */ excess) => excess + floor / gamma;
  if (away <= NEAR) {
    const excess = (rate * away * away) / 2;
    return { speed: -rate * side * away, excess, action: sum(excess), index: 0, time: 0 };
  }
  if ((start - found.reach) * side > 0) return null;
  let [low, high] = [0, x.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((x[middle] - start) * side > 0) high = middle;
    else low = middle;
  }
  const [i, j] = [low, high];
  const force = (/** @type {number} */ n) => -gamma * p[n] - wellSlope(well, x[n]);
  let s = (start - x[i]) / (x[j] - x[i]);
  for (let n = 0; n < 4; n++) {
    const at = hermite(x[i], x[j], -p[i] * step, -p[j] * step, s);
    s -= (at.value - start) / (at.slope || Infinity);
  }
  const spend = (/** @type {number} */ n) => p[n] ** 2 / 2 + wellLoss(well, x[n]) - floor - gamma * cost[n];
  const speed = hermite(p[i], p[j], force(i) * step, force(j) * step, s).value;
  const excess = hermite(cost[i], cost[j], spend(i) * step, spend(j) * step, s).value;
  return { speed, excess, action: sum(excess), index: i, time: (i + s) * step };
}

/**
 * θ on a path at a time after its start.
 * @type {(found: Orbit, path: Path, t: number) => number}
 */
export function placeAt(found, path, t) {
  const { minimum, side, rate, step, x, p } = found;
  const left = (path.time - t) / step; // samples
  if (left <= 0) return minimum + side * NEAR * Math.exp(rate * left * step);
  const i = Math.min(Math.floor(left), x.length - 2);
  return hermite(x[i], x[i + 1], -p[i] * step, -p[i + 1] * step, left - i).value;
}

/** @type {(y0: number, y1: number, m0: number, m1: number, s: number) => { value: number, slope: number }} */
function hermite(y0, y1, m0, m1, s) {
  const d = y1 - y0;
  const value = y0 + s * (m0 + s * (3 * d - 2 * m0 - m1 + s * (m0 + m1 - 2 * d)));
  return { value, slope: m0 + s * (2 * (3 * d - 2 * m0 - m1) + 3 * s * (m0 + m1 - 2 * d)) };
}

/**
 * θ against time of a path: [[t, θ], …] up to `until`, every `stride` samples.
 * @param {Orbit} found
 * @param {Path} path
 * @param {number} start
 * @param {number} until
 */
export function course(found, path, start, until, stride = 4) {
  const points = [[0, start]];
  for (let i = path.index; i >= 0; i -= stride) {
    const t = path.time - i * found.step;
    if (t > until) break;
    if (t > 0) points.push([t, found.x[i]]);
  }
  if (points[points.length - 1][0] < until) points.push([until, placeAt(found, path, until)]);
  return points;
}

/** @type {{ well: Well, ends: number[], policy: Policy } | null} the last one: a start that is dragged has the same */
let known = null;

/**
 * Both families of paths at one discount rate, from all starts between two ends.
 * @type {(well: Well, gamma: number, ends: number[]) => Policy}
 */
export function wellPolicy(well, gamma, ends) {
  if (known?.well === well && known.ends === ends && known.policy.gamma === gamma) return known.policy;
  const rests = wellRests(well);
  const family = (/** @type {number} */ minimum) => ({ left: wellOrbit(well, gamma, minimum, -1, ends[0]), right: wellOrbit(well, gamma, minimum, 1, ends[1]) });
  const [stay, cross] = [family(rests.left), family(rests.right)];
  known = { well, ends, policy: { gamma, rests, stay, cross, indifference: indifference(rests, stay.right, cross.left) } };
  return known.policy;
}

/** @type {(family: Family, start: number) => Orbit} */
export const branch = (family, start) => (start < family.left.minimum ? family.left : family.right);

/**
 * Both plans from one start with their course up to `until`, null for one that does not exist.
 * @type {(policy: Policy, start: number, until: number) => Record<"stay" | "cross", Plan | null>}
 */
export function plansFrom({ stay, cross }, start, until) {
  return mapped({ stay, cross }, (family) => {
    const orbit = branch(family, start);
    const path = pathFrom(orbit, start);
    return path && { ...path, end: orbit.minimum, points: course(orbit, path, start, until) };
  });
}

/** @type {(plans: Record<"stay" | "cross", { action: number } | null>) => "stay" | "cross"} */
export const cheaper = ({ stay, cross }) => (!cross || (stay && stay.action < cross.action) ? "stay" : "cross");

/**
 * The start from which both ends cost the same, or null where crossing wins from everywhere on the left.
 * @type {(rests: Rests, stay: Orbit, cross: Orbit) => number | null}
 */
function indifference({ left, barrier }, stay, cross) {
  if (!cross.turned || cross.reach <= left) return null;
  if (stay.reach - cross.reach < 1e-7) return barrier; // no spiral round the barrier: the two families only meet there
  return bisect((start) => {
    const [across, here] = [pathFrom(cross, start), pathFrom(stay, start)];
    if (!across || !here) throw new Error(`both orbits pass ${start}, between their ends`);
    return across.action <= here.action;
  }, cross.reach, stay.reach);
}

/**
 * The discount rate at which the crossing orbit comes to rest in the shallow well (a heteroclinic orbit). It is the
 * front of a bistable cubic, known in closed form: with L′ = 4a(θ−e₁)(θ−e₂)(θ−e₃) it runs at θ̇ ∝ (θ−e₁)(θ−e₃).
 * @type {(well: Well) => number}
 */
export function wellHeteroclinic(well) {
  const { left, barrier, right } = wellRests(well);
  return Math.sqrt(2 * well.a) * (left + right - 2 * barrier);
}
