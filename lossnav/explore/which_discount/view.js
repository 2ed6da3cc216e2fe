// The view of what a path seems to be optimal for.

import { ofCurves } from "../curves.js";
import { compact, fixed } from "../kit.js";
import { alignmentOf, curves, leastRegret, likeliest, stillRegret } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("WhichDiscount", SHARED, {
  curves,
  words(given) {
    const other = { ...given, power: 1 };
    const [own, descent] = [leastRegret(given), leastRegret(other)];
    const word = own < descent * 0.999 ? "less than" : own > descent * 1.001 ? "more than" : "as much as";
    return [`At γ = ${compact(given.gamma)} your rule regrets ${word} gradient descent.`, [
      `Yours ${fixed(own, 4)}, gradient descent ${fixed(descent, 4)}, standing still ${fixed(stillRegret(given), 4)}.`,
      `Alignment: yours ${fixed(alignmentOf(given), 3)}, gradient descent ${fixed(alignmentOf(other), 3)}.`,
      `Yours is aligned best with γ = ${compact(likeliest(given))}.`,
    ]];
  },
  python: (_, { power, kappa, gamma }) => [
    `path = np.exp(-np.outer(0.001 * np.arange(20001), np.array([1.0, ${kappa}]) ** ${power}))`,
    `bowl = ln.losses.Quadratic(np.diag([1.0, ${kappa}]), minimum=[0.0, 0.0])`,
    `ln.regret(path, ln.Objective(gamma=${gamma}), bowl).relative`,
  ],
});
