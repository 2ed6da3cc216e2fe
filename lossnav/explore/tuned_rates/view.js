// The view of what three rules reach over their learning rates, and of who leads when each may try some of them.

/** @import { Reached, Setting } from "./model.js" */

import { linearDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { explorable } from "../life.js";
import { curves, order } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {Record<string, string>} */
const NAMES = SHARED.names;

const lead = (/** @type {Reached[]} */ [first, second]) => (first
  ? `${NAMES[first.rule]} leads by ${fixed(first.mean - second.mean, 1)}`
  : "no such rate was tried");
const reached = (/** @type {Reached[]} */ rules) => rules.map(({ rule, mean }) => `${NAMES[rule]} ${fixed(mean, 1)}`).join(", ");

/** @type {(given: Setting) => [string, string[]]} */
function ratesWords(given) {
  const [mnist, cifar] = [order("mnist", given), order("cifar", given)];
  return [`On MNIST ${lead(mnist)}, on CIFAR-10 ${lead(cifar)}.`, [
    given.tries ? `Each rule at the best of its rates within a factor of ${fixed(10 ** (given.tries / 2), 1)}.` : "Each rule at one rate.",
    `MNIST: ${reached(mnist)} %.`,
    ...(cifar.length ? [`CIFAR-10: ${reached(cifar)} %.`] : []),
  ]];
}

export default explorable("TunedRates", ...curvesView(SHARED, {
  dials: (state) => ({
    tries: linearDial(state, "tries", {
      symbol: "n", name: "half decades tried to either side", marks: SHARED.traits.tries.range, text: (v) => fixed(v, 0),
    }, 3),
  }),
  curves,
  words: ratesWords,
  python: ({ tries, rate }) => [
    'runs = ln.records.load("book/results/learning-rates.json").results',
    `tried = [run for run in runs if abs(2 * run["factor"] - ${rate}) <= ${tries}]`,
    'max(tried, key=lambda run: run["test_accuracy"][-1])["rule"]  # of the best single run',
  ],
}));
