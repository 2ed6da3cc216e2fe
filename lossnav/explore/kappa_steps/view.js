// The view of how many steps each method needs.

/** @import { Setting } from "./model.js" */

import { linearDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { curves, keptBy, stepsFor } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function stepsWords({ digits, kappa }) {
  const kept = keptBy(kappa);
  const [descent, nesterov, heavy] = [kept.descent, kept.nesterov, kept.heavy].map((share) => stepsFor(share, digits));
  return [`Memory saves a factor of ${fixed(descent / heavy, 2)}.`, [
    `κ = ${compact(kappa)}, √κ/2 = ${compact(Math.sqrt(kappa) / 2)}; ${fixed(digits, 1)} digits.`,
    `Gradient descent: ${fixed(descent, 1)}. Nesterov: ${fixed(nesterov, 1)}.`,
    `Heavy ball and ballistic rule: ${fixed(heavy, 1)} steps both.`,
  ]];
}

export default explorable("KappaSteps", ...curvesView(SHARED, {
  dials: (state) => ({
    digits: linearDial(state, "digits", { symbol: "d", name: "digits of the loss", marks: SHARED.traits.digits.range, digits: 1 }, 110),
  }),
  curves,
  words: stepsWords,
  python: ({ digits, kappa }) => [
    `kept = ln.acceleration.tuned("heavy ball", ${inPython(1 / kappa)}, 1.0).kept([${inPython(1 / kappa)}])`,
    `-${inPython(digits)} * np.log(10) / (2 * np.log(kept))`,
  ],
}));
