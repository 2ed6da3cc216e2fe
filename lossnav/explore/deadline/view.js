// The view of a deadline: the rates of three curvatures up to it, and below them a schedule to draw, with the loss
// weight that it asks for.

/** @import { ChartFrame } from "../chart.js" */
/** @import { Scale } from "../kit.js" */
/** @import { Track } from "../runner.js" */
/** @import { Line, Setting } from "./model.js" */

import { chartFrame, timeAxis, valueAxis } from "../chart.js";
import { buttonRow, handle } from "../controls.js";
import { clamp, compact, curve, draw, drawLine, entries, fixed, ink, lastOf, panelWindow, plainTicks, samples, scale, ticksAcross, upright } from "../kit.js";
import { inPython } from "../life.js";
import { axisPoint } from "../point.js";
import { overTime } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { atATenth, impliedWeight, shareOfRate } from "./model.js";

const [LEAST, MOST] = SHARED.traits.span.range;

export default simple("Deadline", SHARED, (state) => {
  const table = lineTable(SHARED.lines, ["", "left at T/10"], inked);
  const choice = buttonRow(entries(SHARED.presets).map(([name, drawn]) => [name, `draw ${name}`, () => state.set("drawn", [...drawn])]));
  /** @type {{ time: Scale, across: Scale, level: Scale }} */
  let scales;
  const lift = (/** @type {number} */ i, /** @type {number} */ a) =>
    state.set("drawn", state.get("drawn").map((old, j) => (i === j ? clamp(a, 0, 1) : old)));
  return {
    table,
    more: [choice.node],
    two: "below",
    grips(stage, chart) {
      const go = (/** @type {number} */ span) => state.set("span", clamp(span, LEAST, MOST));
      const put = axisPoint(stage, { label: "deadline T; arrow keys move it", ends: [LEAST, MOST], steps: [0.1, 1], read: () => state.get("span"), go });
      const knots = state.get("drawn").map((_, i) => handle(chart, {
        label: `rate at ${i} of 6 parts of the time; arrow keys move it`,
        color: ink("belief"),
        onDrag: (_px, py) => lift(i, scales.level.invert(py)),
        onKey: ([dx, dy], big) => lift(i, state.get("drawn")[i] + (dx + dy) * (big ? 0.25 : 0.05)),
        onEnd: (side) => lift(i, side < 0 ? 0 : 1),
      }));
      return ({ top }, { span, drawn }) => {
        put(scales.time, top.rows.rate.bottom - 18, { now: span.toFixed(2), low: LEAST, high: MOST, text: `T = ${fixed(span, 2)}` });
        knots.forEach((knot, i) => knot.place(scales.across(i / (drawn.length - 1)), scales.level(drawn[i]), { now: drawn[i].toFixed(3), low: 0, high: 1, text: `rate ${fixed(drawn[i], 2)}` }));
      };
    },
    lay(paper, below) {
      const bottom = chartFrame(below, { drawn: ["your schedule", 120, 120], weight: [null, 70, 90] });
      const top = chartFrame(paper, { rate: ["rate, as a share of its largest", 190, 180] });
      timeAxis(paper.ground, top, 0, SHARED.window, 2, "time t");
      valueAxis(paper.ground, top.rows.rate, [0, 1.05], plainTicks([0, 0.5, 1], 1));
      scales = {
        time: scale([0, SHARED.window], [top.left, top.right]),
        across: scale([0, 1], [bottom.left + 16, bottom.right - 16]),
        level: scale([0, 1], [bottom.rows.drawn.bottom - 14, bottom.rows.drawn.top + 14]),
      };
      ticksAcross(below.ground, bottom.rows.weight, scales.across, [[0, "0"], [0.5, "T/2"], [1, "T"]]);
      return { top, bottom };
    },
    show(at, { top, bottom }, setting, over) {
      const tenth = atATenth(setting);
      table.fill((line) => [fixed(tenth[line], 2)]);
      drawDrawn(over, bottom, setting, scales.across, scales.level);
      return [...deadlineWords(setting, tenth), drawRates(at, top, setting, scales.time)];
    },
    run: { seconds: 6, inside: ({ top }) => top.rows.rate },
    python: (given, { span, gamma, charge, drawn }) => [
      `objective = ln.Objective(gamma=${gamma}, terminal=${charge})`,
      `rates = ln.rules.deadline_rate(objective, [0, 1, 25], ${span})`,
      `asked = ln.rules.loss_weight(${drawn.replace("(", "[").replace(")", "]")}, gamma=${inPython(given.gamma * given.span)})`,
    ],
  };
});

/**
 * The rates up to the deadline; returns where each of them is as time passes.
 * @type {(at: Element, f: ChartFrame<"rate">, setting: Setting, x: Scale) => Track[]}
 */
function drawRates(at, f, setting, x) {
  const row = f.rows.rate;
  const y = scale([0, 1.05], [row.bottom, row.top]);
  upright(at, x(setting.span), row, "ln-axis");
  return entries(SHARED.lines).map(([line, { h, tint }]) => {
    const points = samples(0, 1, 160).map((u) => [x(setting.span * u), y(shareOfRate(h, setting.span * (1 - u), setting))]);
    drawLine(at, points, { ...inked(SHARED.lines[line]), ...curve(line, x, y) });
    return overTime(points, { left: x(0), right: x(setting.span) }, ink(tint));
  });
}

/** @type {(at: Element, f: ChartFrame<"drawn" | "weight">, setting: Setting, x: Scale, level: Scale) => void} */
function drawDrawn(at, f, setting, x, level) {
  const { drawn } = setting;
  drawLine(at, drawn.map((a, i) => [x(i / (drawn.length - 1)), level(a)]), { stroke: ink("belief"), "stroke-width": 2.6, ...curve("drawn", x, level) });
  const row = f.rows.weight;
  const y = valueAxis(at, row, [-1.1, 1.1], plainTicks([-1, 0, 1]));
  const inner = panelWindow(at, row);
  const { weights, negative } = impliedWeight(setting);
  draw(at, "text", { class: "ln-name", x: row.left, y: row.top - 7 }, `loss weight it asks for: ${negative ? `${fixed(100 * negative, 0)} % negative` : "none negative"}`);
  const largest = Math.max(...weights.map(Math.abs), 1e-9);
  weights.forEach((w, i) => {
    const [left, right] = [x(i / weights.length), x((i + 1) / weights.length)];
    const [one, other] = [y(0), y(w / largest)];
    draw(inner, "rect", { x: left, width: right - left, y: Math.min(one, other), height: Math.abs(one - other), fill: ink(w < 0 ? "ballistic" : "newton"), "fill-opacity": 0.55 });
  });
  const line = weights.map((w, i) => [x((i + 0.5) / weights.length), y(w / largest)]);
  drawLine(inner, line, { stroke: ink("ink"), "stroke-width": 1.2, ...curve("weight", x, y) });
}

/** @type {(setting: Setting, tenth: Record<Line, number>) => [string, string[]]} */
function deadlineWords(setting, { flat, steep }) {
  const { negative, endShare } = impliedWeight(setting);
  const { span, gamma, charge, drawn } = setting;
  // A dear end raises the steep rates first.
  const [flatRises, steepRises] = [SHARED.lines.flat, SHARED.lines.steep].map(({ h }) => shareOfRate(h, span, setting) < 1 - 1e-9);
  let verdict = `With T/10 left the flat rate is at ${fixed(100 * flat, 0)} %, the steep at ${fixed(100 * steep, 0)} %.`;
  if (flatRises) verdict = "The end is dear: all rates rise towards it.";
  else if (steepRises) verdict = "The steep rate rises towards the end, the flat one does not.";
  return [verdict, [
    `You drew ${drawn.map((a) => fixed(a, 2)).join(", ")}; the weight is negative for ${compact(100 * negative)} % of the time.`,
    `The end, where the rate is ${fixed(lastOf(drawn), 2)}, is charged ${fixed(100 * endShare, 0)} % of everything.`,
    `T = ${fixed(span, 2)}, γ = ${fixed(gamma, 2)}, c = ${fixed(charge, 2)}; discounted over the whole: γT = ${fixed(gamma * span, 2)}.`,
  ]];
}
