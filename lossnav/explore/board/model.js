// One coordinate of a rule that a corner of the switches makes: its gains, its averages, its step (M2–M4), η = k = c = 1.

import { coin } from "../coins.js";
import { meanDecay } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ horizon: string, metric: string, drift: string, belief: string, curvature: string, time: string }} Corner */
/** @typedef {{ gamma: number, decay: number, fading: number, beta: number }} Assumed */
/** @typedef {{ m: number, v: number }} Averages */
/** @typedef {{ mean: number, curvature: number, metric: number }} Believed */
/** @typedef {{ start: number[], dt: number, noise: number }} Run */

const { numbers: NUMBERS } = SHARED.table;
export const BOARD_BOWL = SHARED.curvatures;

/** @type {(at: Corner) => Assumed} */
const assumedAt = (at) => ({
  gamma: at.horizon === "discounted" ? NUMBERS.gamma : 0,
  decay: at.drift === "decay" ? NUMBERS.j : 0,
  fading: at.belief === "fading" ? NUMBERS.alpha : 0,
  beta: at.belief === "exact" ? 0 : NUMBERS.beta,
});

/**
 * Where θ moves in a time Δt, with `exact` along the flow: NaN where there is no plan.
 * @type {(assumed: Assumed, believed: Believed, theta: number, dt: number, exact: boolean) => number}
 */
function moveOf({ gamma, decay, fading }, { mean, curvature, metric }, theta, dt, exact) {
  if (curvature === 0 && mean !== 0 && gamma + fading <= 0) return NaN;
  const pull = curvature / metric;
  const half = gamma / 2 + decay;
  const fast = (pull === 0 ? half : Math.sqrt(half * half + pull)) + gamma / 2;
  const drift = decay === 0 ? 0 : (curvature === 0 ? 1 : (gamma + decay) / fast) * decay * theta;
  const held = mean === 0 ? 0 : mean / (metric * (fast + fading));
  if (!exact) return -dt * (drift + held);
  const slow = curvature === 0 ? decay : (pull + decay * (decay + gamma)) / fast;
  const mixed = Math.exp(-Math.min(slow, fading) * dt) * meanDecay(Math.abs(slow - fading) * dt);
  return -dt * (meanDecay(slow * dt) * drift + mixed * held);
}

/**
 * What is believed of a coordinate after its n-th gradient g; `averages` move on.
 * @type {(at: Corner, assumed: Assumed, averages: Averages, g: number, n: number) => Believed}
 */
function look(at, { beta }, averages, g, n) {
  const { memory } = NUMBERS;
  averages.m = beta * averages.m + (1 - beta) * g;
  averages.v = memory * averages.v + (1 - memory) * g * g;
  const mean = averages.m / (1 - beta ** n);
  const average = averages.v / (1 - memory ** n);
  const curvature = { none: 0, average, instant: g * g, signal: mean * mean }[at.curvature] ?? 0;
  return { mean, curvature, metric: at.metric === "rms" ? Math.max(Math.sqrt(average), 2.2250738585072014e-308) : 1 };
}

/** @type {(dt: number) => number} */
export const stepsUntilEnd = (dt) => Math.floor(SHARED.until / dt + 1e-9);

/**
 * Where the learner is after 0, 1, … steps on the bowl, until the end or until it is lost; the start alone without a plan.
 * @type {(at: Corner, run: Run) => number[][]}
 */
export function runBoard(at, { start, dt, noise }) {
  const [assumed, exact] = [assumedAt(at), at.time === "exact"];
  const averages = start.map(() => ({ m: 0, v: 0 }));
  const path = [start];
  for (let n = 1, last = stepsUntilEnd(dt); n <= last; n++) {
    const from = path[n - 1];
    const next = from.map((x, i) => {
      const g = BOARD_BOWL[i] * x + (noise ? noise * coin(2 * n - 1 + i) : 0);
      return x + moveOf(assumed, look(at, assumed, averages[i], g, n), x, dt, exact);
    });
    if (next.some(Number.isNaN)) break;
    path.push(next);
    if (next.some((x) => Math.abs(x) > SHARED.gone)) break;
  }
  return path;
}

/**
 * The first move from a place, without noise, divided by Δt.
 * @type {(at: Corner, place: number[], dt: number) => number[]}
 */
export function firstVelocity(at, place, dt) {
  const assumed = assumedAt(at);
  return place.map((x, i) => moveOf(assumed, look(at, assumed, { m: 0, v: 0 }, BOARD_BOWL[i] * x, 1), x, dt, at.time === "exact") / dt);
}
