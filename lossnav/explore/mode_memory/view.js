// The view of how far one direction gets in n steps.

/** @import { Setting } from "./model.js" */

import { logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { momentumDial } from "../knobs.js";
import { explorable, inPython } from "../life.js";
import { ceilingOf, curves, distanceAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function modeWords(given) {
  const { far, c } = distanceAt(given);
  const { bend, beta, n } = given;
  return [`After ${n} steps: ${fixed(far, 2)} times the square of one.`, [
    `Exponent there: c = ${fixed(c, 2)}.`,
    `In the end: (1 + β)/(ηh) = ${fixed(ceilingOf(bend, beta), 2)}.`,
    `A push lasts 1/(1 − β) = ${fixed(1 / (1 - beta), 1)} steps.`,
  ]];
}

export default explorable("ModeMemory", ...curvesView(SHARED, {
  dials: (state) => ({
    bend: logDial(state, "bend", { symbol: "ηh", name: "step times curvature", marks: SHARED.traits.bend.range, text: compact }),
    beta: momentumDial(state, SHARED.traits.beta.range),
  }),
  curves,
  words: modeWords,
  python: ({ bend, beta, n }) => [`one, far = ln.sgd.displacement([${inPython(bend)}], [1, ${n}], eta=1.0, beta=${inPython(beta)}, batch=1, gradient_variance=[1.0], form="discrete")`, "far / one"],
}));
