// The belief about a mean that wanders: its leaky average and its two-sided smoother, and the stream they watch. Δt = 1.

import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {ReturnType<typeof beliefLaw>} BeliefLaw */

/**
 * B, A, ρ, γ+ρ, β, κ and the share of the smoother's weight that lies on the past.
 * @param {{ gamma: number, decay: number, diffusion: number, noise: number }} setting
 */
export function beliefLaw({ gamma, decay, diffusion, noise }) {
  const evidence = (diffusion / noise) ** 2;
  const stiffness = decay * (decay + gamma) + evidence;
  const rate = restRate(gamma, stiffness);
  const fast = gamma + rate;
  return { evidence, stiffness, rate, fast, beta: Math.exp(-rate), gain: evidence / stiffness, causal: fast / (fast + rate) };
}

/**
 * The leaky average's weight on the datum `lag` steps ago.
 * @type {(law: BeliefLaw, lag: number) => number}
 */
export const averageWeight = (law, lag) => (lag < 0 ? 0 : -law.gain * Math.expm1(-law.rate) * Math.exp(-law.rate * lag));

/**
 * The smoother's weight on the datum `lag` steps ago (< 0: still to come); a datum holds for one step.
 * @type {(law: BeliefLaw, lag: number) => number}
 */
export function smootherWeight(law, lag) {
  if (lag >= 0) return law.causal * averageWeight(law, lag);
  return -law.gain * (1 - law.causal) * Math.expm1(-law.fast) * Math.exp(law.fast * (lag + 1));
}

/**
 * The leaky average x ← βx + κ(1−β)g after each datum, from 0.
 * @type {(law: BeliefLaw, data: number[]) => number[]}
 */
export function averages(law, data) {
  let held = 0;
  return data.map((g) => (held = law.beta * held - law.gain * Math.expm1(-law.rate) * g));
}

/**
 * The bounded solution of ẍ − γẋ = Ax − Bg after each datum: an average of the past mixed with one of the future.
 * @type {(law: BeliefLaw, data: number[]) => number[]}
 */
export function smoothed(law, data) {
  const past = averages(law, data);
  const found = new Array(data.length);
  const keep = Math.exp(-law.fast);
  let ahead = 0;
  for (let n = data.length - 1; n >= 0; n--) {
    found[n] = law.causal * past[n] + (1 - law.causal) * law.gain * ahead;
    ahead = keep * ahead - Math.expm1(-law.fast) * data[n];
  }
  return found;
}

/**
 * How many steps after `now` the smoother looks on: until what it would add cannot be seen.
 * @param {BeliefLaw} law
 */
export const lookAhead = (law) => Math.min(SHARED.ahead.steps, Math.ceil(SHARED.ahead.memories / law.fast));

const STREAM = SHARED.stream; // what really makes the gradients

/**
 * A number in (0, 1) that belongs to a step and a salt: the same in Python, whatever has been drawn before.
 * @param {number} step
 * @param {number} salt
 */
function uniform(step, salt) {
  let x = Math.imul(step + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca77);
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (((x ^ (x >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}

/** @type {(step: number, salt: number) => number} */
const normal = (step, salt) => Math.sqrt(-2 * Math.log(uniform(step, salt))) * Math.cos(2 * Math.PI * uniform(step, salt + 1));

/**
 * The stream of a seed with extra jumps [[step, size], …]; `upTo(n)` gives the hidden means and gradients 1 … n.
 * @param {number} seed
 * @param {[number, number][]} jumps
 */
export function gradientStream(seed, jumps) {
  /** @type {number[]} */
  const means = [];
  /** @type {number[]} */
  const gradients = [];
  /** @type {Map<number, number>} */
  const extra = new Map();
  for (const [step, size] of jumps) extra.set(step, (extra.get(step) ?? 0) + size);
  const upTo = (/** @type {number} */ count) => {
    for (let step = means.length + 1; step <= count; step++) {
      const salt = 8 * seed;
      const chance = uniform(step, salt + 4);
      const leap = chance < STREAM.often ? (chance < STREAM.often / 2 ? 1 : -1) * (1 + uniform(step, salt + 5)) : 0;
      const drawn = (1 - STREAM.decay) * (means[step - 2] ?? 0) + STREAM.diffusion * normal(step, salt);
      means.push(drawn + leap + (extra.get(step) ?? 0));
      gradients.push(means[step - 1] + STREAM.noise * normal(step, salt + 2));
    }
    return { means: means.slice(0, count), gradients: gradients.slice(0, count) };
  };
  return { upTo };
}
