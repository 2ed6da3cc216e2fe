// The view of how a weight grows certain, and slow.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { curves, leftAt, precisionAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("Certainty", SHARED, {
  curves,
  words({ curvature, entropy, now }) {
    const rest = entropy ? `It comes to rest at v* = λₛ/H = ${compact(entropy / curvature)}.` : "Nothing is forgotten: v goes on falling like 1/(Ht).";
    return [`At t = ${fixed(now, 2)} the variance is ${fixed(1 / precisionAt(now, curvature, entropy), 3)}.`, [
      rest,
      `${fixed(leftAt(now, curvature, entropy), 3)} of the way to the minimum is left, and ${fixed(leftAt(now, curvature, 0), 3)} without entropy.`,
    ]];
  },
  python: (_, { curvature, entropy, now }) => [
    `known = {"initial": 1.0, "curvature": ${curvature}, "eta": 1.0, "k": 1.0, "gamma": 1.0, "entropy": ${entropy}}`,
    `variance = ln.uncertainty.overdamped_variance(${now}, **known)`,
    `left = ln.uncertainty.overdamped_offset(${now}, **known)`,
  ],
});
