// The view of how long a step may be.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { curves, eulerStep, exactStep, forecastRate } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("ExactStep", SHARED, {
  curves,
  words(given) {
    const [euler, exact] = [eulerStep(given), exactStep(given)];
    const verdict = euler > 2 ? "First-order steps grow, one after another." : euler > 1 ? "The first-order step goes past the minimum." : exact > 0.95 * euler ? "Short enough: both are the same to 5 %." : "The first-order step is too long.";
    return [verdict, [
      `Δt = ${compact(given.dt)}, γ = ${fixed(given.gamma, 2)}, α = ${fixed(given.fading, 2)}: rΔt = ${compact(given.dt / forecastRate(given.gamma))}.`,
      `Of Newton's step: exact ${compact(exact)}, first order ${compact(euler)}.`,
    ]];
  },
  python: (_, { gamma, fading, dt }) => [
    `options = {"belief": ln.assume.Filter(0.0, fading=${fading}), "curvature": ln.assume.Known([[1.0]])}`,
    `rule = ln.derive(ln.Objective(gamma=${gamma}), dt=${dt}, exact=True, **options)`,
    "rule([1.0], rule.init([0.0]), [0.0])[0]",
  ],
});
