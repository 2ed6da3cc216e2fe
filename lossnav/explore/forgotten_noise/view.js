// The view of schedules that noise asks for.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { inPython } from "../life.js";
import { bestRate, curves, deadlineRate, exponentFor, noiseInAll, noiseLeft } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("ForgottenNoise", SHARED, {
  curves,
  words(given) {
    const { power, share } = given;
    const [p, left] = [exponentFor(power), noiseLeft(given, 1 - share)];
    const shape = power === 0 ? "constant" : power < 1 ? "concave" : power === 1 ? "a line" : "convex, as no deadline's";
    return [`The deadline's schedule leaves ${fixed(noiseInAll(given), 3)} times the least noise.`, [
      `The best is (1 − z) to the power ${fixed(p, 3)}: ${shape}.`,
      `At z = ${fixed(share, 2)} the rates are ${fixed(bestRate(p, share), 3)} and ${fixed(deadlineRate(given, 1 - share), 3)}.`,
      `There the deadline's leaves ${compact(left)} times as much.`,
    ]];
  },
  python: ({ stiffness }, { power, share }) => [
    `p = ${power} / (2 - ${power})`,
    `best = (1 + p) * (1 - ${share}) ** p  # over its mean`,
    `rate = ln.rules.deadline_rate(ln.Objective(), ${inPython(stiffness ** 2)}, [1 - ${share}, *(1 - (np.arange(1000) + 0.5) / 1000)])`,
    "best, rate[0] / rate[1:].mean()",
  ],
});
