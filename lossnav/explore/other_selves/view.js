// The view of three planners whose discount changes as time passes.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { curves, leftOf, nextOf } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("OtherSelves", SHARED, {
  curves,
  words(given) {
    const [share, left] = [nextOf(given), leftOf(given)];
    const told = (/** @type {keyof typeof share} */ who) => `${who} ${fixed(share[who], 4)}, ${fixed(left[who], 4)}.`;
    return [`Sophisticated, a step leaves ${fixed(100 * (1 - share.sophisticated / share.naive), 2)} % less than naive.`, [
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
