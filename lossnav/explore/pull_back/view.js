// The view of what certainty about one task leaves for the next.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { inPython } from "../life.js";
import { costs, curves, settled } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("PullBack", SHARED, {
  curves,
  words({ place, ...given }) {
    const { task, pull } = costs(given, place);
    const kept = given.certainty / (given.certainty + given.curvature);
    return [`It settles at θ = ${fixed(settled(given), 3)}.`, [
      `p/(p + H) = ${fixed(kept, 3)} of the way to the second task is left undone.`,
      `At θ = ${fixed(place, 2)} it pays ${fixed(task, 3)} for the second task and ${fixed(pull, 3)} for leaving the first.`,
    ]];
  },
  python: ({ certainty }, { curvature }) => [
    `kept = ln.uncertainty.overdamped_offset(1.0, initial=${inPython(1 / certainty)}, curvature=${curvature}, eta=1.0, k=1.0, gamma=1.0, entropy=0.0)`,
    "1 - 2 * kept  # where the weight settles",
  ],
});
