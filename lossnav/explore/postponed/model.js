// A learner that plans for a deadline, γ = c = 0, which every new plan finds farther away; time in units of 1/√(ηkh).

import { clamp, lastOf, linesOver } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ moved: number, every: number, now: number }} Setting */
/** @typedef {{ from: number, left: number, error: number }} Plan when it is made, for how long, with which error */

/**
 * Mean square of the error when `left` of a plan's time is left (ṁ = −2Km + K²Σ with K = tanh s).
 * @type {(plan: Plan, left: number) => number}
 */
const errorIn = (plan, left) =>
  Math.cosh(left) ** 2 * (plan.error / Math.cosh(plan.left) ** 2 + (SHARED.noise / 3) * (Math.tanh(plan.left) ** 3 - Math.tanh(left) ** 3));

/** The plans, one after the other, up to the one that is carried out to its end. */
function plansOf(/** @type {Setting} */ { moved, every }) {
  const plans = [{ from: 0, left: SHARED.plan, error: 1 }];
  for (let n = 1; ; n++) {
    const before = lastOf(plans);
    const from = n * every;
    if (before.left <= every || from > SHARED.axis.range[1]) return plans;
    plans.push({ from, left: SHARED.plan - (1 - moved) * from, error: errorIn(before, before.left - every) });
  }
}

/**
 * Rate over that of the plateau, and error, as functions of time.
 * @type {(setting: Setting) => (t: number) => { rate: number, error: number }}
 */
export function courseOf(setting) {
  const plans = plansOf(setting);
  return (t) => {
    const plan = plans[clamp(Math.floor(t / setting.every + 1e-9), 0, plans.length - 1)];
    const left = Math.max(0, plan.left - (t - plan.from));
    return { rate: Math.tanh(left), error: errorIn(plan, left) };
  };
}

/** How many plans follow the first one, until one ends before the next. */
export const lastPlan = (/** @type {Omit<Setting, "now">} */ { moved, every }) => (moved < 1 ? Math.ceil((SHARED.plan - every) / (every * (1 - moved)) - 1e-9) : Infinity);

/** The date on which it ends: in the first plan that is shorter than the time to the next. */
export function endOf(/** @type {Setting} */ { moved, every }) {
  return SHARED.plan + (moved ? moved * every * lastPlan({ moved, every }) : 0);
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const [anew, kept] = [courseOf(given), courseOf({ ...given, moved: 0 })];
  const line = linesOver(SHARED.axis);
  return {
    rate: line((t) => anew(t).rate),
    promised: line((t) => kept(t).rate),
    error: line((t) => Math.log10(anew(t).error)),
    kept: line((t) => Math.log10(kept(t).error)),
    plateau: line(() => Math.log10(SHARED.noise / 2)),
  };
}
