// The view of one singular value under two iterations.

/** @import { Setting } from "./model.js" */

import { linearDial, logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed, lastOf } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { curves, EDGE, LOST, quinticStep, walk } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function quinticWords({ sigma, before, n }) {
  const [alone, then] = [walk(sigma), walk(sigma, before)];
  const end = lastOf(then);
  const verdict = Math.abs(end) > LOST ? "The cubic comes too late." : end < 0 ? "The cubic ends at −1." : sigma > EDGE ? "Only the quintic diverges." : "Only the cubic ends at 1.";
  const told = (/** @type {number} */ x) => (Math.abs(x) > LOST ? "more than 1000" : compact(Math.abs(1 - x)));
  return [verdict, [
    `After n = ${n} from σ = ${compact(sigma)}:`,
    `quintic alone: ${told(alone[n])} from 1;`,
    `cubic after ${before}: ${told(then[n])} from 1.`,
    `The quintic takes 1 to ${fixed(quinticStep(1), 3)}, and diverges above ${fixed(EDGE, 4)}.`,
    "The cubic ends at 1 from 0 < σ < √3, diverges above √5.",
  ]];
}

export default explorable("MuonQuintic", ...curvesView(SHARED, {
  dials: (state) => ({
    sigma: logDial(state, "sigma", { symbol: "σ", name: "at the start", marks: SHARED.traits.sigma.range, text: compact }),
    before: linearDial(state, "before", { symbol: "q", name: "quintic steps before the cubic", marks: SHARED.traits.before.range, text: String }, lastOf(SHARED.traits.before.range)),
  }),
  curves,
  words: quinticWords,
  python: ({ sigma, before, n }) => [
    `a, b, c, x = ${SHARED.quintic.map(inPython).join(", ")}, ${inPython(sigma)}`,
    `for k in range(${n}):`,
    `    if abs(x) > ${LOST}:`,
    "        break",
    `    x = x * (a + b * x**2 + c * x**4) if k < ${before} else x * (3 - x**2) / 2`,
    "x",
  ],
}));
