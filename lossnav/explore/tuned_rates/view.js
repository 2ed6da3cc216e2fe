// The view of what three rules reach over their learning rates, and of who leads when each may try some of them.

/** @import { Reached } from "./model.js" */

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { inPython } from "../life.js";
import { curves, order } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {Record<string, string>} */
const NAMES = SHARED.names;

const lead = (/** @type {Reached[]} */ [first, second]) => (first ? `${NAMES[first.rule]} by ${fixed(first.mean - second.mean, 1)}` : "nobody");
const reached = (/** @type {Reached[]} */ rules) => Object.keys(NAMES).map((rule) => {
  const found = rules.find((one) => one.rule === rule);
  return `${NAMES[rule]} ${found ? fixed(found.mean, 1) : "none"}`;
}).join(", ");

export default ofCurves("TunedRates", SHARED, {
  curves,
  words(given) {
    const [mnist, cifar] = [order("mnist", given), order("cifar", given)];
    return [`Ahead, in points: ${lead(mnist)} on MNIST, ${lead(cifar)} on CIFAR-10.`, [
      given.tries ? `Each at the best of up to ${2 * given.tries + 1} rates.` : "Each at one rate.",
      `MNIST: ${reached(mnist)}.`,
      `CIFAR-10: ${reached(cifar)}.`,
    ]];
  },
  python: ({ tries, rate }) => [
    'runs = ln.records.load("book/results/learning-rates.json").results',
    "tried = {}",
    "for run in runs:",
    `    if run["rule"] in ${inPython(Object.keys(NAMES))} and abs(2 * run["factor"] - ${rate}) <= ${tries}:`,
    '        tried.setdefault((run["rule"], run["factor"]), []).append(run["test_accuracy"][-1])',
    "max(tried, key=lambda one: np.mean(tried[one]))[0]  # ahead on MNIST",
  ],
});
