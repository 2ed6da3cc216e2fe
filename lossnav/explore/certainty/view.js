// The view of how a weight grows certain, and slow.

/** @import { Setting } from "./model.js" */

import { logDial, rootDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { curves, leftAt, precisionAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function certaintyWords({ curvature, entropy, now }) {
  const rest = entropy ? `It comes to rest at v* = λₛ/H = ${fixed(entropy / curvature, 3)}.` : "Nothing is forgotten: v goes on falling like 1/(Ht).";
  return [`At t = ${fixed(now, 2)} the variance is ${fixed(1 / precisionAt(now, curvature, entropy), 3)}.`, [
    rest,
    `${fixed(leftAt(now, curvature, entropy), 3)} of the way to the minimum is left, and ${fixed(leftAt(now, curvature, 0), 3)} without entropy.`,
  ]];
}

export default explorable("Certainty", ...curvesView(SHARED, {
  dials: (state) => ({
    curvature: logDial(state, "curvature", { symbol: "H", name: "curvature of the task", marks: SHARED.traits.curvature.range }),
    entropy: rootDial(state, "entropy", { symbol: "λₛ", name: "entropy", marks: SHARED.traits.entropy.range }),
  }),
  curves,
  words: certaintyWords,
  python: ({ curvature, entropy, now }) => [
    `known = {"initial": 1.0, "curvature": ${inPython(curvature)}, "eta": 1.0, "k": 1.0, "gamma": 1.0, "entropy": ${inPython(entropy)}}`,
    `variance = ln.uncertainty.overdamped_variance(${inPython(now)}, **known)`,
    `left = ln.uncertainty.overdamped_offset(${inPython(now)}, **known)`,
  ],
}));
