// The view of where a discount takes the square root away.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { inPython } from "../life.js";
import { curves, planned } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("DiscountedRoot", SHARED, {
  curves,
  words({ epsilon, size }) {
    const step = planned(size, epsilon);
    const takes = size > 5 * epsilon ? "nearly Adam's step" : size < epsilon / 5 ? "nearly gradient descent's step" : "between Adam's step and gradient descent's";
    return [`√V is ${compact(size / epsilon)} ε: ${takes}.`, [
      `√V = ${compact(size)}, ε = ${fixed(epsilon, 3)}: the plan goes ${fixed(step * size, 3)} of 1/√V.`,
      `That is ${fixed(2 * epsilon * step, 3)} of gradient descent's step, and ${fixed(step * (size + epsilon), 3)} of Adam's.`,
    ]];
  },
  python: ({ epsilon, size }) => [`learner = ln.belief.Beliefs(gamma=${inPython(2 * epsilon)})`, `learner.step(1.0, ${inPython(size ** 2)}, dt=1.0)`],
});
