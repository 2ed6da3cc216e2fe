// The view of three planners whose discount changes as time passes.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { curves, leftOf, nextOf, sharesOf } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("OtherSelves", SHARED, {
  curves,
  words(given) {
    const [share, left, always] = [nextOf(given), leftOf(given), sharesOf(given)];
    const less = (/** @type {keyof typeof share} */ who, /** @type {number} */ digits) => fixed(100 * (1 - always[who] / always.naive), digits);
    const told = (/** @type {keyof typeof share} */ who) => `${who} ${fixed(share[who], 4)}, ${fixed(left[who], 4)}.`;
    return [`Knowing oneself leaves ${less("sophisticated", 2)} % less a step, keeping one's word ${less("committed", 1)} %.`, [
      `What the next step leaves, and what is left at n = ${given.n}:`,
      told("committed"),
      told("sophisticated"),
      told("naive"),
    ]];
  },
  python: (_, { beta, delta, curvature, n }) => [
    `[ln.rules.quasi_hyperbolic(${curvature}, ${delta}, ${beta}, planner=who)`,
    ` for who in ("sophisticated", "naive")]  # what a step leaves; after ${n} steps, to that power`,
  ],
});
