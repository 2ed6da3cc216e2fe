// The view of three planners whose discount changes as time passes.

/** @import { Setting } from "./model.js" */

import { linearDial, logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { curves, leftOf, nextOf } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function selvesWords(given) {
  const [share, left] = [nextOf(given), leftOf(given)];
  const told = (/** @type {keyof typeof share} */ who) => `${who} ${fixed(share[who], 4)}, ${fixed(left[who], 4)}.`;
  return [`Sophisticated, a step leaves ${fixed(100 * (1 - share.sophisticated / share.naive), 2)} % less than naive.`, [
    `What the next step leaves, and what is left at n = ${given.n}:`,
    told("committed"),
    told("sophisticated"),
    told("naive"),
  ]];
}

export default explorable("OtherSelves", ...curvesView(SHARED, {
  dials: (state) => ({
    beta: linearDial(state, "beta", { symbol: "β", name: "weight of all that is later", marks: SHARED.traits.beta.range }, 95),
    delta: linearDial(state, "delta", { symbol: "δ", name: "discount of a step", marks: SHARED.traits.delta.range }, 38),
    curvature: logDial(state, "curvature", { symbol: "h/e", name: "curvature", marks: SHARED.traits.curvature.range, digits: 3 }),
  }),
  curves,
  words: selvesWords,
  python: ({ beta, delta, curvature, n }) => [
    `[ln.rules.quasi_hyperbolic(${inPython(curvature)}, ${inPython(delta)}, ${inPython(beta)}, planner=who)`,
    ` for who in ("sophisticated", "naive")]  # what a step leaves; after ${n} steps, to that power`,
  ],
}));
