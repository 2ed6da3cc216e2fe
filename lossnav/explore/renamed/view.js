// The view of five rules under other names of the parameters.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { inPython } from "../life.js";
import { curves, turned } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("Renamed", SHARED, {
  curves,
  words(given) {
    const ways = turned(given);
    const count = Object.values(ways).filter((way) => way > 0.05).length;
    const who = ["No rule sets", "One rule sets", "Two rules set"][count];
    return [`${who} out in another direction than under the old names.`, [
      `ψ₂ = θ₂/u and ψ₁ = θ₁ − mψ₂, with u = ${compact(given.unit)} and m = ${fixed(given.mix, 2)}.`,
      `Turned at the start: gradient descent by ${fixed(ways.descent, 1)}°, ballistic without metric by ${fixed(ways.half, 1)}°.`,
      `Natural gradient ${fixed(ways.natural, 1)}°, ballistic with metric ${fixed(ways.ballistic, 1)}°, Newton ${fixed(ways.newton, 1)}°.`,
    ]];
  },
  python: (_, { unit, mix, first }) => [
    `M, start = np.array([[1, ${mix}], [0, ${unit}]]), np.array([${first}, ${inPython(SHARED.second)}])`,
    `H, G = np.array(${JSON.stringify(SHARED.hessian)}), np.array(${JSON.stringify(SHARED.metric)})`,
    "plain, priced = ln.Objective(gamma=1.0), ln.Objective(gamma=1.0, metric=M.T @ G @ M)",
    "[M @ ln.rules.gradient_descent(objective, M.T @ H @ start, M.T @ H @ M, 1.0) for objective in (plain, priced)]",
  ],
});
