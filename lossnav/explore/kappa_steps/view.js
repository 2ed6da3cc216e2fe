// The view of how many steps each method needs.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { inPython } from "../life.js";
import { curves, keptBy, stepsFor } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("KappaSteps", SHARED, {
  curves,
  words({ digits, kappa }) {
    const kept = keptBy(kappa);
    const [descent, nesterov, heavy] = [kept.descent, kept.nesterov, kept.heavy].map((share) => stepsFor(share, digits));
    return [`Gradient descent takes ${fixed(descent / heavy, 2)} steps for a heavy ball's one.`, [
      `κ = ${compact(kappa)}, √κ/2 = ${compact(Math.sqrt(kappa) / 2)}; ${fixed(digits, 1)} digits.`,
      `Gradient descent: ${fixed(descent, 1)}. Nesterov: ${fixed(nesterov, 1)}.`,
      `Heavy ball and ballistic rule: ${fixed(heavy, 1)} steps both.`,
    ]];
  },
  python: ({ kappa }, { digits }) => [
    `kept = ln.acceleration.tuned("heavy ball", ${inPython(1 / kappa)}, 1.0).kept([${inPython(1 / kappa)}])`,
    `-${digits} * np.log(10) / (2 * np.log(kept))`,
  ],
});
