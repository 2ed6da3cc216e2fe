// The view of how far one direction gets in n steps.

/** @import { State } from "../life.js" */
/** @import { Setting } from "./model.js" */

import { logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { momentumDial } from "../knobs.js";
import { explorable, inPython } from "../life.js";
import { ceilingOf, curves, distanceAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/**
 * @param {HTMLElement} root
 * @param {State<Setting>} state
 */
function buildModeMemory(root, state) {
  const { marks } = SHARED;
  return curvesView(root, state, SHARED, {
    dials: {
      bend: logDial(state, "bend", { symbol: "ηh", name: "step times curvature", marks: marks.bend, text: compact }),
      beta: momentumDial(state, marks.beta),
    },
    curves,
    words: modeWords,
    python: ({ bend, beta, n }) => [`ln.sgd.displacement([${inPython(bend)}], [1, ${n}], eta=1.0, beta=${inPython(beta)}, batch=1, gradient_variance=[1.0], form="discrete")`],
  });
}

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

export default explorable("ModeMemory", buildModeMemory, ["bend", "beta", "n"]);
