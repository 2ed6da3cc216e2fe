// Laibson's discounts 1, βδ, βδ², … and a cost (1 − m)² + hm² of the step that leaves m: three planners (L19).

import { bisect } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ beta: number, delta: number, curvature: number, n: number }} Setting */
/** @typedef {Record<"committed" | "sophisticated" | "naive", number>} Shares */

/** The share that a planner without β leaves, at every step. @type {(given: Setting) => number} */
export function consistent({ delta, curvature }) {
  const sum = 1 + delta + curvature;
  return 2 / (sum + Math.sqrt(sum ** 2 - 4 * delta)); // the smaller root
}

/** The best share if all later steps leave m. @type {(given: Setting, m: number) => number} */
function reply({ beta, delta, curvature }, m) {
  const later = ((1 - m) ** 2 + curvature * m ** 2) / (1 - delta * m ** 2);
  return 1 / (1 + curvature + beta * delta * later);
}

/** What the steps after the first leave. @type {(given: Setting) => Shares} */
export function sharesOf(given) {
  const committed = consistent(given);
  const naive = reply(given, committed);
  return { committed, sophisticated: bisect((m) => reply(given, m) <= m, committed, naive), naive };
}

/** What the step after n steps leaves; committed, the first step is the naive one's. @type {(given: Setting) => Shares} */
export function nextOf(given) {
  const shares = sharesOf(given);
  return given.n ? shares : { ...shares, committed: shares.naive };
}

/** The distance left after n steps. @type {(given: Setting) => Shares} */
export function leftOf(given) {
  const { committed, sophisticated, naive } = sharesOf(given);
  const { n } = given;
  return { committed: n ? naive * committed ** (n - 1) : 1, sophisticated: sophisticated ** n, naive: naive ** n };
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const steps = Array.from({ length: SHARED.axis.range[1] + 1 }, (_, n) => n);
  const left = steps.map((n) => leftOf({ ...given, n }));
  const line = (/** @type {(n: number) => number} */ height) => steps.map((n) => [n, height(n)]);
  return {
    committed: line((n) => left[n].committed / left[n].naive),
    sophisticated: line((n) => left[n].sophisticated / left[n].naive),
    naive: line((n) => left[n].naive / left[n].naive),
    committedLeft: line((n) => Math.log10(left[n].committed)),
    sophisticatedLeft: line((n) => Math.log10(left[n].sophisticated)),
    naiveLeft: line((n) => Math.log10(left[n].naive)),
  };
}
