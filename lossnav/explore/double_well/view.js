// The view of the double well: landscape, verdict by start, cost by start, and θ₁ against time, on one θ₁ axis.

/** @import { Attributes, Box, Paper, Scale } from "../kit.js" */
/** @import { Track } from "../runner.js" */
/** @import { Path, Plan, Policy, Rests } from "../wells.js" */

import { declaredDial } from "../controls.js";
import { arrowhead, clamp, curve, draw, drawDot, drawLine, drawPanel, fixed, ink, isWide, make, nameAcross, plainTicks, resize, samples, scale, stageWidth, ticksAcross, ticksUp, trace, upright } from "../kit.js";
import { axisPoint } from "../point.js";
import { atTime } from "../runner.js";
import { simple } from "../simple.js";
import { lineTable } from "../tables.js";
import { branch, cheaper, pathFrom, plansFrom } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };
import { gradientFlow, heteroclinic, loss, policy, stationary } from "./model.js";

/** @typedef {{ start: number, gamma: number }} Traits */
/** @typedef {{ stay: Plan | null, cross: Plan | null, best: "stay" | "cross", descent: { points: number[][], end: number, action: number } }} Plans */
/** @typedef {{ left: number, right: number, strips: number, bottom: number, panels: Box[], x: Scale, hill: Scale, cost: Scale, time: Scale }} WellFrame */

const STARTS = SHARED.traits.start.range; // of γ, 0 is left out: min L ≠ 0, so every J is infinite there
const BEAD = 0.25; // time between two beads

const NOTE =
  "Beads mark every quarter unit of time. The two bars say where each start ends, under the optimal plan and under " +
  "gradient descent (Eq. 4). For γ from γₕₑₜ to 3.90 the cost has a kink at θₛ, where the verdict changes.";

export default simple("DoubleWell", SHARED, (state) => {
  const rests = stationary();
  const threshold = heteroclinic();
  const table = lineTable(PATHS, ["path to", "J", "ends at"], ({ style }) => style);
  const label = (/** @type {number} */ g) => (g === threshold ? `γₕₑₜ ${fixed(g, 3)}` : String(g));
  return {
    dials: { gamma: declaredDial(state, SHARED.traits, "gamma", { marks: [0.1, threshold, 2, 5], label }) },
    table,
    numbers: [table.node, make("p", { class: "ln-note" }, NOTE)],
    grips(stage) {
      const [low, high] = STARTS;
      const go = (/** @type {number} */ start) => state.set("start", clamp(start, low, high));
      const put = axisPoint(stage, { label: "start θ₁(0)", ends: STARTS, steps: [0.02, 0.1], read: () => state.get("start"), go });
      return (frame, { start }) => put(frame.x, frame.hill(loss(start)), { now: start.toFixed(3), low, high, text: `θ₁ = ${fixed(start, 2)}` });
    },
    lay(paper) {
      const frame = wellFrame(paper);
      wellGround(paper.ground, frame, rests);
      return frame;
    },
    show(at, frame, { start, gamma: rate }) {
      const families = policy(rate);
      const plans = wellPlans(families, start);
      wellMoving(at, frame, families, plans, start);
      table.fill((key) => {
        const plan = { best: plans[plans.best], other: plans[plans.best === "stay" ? "cross" : "stay"], descent: plans.descent }[key];
        return plan ? [fixed(plan.action, 4), fixed(plan.end, 3)] : ["none", "–"];
      });
      return [...wellVerdict(families, plans, start, threshold), wellRollers(frame, plans)];
    },
    run: { seconds: SHARED.until, inside: (frame) => frame.panels[0] },
    python: (_, { start, gamma: rate }) => [
      "well = ln.losses.Section(ln.losses.DoubleWell(), axis=0)",
      `path = ln.solve(ln.Objective(gamma=${rate}), well, [${start}])`,
      "path.action, path.asymptote",
    ],
  };
});

/**
 * Both candidates and gradient flow from one start; `best` names the cheaper candidate.
 * @type {(families: Policy, start: number) => Plans}
 */
function wellPlans(families, start) {
  const plans = plansFrom(families, start, SHARED.until);
  return { ...plans, best: cheaper(plans), descent: gradientFlow(families.gamma, start, SHARED.until) };
}

/**
 * Where the better plan and gradient flow are on the landscape as time passes.
 * @type {(f: WellFrame, plans: Plans) => Track[]}
 */
function wellRollers(f, plans) {
  /** @type {(points: number[][], color: string) => Track} */
  const roller = (points, color) => ({
    at(share) {
      const [x] = atTime(points, share * SHARED.until);
      return [f.x(x), f.hill(loss(x))];
    },
    color,
  });
  const best = plans[plans.best];
  return [roller(plans.descent.points, ink("descent")), ...(best ? [roller(best.points, ink("optimal"))] : [])];
}

/** @type {(paper: Paper) => WellFrame} */
function wellFrame({ root, stage, width }) {
  const w = stageWidth(root, width, 338);
  const [left, right] = [58, w - 12];
  const tall = isWide(root) ? [158, 112, 132] : [96, 54, 68];
  const [hillTop, gap] = [20, 30];
  const strips = hillTop + tall[0] + 12;
  const costTop = strips + 36 + gap;
  const timeTop = costTop + tall[1] + gap;
  const bottom = timeTop + tall[2];
  resize(stage, w, bottom + 38);
  const panels = [hillTop, costTop, timeTop].map((top, i) => ({ left, right, top, bottom: top + tall[i] }));
  return {
    left, right, strips, bottom, panels,
    x: scale(SHARED.panels.theta, [left, right]),
    hill: scale(SHARED.panels.loss, [panels[0].bottom, panels[0].top]),
    cost: scale([-0.7, 1.7], [panels[1].bottom, panels[1].top]),
    time: scale([0, SHARED.until], [timeTop, bottom]),
  };
}

/**
 * Axes, grid, landscape: what depends on the size alone.
 * @type {(at: Element, f: WellFrame, rests: Rests) => void}
 */
function wellGround(at, f, rests) {
  const names = ["loss L(θ₁)", "γJ of the plan, by start", "θ₁ against time t (downwards)"];
  f.panels.forEach((box, i) => {
    drawPanel(at, box, names[i]);
    for (const rest of [rests.left, rests.right]) upright(at, f.x(rest), box, "ln-grid");
  });
  const [hill, cost, time] = f.panels;
  ticksUp(at, hill, f.hill, plainTicks([0, 1, 2]), { gap: 6 });
  ticksUp(at, cost, f.cost, plainTicks([0, 1]), { gap: 6 });
  ticksUp(at, time, f.time, plainTicks([0, 2, 4]), { gap: 6 });
  ticksAcross(at, time, f.x, plainTicks([-1.5, -1, -0.5, 0, 0.5, 1, 1.5], 1));
  nameAcross(at, time, "θ₁", 33);
  const line = samples(STARTS[0] - 0.022, SHARED.panels.theta[1], 160).map((x) => [f.x(x), f.hill(loss(x))]);
  const [first, last] = [line[0], line[line.length - 1]];
  const base = hill.bottom.toFixed(1);
  draw(at, "path", { class: "ln-hill", d: `${trace(line)}L${last[0]} ${base}L${first[0]} ${base}Z` });
  drawLine(at, line, { stroke: ink("neutral"), "stroke-width": 2, ...curve("loss", f.x, f.hill) });
}

/** @type {(at: Element, f: WellFrame, families: Policy, plans: Plans, start: number) => void} */
function wellMoving(at, f, families, plans, start) {
  const { indifference, rests } = families;
  const [hill, cost] = f.panels;
  wellStrip(at, f, f.strips, "optimal", wellBoundary(families), start);
  wellStrip(at, f, f.strips + 20, "gradient", rests.barrier, start);
  const plumb = f.x(start);
  upright(at, plumb, { top: f.hill(loss(start)), bottom: hill.bottom }, "ln-plumb");
  upright(at, plumb, { top: f.strips, bottom: f.strips + 36 }, "ln-plumb");
  upright(at, plumb, cost, "ln-plumb");
  if (indifference !== null) {
    for (const box of [hill, cost]) upright(at, f.x(indifference), box, "ln-divide");
    draw(at, "text", { class: "ln-text", x: f.x(indifference) + 5, y: hill.top + 13 }, `θₛ = ${fixed(indifference, 3)}`);
  }
  wellCost(at, f, families, plans, start);
  const time = (/** @type {number[][]} */ points) => points.map(([t, x]) => [f.x(x), f.time(t)]);
  const losing = plans.best === "stay" ? "cross" : "stay";
  for (const name of /** @type {const} */ ([losing, plans.best])) {
    const plan = plans[name];
    if (!plan) continue;
    const style = wellStyle(name === plans.best);
    wellRoad(at, f, plan, style, plan.end > start ? 1 : -1);
    drawLine(at, time(plan.points), { ...style, ...curve(name, f.x, f.time) });
  }
  drawLine(at, time(plans.descent.points), DESCENT);
  for (const { name, anchor, shift } of /** @type {const} */ ([
    { name: "stay", anchor: "end", shift: -8 },
    { name: "cross", anchor: "start", shift: 8 },
  ])) {
    const plan = plans[name];
    if (!plan) continue;
    const place = { x: f.x(plan.end) + shift, y: f.bottom - 8, "text-anchor": anchor };
    const text = draw(at, "text", { class: "ln-text", ...place }, name);
    if (name === plans.best) text.style.setProperty("--c", ink("optimal"));
  }
}

/** @type {Attributes} */
const DESCENT = { stroke: ink("descent"), "stroke-width": 2.2, "stroke-dasharray": "7 4" };
/** @type {(best: boolean) => Attributes & { stroke: string }} */
const wellStyle = (best) =>
  best
    ? { stroke: ink("optimal"), "stroke-width": 3.4, "stroke-dasharray": "none", "stroke-linecap": "butt" }
    : { stroke: ink("neutral"), "stroke-width": 2.2, "stroke-dasharray": "0.1 4.5", "stroke-linecap": "round" };

const PATHS = {
  best: { name: "the optimal plan", style: wellStyle(true) },
  other: { name: "the other plan", style: wellStyle(false) },
  descent: { name: "gradient descent", style: DESCENT },
};

/** Left of this start the optimal plan ends in the shallow well. */
const wellBoundary = (/** @type {Policy} */ { indifference }) => indifference ?? SHARED.panels.theta[0];

/**
 * A bar along θ₁ that says where each start ends: pale for the shallow well, full for the deep one.
 * @type {(at: Element, f: WellFrame, y: number, name: "optimal" | "gradient", boundary: number, start: number) => void}
 */
function wellStrip(at, f, y, name, boundary, start) {
  const middle = clamp(f.x(boundary), f.left, f.right);
  const color = ink(name === "optimal" ? "optimal" : "descent");
  /** @type {(x: number, end: number, opacity: number, label: string) => void} */
  const bar = (x, end, opacity, label) => {
    if (end - x < 0.5) return;
    draw(at, "rect", { x, y, width: end - x, height: 16, fill: color, "fill-opacity": opacity });
    // The label moves to the roomier side of the plumb line where that would cross it.
    const plumb = f.x(start);
    const crossed = Math.abs(plumb - (x + end) / 2) < 42;
    const [from, to] = !crossed ? [x, end] : plumb - x > end - plumb ? [x, plumb] : [plumb, end];
    if (to - from < 76) return;
    const kind = opacity > 0.5 ? (name === "optimal" ? "ln-bar ln-on-light" : "ln-bar ln-on-dark") : "ln-bar";
    draw(at, "text", { class: kind, x: (from + to) / 2, y: y + 12, "text-anchor": "middle" }, label);
  };
  bar(f.left, middle, 0.2, "shallow well");
  bar(middle, f.right, 0.85, "deep well");
  draw(at, "text", { class: "ln-name", x: f.left - 6, y: y + 12, "text-anchor": "end" }, name);
}

/**
 * γJ against the start for both families; the cheaper one is the value function, drawn as the optimum.
 * @type {(at: Element, f: WellFrame, families: Policy, plans: Plans, start: number) => void}
 */
function wellCost(at, f, families, plans, start) {
  const { gamma, stay, cross } = families;
  const height = (/** @type {Path | null} */ path) => (path ? f.cost(gamma * path.action) : NaN);
  const inside = (/** @type {number} */ y) => y > f.panels[1].top && y < f.panels[1].bottom;
  /** @type {(family: Policy["stay"], low: number, high: number, style: Attributes) => void} */
  const line = (family, low, high, style) => {
    const places = samples(low, high, 90).map((x) => [f.x(x), height(pathFrom(branch(family, x), x))]);
    const points = places.filter(([, y]) => inside(y));
    if (points.length > 1) drawLine(at, points, style);
  };
  const [worse, better] = [{ ...wellStyle(false), "stroke-width": 2 }, { ...wellStyle(true), "stroke-width": 2.6 }];
  const [low, high] = STARTS;
  const from = clamp(wellBoundary(families), low, high);
  line(stay, from, Math.min(high, stay.right.reach), worse);
  if (cross.left.reach < from) line(cross, Math.max(low, cross.left.reach), from, worse);
  line(stay, low, from, better);
  line(cross, from, high, better);
  for (const name of /** @type {const} */ (["stay", "cross"])) {
    const y = height(plans[name]);
    if (inside(y)) drawDot(at, [f.x(start), y], 5, ink(name === plans.best ? "optimal" : "neutral"));
  }
}

/**
 * A path as a road beside the landscape, with a bead for every quarter unit of time.
 * @type {(at: Element, f: WellFrame, plan: Plan, style: Attributes & { stroke: string }, way: number) => void}
 */
function wellRoad(at, f, plan, style, way) {
  const beside = (/** @type {number} */ x) => {
    const across = [f.x(x + 1e-4) - f.x(x - 1e-4), f.hill(loss(x + 1e-4)) - f.hill(loss(x - 1e-4))];
    const long = Math.hypot(across[0], across[1]);
    return [f.x(x) + (7 * across[1]) / long, f.hill(loss(x)) - (7 * across[0]) / long];
  };
  const xs = plan.points.map(([, x]) => x);
  drawLine(at, samples(xs[0], xs[xs.length - 1], 80).map(beside), style);
  let next = BEAD;
  plan.points.forEach(([t, x], i) => {
    if (!i || t < next || Math.abs(x - plan.end) < 0.09) return;
    const [t0, x0] = plan.points[i - 1];
    drawDot(at, beside(x0 + ((x - x0) * (next - t0)) / (t - t0)), 3.4, style.stroke);
    next += BEAD;
  });
  if (Math.abs(plan.end - xs[0]) < 0.12) return;
  const [x, y] = beside(plan.end);
  const [bx, by] = beside(plan.end - 0.05 * way);
  draw(at, "path", { d: arrowhead(x, y, x - bx, y - by, 11), fill: style.stroke });
}

/** @type {(policy: Policy, plans: Plans, start: number, threshold: number) => [string, string[]]} */
function wellVerdict({ gamma, indifference, rests }, { stay, cross, best }, start, threshold) {
  const J = (/** @type {Plan | null} */ plan) => (plan ? fixed(plan.action, 4) : "none");
  const verdict = best === "stay" ? "Staying wins." : start > rests.barrier ? "The deep well wins." : "Crossing wins.";
  const against =
    best === "cross"
      ? stay ? `J = ${J(cross)} against ${J(stay)} for the shallow well.` : "No optimal path from here ends in the shallow well."
      : cross ? `J = ${J(stay)} against ${J(cross)} for crossing.` : "No path from here that meets the conditions of optimality crosses.";
  let tail = `γ is below γₕₑₜ = ${fixed(threshold, 4)}: the deep well is worth the climb from everywhere on the left.`;
  if (indifference !== null) {
    const same = indifference > rests.barrier - 1e-4;
    tail = same
      ? "The planner divides the line at the barrier, just as gradient descent does."
      : `Left of θₛ = ${fixed(indifference, 3)} it is optimal to stay, though the global minimum is never reached.`;
  }
  return [verdict, [`From θ₁ = ${fixed(start, 2)} with γ = ${fixed(gamma, 3)}:`, against, tail]];
}
