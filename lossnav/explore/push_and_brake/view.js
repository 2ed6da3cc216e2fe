// The view of the optimal path beside the heavy ball, and of the limit that both share.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { curves, heights, planRate, slowRate } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("PushAndBrake", SHARED, {
  curves,
  words({ gamma, now }) {
    const [at, swings] = [heights(gamma, now), gamma < 2];
    const ball = fixed(swings ? gamma / 2 : slowRate(gamma), 3);
    return [swings ? "The ball overshoots; the optimal path does not." : "Neither overshoots.", [
      `γ = ${fixed(gamma, 2)}. Rates: path ${fixed(planRate(gamma), 3)}, gradient flow ${fixed(1 / gamma, 3)}, ball ${ball}.`,
      `At t = ${fixed(now, 2)} the path is at ${fixed(at.path, 3)} with p = ${fixed(at.planned, 3)}.`,
      `The ball is at ${fixed(at.ball, 3)} with p = ${fixed(at.gathered, 3)}.`,
    ]];
  },
  python: (_, { gamma, now }) => [
    `path = ln.solve(ln.Objective(gamma=${gamma}), ln.losses.Quadratic([[1.0]], minimum=[0.0]), [-1.0])`,
    `path(${now}), path.velocity(${now})`,
  ],
});
