// The view of one singular value under two iterations.

import { declaredDial } from "../controls.js";
import { ofCurves } from "../curves.js";
import { compact, fixed, lastOf } from "../kit.js";
import { inPython } from "../life.js";
import { curves, EDGE, LOST, quinticStep, walk } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("MuonQuintic", SHARED, {
  dials: (state) => ({ sigma: declaredDial(state, SHARED.traits, "sigma", { text: compact }) }),
  curves,
  words({ sigma, before, n }) {
    const [alone, then] = [walk(sigma), walk(sigma, before)];
    const end = lastOf(then);
    const verdict = Math.abs(end) > LOST ? "The cubic comes too late." : end < 0 ? "The cubic ends at −1." : sigma > EDGE ? "Only the quintic diverges." : "Only the cubic ends at 1.";
    const told = (/** @type {number} */ x) => (Math.abs(x) > LOST ? "more than 1000" : compact(Math.abs(1 - x)));
    return [verdict, [
      `After n = ${n} from σ = ${compact(sigma)}:`,
      `quintic alone: ${told(alone[n])} from 1;`,
      `cubic after ${before}: ${told(then[n])} from 1.`,
      `The quintic takes 1 to ${fixed(quinticStep(1), 3)}, and diverges above ${fixed(EDGE, 4)}.`,
      "The cubic ends at 1 from 0 < σ < √3, diverges above √5.",
    ]];
  },
  python: (_, { sigma, before, n }) => [
    `a, b, c, x = ${SHARED.quintic.map(inPython).join(", ")}, ${sigma}`,
    `for k in range(${n}):`,
    `    if abs(x) > ${LOST}:`,
    "        break",
    `    x = x * (a + b * x**2 + c * x**4) if k < ${before} else x * (3 - x**2) / 2`,
    "x",
  ],
});
