// The view of what a learner assumed: sliders for what bends the line, and a mark at one rate.

/** @import { Setting } from "./model.js" */

import { discountDial, linearDial, logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { curves, curvaturesAt, missOf } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function assumedWords(given) {
  const h = curvaturesAt(given);
  const told = (/** @type {string} */ who) => (h[who] === null ? "none" : compact(h[who]));
  return [`With γ = ${fixed(given.gamma, 2)} a planner misses the five rates by ${fixed(100 * missOf(given), 1)} %.`, [
    `At r = ${fixed(given.rate, 2)} a planner's mode has h = ${told("planner")}, a forgetful one's ${told("decay")}.`,
    `Gradient descent's has ${told("descent")}, memory's ${told("memory")}, falling impatience's ${told("impatience")}.`,
  ]];
}

export default explorable("AssumptionPlot", ...curvesView(SHARED, {
  dials: (state) => ({
    gamma: discountDial(state, SHARED.traits.gamma.range),
    decay: linearDial(state, "decay", { symbol: "j", name: "decay", marks: SHARED.traits.decay.range }, 290),
    friction: linearDial(state, "friction", { symbol: "ν", name: "friction of memory", marks: SHARED.traits.friction.range }, 120),
    impatience: logDial(state, "impatience", { symbol: "α", name: "falling impatience", marks: SHARED.traits.impatience.range }),
  }),
  curves,
  words: assumedWords,
  python: ({ gamma }) => [
    `h, r = np.array(${JSON.stringify(SHARED.learner.h)}), np.array(${JSON.stringify(SHARED.learner.r)})`,
    `planned = h * ln.rules.deadline_rate(ln.Objective(gamma=${inPython(gamma)}), h, np.inf)`,
    "np.sqrt(np.mean((planned / r - 1) ** 2)), ln.infer(ln.infer.Rates(h, r, 0.02 * r))",
  ],
}));
