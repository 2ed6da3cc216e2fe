// Methods on a quadratic loss with curvatures from 1/κ to 1, each tuned to the range that it believes in: what a step
// leaves of a mode, and the loss over the steps.

import { mapped, samples } from "../kit.js";
import { kept } from "../modes.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ kappa: number, guess: number, curvature: number }} Setting */
/** @typedef {keyof typeof SHARED.lines} Rule */
/** @typedef {(h: number) => [number, number]} Recursion θₙ₊₁ = a θₙ − b θₙ₋₁ of a mode */

/** The curvatures of the loss, from 1/κ to 1. */
export const spectrum = (/** @type {number} */ kappa) => samples(0, 1, SHARED.modes - 1).map((u) => kappa ** (u - 1));

/**
 * Each rule's recursion when it believes that curvatures are `guess` times what they are.
 * @type {(setting: Setting) => Record<Rule, Recursion>}
 */
export function recursions({ kappa, guess }) {
  const root = Math.sqrt(kappa);
  const share = (root - 1) / (root + 1);
  const heavy = (4 * kappa) / ((1 + root) ** 2 * guess);
  return {
    descent: (h) => [1 - (2 * kappa * h) / ((kappa + 1) * guess), 0],
    nesterov: (h) => [(1 + share) * (1 - h / guess), share * (1 - h / guess)],
    heavy: (h) => [1 + share ** 2 - heavy * h, share ** 2],
    ballistic: (h) => [1 - (2 * root * Math.sqrt(h)) / ((root + 1) * guess), 0],
    newton: () => [1 - 1 / guess, 0],
  };
}

/**
 * The loss over the steps, from 1 with equal parts in all modes, and the number of steps to `reach` (∞: never).
 * @type {(recursion: Recursion, kappa: number) => { losses: number[], needed: number }}
 */
export function descent(recursion, kappa) {
  const modes = spectrum(kappa).map(recursion);
  const worst = Math.max(...modes.map(kept));
  let [now, before] = [modes.map(() => 1), modes.map(() => 1)];
  const losses = [1];
  let needed = Infinity;
  const last = worst < 1 ? SHARED.most : SHARED.steps;
  for (let n = 1; n <= last && (n <= SHARED.steps || needed === Infinity); n++) {
    const next = modes.map(([a, b], i) => a * now[i] - b * before[i]);
    [before, now] = [now, next];
    const loss = now.reduce((sum, x) => sum + x * x, 0) / modes.length;
    if (n <= SHARED.steps) losses.push(loss);
    if (worst < 1 && needed === Infinity && loss < SHARED.reach) needed = n;
  }
  return { losses, needed };
}

/**
 * All that the picture shows.
 * @param {Setting} setting
 */
export function race(setting) {
  const rules = recursions(setting);
  const runs = mapped(rules, (rule) => descent(rule, setting.kappa));
  const here = mapped(rules, (rule) => kept(rule(setting.curvature)));
  return { rules, runs, here };
}
