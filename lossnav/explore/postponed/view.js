// The view of a deadline that moves.

/** @import { Setting } from "./model.js" */

import { linearDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { courseOf, curves, endOf, lastPlan } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function postponedWords(given) {
  const { moved, every, now } = given;
  const [end, { rate, error }] = [endOf(given), courseOf(given)(now)];
  const [date, planned] = [end, SHARED.plan].map((t) => fixed(t, 2));
  const verdict = date === planned ? `It ends at ${date}, as planned.` : Number.isFinite(end) ? `It ends at ${date}, not at ${planned}.` : "It never ends.";
  return [verdict, [
    `Each plan moves the date by ${fixed(moved * every, 2)}.`,
    `At t = ${fixed(now, 2)} the rate is ${fixed(rate, 3)} of its plateau.`,
    `Error: ${fixed(error, 4)}; a plateau's: ${fixed(SHARED.noise / 2, 4)}; two thirds of it: ${fixed(SHARED.noise / 3, 4)}.`,
  ]];
}

export default explorable("Postponed", ...curvesView(SHARED, {
  dials: (state) => ({
    moved: linearDial(state, "moved", { symbol: "p", name: "how fast the date moves", marks: SHARED.traits.moved.range }, 100),
    every: linearDial(state, "every", { symbol: "τ", name: "from plan to plan", marks: SHARED.traits.every.range }, 110),
  }),
  curves,
  words: postponedWords,
  python: ({ moved, every, now }) => [
    `planned = ${inPython(every)} * min(${inPython(now)} // ${inPython(every)}, ${inPython(lastPlan({ moved, every }))})  # when the last plan was made`,
    `left = max(0.0, ${SHARED.plan} + ${inPython(moved)} * planned - ${inPython(now)})`,
    "ln.rules.deadline_rate(ln.Objective(), 1.0, left)",
  ],
}));
