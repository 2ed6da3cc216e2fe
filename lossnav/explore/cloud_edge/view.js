// The view of what a finite step does to the cloud of SGD.

/** @import { Setting } from "./model.js" */

import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { momentumDial } from "../knobs.js";
import { explorable, inPython } from "../life.js";
import { curves, edgeAt, spreadAt, tiltAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function edgeWords({ beta, stretch }) {
  const here = `ηh = ${fixed(stretch, 2)}, β = ${fixed(beta, 3)}; the end is at 2(1 + β) = ${fixed(edgeAt(beta), 3)}.`;
  if (stretch >= edgeAt(beta)) return ["The steps diverge. The equation does not know it.", [here]];
  return [`Its variance is ${fixed(spreadAt(stretch, beta), 3)} times the equation's.`, [
    here,
    `θ and v of one step are correlated by ${fixed(tiltAt(stretch, beta), 3)}, for v is half a step late.`,
  ]];
}

export default explorable("CloudEdge", ...curvesView(SHARED, {
  dials: (state) => ({
    beta: momentumDial(state, SHARED.traits.beta.range),
  }),
  curves,
  words: edgeWords,
  python: ({ beta, stretch }) => (stretch < edgeAt(beta) ? [
    `known = {"eta": 1.0, "beta": ${inPython(beta)}, "batch": 1, "noise": 1.0}`,
    `steps = ln.sgd.stationary(${inPython(stretch)}, form="discrete", **known)`,
    `equation = ln.sgd.stationary(${inPython(stretch)}, form="sde", **known)`,
  ] : []),
}));
