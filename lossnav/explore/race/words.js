// What the race says: the table of the four, the rule that the knobs give, and the verdict.

/** @import { Edge } from "./view.js" */
/** @import { Plan, Planner, RunnerName } from "./model.js" */

import { dotted, formula, fraction, inRow, math, raised, terms } from "../formula.js";
import { fixed, lastOf, make, mapped } from "../kit.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { nearRest } from "./model.js";

/** The table of the four: loss now, cost of the whole path, and how many of the edge's starts reach the deep well. */
export function raceTable() {
  const { node, legend, fill } = lineTable(SHARED.lines, ["learner", "loss now", "cost", "deep"], inked);
  /** @type {(losses: Record<RunnerName, number>, costs: Record<RunnerName, number>, edge: Edge) => void} */
  const show = (losses, costs, { deep, planner, count }) =>
    fill((name) => [fixed(losses[name], 2), fixed(costs[name], 3), planner.deepest.length > 1 ? "–" : `${deep[name]} of ${count}`]);
  return { node, legend, show };
}

/** @typedef {keyof typeof LAWS} LawName */

/** θ − θ*, in brackets. */
const away = () => inRow("(", "θ −", raised("θ", "∗"), ")");

/** The planner's rule near its well, and its two limits, η = k = 1. */
const LAWS = {
  descent: { name: "gradient descent", right: () => inRow("− ", fraction(math("mn", "1"), math("mi", "γ")), "∇ L") },
  ballistic: { name: "the ballistic rule", right: () => inRow("−", math("msqrt", ...terms("H")), away()) },
  between: {
    name: "the damped rule between both limits",
    right: () => inRow("−", inRow("(", math("msqrt", fraction(raised("γ", "2"), math("mn", "4")), ...terms("+ H")), "−", fraction(math("mi", "γ"), math("mn", "2")), ")"), away()),
  },
};
const NEAR_LIMIT = 0.25; // a limit that is off by less names the rule

/** The rule that the knobs give: its name, and its formula. */
export function lawNode() {
  const said = make("p", {});
  const formulas = mapped(LAWS, ({ right }) => formula(dotted("θ"), "=", right()));
  const details = make("p", { class: "ln-soft" });
  const box = make("div", { class: "ln-formula" });
  /** @type {(planner: Planner, plan: Plan) => void} */
  const show = (planner, { to }) => {
    const { rates, descent, ballistic } = nearRest(planner, to ?? lastOf(planner.deepest));
    const [limit, off] = /** @type {[LawName, number]} */ (descent < ballistic ? ["descent", descent] : ["ballistic", ballistic]);
    const name = off < NEAR_LIMIT ? limit : "between";
    const sight = { descent: "Short-sighted", ballistic: "Far-sighted", between: "In between" }[name];
    said.replaceChildren(`${sight}, the planner follows `, make("b", {}, LAWS[name].name), ":");
    box.replaceChildren(/** @type {Element} */ (formulas[name]));
    const far = off < 9.995 ? `${fixed(100 * off, 0)}\u00a0%` : "10 times and more";
    details.textContent = `near its well, where its rates are ${rates.map((r) => fixed(r, 3)).join(" and ")}; ${off < NEAR_LIMIT ? "within" : `${LAWS[limit].name} is off by`} ${far}.`;
  };
  return { node: make("div", { class: "ln-law" }, said, box, details), show };
}

const SHORT = [0.5, 2]; // discounts at which a sight of 1/γ is called shorter

/** @type {(edge: Edge) => string} */
export function raceHeadline({ gamma, planner, deep, count }) {
  if (planner.deepest.length > 1) return "The deepest wells are equal: in them nobody needs to cross.";
  const sight = gamma < SHORT[0] ? "Look ahead" : gamma < SHORT[1] ? "Look less far" : "Look near";
  return `${sight}: ${deep.planner} of ${count} reach the deep well. Gradient descent: ${deep.descent}.`;
}

/**
 * What the planner does from the start that is held, in words and numbers.
 * @type {(edge: Edge, plan: Plan, start: number[], now: number) => [string, string[]]}
 */
export function raceWords({ planner, gamma, land }, { deep: isDeep, to }, [x, y], now) {
  const { threshold, basins, deepest } = planner;
  const well = !isDeep ? "a shallow well" : deepest.length > 1 ? "one of the equally deep wells" : "the deep well";
  const verdict = to ? `From this start the planner goes to ${well}.` : "From this start the planner stays on the barrier.";
  const [tilt, dug] = [`d = ${fixed(land.tilt, 2)}`, land.dug[1] ? `, ${land.dug[1] > 0 ? "a well" : "a hill"} of ${fixed(Math.abs(land.dug[1]), 2)} at ${fixed(land.dug[0], 2)}` : ""];
  const wells = basins.length === 1 ? "one well" : `${basins.length} wells, the deepest at θ₁ = ${deepest.map(({ minimum }) => fixed(minimum, 2)).join(" and ")}`;
  const end = to ? `at θ₁ = ${fixed(to.minimum, 2)}` : "where it is";
  return [verdict, [
    `γ = ${fixed(gamma, 3)}${threshold ? `; for this tilt γₕₑₜ = ${fixed(threshold, 3)}` : ""}.`,
    `The landscape, ${tilt}${dug}, has ${wells}.`,
    `Time ${fixed(now, 2)}. From (${fixed(x, 2)}, ${fixed(y, 2)}) the planner ends ${end}.`,
  ]];
}
