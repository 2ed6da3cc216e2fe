// Four learners on L = a(θ₁²−b)² + cθ₂² + dθ₁ (Eq. 28), and a dip that the reader digs, η = k = 1: three step rules, and
// the planner; no page needed. θ₂ separates from θ₁ for all four.
//
// One step of a rule counts as one interval `step` of the planner's time, so that all four have the same clock.

/** @import { Orbit, Well } from "../wells.js" */

import { mapped } from "../kit.js";
import { restRate } from "../rates.js";
import { pathFrom, placeAt, wellBend, wellFloor, wellHeteroclinic, wellLoss, wellOrbit, wellSlope } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ tilt: number, dug: number[] }} Land the tilt d, and where how deep a dip is dug */
/** @typedef {{ minimum: number, left: Orbit, right: Orbit, ends: number[] }} Basin with its borders, for a rule that goes downhill */
/** @typedef {{ gamma: number, well: Well, basins: Basin[], deepest: Basin[], threshold: number, across: number }} Planner */
/** @typedef {{ to: Basin | null, deep: boolean, action: number, time: number, place: (t: number) => number }} Plan of θ₁ */
/** @typedef {keyof typeof SHARED.lines} RunnerName */
/** @typedef {Record<RunnerName, number[][]>} Tracks */
/** @typedef {{ x: number, y: number, u: number, v: number, s: number, t: number, n: number }} Runner its place, and two memories of each axis */

const { a: HEIGHT, b: SQUARE, c: ACROSS } = SHARED.well;
const { step: STEP_TIME, steps: STEPS, rate: RATE, momentum: MOMENTUM, adam: ADAM } = SHARED.race;
const SEEN = Array.from({ length: STEPS }, (_, n) => ADAM.slice(0, 2).map((b) => 1 - b ** (n + 1))); // by Adam's averages
const EQUAL = 1e-9; // depths and costs that differ by less are the same

/** @type {(land: Land) => Well} */
export const landOf = ({ tilt, dug: [place, depth] }) => ({ a: HEIGHT, b: SQUARE, d: tilt, place, depth, wide: SHARED.dug.wide });
/** @type {(well: Well, place: number[]) => number} */
export const raceLoss = (well, [x, y]) => wellLoss(well, x) + ACROSS * y * y;

/** The starts around the edge of the window. */
export function edgeStarts() {
  const { x, y, across, up } = SHARED.starts;
  const part = (/** @type {number} */ i, /** @type {number} */ count) => -1 + (2 * i) / (count - 1);
  const rows = Array.from({ length: across }, (_, i) => x * part(i, across)).flatMap((at) => [[at, -y], [at, y]]);
  const sides = Array.from({ length: up - 2 }, (_, i) => y * part(i + 1, up)).flatMap((at) => [[-x, at], [x, at]]);
  return [...rows, ...sides];
}

/**
 * The optimal law: the orbits into each minimum. `deepest` are several where they are equally deep.
 * `threshold` is γ_het of the double well, 0 where it has none.
 * @type {(gamma: number, land: Land) => Planner}
 */
export function racePlanner(gamma, land) {
  const well = landOf(land);
  const [low, high] = SHARED.orbits;
  const { minima, barriers } = wellFloor(well, [2 * low, 2 * high]);
  const basins = minima.map((minimum, i) => ({
    minimum,
    left: wellOrbit(well, gamma, minimum, -1, low),
    right: wellOrbit(well, gamma, minimum, 1, high),
    ends: [barriers[i - 1] ?? -Infinity, barriers[i] ?? Infinity],
  }));
  const bottom = Math.min(...basins.map(({ left }) => left.floor));
  const deepest = basins.filter(({ left }) => left.floor < bottom + EQUAL);
  const threshold = land.tilt && !land.dug[1] ? wellHeteroclinic(landOf({ ...land, tilt: -Math.abs(land.tilt) })) : 0;
  return { gamma, well, basins, deepest, threshold, across: restRate(gamma, 2 * ACROSS) };
}

/**
 * The optimal path of θ₁: the cheapest of those into each minimum, to the right where two cost the same.
 * @type {(planner: Planner, start: number) => Plan}
 */
export function planFrom({ gamma, well, basins, deepest }, start) {
  /** @type {Plan} */
  // Without a path the start is a barrier itself, where an overdamped planner rests.
  let plan = { to: null, deep: false, action: Infinity, time: 0, place: () => start };
  for (const to of basins) {
    const found = start < to.minimum ? to.left : to.right;
    const path = pathFrom(found, start);
    if (!path || path.action > plan.action + EQUAL) continue;
    plan = { to, deep: deepest.includes(to), action: path.action, time: path.time, place: (t) => placeAt(found, path, t) };
  }
  return plan.to ? plan : { ...plan, action: wellLoss(well, start) / gamma };
}

/**
 * The whole way to rest as θ₁ and the part of θ₂ that is left, with steps that grow with time.
 * @type {(planner: Planner, plan: Plan, count?: number) => number[][]}
 */
export function wholePath({ across }, plan, count = 48) {
  const end = Math.max(plan.time, 7 / across);
  return Array.from({ length: count + 1 }, (_, i) => {
    const t = end * (i / count) ** 2;
    return [plan.place(t), Math.exp(-across * t)];
  });
}

/**
 * Where each learner is after 0, 1, … steps, the planner's plan, and what its whole path costs.
 * @type {(planner: Planner, start: number[]) => { tracks: Tracks, plan: Plan, action: number }}
 */
export function runRace(planner, start) {
  const { across, well } = planner;
  const plan = planFrom(planner, start[0]);
  const planned = Array.from({ length: STEPS + 1 }, (_, i) => [plan.place(i * STEP_TIME), start[1] * Math.exp(-across * i * STEP_TIME)]);
  return { tracks: { ...stepRules(well, start), planner: planned }, plan, action: plan.action + (across * start[1] ** 2) / 2 };
}

/**
 * One step of each rule along the gradient (g, h): gradient descent θ ← θ − αg, heavy ball v ← βv + g, θ ← θ − αv, and
 * Adam, all at the same rate α.
 * @type {Record<Exclude<RunnerName, "planner">, (runner: Runner, g: number, h: number) => void>}
 */
const RULES = {
  descent(runner, g, h) {
    runner.x -= RATE * g;
    runner.y -= RATE * h;
  },
  heavy(runner, g, h) {
    runner.u = MOMENTUM * runner.u + g;
    runner.v = MOMENTUM * runner.v + h;
    runner.x -= RATE * runner.u;
    runner.y -= RATE * runner.v;
  },
  adam(runner, g, h) {
    const [b1, b2, tiny] = ADAM;
    const [first, second] = SEEN[runner.n++];
    runner.u = b1 * runner.u + (1 - b1) * g;
    runner.v = b1 * runner.v + (1 - b1) * h;
    runner.s = b2 * runner.s + (1 - b2) * g * g;
    runner.t = b2 * runner.t + (1 - b2) * h * h;
    runner.x -= (RATE * runner.u) / first / (Math.sqrt(runner.s / second) + tiny);
    runner.y -= (RATE * runner.v) / first / (Math.sqrt(runner.t / second) + tiny);
  },
};

/** @type {(x: number, y: number) => Runner} */
const atStart = (x, y) => ({ x, y, u: 0, v: 0, s: 0, t: 0, n: 0 });

/**
 * Where the step rules are after 0, 1, … steps.
 * @type {(well: Well, start: number[]) => Omit<Tracks, "planner">}
 */
export function stepRules(well, [x, y]) {
  return mapped(RULES, (move) => {
    const [runner, places] = [atStart(x, y), [[x, y]]];
    for (let n = 0; n < STEPS; n++) {
      move(runner, wellSlope(well, runner.x), 2 * ACROSS * runner.y);
      places.push([runner.x, runner.y]);
    }
    return places;
  });
}

/**
 * J of a track that is followed in straight pieces, the loss by Simpson's rule, and rests where it ends.
 * @type {(gamma: number, well: Well, track: number[][]) => number}
 */
export function trackAction(gamma, well, track) {
  const half = Math.exp((-gamma * STEP_TIME) / 2);
  let [sum, weight, here] = [0, 1, raceLoss(well, track[0])];
  for (let i = 1; i < track.length; i++) {
    const [[x, y], [u, v]] = [track[i - 1], track[i]];
    const [middle, next] = [raceLoss(well, [(x + u) / 2, (y + v) / 2]), raceLoss(well, track[i])];
    sum += weight * (((1 - half * half) / gamma) * ((Math.hypot(u - x, v - y) / STEP_TIME) ** 2 / 2) + (STEP_TIME / 6) * (here + half * (4 * middle + half * next)));
    weight *= half * half;
    here = next;
  }
  return sum + (weight * here) / gamma;
}

/**
 * How many starts end nearest to a deepest minimum by each step rule; γ does not matter, nor does θ₂.
 * @type {(planner: Planner, starts: number[][]) => Omit<Record<RunnerName, number>, "planner">}
 */
export function deepEnds({ well, deepest }, starts) {
  return mapped(RULES, (move) => {
    const ends = shared(starts, (x) => {
      const runner = atStart(x, 0);
      for (let n = 0; n < STEPS; n++) move(runner, wellSlope(well, runner.x), 0);
      return runner.x;
    });
    return ends.filter((x) => deepest.some(({ ends: [from, to] }) => x >= from && x < to)).length;
  });
}

/**
 * What is found from each start's θ₁, which several have in common.
 * @template T
 * @param {number[][]} starts
 * @param {(x: number) => T} find
 * @returns {T[]}
 */
export function shared(starts, find) {
  /** @type {Map<number, T>} */
  const found = new Map();
  return starts.map(([x]) => {
    const known = found.get(x) ?? find(x);
    found.set(x, known);
    return known;
  });
}

/**
 * The linear rule near a minimum (Eq. 75): its rates, and by which part of them those of both limits, gradient descent
 * H/γ and the ballistic rule √H, are off at most.
 * @type {(planner: Planner, to: Basin) => { rates: number[], descent: number, ballistic: number }}
 */
export function nearRest({ well, gamma }, { minimum }) {
  const bends = [wellBend(well, minimum), 2 * ACROSS];
  const rates = bends.map((h) => restRate(gamma, h));
  const off = (/** @type {(h: number) => number} */ rule) => Math.max(...bends.map((h, i) => Math.abs(rule(h) / rates[i] - 1)));
  return { rates, descent: off((h) => h / gamma), ballistic: off(Math.sqrt) };
}
