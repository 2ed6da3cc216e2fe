// The view of billed rules: their paths in the valley, and below it a bar for each, the least regret first.

/** @import { SquareFrame } from "../plane.js" */
/** @import { Track } from "../runner.js" */
/** @import { Regret, Rule, Setting } from "./model.js" */

import { declaredDial } from "../controls.js";
import { arrowhead, compact, couple, curve, draw, drawLine, fixed, ink, lastOf, panelWindow, pixels, plainTicks, resize, scale, ticksAcross } from "../kit.js";
import { inPython } from "../life.js";
import { bowlContours, squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { between } from "../runner.js";
import { restRate } from "../rates.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { bestPath, billed, placeOfBest } from "./model.js";

const [ROW, NAMES] = [27, 118]; // height of a bar's row, and the width of its name

export default simple("RegretRace", SHARED, (state) => ({
  legend: [lineTable({ optimal: SHARED.best, ...SHARED.lines }, [], inked).legend],
  dials: {
    gamma: declaredDial(state, SHARED.traits, "gamma"),
    kappa: declaredDial(state, SHARED.traits, "kappa", { text: (v) => fixed(v, v < 10 ? 2 : 1) }),
  },
  two: "below",
  grips: (stage) => planePoint(stage, state, "start", { label: "start θ(0)", color: ink("ink"), hold: SHARED.hold }),
  lay(paper, bars) {
    const frame = squareFrame(paper, { edge: SHARED.edge, ticks: [-1, 0, 1], names: ["θ₁ (h = 1)", "θ₂ (h = κ)"], most: 360 });
    resize(bars.stage, frame.w, ROW * 6 + 58);
    return frame;
  },
  show(at, frame, given, over) {
    const found = billed(given);
    bowlContours(at, frame, [4, 4 * given.kappa]);
    const inner = panelWindow(at, frame);
    for (const rule of [...found.order].reverse()) {
      drawLine(inner, found.paths[rule].map(pixels(frame)), { "stroke-width": 2, ...inked(SHARED.lines[rule]), ...curve(rule, frame.x, frame.y) });
    }
    drawLine(inner, bestPath(given).map(pixels(frame)), { ...inked(SHARED.best), "stroke-opacity": 0.6, ...curve("optimal", frame.x, frame.y) });
    drawBars(over, frame.w, found.order, found.regrets);
    const [first, last] = [found.order[0], lastOf(found.order)];
    const least = found.order.filter((rule) => found.total(rule) < SHARED.tie * found.total(first)).map((rule) => SHARED.lines[rule].name);
    const rests = !Math.hypot(...given.start);
    return [rests ? "At the minimum nobody has anything to regret." : `${least.length > 1 ? "Nearly the same" : "Least"} regret: ${least.join(", ")}.`, [
      `γ = ${fixed(given.gamma, 2)}, κ = ${fixed(given.kappa, 1)}.`,
      `From ${couple(given.start, (v) => fixed(v, 2))}.`,
      ...(rests ? [] : [`It pays ${compact(found.total(first))} of V too much,`, `${SHARED.lines[last].name} ${compact(found.total(last))}.`]),
    ], racers(frame, given, found)];
  },
  run: { seconds: 6, inside: (frame) => frame },
  python(given, { start, gamma, kappa }) {
    const { paths, regrets } = billed(given);
    const h = `np.array([1.0, ${kappa}])`;
    return [
      `h, start = ${h}, np.array(${start})`,
      `path = start * (1 - h / ${kappa}) ** np.arange(${paths.descent.length})[:, None]  # gradient descent's`,
      "bowl = ln.losses.Quadratic(np.diag(h), minimum=[0.0, 0.0])",
      ...(Math.hypot(...given.start) ? [`ln.regret(path, ln.Objective(gamma=${gamma}), bowl, dt=${inPython(regrets.descent.dt)}).relative`] : []),
    ];
  },
}));

/**
 * Where the rules and the optimum are as time passes, each rule at the pace for which it is billed.
 * @type {(f: SquareFrame, given: Setting, found: ReturnType<typeof billed>) => Track[]}
 */
function racers(f, given, { order, paths, regrets }) {
  const [pixel, end] = [pixels(f), 4 / restRate(given.gamma, 1)];
  const rules = order.map((rule) => ({ at: (/** @type {number} */ share) => pixel(between(paths[rule], (share * end) / regrets[rule].dt)), color: ink(SHARED.lines[rule].tint) }));
  return [...rules, { at: (share) => pixel(placeOfBest(given, share * end)), color: ink("optimal") }];
}

/**
 * A bar for each rule, speed in full colour and direction pale beside it; what is longer than the panel keeps its shares, and ends in an arrow.
 * @type {(at: Element, width: number, order: Rule[], regrets: Record<Rule, Regret>) => void}
 */
function drawBars(at, width, order, regrets) {
  const [left, right, top] = [NAMES, width - 52, 22];
  const x = scale([0, SHARED.most], [left, right]);
  const box = { left, right, top, bottom: top + ROW * order.length };
  draw(at, "text", { class: "ln-name", x: 0, y: 13 }, "regret: ■ speed, □ direction");
  draw(at, "rect", { class: "ln-panel", x: left, y: top, width: right - left, height: box.bottom - top });
  ticksAcross(at, box, x, plainTicks([0, 0.5, 1], 1), { mark: "grid" });
  draw(at, "text", { class: "ln-name", x: (left + right) / 2, y: box.bottom + 33, "text-anchor": "middle" }, "over the least cost");
  for (const [row, rule] of order.entries()) {
    const y = top + ROW * row;
    const { speed, direction } = regrets[rule];
    const shown = Math.min(1, SHARED.most / (speed + direction));
    const [middle, end] = [speed, speed + direction].map((v) => x(shown * v));
    const color = ink(SHARED.lines[rule].tint);
    draw(at, "text", { class: "ln-tick", x: left - 6, y: y + 18, "text-anchor": "end" }, SHARED.lines[rule].name);
    draw(at, "rect", { x: left, y: y + 4, width: middle - left, height: ROW - 8, fill: color });
    draw(at, "rect", { x: middle, y: y + 4, width: end - middle, height: ROW - 8, fill: color, "fill-opacity": 0.35 });
    if (shown < 1) draw(at, "path", { d: arrowhead(right + 11, y + ROW / 2, 1, 0, 16), fill: color });
    draw(at, "text", { class: "ln-tick", x: width - 2, y: y + 18, "text-anchor": "end" }, compact(speed + direction));
  }
}
