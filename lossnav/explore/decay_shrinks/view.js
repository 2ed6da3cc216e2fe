// The view of what decay leaves of each direction.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { curves, decayedRate, restingShare } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("DecayShrinks", SHARED, {
  curves,
  words({ decay, gamma, curvature }) {
    const penalty = decay * (decay + gamma);
    return [`It rests at ${fixed(100 * restingShare(curvature, decay, gamma), 1)} % of the way to the minimum.`, [
      `Mark at ηkh = ${compact(curvature)}; γ = ${fixed(gamma, 2)}.`,
      penalty ? `Penalty j(j + γ) = ${fixed(penalty, 3)}: a direction as curved as that rests half-way.` : "Without decay every direction reaches its minimum.",
      `Rate ${fixed(decayedRate(curvature, decay, gamma), 3)}, and ${fixed(decayedRate(curvature, 0, gamma), 3)} without decay.`,
    ]];
  },
  python: (given, { decay, gamma, curvature }) => [
    `valley = ln.losses.Quadratic([[${curvature}]], minimum=[1.0])`,
    `path = ln.solve(ln.Objective(gamma=${gamma}${given.decay ? `, drift=ln.drifts.weight_decay(${decay})` : ""}), valley, [0.0])`,
    "path.asymptote",
  ],
});
