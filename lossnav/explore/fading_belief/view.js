// The view of Adam's ε as a gradient that is believed to fade.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { curves, summed } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("FadingBelief", SHARED, {
  curves,
  words({ epsilon, size, time }) {
    const whole = size / (size + epsilon);
    return [epsilon > 0 ? `Adam's ε takes ${fixed(100 * (1 - whole), 1)} % of the step.` : "A gradient that lasts: the root alone.", [
      `√V = ${fixed(size, 2)}, ε = ${fixed(epsilon, 2)}: the step is ${fixed(whole, 3)} of 1/√V.`,
      `Of that, ${fixed(summed(size, epsilon, time), 3)} is for the time up to τ = ${fixed(time, 2)}.`,
    ]];
  },
  python: (_, { epsilon, size }) => [
    `options = {"belief": ln.assume.Filter(0.0, fading=${epsilon}), "curvature": ln.assume.Known([[${size} ** 2]])}`,
    "rule = ln.derive(ln.Objective(gamma=0.0), dt=1.0, **options)",
    "rule([1.0], rule.init([0.0]), [0.0])[0]  # −1/(√V + ε)",
  ],
});
