// The view of the particle: its walk around the tip of the cone, its radius and its angle per step against the laws.

/** @import { SquareFrame } from "../plane.js" */
/** @import { ChartFrame } from "../chart.js" */
/** @import { Setting, Walk } from "./model.js" */

import { chartFrame, timeAxis, valueAxis } from "../chart.js";
import { compact, curve, draw, drawDot, drawLine, entries, fixed, ink, lastOf, panelWindow, pixels, plainTicks, samples } from "../kit.js";
import { squareFrame } from "../plane.js";
import { evenly } from "../runner.js";
import { simple } from "../simple.js";
import { lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { coneWalk } from "./model.js";

/** @typedef {ChartFrame<"radius" | "angle">} ConeFrame */

const PATH = { stroke: ink("optimal"), "stroke-width": 1.6, "stroke-opacity": 0.75 };
const LAW = { stroke: ink("ink"), "stroke-width": 1.6, "stroke-dasharray": "5 4" };
const LEGEND = { walk: { name: "the walk", style: PATH }, law: { name: "at rest, by the laws", style: LAW } };

export default simple("ScaleCone", SHARED, () => ({
  legend: [lineTable(LEGEND, [], ({ style }) => style).legend],
  two: "below",
  lay(plane, charts) {
    const frame = chartFrame(charts, { radius: ["radius over the radius of rest r∗", 76, 90], angle: ["angle per step over √(2ηλ/(1+β))", 76, 90] });
    return { ...squareFrame(plane, { edge: SHARED.edge, ticks: [-2, -1, 0, 1, 2], names: ["θ₁/r∗", "θ₂/r∗"], aside: 348 }), frame };
  },
  show(at, f, given, over) {
    const walk = coneWalk(given);
    conePlane(at, f, walk);
    coneCharts(over, f.frame, walk);
    return [...coneWords(given, walk), [evenly(walk.points.map(pixels(f)), ink("optimal"))]];
  },
  run: { seconds: 8, inside: (f) => f },
  python: (_, { eta, beta, decay }) => [
    `speed = ln.noether.limiting_angular_speed(eta=${eta}, beta=${beta}, decay=${decay})`,
    `${eta} * speed  # the angle per step`,
  ],
}));

/**
 * The walk, the circle of rest and the tip.
 * @type {(at: Element, f: SquareFrame, walk: Walk) => void}
 */
function conePlane(at, f, { points }) {
  const inner = panelWindow(at, f);
  const pixel = pixels(f);
  const [cx, cy] = pixel([0, 0]);
  for (let angle = 0; angle < 360; angle += 15) {
    const [dx, dy] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
    draw(inner, "path", { class: "ln-contour", d: `M${cx} ${cy}L${f.x(4 * dx)} ${f.y(4 * dy)}` });
  }
  drawLine(inner, points.map(pixel), { ...PATH, ...curve("walk", f.x, f.y) });
  const circle = samples(0, 2 * Math.PI, 120).map((a) => pixel([Math.cos(a), Math.sin(a)]));
  drawLine(inner, circle, LAW);
  drawDot(inner, pixel(points[0]), 6, ink("ink"));
  drawDot(inner, pixel(lastOf(points)), 5, ink("optimal"));
}

/**
 * Radius and angle over the steps, and the laws at 1.
 * @type {(at: Element, f: ConeFrame, walk: Walk) => void}
 */
function coneCharts(at, f, { radius, angles }) {
  const x = timeAxis(at, f, 0, SHARED.steps / 100, 2, "steps, in hundreds");
  const middle = (/** @type {number} */ i) => ((i + 0.5) * SHARED.block) / 100;
  const lines = { radius: radius.map((r, i) => [i / 100, r]), angle: angles.map((a, i) => [middle(i), a]) };
  for (const [name, row] of entries(f.rows)) {
    const y = valueAxis(at, row, [0, SHARED.top], plainTicks([0, 1, 2]));
    const inner = panelWindow(at, row);
    drawLine(inner, [[f.left, y(1)], [f.right, y(1)]], LAW);
    drawLine(inner, lines[name].map(([t, v]) => [x(t), y(v)]), { ...PATH, "stroke-opacity": 1, ...curve(name, x, y) });
  }
}

/**
 * What the laws say, and what the walk did.
 * @type {(given: Setting, walk: Walk) => [string, string[]]}
 */
function coneWords({ noise, beta, start }, { angles, rest, law, memory, left, halfway }) {
  const late = angles.slice(angles.length / 2);
  const found = Math.sqrt(late.reduce((sum, a) => sum + a * a, 0) / late.length);
  const circle = `r∗ = ${compact(rest)}`;
  let verdict = `Around ${circle} the angle per step is ${fixed(found, 2)} times the law's.`;
  if (left > 0.03) verdict = `The radius is still on its way to ${circle}.`;
  else if (Math.abs(found - 1) < 0.03) verdict = `${compact(1000 * law)} mrad per step, as the law says, at the radius ${circle}.`;
  else if (halfway > 0.03 && found < 1 === start > 1) verdict = `The radius comes to rest late, at ${circle}.`; // off as its start is
  const factor = noise + ((1 - noise) * (1 + beta)) / (1 - beta);
  return [verdict, [
    `Laws: ${compact(1000 * law)} mrad per step, at ${circle},`,
    `where r⁴ is ${compact(factor)} times that of white noise.`,
    `From ${fixed(start, 2)}·r∗, r⁴ forgets within ${compact(memory)} steps.`,
  ]];
}
