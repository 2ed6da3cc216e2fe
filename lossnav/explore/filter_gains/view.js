// The view of how much a belief that knows nothing learns from its n-th datum.

/** @import { Setting } from "./model.js" */

import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { momentumDial } from "../knobs.js";
import { explorable, inPython } from "../life.js";
import { adamGain, curves, kalmanGain } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function gainWords({ beta, n }) {
  const [exact, adam] = [kalmanGain(beta, n), adamGain(beta, n)];
  return [`Datum ${n} counts ${fixed(100 * adam, 2)} % for Adam, ${fixed(100 * exact, 2)} % for the exact filter.`, [
    `Adam is ${fixed(adam / exact, 3)} times as ready to learn.`,
    `Both end at 1 − β = ${fixed(1 - beta, 4)}, after some 1/(1 − β) = ${fixed(1 / (1 - beta), 1)} data.`,
  ]];
}

export default explorable("FilterGains", ...curvesView(SHARED, {
  dials: (state) => ({
    beta: momentumDial(state, SHARED.traits.beta.range),
  }),
  curves,
  words: gainWords,
  python: ({ beta, n }) => [`exact = ln.belief.kalman_gains(${inPython(beta)}, ${n})`, `adam = ln.belief.corrected_gains(${inPython(beta)}, ${n})`, "adam[-1] / exact[-1]"],
}));
