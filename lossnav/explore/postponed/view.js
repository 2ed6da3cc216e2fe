// The view of a deadline that moves.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { inPython } from "../life.js";
import { courseOf, curves, endOf, lastPlan } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("Postponed", SHARED, {
  curves,
  words(given) {
    const { moved, every, now } = given;
    const [end, { rate, error }] = [endOf(given), courseOf(given)(now)];
    const [date, planned] = [end, SHARED.plan].map((t) => fixed(t, 2));
    const verdict = date === planned ? `It ends at ${date}, as planned.` : Number.isFinite(end) ? `It ends at ${date}, not at ${planned}.` : "It never ends.";
    return [verdict, [
      `Each plan moves the date by ${fixed(moved * every, 2)}.`,
      `At t = ${fixed(now, 2)} the rate is ${fixed(rate, 3)} of its plateau.`,
      `Error: ${fixed(error, 4)}; a plateau's: ${fixed(SHARED.noise / 2, 4)}; two thirds of it: ${fixed(SHARED.noise / 3, 4)}.`,
    ]];
  },
  python: (given, { moved, every, now }) => [
    `planned = ${every} * min(${now} // ${every}, ${inPython(lastPlan(given))})  # when the last plan was made`,
    `left = max(0.0, ${SHARED.plan} + ${moved} * planned - ${now})`,
    "ln.rules.deadline_rate(ln.Objective(), 1.0, left)",
  ],
});
