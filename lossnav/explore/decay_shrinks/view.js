// The view of what decay leaves of each direction.

/** @import { Setting } from "./model.js" */

import { discountDial, rootDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { curves, decayedRate, restingShare } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function decayWords({ decay, gamma, curvature }) {
  const penalty = decay * (decay + gamma);
  return [`It rests at ${fixed(restingShare(curvature, decay, gamma), 3)} of the minimum.`, [
    `Mark at ηkh = ${compact(curvature)}; γ = ${fixed(gamma, 2)}.`,
    penalty ? `Penalty j(j + γ) = ${fixed(penalty, 3)}: a direction as curved as that rests half-way.` : "Without decay every direction reaches its minimum.",
    `Rate ${fixed(decayedRate(curvature, decay, gamma), 3)}, and ${fixed(decayedRate(curvature, 0, gamma), 3)} without decay.`,
  ]];
}

export default explorable("DecayShrinks", ...curvesView(SHARED, {
  dials: (state) => ({
    decay: rootDial(state, "decay", { symbol: "j", name: "decay rate", marks: SHARED.traits.decay.range }),
    gamma: discountDial(state, SHARED.traits.gamma.range),
  }),
  curves,
  words: decayWords,
  python: ({ decay, gamma, curvature }) => [
    `valley = ln.losses.Quadratic([[${inPython(curvature)}]], minimum=[1.0])`,
    `path = ln.solve(ln.Objective(gamma=${inPython(gamma)}${decay ? `, drift=ln.drifts.weight_decay(${inPython(decay)})` : ""}), valley, [0.0])`,
    "path.asymptote",
  ],
}));
