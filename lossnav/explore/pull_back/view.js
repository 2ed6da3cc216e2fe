// The view of what certainty about one task leaves for the next.

/** @import { Setting } from "./model.js" */

import { logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { costs, curves, settled } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function pullWords({ place, ...given }) {
  const { task, pull } = costs(given, place);
  const kept = given.certainty / (given.certainty + given.curvature);
  return [`It settles at θ = ${fixed(settled(given), 3)}.`, [
    `p/(p + H) = ${fixed(kept, 3)} of the way to the second task is left undone.`,
    `At θ = ${fixed(place, 2)} it pays ${fixed(task, 3)} for the second task and ${fixed(pull, 3)} for leaving the first.`,
  ]];
}

export default explorable("PullBack", ...curvesView(SHARED, {
  dials: (state) => ({
    certainty: logDial(state, "certainty", { symbol: "p", name: "certainty 1/v of the first", marks: SHARED.traits.certainty.range }),
    curvature: logDial(state, "curvature", { symbol: "H", name: "curvature of the second", marks: SHARED.traits.curvature.range }),
  }),
  curves,
  words: pullWords,
  python: ({ certainty, curvature }) => [
    `kept = ln.uncertainty.overdamped_offset(1.0, initial=${inPython(1 / certainty)}, curvature=${inPython(curvature)}, eta=1.0, k=1.0, gamma=1.0, entropy=0.0)`,
    "1 - 2 * kept  # where the weight settles",
  ],
}));
