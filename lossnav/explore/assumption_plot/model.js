// Curvature over rate, h/r, of a mode that comes to rest at the rate r, under five assumptions (ηk = 1 for who plans).

import { mapped, samples } from "../kit.js";
import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, decay: number, friction: number, impatience: number, rate: number }} Setting */

const EULER = 0.5772156649015329;

/** eˣE₁(x): its series near 0, its continued fraction from behind elsewhere. */
function scaledIntegral(/** @type {number} */ x) {
  if (x >= 1) return 1 / (x + samples(60, 1, 59).reduce((rest, n) => n / (1 + n / (x + rest)), 0));
  let [sum, term] = [-EULER - Math.log(x), -1];
  for (let n = 1; n < 25; n++) {
    term *= -x / n;
    sum += term / n;
  }
  return Math.exp(x) * sum;
}

/** What each assumes of a mode, and where its rates begin and end. @type {(given: Setting) => Record<string, [(r: number) => number, number, number]>} */
const families = ({ gamma, decay, friction, impatience }) => ({
  descent: [() => SHARED.level, 0, SHARED.axis.range[1]],
  memory: [(r) => (friction - r) / SHARED.gain, 0, Math.min(friction / 2, SHARED.axis.range[1])],
  impatience: [(r) => impatience / scaledIntegral((2 * r) / impatience) - r, 0, SHARED.axis.range[1]],
  decay: [(r) => ((r - decay) * (r + decay + gamma)) / r, decay, SHARED.axis.range[1]],
  planner: [(r) => r + gamma, 0, SHARED.axis.range[1]],
});

/** h of the mode that is marked, for each who can have it. @type {(given: Setting) => Record<string, number | null>} */
export const curvaturesAt = (given) => mapped(families(given), ([pull, from, to]) => (given.rate >= from && given.rate <= to ? given.rate * pull(given.rate) : null));

/** Root mean square of what a planner's rates miss the learner's by. */
export function missOf(/** @type {Setting} */ { gamma }) {
  const { h, r } = SHARED.learner;
  return Math.sqrt(h.reduce((sum, one, i) => sum + (restRate(gamma, one) / r[i] - 1) ** 2, 0) / h.length);
}

/** Finer towards slow modes. @type {(given: Setting) => Record<string, number[][]>} */
export const curves = (given) => ({
  ...mapped(families(given), ([pull, from, to]) => samples(Math.sqrt(from), Math.sqrt(to), 240).map((root) => [root * root, pull(root * root)])),
  learner: SHARED.learner.r.map((r, i) => [r, SHARED.learner.h[i] / r]),
});
