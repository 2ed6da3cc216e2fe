// A kernel κ ∝ u^−q and the schedule that it asks for (L8), beside the deadline's tanh(ωs), with equal sums of rates.

import { linesOver } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ power: number, stiffness: number, share: number }} Setting */

/** ln cosh x, also for small x. */
const logCosh = (/** @type {number} */ x) => Math.log1p(2 * Math.sinh(x / 2) ** 2);

/** The power of 1 − z that is best. */
export const exponentFor = (/** @type {number} */ q) => q / (2 - q);

/** The best rate over its mean. */
export const bestRate = (/** @type {number} */ p, /** @type {number} */ share) => (1 + p) * (1 - share) ** p;

/** The deadline's rate over its mean, with s = 1 − z to go. */
export const deadlineRate = (/** @type {{ stiffness: number }} */ { stiffness }, /** @type {number} */ s) => (stiffness * Math.tanh(stiffness * s)) / logCosh(stiffness);

/**
 * What a step of the deadline's schedule with s = 1 − z to go leaves at the end, a²κ(u), over one of the best.
 * @type {(setting: Setting, s: number) => number}
 */
export const noiseLeft = (given, s) =>
  (deadlineRate(given, s) * (1 - given.power / 2)) ** 2 * (logCosh(given.stiffness * s) / logCosh(given.stiffness)) ** -given.power;

/** The noise of the deadline's whole schedule over the least, by the midpoint rule, finer where the end is near. */
export function noiseInAll(/** @type {Setting} */ given) {
  const parts = 400;
  let sum = 0;
  for (let i = 0; i < parts; i++) {
    const v = (i + 0.5) / parts;
    sum += (5 * v ** 4 * noiseLeft(given, v ** 5)) / parts;
  }
  return sum;
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const line = linesOver(SHARED.axis);
  return {
    best: line((share) => bestRate(exponentFor(given.power), share)),
    deadline: line((share) => deadlineRate(given, 1 - share)),
    level: line(() => 0),
    late: line((share) => Math.log10(noiseLeft(given, 1 - share))),
  };
}
