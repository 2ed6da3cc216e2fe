// The view of the extremals: the chosen one among them, and the parabola of costs on which its coefficient is dragged.

import { chartFrame, timeAxis, valueAxis } from "../chart.js";
import { declaredDial } from "../controls.js";
import { arrowhead, clamp, compact, curve, draw, drawDot, drawLine, fixed, ink, panelWindow, plainTicks, samples, upright } from "../kit.js";
import { axisPoint } from "../point.js";
import { overTime } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { bestGrowing, extremal, extremalCost } from "./model.js";

const [LEAST, MOST] = SHARED.traits.growing.range;
const [FROM, TO] = SHARED.across;
const ROOM = 18; // pixels: for the point under an arrow, where its cost lies above the panel

export default simple("Extremals", SHARED, (state) => ({
  dials: { horizon: declaredDial(state, SHARED.traits, "horizon") },
  legend: [lineTable(SHARED.lines, [], inked).legend],
  lay(paper) {
    const { ground } = paper;
    const f = chartFrame(paper, { path: ["θ − μ over time", 190, 160], cost: ["J up to T, of each c₊", 130, 116] }, 72);
    const y = valueAxis(ground, f.rows.path, [SHARED.low, SHARED.high], plainTicks([-1, 0, 1, 2]));
    const J = valueAxis(ground, f.rows.cost, [0, SHARED.most], plainTicks([0, 0.5, 1, 1.5], 1));
    const x = timeAxis(ground, { ...f, bottom: f.rows.path.bottom }, 0, SHARED.span, 1, "time t");
    return { f, x, y, J, c: timeAxis(ground, f, FROM, TO - FROM, 0.25, "c₊, the coefficient of the growing root") };
  },
  grips(stage) {
    const label = "c₊, the coefficient of the growing root; arrow keys move it";
    const go = (/** @type {number} */ c) => state.set("growing", clamp(c, LEAST, MOST));
    const put = axisPoint(stage, { label, ends: [LEAST, MOST], steps: [0.01, 0.1], read: () => state.get("growing"), go });
    return ({ f, c, J }, given) => {
      put(c, Math.max(J(extremalCost(given)), f.rows.cost.top + ROOM), { now: given.growing.toFixed(3), low: LEAST, high: MOST, text: `c₊ = ${fixed(given.growing, 2)}` });
    };
  },
  show(at, { f, x, y, c, J }, { growing, gamma, horizon }) {
    const [upper, lower] = [panelWindow(at, f.rows.path), panelWindow(at, f.rows.cost)];
    const best = bestGrowing(gamma, horizon);
    const cost = (/** @type {number} */ value) => extremalCost({ growing: value, gamma, horizon });
    const path = (/** @type {number} */ value) => samples(0, SHARED.span, 120).map((t) => [x(t), y(clamp(extremal(value, gamma, t), -9, 9))]);
    for (const other of SHARED.others) drawLine(upper, path(other), { class: "ln-contour" });
    upright(upper, x(horizon), f.rows.path, "ln-divide");
    const tracks = /** @type {const} */ ([["free", 0], ["best", best], ["chosen", growing]]).map(([name, value]) => {
      const line = path(value);
      drawLine(upper, line, { ...inked(SHARED.lines[name]), ...curve(name, x, y) });
      return overTime(line, f, ink(SHARED.lines[name].tint));
    });
    drawLine(lower, samples(FROM, TO, 200).map((v) => [c(v), J(Math.min(cost(v), 3 * SHARED.most))]), { stroke: ink("neutral"), "stroke-width": 2, ...curve("parabola", c, J) });
    if (J(cost(growing)) < f.rows.cost.top + ROOM) draw(lower, "path", { d: arrowhead(c(growing), f.rows.cost.top, 0, -1, 12), fill: ink("ink") });
    drawDot(lower, [c(best), J(cost(best))], 4.5, ink("optimal"));
    return [`Up to T = ${fixed(horizon, 2)} your path costs J\u00a0=\u00a0${compact(cost(growing))}.`, [
      `c₊ = ${fixed(growing, 3)} with γ = ${fixed(gamma, 2)}. Least: J = ${compact(cost(best))} at c₊ = ${fixed(best, 3)}.`,
      `Without the growing root J = ${compact(cost(0))} up to T. For T → ∞ it alone stays finite.`,
    ], tracks];
  },
  run: { seconds: 6, inside: ({ f }) => f.rows.path },
  python: (_, { gamma, horizon }) => [
    `path = ln.solve(ln.Objective(gamma=${gamma}, horizon=${horizon}), ln.losses.Quadratic([[1.0]], minimum=[0.0]), [1.0])  # the best up to T`,
    "path.action",
  ],
}));
