// The view of how far one direction gets in n steps.

import { declaredDial } from "../controls.js";
import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { ceilingOf, curves, distanceAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("ModeMemory", SHARED, {
  dials: (state) => ({ bend: declaredDial(state, SHARED.traits, "bend", { text: compact }) }),
  curves,
  words(given) {
    const { far, c } = distanceAt(given);
    const { bend, beta, n } = given;
    return [`After ${n} steps its squared distance is ${fixed(far, 2)} times that after one.`, [
      `Exponent there: c = ${fixed(c, 2)}.`,
      `In the end: (1 + β)/(ηh) = ${fixed(ceilingOf(bend, beta), 2)}.`,
      `A push lasts 1/(1 − β) = ${fixed(1 / (1 - beta), 1)} steps.`,
    ]];
  },
  python: (_, { bend, beta, n }) => [`one, far = ln.sgd.displacement([${bend}], [1, ${n}], eta=1.0, beta=${beta}, batch=1, gradient_variance=[1.0], form="discrete")`, "far / one"],
});
