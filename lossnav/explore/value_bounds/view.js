// The view of a value between two bounds.

/** @import { State } from "../life.js" */
/** @import { Setting } from "./model.js" */

import { declaredDial } from "../controls.js";
import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { bendAt, boundsOf, curves } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/**
 * The state with values that a hand may set: μ ≤ M.
 * @type {(state: State<Setting>, within: (value: number) => number) => State<Setting>}
 */
const held = (state, within) => ({ ...state, set: (trait, value) => state.set(trait, within(value)) });

export default ofCurves("ValueBounds", SHARED, {
  dials: (state) => ({
    smoothness: declaredDial(held(state, (v) => Math.max(v, state.get("pl"))), SHARED.traits, "smoothness"),
    pl: declaredDial(held(state, (v) => Math.min(v, state.get("smoothness"))), SHARED.traits, "pl"),
  }),
  curves,
  words(given) {
    const { value, lower, upper } = boundsOf(given);
    const [most, least] = [1 + SHARED.ridge, bendAt(given.start)];
    const told = (/** @type {boolean} */ holds) => (holds ? "holds" : "does not hold");
    const verdict = lower > value * (1 + 1e-9) ? "The lower bound is false." : upper < value * (1 - 1e-9) ? "The upper bound is false." : "The value lies between.";
    return [verdict, [
      `At θ = ${fixed(given.start, 2)}: ${fixed(lower, 3)}, V = ${fixed(value, 3)}, ${fixed(upper, 3)}.`,
      `From there to the minimum |∇L|²/2L rises from ${fixed(least, 3)} to ${fixed(most, 3)}.`,
      `M ${told(given.smoothness >= most - 1e-9)} all the way; μ ${told(given.pl <= least + 1e-9)}.`,
    ]];
  },
  python: (_, { gamma, smoothness, pl, start }) => [
    `soft = ln.losses.Function(lambda x: np.sum(np.logaddexp(x, -x) - np.log(2) + ${SHARED.ridge / 2} * x**2, axis=-1), dim=1)`,
    `plan = ln.Objective(gamma=${gamma})`,
    "try:",
    `    print(ln.value_bounds(plan, soft, [${start}], smoothness=${smoothness}, pl=${pl}))`,
    "except ValueError as reason:  # a claim fails at the start",
    "    print(reason)",
    `ln.value(plan, soft, [${start}])`,
  ],
  settle: (values) => ({ ...values, pl: Math.min(Number(values.pl), Number(values.smoothness)) }),
});
