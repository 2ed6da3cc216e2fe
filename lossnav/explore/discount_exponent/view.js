// The view of what a discount does to the exponent.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { curves, exponentOf, gainOf, quarterAt } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** Which rule has this exponent at every curvature, if it is near one. */
function ruleWith(/** @type {number} */ exponent) {
  const near = (/** @type {number} */ value) => Math.abs(exponent - value) < SHARED.near;
  if (near(0)) return "Gradient descent (SGD) has 0 everywhere.";
  if (near(-0.25)) return "Shampoo as published has −¼ everywhere.";
  if (near(-0.5)) return "Ballistic, and Shampoo with −½, have −½.";
  return exponent > -0.25 ? "Between gradient descent and Shampoo's −¼." : "Between Shampoo's −¼ and the ballistic −½.";
}

export default ofCurves("DiscountExponent", SHARED, {
  curves,
  words(given) {
    const { gamma, curvature } = given;
    const [gain, exponent] = [gainOf(given), exponentOf(given)];
    return [`At the mark the exponent is ${fixed(exponent, 3)}.`, [
      ruleWith(exponent),
      `γ = ${fixed(gamma, 2)}, ηkh = ${compact(curvature)}: gain ${compact(gain)}, limits ${compact(1 / gamma)} and ${compact(curvature ** -0.5)}.`,
      `−¼ stands at ηkh = ¾γ² = ${compact(quarterAt(given))}.`,
    ]];
  },
  python: (_, { gamma, curvature }) => [
    `h = ${curvature} * np.array([[1 / 1.01], [1.0], [1.01]])`,
    `gain = np.array([ln.rules.rates(ln.Objective(gamma=${gamma}), [one])[0] / one[0] for one in h])`,
    "gain[1], np.log(gain[2] / gain[0]) / np.log(h[2, 0] / h[0, 0])",
  ],
});
