// The view of the double well: landscape, verdict by start, cost by start, and θ₁ against time, on one θ₁ axis.

import { arrowhead, clamp, draw, explorable, figure, fixed, handle, lineSample, make, readoutNode, sampleTable, scaffold, scale, setAll, slider, stageWidth, trace, unbroken } from "../kit.js";
import { branch, course, gradientFlow, heteroclinic, loss, pathFrom, policy, stationary } from "./model.js";

const SPAN = [-1.6, 1.6];
const STARTS = [-1.5, 1.5];
const RATES = [0.05, 5]; // γ = 0 is left out: min L ≠ 0, so every J is infinite there
const UNTIL = 4;
const BEAD = 0.25; // time between two beads

const NOTE =
  "Beads mark every quarter unit of time. The two bars say where each start ends, under the optimal plan and under " +
  "gradient descent (Eq. 4). For γ from γₕₑₜ to 3.90 the cost has a kink at θₛ, where the verdict changes.";

const COLOR = { optimal: "var(--ln-optimal)", descent: "var(--ln-descent)", neutral: "var(--ln-neutral)" };

function buildDoubleWell(root, state) {
  const rests = stationary();
  const threshold = heteroclinic();
  const toRate = (u) => RATES[0] * (RATES[1] / RATES[0]) ** u;
  const fromRate = (g) => clamp(Math.log(g / RATES[0]) / Math.log(RATES[1] / RATES[0]), 0, 1);
  const gamma = slider({
    symbol: "γ",
    name: "discount rate",
    marks: [
      { value: 0.1, label: "0.1" },
      { value: threshold, label: `γₕₑₜ ${fixed(threshold, 3)}` },
      { value: 2, label: "2" },
      { value: 5, label: "5" },
    ],
    toPosition: fromRate,
    toValue: toRate,
    text: (g) => fixed(g, 3),
    onInput: (g) => state.set("gamma", g),
  });
  const [svg, readout, ledger] = [figure(), readoutNode(), wellLedger()];
  scaffold(root, {
    label: "stay in the shallow well or cross into the deep one",
    title: "Stay, or cross?",
    hint: "Drag the ball along the landscape, then raise γ slowly past γₕₑₜ and watch the verdict flip.",
    areas: { control: [gamma.node], stage: [svg], words: [readout, ledger.node, make("p", { class: "ln-note" }, NOTE)] },
  });

  const ground = draw(svg, "g", { "aria-hidden": "true" });
  const moving = draw(svg, "g", { "aria-hidden": "true" });
  const move = (start) => state.set("start", clamp(start, ...STARTS));
  const ball = handle(svg, {
    label: "start θ₁(0)",
    color: "var(--ln-ink)",
    onDrag: (px) => move(frame.x.invert(px)),
    onKey: ([dx, dy], big) => move(state.get("start") + (dx + dy) * (big ? 0.1 : 0.02)),
    onEnd: (side) => move(STARTS[side < 0 ? 0 : 1]),
  });

  let frame = null;
  let families = null;
  return {
    layout(width) {
      frame = wellFrame(svg, root, width);
      ground.replaceChildren();
      wellGround(ground, frame, rests);
    },
    update() {
      const start = state.get("start");
      const rate = state.get("gamma");
      if (families?.gamma !== rate) families = policy(rate, [-1.75, 1.75]);
      const plans = wellPlans(families, start, rate);
      gamma.show(rate);
      moving.replaceChildren();
      wellMoving(moving, frame, families, plans, start);
      ball.place(frame.x(start), frame.hill(loss(start)), {
        now: start.toFixed(3),
        low: STARTS[0],
        high: STARTS[1],
        text: `θ₁ = ${fixed(start, 2)}`,
      });
      readout.replaceChildren(...wellVerdict(families, plans, start, threshold));
      ledger.show(plans);
    },
  };
}

/** Both candidates and gradient flow from one start; `best` names the cheaper candidate. */
function wellPlans(families, start, rate) {
  const candidate = (family) => {
    const found = branch(family, start);
    const path = pathFrom(found, start);
    return path && { ...path, end: found.minimum, points: course(found, path, start, UNTIL) };
  };
  const [stay, cross] = [candidate(families.stay), candidate(families.cross)];
  const best = !cross || (stay && stay.action < cross.action) ? "stay" : "cross";
  return { stay, cross, best, descent: gradientFlow(rate, start, UNTIL) };
}

/** Sizes and scales of the four panels for one width. */
function wellFrame(svg, root, width) {
  const w = stageWidth(root, width, 338);
  const wide = root.classList.contains("ln-wide");
  const [left, right] = [58, w - 12];
  const tall = wide ? [158, 112, 132] : [136, 96, 112];
  const [hillTop, gap] = [20, 30];
  const strips = hillTop + tall[0] + 12;
  const costTop = strips + 36 + gap;
  const timeTop = costTop + tall[1] + gap;
  const bottom = timeTop + tall[2];
  const h = bottom + 38;
  setAll(svg, { viewBox: `0 0 ${w} ${h}`, width: w, height: h });
  return {
    w, left, right, strips, bottom,
    tops: [hillTop, costTop, timeTop],
    ends: [hillTop + tall[0], costTop + tall[1], bottom],
    x: scale(SPAN, [left, right]),
    hill: scale([-0.75, 2.45], [hillTop + tall[0], hillTop]),
    cost: scale([-0.7, 1.7], [costTop + tall[1], costTop]),
    time: scale([0, UNTIL], [timeTop, bottom]),
  };
}

/** Axes, grid, landscape: what depends on the size alone. */
function wellGround(at, f, rests) {
  const names = ["loss L(θ₁)", "γJ of the plan, by start", "θ₁ against time t (downwards)"];
  f.tops.forEach((top, i) => {
    draw(at, "rect", { class: "ln-panel", x: f.left, y: top, width: f.right - f.left, height: f.ends[i] - top });
    draw(at, "text", { class: "ln-name", x: f.left, y: top - 7 }, names[i]);
    for (const rest of [rests.left, rests.right]) {
      draw(at, "line", { class: "ln-grid", x1: f.x(rest), x2: f.x(rest), y1: top, y2: f.ends[i] });
    }
  });
  const ticks = (map, values) => {
    for (const value of values) {
      draw(at, "line", { class: "ln-grid", x1: f.left, x2: f.right, y1: map(value), y2: map(value) });
      draw(at, "text", { class: "ln-tick", x: f.left - 6, y: map(value) + 4, "text-anchor": "end" }, fixed(value, 0));
    }
  };
  ticks(f.hill, [0, 1, 2]);
  ticks(f.cost, [0, 1]);
  ticks(f.time, [0, 2, 4]);
  for (const value of [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]) {
    draw(at, "line", { class: "ln-axis", x1: f.x(value), x2: f.x(value), y1: f.bottom, y2: f.bottom + 4 });
    draw(at, "text", { class: "ln-tick", x: f.x(value), y: f.bottom + 17, "text-anchor": "middle" }, fixed(value, 1));
  }
  draw(at, "text", { class: "ln-name", x: (f.left + f.right) / 2, y: f.bottom + 33, "text-anchor": "middle" }, "θ₁");
  const curve = samples(STARTS[0] - 0.022, SPAN[1], 160).map((x) => [f.x(x), f.hill(loss(x))]);
  const [first, last] = [curve[0], curve[curve.length - 1]];
  const base = f.ends[0].toFixed(1);
  draw(at, "path", { class: "ln-hill", d: `${trace(curve)}L${last[0]} ${base}L${first[0]} ${base}Z` });
  draw(at, "path", { class: "ln-line", d: trace(curve), stroke: COLOR.neutral, "stroke-width": 2 });
}

function samples(low, high, count) {
  return Array.from({ length: count + 1 }, (_, i) => low + ((high - low) * i) / count);
}

/** What depends on the state. */
function wellMoving(at, f, families, plans, start) {
  const { indifference, rests } = families;
  const line = (x, y1, y2, kind) => draw(at, "line", { class: kind, x1: f.x(x), x2: f.x(x), y1, y2 });
  wellStrip(at, f, f.strips, "optimal", wellBoundary(families), COLOR.optimal, start);
  wellStrip(at, f, f.strips + 20, "gradient", rests.barrier, COLOR.descent, start);
  line(start, f.hill(loss(start)), f.ends[0], "ln-plumb");
  line(start, f.strips, f.strips + 36, "ln-plumb");
  line(start, f.tops[1], f.ends[1], "ln-plumb");
  if (indifference !== null) {
    line(indifference, f.tops[0], f.ends[0], "ln-divide");
    line(indifference, f.tops[1], f.ends[1], "ln-divide");
    draw(at, "text", { class: "ln-text", x: f.x(indifference) + 5, y: f.tops[0] + 13 }, `θₛ = ${fixed(indifference, 3)}`);
  }
  wellCost(at, f, families, plans, start);
  const time = (points) => trace(points.map(([t, x]) => [f.x(x), f.time(t)]));
  const losing = plans.best === "stay" ? "cross" : "stay";
  for (const name of [losing, plans.best]) {
    const plan = plans[name];
    if (!plan) continue;
    const style = wellStyle(name === plans.best);
    wellRoad(at, f, plan, style, plan.end > start ? 1 : -1);
    draw(at, "path", { class: "ln-line", d: time(plan.points), ...style });
  }
  draw(at, "path", { class: "ln-line", d: time(plans.descent.points), ...DESCENT });
  for (const [name, anchor, shift] of [["stay", "end", -8], ["cross", "start", 8]]) {
    if (!plans[name]) continue;
    const place = { x: f.x(plans[name].end) + shift, y: f.bottom - 8, "text-anchor": anchor };
    const text = draw(at, "text", { class: "ln-text", ...place }, name);
    if (name === plans.best) text.style.setProperty("--c", COLOR.optimal);
  }
}

const DESCENT = { stroke: COLOR.descent, "stroke-width": 2.2, "stroke-dasharray": "7 4" };
const wellStyle = (best) =>
  best
    ? { stroke: COLOR.optimal, "stroke-width": 3.4, "stroke-dasharray": "none", "stroke-linecap": "butt" }
    : { stroke: COLOR.neutral, "stroke-width": 2.2, "stroke-dasharray": "0.1 4.5", "stroke-linecap": "round" };

/** Left of this start the optimal plan ends in the shallow well. */
const wellBoundary = ({ indifference }) => indifference ?? SPAN[0];

/** A bar along θ₁ that says where each start ends: pale for the shallow well, full for the deep one. */
function wellStrip(at, f, y, name, boundary, color, start) {
  const middle = clamp(f.x(boundary), f.left, f.right);
  const bar = (x, end, opacity, label) => {
    if (end - x < 0.5) return;
    draw(at, "rect", { x, y, width: end - x, height: 16, fill: color, "fill-opacity": opacity });
    // The label moves to the roomier side of the plumb line where that would cross it.
    const plumb = f.x(start);
    const crossed = Math.abs(plumb - (x + end) / 2) < 42;
    const [from, to] = !crossed ? [x, end] : plumb - x > end - plumb ? [x, plumb] : [plumb, end];
    if (to - from < 76) return;
    const kind = opacity > 0.5 ? (color === COLOR.descent ? "ln-bar ln-on-dark" : "ln-bar ln-on-light") : "ln-bar";
    draw(at, "text", { class: kind, x: (from + to) / 2, y: y + 12, "text-anchor": "middle" }, label);
  };
  bar(f.left, middle, 0.2, "shallow well");
  bar(middle, f.right, 0.85, "deep well");
  draw(at, "text", { class: "ln-name", x: f.left - 6, y: y + 12, "text-anchor": "end" }, name);
}

/** γJ against the start for both families; the cheaper one is the value function, drawn as the optimum. */
function wellCost(at, f, families, plans, start) {
  const { gamma } = families;
  const boundary = wellBoundary(families);
  const inside = (y) => y > f.tops[1] && y < f.ends[1];
  const curve = (family, low, high, style) => {
    const points = [];
    for (const x of samples(low, high, 90)) {
      const path = pathFrom(branch(family, x), x);
      const y = path && f.cost(gamma * path.action);
      if (path && inside(y)) points.push([f.x(x), y]);
    }
    if (points.length > 1) draw(at, "path", { class: "ln-line", d: trace(points), ...style });
  };
  const [worse, better] = [{ ...wellStyle(false), "stroke-width": 2 }, { ...wellStyle(true), "stroke-width": 2.6 }];
  const [low, high] = STARTS;
  const from = clamp(boundary, low, high);
  curve(families.stay, from, Math.min(high, families.stay.right.reach), worse);
  if (families.cross.left.reach < from) curve(families.cross, Math.max(low, families.cross.left.reach), from, worse);
  curve(families.stay, low, from, better);
  curve(families.cross, from, high, better);
  for (const name of ["stay", "cross"]) {
    const plan = plans[name];
    const y = plan && f.cost(gamma * plan.action);
    if (!plan || !inside(y)) continue;
    const fill = name === plans.best ? COLOR.optimal : COLOR.neutral;
    draw(at, "circle", { class: "ln-dot", cx: f.x(start), cy: y, r: 5, fill });
  }
}

/** A path as a road beside the landscape, with a bead for every quarter unit of time. */
function wellRoad(at, f, plan, style, way) {
  const beside = (x) => {
    const across = [f.x(x + 1e-4) - f.x(x - 1e-4), f.hill(loss(x + 1e-4)) - f.hill(loss(x - 1e-4))];
    const long = Math.hypot(...across);
    return [f.x(x) + (7 * across[1]) / long, f.hill(loss(x)) - (7 * across[0]) / long];
  };
  const xs = plan.points.map(([, x]) => x);
  const road = samples(xs[0], xs[xs.length - 1], 80).map(beside);
  draw(at, "path", { class: "ln-line", d: trace(road), ...style });
  let next = BEAD;
  plan.points.forEach(([t, x], i) => {
    if (!i || t < next || Math.abs(x - plan.end) < 0.09) return;
    const [t0, x0] = plan.points[i - 1];
    const [cx, cy] = beside(x0 + ((x - x0) * (next - t0)) / (t - t0));
    draw(at, "circle", { class: "ln-dot", cx, cy, r: 3.4, fill: style.stroke });
    next += BEAD;
  });
  if (Math.abs(plan.end - xs[0]) < 0.12) return;
  const [x, y] = beside(plan.end);
  const [bx, by] = beside(plan.end - 0.05 * way);
  draw(at, "path", { d: arrowhead(x, y, x - bx, y - by, 11), fill: style.stroke });
}

/** The verdict in words. */
function wellVerdict({ gamma, indifference, rests }, { stay, cross, best }, start, threshold) {
  const bold = (text) => make("b", {}, text);
  const J = (plan) => fixed(plan.action, 4);
  const where = `From θ₁ = ${fixed(start, 2)} with γ = ${fixed(gamma, 3)}, `;
  const head =
    best === "cross"
      ? [bold(start > rests.barrier ? "the deep well wins" : "crossing wins"), ...(stay
          ? [`: J = ${J(cross)} against ${J(stay)} for the shallow one. `]
          : [": no optimal path from here ends in the shallow well. "])]
      : [bold("staying wins"), ...(cross
          ? [`: J = ${J(stay)} against ${J(cross)} for crossing. `]
          : [": no path from here that meets the conditions of optimality crosses. "])];
  let tail = `γ is below γₕₑₜ = ${fixed(threshold, 4)}: the deep well is worth the climb from everywhere on the left.`;
  if (indifference !== null) {
    const same = indifference > rests.barrier - 1e-4;
    tail = same
      ? "The planner divides the line at the barrier, just as gradient descent does."
      : `Left of θₛ = ${fixed(indifference, 3)} it is optimal to stay, though the global minimum is never reached.`;
  }
  return [where, ...head, tail].map((part) => (typeof part === "string" ? unbroken(part) : part));
}

/** The table of the three paths: how each is drawn, what it costs, where it ends. */
function wellLedger() {
  const paths = [["cross", "cross"], ["stay", "stay"], ["descent", "gradient descent"]];
  const lines = paths.map(([key, name]) => [key, { name, sample: lineSample(DESCENT) }]);
  const { node, rows } = sampleTable(Object.fromEntries(lines), ["path", "J", "ends at"]);
  const show = (plans) => {
    for (const [key, { drawn, cells, row }] of Object.entries(rows)) {
      const plan = plans[key];
      cells[0].textContent = plan ? fixed(plan.action, 4) : "none";
      cells[1].textContent = plan ? fixed(plan.end, 3) : "–";
      row.classList.toggle("ln-best", key === plans.best);
      if (key !== "descent") setAll(drawn, wellStyle(key === plans.best));
    }
  };
  return { node, show };
}

export default explorable("DoubleWell", buildDoubleWell);
