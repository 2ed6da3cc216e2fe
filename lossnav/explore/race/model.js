// Four learners on L = a(θ₁²−b)² + cθ₂² + dθ₁ (Eq. 28), η = k = 1: three step rules, and the planner; no page needed.
//
// One step of a rule counts as one interval `step` of the planner's time, so that all four have the same clock.

/** @import { Policy, Well } from "../wells.js" */

import { branch, pathFrom, placeAt, restRate, wellBend, wellHeteroclinic, wellLoss, wellPolicy, wellSlope } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ tilt: number, sign: number, well: Well, policy: Policy, threshold: number, across: number }} Planner */
/** @typedef {{ deep: boolean, action: number, time: number, place: (t: number) => number[] }} Plan */
/** @typedef {keyof typeof SHARED.lines} RunnerName */
/** @typedef {Record<RunnerName, number[][]>} Tracks */

const { a: HEIGHT, b: SQUARE, c: ACROSS } = SHARED.well;
const { step: STEP_TIME, steps: STEPS, rate: RATE, momentum: MOMENTUM, adam: ADAM } = SHARED.race;

/** @type {(tilt: number) => Well} */
const section = (tilt) => ({ a: HEIGHT, b: SQUARE, d: tilt });
/** @type {(tilt: number, place: number[]) => number} */
export const raceLoss = (tilt, [x, y]) => wellLoss(section(tilt), x) + ACROSS * y * y;

/** The starts around the edge of the window. */
export function edgeStarts() {
  const { x, y, across, up } = SHARED.starts;
  const part = (/** @type {number} */ i, /** @type {number} */ count) => -1 + (2 * i) / (count - 1);
  const rows = Array.from({ length: across }, (_, i) => x * part(i, across)).flatMap((at) => [[at, -y], [at, y]]);
  const sides = Array.from({ length: up - 2 }, (_, i) => y * part(i + 1, up)).flatMap((at) => [[-x, at], [x, at]]);
  return [...rows, ...sides];
}

/**
 * The optimal law. A tilt to the left is that to the right, mirrored: `sign` takes θ₁ to where the deep well is right.
 * @type {(gamma: number, tilt: number) => Planner}
 */
export function racePlanner(gamma, tilt) {
  const well = section(-Math.abs(tilt));
  return {
    tilt,
    sign: tilt > 0 ? -1 : 1,
    well,
    policy: wellPolicy(well, gamma, SHARED.orbits),
    threshold: tilt ? wellHeteroclinic(well) : 0,
    across: restRate(gamma, 2 * ACROSS),
  };
}

/**
 * The optimal path from a start. θ₂ separates: it decays exactly.
 * @type {(planner: Planner, start: number[]) => Plan}
 */
export function planFrom({ tilt, sign, well, policy, across }, [x, y]) {
  const { gamma, cross, stay } = policy;
  const indifference = tilt ? policy.indifference : 0; // equal wells: the middle, by symmetry
  const u = sign * x;
  const deep = indifference === null || u >= indifference;
  const found = branch(deep ? cross : stay, u);
  const path = pathFrom(found, u);
  const aside = (across * y * y) / 2;
  const place = (/** @type {number} */ t) => [sign * (path ? placeAt(found, path, t) : u), y * Math.exp(-across * t)];
  // Without a path the start is the barrier itself, where an overdamped planner rests.
  return { deep, action: aside + (path ? path.action : wellLoss(well, u) / gamma), time: path?.time ?? 0, place };
}

/**
 * The whole way to rest, with steps that grow with time.
 * @type {(planner: Planner, plan: Plan, count?: number) => number[][]}
 */
export function wholePath({ across }, plan, count = 72) {
  const end = Math.max(plan.time, 7 / across);
  return Array.from({ length: count + 1 }, (_, i) => plan.place(end * (i / count) ** 2));
}

/**
 * Where each learner is after 0, 1, … steps.
 * @type {(planner: Planner, start: number[]) => { tracks: Tracks, plan: Plan }}
 */
export function runRace(planner, start) {
  const plan = planFrom(planner, start);
  const tracks = /** @type {Tracks} */ ({
    ...stepRules(planner.tilt, start),
    planner: Array.from({ length: STEPS + 1 }, (_, i) => plan.place(i * STEP_TIME)),
  });
  return { tracks, plan };
}

/**
 * Gradient descent θ ← θ − αg, heavy ball v ← βv + g, θ ← θ − αv, and Adam, all at the same rate α.
 * @type {(tilt: number, start: number[]) => Omit<Tracks, "planner">}
 */
export function stepRules(tilt, start) {
  const [b1, b2, tiny] = ADAM;
  let [v, m, s] = [[0, 0], [0, 0], [0, 0]];
  return {
    descent: stepped(tilt, start, (g) => g),
    heavy: stepped(tilt, start, (g) => (v = v.map((old, i) => MOMENTUM * old + g[i]))),
    adam: stepped(tilt, start, (g, n) => {
      m = m.map((old, i) => b1 * old + (1 - b1) * g[i]);
      s = s.map((old, i) => b2 * old + (1 - b2) * g[i] ** 2);
      return m.map((mean, i) => mean / (1 - b1 ** n) / (Math.sqrt(s[i] / (1 - b2 ** n)) + tiny));
    }),
  };
}

/**
 * Places after each step along −α·direction(gradient, number of the step).
 * @type {(tilt: number, start: number[], direction: (gradient: number[], n: number) => number[]) => number[][]}
 */
function stepped(tilt, start, direction) {
  const [well, places] = [section(tilt), [start]];
  for (let n = 1; n <= STEPS; n++) {
    const last = places[n - 1];
    const way = direction([wellSlope(well, last[0]), 2 * ACROSS * last[1]], n);
    places.push([last[0] - RATE * way[0], last[1] - RATE * way[1]]);
  }
  return places;
}

/**
 * J of a track that is followed in straight pieces and rests where it ends.
 * @type {(gamma: number, tilt: number, track: number[][]) => number}
 */
export function trackAction(gamma, tilt, track) {
  const fades = Math.exp(-gamma * STEP_TIME);
  let [sum, weight, here] = [0, 1, raceLoss(tilt, track[0])];
  for (let i = 1; i < track.length; i++) {
    const next = raceLoss(tilt, track[i]);
    const way = Math.hypot(track[i][0] - track[i - 1][0], track[i][1] - track[i - 1][1]);
    sum += ((weight * (1 - fades)) / gamma) * ((way / STEP_TIME) ** 2 / 2 + (here + next) / 2);
    weight *= fades;
    here = next;
  }
  return sum + (weight * here) / gamma;
}

/**
 * How many starts end in the deep well (the right one of two equally deep ones) by each step rule; γ does not matter.
 * @type {(planner: Planner, starts: number[][]) => Omit<Record<RunnerName, number>, "planner">}
 */
export function deepEnds({ sign, tilt, policy }, starts) {
  const found = { descent: 0, heavy: 0, adam: 0 };
  for (const tracks of starts.map((start) => stepRules(tilt, start))) {
    for (const name of /** @type {const} */ (["descent", "heavy", "adam"])) {
      if (sign * tracks[name][STEPS][0] >= policy.rests.barrier) found[name] += 1;
    }
  }
  return found;
}

/**
 * The linear rule near the well where a plan ends (Eq. 75): its rates, and by which part of them those of both limits,
 * gradient descent H/γ and the ballistic rule √H, are off at most.
 * @type {(planner: Planner, plan: Plan) => { rates: number[], descent: number, ballistic: number }}
 */
export function nearRest({ well, policy }, { deep }) {
  const { gamma, rests } = policy;
  const bends = [wellBend(well, deep ? rests.right : rests.left), 2 * ACROSS];
  const rates = bends.map((h) => restRate(gamma, h));
  const off = (/** @type {(h: number) => number} */ rule) => Math.max(...bends.map((h, i) => Math.abs(rule(h) / rates[i] - 1)));
  return { rates, descent: off((h) => h / gamma), ballistic: off(Math.sqrt) };
}
