// The view of what a finite step does to the cloud of SGD.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { curves, edgeAt, spreadAt, tiltAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("CloudEdge", SHARED, {
  curves,
  words({ beta, stretch }) {
    const here = `ηh = ${fixed(stretch, 2)}, β = ${fixed(beta, 3)}; the end is at 2(1 + β) = ${fixed(edgeAt(beta), 3)}.`;
    if (stretch >= edgeAt(beta)) return ["The steps diverge. The equation does not know it.", [here]];
    return [`Its variance is ${fixed(spreadAt(stretch, beta), 3)} times the equation's.`, [
      here,
      `θ and v of one step are correlated by ${fixed(tiltAt(stretch, beta), 3)}, for v is half a step late.`,
    ]];
  },
  python: (given, { beta, stretch }) => (given.stretch < edgeAt(given.beta) ? [
    `known = {"eta": 1.0, "beta": ${beta}, "batch": 1, "noise": 1.0}`,
    `steps = ln.sgd.stationary(${stretch}, form="discrete", **known)`,
    `equation = ln.sgd.stationary(${stretch}, form="sde", **known)`,
  ] : []),
});
