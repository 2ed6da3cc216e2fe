// The view of what a path seems to be optimal for.

/** @import { Setting } from "./model.js" */

import { linearDial, logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { alignmentOf, curves, leastRegret, likeliest, stillRegret } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function discountWords(given) {
  const other = { ...given, power: 1 };
  const [own, descent] = [leastRegret(given), leastRegret(other)];
  const word = own < descent * 0.999 ? "less than" : own > descent * 1.001 ? "more than" : "as much as";
  return [`At γ = ${compact(given.gamma)} your rule regrets ${word} gradient descent.`, [
    `Yours ${fixed(own, 4)}, gradient descent ${fixed(descent, 4)}, standing still ${fixed(stillRegret(given), 4)}.`,
    `Alignment: yours ${fixed(alignmentOf(given), 3)}, gradient descent ${fixed(alignmentOf(other), 3)}.`,
    `Yours is aligned best with γ = ${compact(likeliest(given))}.`,
  ]];
}

export default explorable("WhichDiscount", ...curvesView(SHARED, {
  dials: (state) => ({
    power: linearDial(state, "power", { symbol: "p", name: "your rule, rates hᵖ", marks: SHARED.traits.power.range }, 100),
    kappa: logDial(state, "kappa", { symbol: "κ", name: "condition number", marks: SHARED.traits.kappa.range, digits: 1 }),
  }),
  curves,
  words: discountWords,
  python: ({ power, kappa, gamma }) => [
    `path = np.exp(-np.outer(0.001 * np.arange(20001), np.array([1.0, ${inPython(kappa)}]) ** ${inPython(power)}))`,
    `bowl = ln.losses.Quadratic(np.diag([1.0, ${inPython(kappa)}]), minimum=[0.0, 0.0])`,
    `ln.regret(path, ln.Objective(gamma=${inPython(gamma)}), bowl).relative`,
  ],
}));
