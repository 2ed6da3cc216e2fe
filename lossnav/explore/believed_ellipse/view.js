// The view of five beliefs: the ellipse of gradients, what each belief takes for it, and the five steps.

/** @import { Setting, Spread } from "./model.js" */

import { compact, curve, degrees, draw, drawLine, entries, fixed, ink, lastOf, panelWindow, pixels, samples, trace } from "../kit.js";
import { inPython } from "../life.js";
import { angleBetween } from "../pairs.js";
import { drawArrowWithin, squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { believed, exponent, rowSpreads, spectrum, steps } from "./model.js";

const { beliefs: BELIEFS } = SHARED;

export default simple("BelievedEllipse", SHARED, (state) => {
  const lines = { ...BELIEFS, other: { ...SHARED.other, tint: "neutral" } };
  const table = lineTable(lines, ["belief", "off the full", "length"], inked);
  return {
    table,
    grips: (stage) => planePoint(stage, state, "gradient", { label: "gradient g", color: ink("ink"), hold: SHARED.hold, kind: "gradient", axes: ["g₁", "g₂"] }),
    lay: (paper) => squareFrame(paper, { edge: SHARED.edge, ticks: [-2, -1, 0, 1, 2], names: ["first weight of the row", "second weight of the row"] }),
    show(at, frame, given) {
      const [inner, found, made] = [panelWindow(at, frame), believed(given), steps(given)];
      draw(inner, "path", { d: trace(outline(found.full).map(pixels(frame))), fill: ink("neutral"), "fill-opacity": 0.16 });
      const ring = (/** @type {Spread} */ matrix, /** @type {keyof typeof lines} */ key) =>
        drawLine(inner, outline(matrix).map(pixels(frame)), { ...inked(lines[key]), "stroke-width": 1.8, ...curve(key, frame.x, frame.y) });
      ring(rowSpreads(given).other, "other");
      for (const [key, matrix] of entries(found)) ring(matrix, key);
      const off = entries(made).map(([key, step]) => ({ key, by: angleBetween(step, made.full), long: Math.hypot(...step) }));
      for (const { key, long } of off) {
        if (long > 0.02) drawArrowWithin(inner, frame, pixels(frame)([0, 0]), pixels(frame)(made[key]), { color: ink(BELIEFS[key].tint), dash: BELIEFS[key].dash, ...curve(`${key} step`, frame.x, frame.y) });
      }
      table.fill((key) => off.filter((one) => one.key === key).flatMap(({ by, long }) => [degrees(by), fixed(long, 2)]));
      return beliefWords(given, found.full, off.slice(0, -1));
    },
    python: (given, { gradient, gamma }) => {
      const rows = Object.values(rowSpreads(given)).map(([p, q, r]) => [[p, q], [q, r]]);
      return [
        "C = np.zeros((4, 4))",
        ...rows.map((block, i) => `C[${2 * i}:${2 * i + 2}, ${2 * i}:${2 * i + 2}] = ${inPython(block)}`),
        `g = np.array([*${gradient}, 0.0, 0.0])`,
        `ln.update(ln.Objective(gamma=${gamma}), g, C, dt=1e-9)  # along the full belief's arrow, backwards`,
      ];
    },
  };
});

/**
 * Points of the ellipse xᵀC⁻¹x = 1, closed.
 * @type {(matrix: Spread) => number[][]}
 */
function outline(matrix) {
  const { values, turn } = spectrum(matrix);
  const [[a, b], [x, y]] = [values.map((v) => Math.sqrt(Math.max(v, 0))), [Math.cos(turn), Math.sin(turn)]];
  return samples(0, 2 * Math.PI, 180).map((t) => [a * Math.cos(t) * x - b * Math.sin(t) * y, a * Math.cos(t) * y + b * Math.sin(t) * x]);
}

/** @type {(given: Setting, full: Spread, off: { key: keyof typeof BELIEFS, by: number }[]) => [string, string[]]} */
function beliefWords({ gradient, angle, turn, ratio, gamma }, full, off) {
  const near = off.reduce((best, one) => (one.by < best.by - 1e-9 ? one : best), lastOf(off));
  const [steep, flat] = spectrum(full).values.map((h) => exponent(h, gamma));
  const verdict = Math.hypot(...gradient) < 1e-9 ? "No gradient, no step." : `Nearest the full belief: ${BELIEFS[near.key].name}, ${degrees(near.by)} off.`;
  return [verdict, [
    `g = (${gradient.map((v) => fixed(v, 2)).join(", ")}); α = ${degrees(angle)}, δ = ${degrees(turn)}, ρ = ${compact(ratio)}.`,
    `γ = ${fixed(gamma, 2)}: exponents ${fixed(steep, 3)} (long axis) and ${fixed(flat, 3)} (short).`,
  ]];
}
