// The view of two weights in a row: their walk over curves of equal a² − b², and that quantity over the steps.

/** @import { ChartFrame } from "../chart.js" */
/** @import { Scale } from "../kit.js" */
/** @import { SquareFrame } from "../plane.js" */
/** @import { PairWalk, Setting } from "./model.js" */

import { chartFrame, timeAxis, valueAxis } from "../chart.js";
import { compact, couple, curve, drawDot, drawLine, fixed, ink, lastOf, panelWindow, pixels, plainTicks, samples } from "../kit.js";
import { inPython } from "../life.js";
import { squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { evenly } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { chargeLaw, pairWalk } from "./model.js";

/** @typedef {ChartFrame<"imbalance">} ChargeFrame */

const { lines, plane, edge, hold, high } = SHARED;

export default simple("BrokenCharge", SHARED, (state) => ({
  legend: [lineTable(plane, [], inked).legend],
  more: [lineTable(lines, [], inked).legend],
  two: "below",
  grips: (stage) => planePoint(stage, state, "start", { label: "start", color: ink("ink"), hold }),
  lay(paper, chart) {
    const frame = chartFrame(chart, { imbalance: ["a² − b² over the steps", 110, 110] });
    const square = squareFrame(paper, { edge, ticks: [-2, -1, 0, 1, 2], names: ["a", "b"], aside: 348 });
    pairContours(paper.ground, square);
    const x = timeAxis(chart.ground, frame, 0, SHARED.steps / 100, 1, "steps, in hundreds");
    return { ...square, frame, scales: { x, y: valueAxis(chart.ground, frame.rows.imbalance, [-high, high], plainTicks([-4, -2, 0, 2, 4])) } };
  },
  show(at, f, setting, over) {
    const walk = pairWalk(setting);
    const inner = panelWindow(at, f);
    const pixel = pixels(f);
    const way = walk.points.map(pixel);
    drawLine(inner, way, { ...inked(plane.walk), ...curve("walk", f.x, f.y) });
    drawDot(inner, pixel(lastOf(walk.points)), 5, ink("optimal"));
    const alone = chargeLaw(walk.imbalance[0], Array(SHARED.steps).fill(0), setting);
    drawCharge(over, f.frame, f.scales, walk, alone);
    return [...chargeWords(setting, walk, alone), [evenly(way, ink("optimal"))]];
  },
  run: { seconds: 6, inside: (f) => f },
  python: ({ start: [a, b] }, { eta, beta, decay }) => [
    `alone = ln.noether.discrete_rescale(${inPython(a ** 2 - b ** 2)}, 0.0, [0.0] * ${SHARED.steps}, eta=${eta}, beta=${beta}, decay=${decay})`,
  ],
}));

/**
 * Curves of equal a² − b², and those of ab = 1, where the loss is zero.
 * @type {(at: Element, f: SquareFrame) => void}
 */
function pairContours(at, f) {
  const inner = panelWindow(at, f);
  const pixel = pixels(f);
  const along = samples(-2.6, 2.6, 80);
  for (const size of [0.25, 1, 2.25, 4]) {
    for (const side of [-1, 1]) {
      drawLine(inner, along.map((b) => pixel([side * Math.sqrt(size + b * b), b])), { class: "ln-contour" });
      drawLine(inner, along.map((a) => pixel([a, side * Math.sqrt(size + a * a)])), { class: "ln-contour" });
    }
  }
  for (const side of [-1, 1]) {
    drawLine(inner, [pixel([-3, -3 * side]), pixel([3, 3 * side])], { class: "ln-contour" });
    drawLine(inner, samples(0.3, 3, 60).map((a) => pixel([side * a, side / a])), inked(plane.valley));
  }
}

/**
 * The quantity over the steps: as it went, by decay alone, and as gradient flow has it.
 * @type {(at: Element, f: ChargeFrame, scales: { x: Scale, y: Scale }, walk: PairWalk, alone: number[]) => void}
 */
function drawCharge(at, f, { x, y }, { imbalance }, alone) {
  const inner = panelWindow(at, f.rows.imbalance);
  const style = (/** @type {"imbalance" | "decay" | "flow"} */ name, width = 1.8) => ({ ...inked(SHARED.lines[name]), "stroke-width": width });
  const over = (/** @type {number[]} */ values) => values.map((v, i) => [x(i / 100), y(v)]);
  drawLine(inner, over(imbalance), { ...style("imbalance", 2.6), ...curve("imbalance", x, y) });
  drawLine(inner, over(alone), { ...style("decay"), ...curve("decay", x, y) });
  drawLine(inner, [[f.left, y(imbalance[0])], [f.right, y(imbalance[0])]], style("flow"));
}

/**
 * Where the quantity began and ended, and what took it there.
 * @type {(setting: Setting, walk: PairWalk, alone: number[]) => [string, string[]]}
 */
function chargeWords(setting, { points, imbalance, sources }, alone) {
  const from = `From ${couple(setting.start, (v) => fixed(v, 2))}: η = ${compact(setting.eta)}, β = ${fixed(setting.beta, 2)}, λ = ${compact(setting.decay)}, ν = ${fixed(setting.noise, 2)}.`;
  if (points.length <= SHARED.steps) return ["It runs away: the steps are too long for this valley.", [from]];
  const [first, last, left] = [imbalance[0], lastOf(imbalance), lastOf(alone)];
  const again = chargeLaw(first, sources, setting);
  const off = Math.max(...again.map((value, i) => Math.abs(value - imbalance[i])));
  const [a, b] = lastOf(points);
  return [`a² − b² went from ${fixed(first, 2)} to ${fixed(last, 2)}.`, [
    `Decay alone would leave ${fixed(left, 2)}; the length of the steps did the other ${fixed(last - left, 2)}.`,
    off < 1e-12 ? "The recursion, from speeds alone, gives the same to 12 digits." : "The recursion, from speeds alone, gives the same but for rounding.",
    `In the end ab = ${fixed(a * b, 2)}.`,
    from,
  ]];
}
