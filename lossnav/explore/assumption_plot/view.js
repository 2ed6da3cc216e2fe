// The view of what a learner assumed: sliders for what bends the line, and a mark at one rate.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { curves, curvaturesAt, missOf } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("AssumptionPlot", SHARED, {
  curves,
  words(given) {
    const h = curvaturesAt(given);
    const told = (/** @type {string} */ who) => (h[who] === null ? "none" : compact(h[who]));
    return [`With γ = ${fixed(given.gamma, 2)} a planner misses the five rates by ${fixed(100 * missOf(given), 1)} %.`, [
      `At r = ${fixed(given.rate, 2)} a planner's mode has h = ${told("planner")}, a forgetful one's ${told("decay")}.`,
      `Gradient descent's has ${told("descent")}, memory's ${told("memory")}, falling impatience's ${told("impatience")}.`,
    ]];
  },
  python: (_, { gamma }) => [
    `h, r = np.array(${JSON.stringify(SHARED.learner.h)}), np.array(${JSON.stringify(SHARED.learner.r)})`,
    `planned = h * ln.rules.deadline_rate(ln.Objective(gamma=${gamma}), h, np.inf)`,
    "np.sqrt(np.mean((planned / r - 1) ** 2)), ln.infer(ln.infer.Rates(h, r, 0.02 * r))",
  ],
});
