// The view of five rules under other names of the parameters.

/** @import { Setting } from "./model.js" */

import { linearDial, logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { curves, turned } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function nameWords(given) {
  const ways = turned(given);
  const count = Object.values(ways).filter((way) => way > 0.05).length;
  const who = ["No rule leaves", "One rule leaves", "Two rules leave"][count];
  return [`${who} the start another way.`, [
    `ψ₂ = θ₂/u and ψ₁ = θ₁ − mψ₂, with u = ${compact(given.unit)} and m = ${fixed(given.mix, 2)}.`,
    `Turned at the start: gradient descent by ${fixed(ways.descent, 1)}°, ballistic without metric by ${fixed(ways.half, 1)}°.`,
    `Natural gradient ${fixed(ways.natural, 1)}°, ballistic with metric ${fixed(ways.ballistic, 1)}°, Newton ${fixed(ways.newton, 1)}°.`,
  ]];
}

export default explorable("Renamed", ...curvesView(SHARED, {
  dials: (state) => ({
    unit: logDial(state, "unit", { symbol: "u", name: "unit of θ₂", marks: SHARED.traits.unit.range }),
    mix: linearDial(state, "mix", { symbol: "m", name: "ψ₂ mixed into θ₁", marks: SHARED.traits.mix.range, label: (v) => fixed(v, 0) }, 80),
  }),
  curves,
  words: nameWords,
  python: ({ unit, mix, first }) => [
    `M, start = np.array([[1, ${inPython(mix)}], [0, ${inPython(unit)}]]), np.array([${inPython(first)}, ${inPython(SHARED.second)}])`,
    `H, G = np.array(${JSON.stringify(SHARED.hessian)}), np.array(${JSON.stringify(SHARED.metric)})`,
    "plain, priced = ln.Objective(gamma=1.0), ln.Objective(gamma=1.0, metric=M.T @ G @ M)",
    "[M @ ln.rules.gradient_descent(objective, M.T @ H @ start, M.T @ H @ M, 1.0) for objective in (plain, priced)]",
  ],
}));
