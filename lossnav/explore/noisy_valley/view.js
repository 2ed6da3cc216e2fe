// The view of a valley with noise: level sets of the loss and of the modified loss, and the two parts of the drift.

/** @import { SquareFrame } from "../plane.js" */
/** @import { Track } from "../runner.js" */
/** @import { Setting } from "./model.js" */

import { couple, curve, degrees, drawLine, entries, fixed, ink, panelWindow, pixels } from "../kit.js";
import { inPython } from "../life.js";
import { drawArrowWithin, squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { VALLEY, carriedBy, level, longAxis, parts, split } from "./model.js";

/** @typedef {Setting & { start: number[] }} Traits */

export default simple("NoisyValley", SHARED, (state) => ({
  legend: [lineTable(SHARED.lines, [], inked).legend],
  grips: (stage) => planePoint(stage, state, "start", { label: "a place", color: ink("ink"), hold: SHARED.hold }),
  lay(paper) {
    const frame = squareFrame(paper, { edge: SHARED.edge, ticks: [-2, -1, 0, 1, 2], names: ["θ₁", "θ₂"] });
    const inner = panelWindow(paper.ground, frame);
    for (const far of SHARED.levels) drawLine(inner, level(VALLEY, [far, 0]).map(pixels(frame)), { class: "ln-contour" });
    return frame;
  },
  show(at, frame, given) {
    drawValley(at, frame, given);
    return [...valleyWords(given), floats(frame, given)];
  },
  run: { seconds: 8, inside: (frame) => frame },
  python: (_, { start, angle, ratio }) => [
    `turn, ratio = np.deg2rad(${angle}), ${ratio}`,
    "axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])",
    "noise = axes @ np.diag([ratio**0.5, ratio**-0.5]) @ axes.T",
    `process = ln.sgd.OrnsteinUhlenbeck(${inPython(VALLEY)}, noise)`,
    `process.skew, process.curvature, process.flow(${start})`,
  ],
}));

/** @type {(at: Element, f: SquareFrame, given: Traits) => void} */
function drawValley(at, f, given) {
  const inner = panelWindow(at, f);
  const pixel = pixels(f);
  const { u } = split(given);
  const place = given.start;
  const lines = { phi: level(VALLEY, place), psi: level(u, place) };
  for (const [key, points] of entries(lines)) drawLine(inner, points.map(pixel), { stroke: ink(SHARED.lines[key].tint), "stroke-width": 2.4, ...curve(key, f.x, f.y) });
  for (const [key, way] of entries(parts(given, place))) {
    const end = place.map((v, i) => v + SHARED.reach * way[i]);
    if (Math.hypot(...way) > 0.03) drawArrowWithin(inner, f, pixel(place), pixel(end), { color: ink(SHARED.lines[key].tint), dash: SHARED.lines[key].dash, ...curve(key, f.x, f.y) });
  }
}

/**
 * Where the drift alone, and each of its parts alone, would take the place as time passes.
 * @type {(f: SquareFrame, given: Traits) => Track[]}
 */
function floats(f, given) {
  return entries(parts(given, given.start)).map(([key]) => {
    const field = (/** @type {number[]} */ x) => parts(given, x)[key];
    return { at: (share) => pixels(f)(carriedBy(field, given.start, share * SHARED.until)), color: ink(SHARED.lines[key].tint) };
  });
}

/**
 * What the setting is, in words.
 * @type {(given: Traits) => [string, string[]]}
 */
function valleyWords(given) {
  const { q, u } = split(given);
  const turn = 2 * q;
  const verdict = Math.abs(turn) < 5e-4 ? "Nothing goes round." : `The current turns ${turn > 0 ? "counter-clockwise" : "clockwise"}.`;
  const round = Math.abs(u[0][1]) < 1e-9 && Math.abs(u[0][0] - u[1][1]) < 1e-9;
  const cloud = round ? "a round cloud" : `a cloud at ${degrees(longAxis(u))}`;
  return [verdict, [
    `Noise at ${degrees(given.angle)}, r = ${fixed(given.ratio, 2)}: κE[x₁j₂ − x₂j₁] = 2Q₁₂ = ${fixed(turn, 3)}`,
    `A valley at ${degrees(longAxis(VALLEY))}, ${cloud}.`,
    `The place is ${couple(given.start, (v) => fixed(v, 2))}.`,
  ]];
}
