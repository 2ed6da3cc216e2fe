// The view of schedules that noise asks for.

/** @import { Setting } from "./model.js" */

import { linearDial, logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { bestRate, curves, deadlineRate, exponentFor, noiseInAll, noiseLeft } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function forgottenWords(given) {
  const { power, share } = given;
  const [p, left] = [exponentFor(power), noiseLeft(given, 1 - share)];
  const shape = power === 0 ? "constant" : power < 1 ? "concave" : power === 1 ? "a line" : "convex, as no deadline's";
  return [`The deadline's schedule leaves ${fixed(noiseInAll(given), 3)} times the least noise.`, [
    `The best is (1 − z) to the power ${fixed(p, 3)}: ${shape}.`,
    `At z = ${fixed(share, 2)} the rates are ${fixed(bestRate(p, share), 3)} and ${fixed(deadlineRate(given, 1 - share), 3)}.`,
    `There the deadline's leaves ${compact(left)} times as much.`,
  ]];
}

export default explorable("ForgottenNoise", ...curvesView(SHARED, {
  dials: (state) => ({
    power: linearDial(state, "power", { symbol: "q", name: "how fast noise is forgotten", marks: SHARED.traits.power.range }, 140),
    stiffness: logDial(state, "stiffness", { symbol: "ωT", name: "of the deadline", marks: SHARED.traits.stiffness.range }),
  }),
  curves,
  words: forgottenWords,
  python: ({ power, stiffness, share }) => [
    `p = ${inPython(power)} / (2 - ${inPython(power)})`,
    `best = (1 + p) * (1 - ${inPython(share)}) ** p  # over its mean`,
    `rate = ln.rules.deadline_rate(ln.Objective(), ${inPython(stiffness ** 2)}, [1 - ${inPython(share)}, *(1 - (np.arange(1000) + 0.5) / 1000)])`,
    "best, rate[0] / rate[1:].mean()",
  ],
}));
