// The view of a learner that pays for acceleration: its path beside the heavy ball's, and its rates as complex numbers.

/** @import { ChartFrame } from "../chart.js" */
/** @import { Setting } from "./model.js" */

import { chartFrame, nameTicks, valueAxis } from "../chart.js";
import { curve, drawDot, drawLine, entries, fixed, ink, panelWindow, pixels, plainTicks, scale } from "../kit.js";
import { bowlContours, squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { evenly } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { ball, excess, optimal, overshoot, paths, spectrum } from "./model.js";

/** @typedef {keyof typeof SHARED.lines} Line */

const { edge, hold, widest } = SHARED;

export default simple("OneMap", SHARED, (state) => ({
  legend: [lineTable(SHARED.lines, [], inked).legend],
  two: "below",
  grips: (stage) => planePoint(stage, state, "start", { label: "start θ(0), at rest", color: ink("ink"), hold }),
  lay(plane, chart) {
    const square = squareFrame(plane, { edge, ticks: [-2, -1, 0, 1, 2], names: ["θ₁ (h = 0.1)", "θ₂ (h = 1)"], aside: 348 });
    bowlContours(plane.ground, square, SHARED.curvatures.map((h) => 4 * h));
    const tall = ((square.w - 50) * widest[1]) / widest[0];
    const rates = chartFrame(chart, { rates: ["swing: imaginary part of the rates", tall, tall] });
    const x = scale([0, widest[0]], [rates.left, rates.right]);
    nameTicks(chart.ground, rates, x, plainTicks([0, 0.5, 1, 1.5], 1), "pace: real part");
    return { ...square, rates, scales: { x, y: valueAxis(chart.ground, rates.rows.rates, [0, widest[1]], plainTicks([0, 0.5], 1)) } };
  },
  show(at, f, given, over) {
    const [found, pixel] = [paths(given), pixels(f)];
    const inner = panelWindow(at, f);
    for (const [name, path] of entries(found).reverse()) {
      drawLine(inner, path.map(pixel), { ...inked(SHARED.lines[/** @type {Line} */ (name)]), ...curve(name, f.x, f.y) });
    }
    drawRates(over, f.rates, f.scales, given);
    const timed = entries(found).filter(([name]) => name !== "ball");
    const tracks = timed.map(([name, path]) => evenly(path.map(pixel), ink(SHARED.lines[/** @type {Line} */ (name)].tint)));
    return [...words(given, "average" in found), tracks];
  },
  run: { seconds: 6, inside: (f) => f },
  python(_, { speed, gamma }) {
    return [
      `price = ln.prices.Acceleration(m=1, speed=${speed})`,
      `ln.rules.acceleration_gains(ln.Objective(gamma=${gamma}, price=price), [0.1, 1.0])  # K1/h, K2`,
    ];
  },
}));

/**
 * The rates of both modes, where they are for other γ, and the ray on which the ball's lie.
 * @type {(at: Element, f: ChartFrame<"rates">, scales: { x: import("../kit.js").Scale, y: import("../kit.js").Scale }, given: Setting) => void}
 */
function drawRates(at, f, scales, given) {
  const [inner, pixel] = [panelWindow(at, f.rows.rates), pixels(scales)];
  for (const [i, h] of SHARED.curvatures.entries()) {
    const { now, all, ball: ray } = spectrum(given, h);
    if (all.length) {
      drawLine(inner, ray.map(pixel), { ...inked(SHARED.lines.ball), ...curve("ray", scales.x, scales.y) });
      drawLine(inner, all.map(pixel), { ...inked(SHARED.lines.optimal), "stroke-width": 1.4, ...curve("rates", scales.x, scales.y) });
    }
    for (const rate of now) drawDot(at, pixel(rate), i ? 6.5 : 4, ink("optimal"));
  }
}

/** @type {(given: Setting, averaged: boolean) => [string, string[]]} */
function words(given, averaged) {
  const { gamma, speed, start } = given;
  const share = (/** @type {number} */ part) => `${fixed(100 * part, 1)} %`;
  const [flat, steep] = SHARED.curvatures.map((h) => [optimal(given, h), ball(given, h)].map(overshoot));
  const [best, swung] = start[1] ? steep : start[0] ? flat : [0, 0];
  const verdict = best > 0 ? `The best path overshoots by ${share(best)}, the ball by ${share(swung)}.` : "Neither the best path swings nor the ball.";
  return [verdict, [
    `γ = ${fixed(gamma, 2)}, c = ${fixed(speed, 2)}: what swings has 4h > c².`,
    flat[0] > 0 ? `Its flat mode overshoots by ${share(flat[0])}.` : "Its flat mode does not swing.",
    averaged ? `The average costs ${share(excess(given))} too much.` : "A walker is there at once.",
  ]];
}
