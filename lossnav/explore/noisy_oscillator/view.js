// The view of one noisy mode: its phase plane, with a start to drag, and what three sliders make of it.

/** @import { SquareFrame } from "../plane.js" */
/** @import { Track } from "../runner.js" */
/** @import { Setting } from "./model.js" */

import { declaredDial } from "../controls.js";
import { compact, couple, curve, draw, drawDot, drawLine, fixed, ink, panelWindow, pixels, samples } from "../kit.js";
import { squareFrame } from "../plane.js";
import { planePoint } from "../point.js";
import { between } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { laws, matched, oscillator, rates, settles, steps } from "./model.js";

/** @typedef {Setting & { start: number[] }} Traits */

const NAMES = { over: "overdamped", critical: "critical", under: "underdamped" };

export default simple("NoisyOscillator", SHARED, (state) => {
  const spell = (/** @type {number} */ v) => fixed(v, v < 0.01 ? 4 : v < 0.1 ? 3 : 2);
  const table = lineTable(SHARED.lines, [], (line, key) => ({ ...inked(line), "stroke-width": key === "path" ? 1.2 : 2.6 }));
  return {
    dials: { eta: declaredDial(state, SHARED.traits, "eta", { text: spell }) },
    legend: [table.legend],
    grips: (stage) => planePoint(stage, state, "start", { label: "start", color: ink("ink"), hold: SHARED.hold, kind: "point of the phase plane", axes: ["θ", "v/ω"] }),
    lay: (paper) => squareFrame(paper, { edge: SHARED.edge, ticks: [-2, -1, 0, 1, 2], names: ["position θ − μ", "velocity v, in units of ω"] }),
    show(at, f, { start, ...setting }) {
      return [...words(setting, start), drawAll(at, f, setting, start)];
    },
    run: { seconds: 12, inside: (f) => f },
    python(given, { eta, beta, rho }) {
      const mode = `${rho}, eta=${eta}, beta=${beta}`;
      const law = `law = ln.sgd.stationary(${mode}, batch=1, noise=${SHARED.noise}, form="discrete")`;
      return [`mode = ln.sgd.Mode(${mode})`, ...(settles(given) ? [law] : [])];
    },
  };
});

/**
 * All of it; returns where steps and oscillator are as time passes.
 * @type {(at: Element, f: SquareFrame, setting: Setting, start: number[]) => Track[]}
 */
function drawAll(at, f, setting, [theta, w]) {
  const inner = panelWindow(at, f);
  const { omega } = rates(setting);
  const pixel = pixels(f);
  const scaled = (/** @type {number[]} */ [a, v]) => pixel([a, v / omega]);
  const v0 = w * omega;
  const walk = steps(setting, [theta, v0]).map(scaled);
  const { exact, smooth } = laws(setting);
  drawLine(inner, walk, { stroke: ink("descent"), "stroke-width": 1.2, ...curve("path", f.x, f.y) });
  for (const spot of walk.slice(1)) if (Math.abs(spot[0]) < 4 * f.w && Math.abs(spot[1]) < 4 * f.w) draw(inner, "circle", { cx: spot[0], cy: spot[1], r: 1.5, fill: ink("descent") });
  const from = [theta, matched(setting, [theta, v0])];
  const line = times(setting).map((t) => scaled(oscillator(setting, t, from)));
  drawLine(inner, line, { stroke: ink("ink"), "stroke-width": 2, ...curve("mean", f.x, f.y) });
  const ring = (/** @type {{ theta: number, v: number, both: number }} */ law) => ellipse(law).map(scaled);
  drawLine(inner, ring(smooth), { ...inked(SHARED.lines.circle), "stroke-width": 2, ...curve("circle", f.x, f.y) });
  if (settles(setting)) drawLine(inner, ring(exact), { stroke: ink("optimal"), "stroke-width": 2.6, ...curve("exact", f.x, f.y) });
  drawDot(inner, pixel([0, 0]), 2.5, ink("soft"));
  const count = SHARED.draws.length;
  return [
    { at: (share) => between(walk, share * count), color: ink("descent") },
    { at: (share) => scaled(oscillator(setting, share * count * setting.eta, from)), color: ink("ink") },
  ];
}

/**
 * Times at which the oscillator is drawn: as long as the steps last, fine enough for its turns.
 * @param {Setting} setting
 */
function times(setting) {
  const count = SHARED.draws.length;
  const parts = Math.max(1, Math.ceil((rates(setting).omega * setting.eta) / 0.2));
  return samples(0, count * setting.eta, count * parts);
}

/**
 * Two standard deviations of a law of (θ, v).
 * @param {{ theta: number, v: number, both: number }} law
 */
function ellipse({ theta, v, both }) {
  const side = both / Math.sqrt(theta);
  const rest = Math.sqrt(v - side ** 2);
  return samples(0, 2 * Math.PI, 120).map((u) => [2 * Math.sqrt(theta) * Math.cos(u), 2 * (side * Math.cos(u) + rest * Math.sin(u))]);
}

/** @type {(setting: Setting, start: number[]) => [string, string[]]} */
function words(setting, start) {
  const { eta, beta, rho } = setting;
  const { zeta, alpha2 } = rates(setting);
  const known = `η = ${compact(eta)}, β = ${fixed(beta, 2)}, ρ = ${fixed(rho, 2)}: ηρ = ${compact(eta * rho)}, ζ = ${compact(zeta)}`;
  const from = `From ${couple(start, (v) => fixed(v, 2))}.`;
  if (!settles(setting)) return ["SGD diverges.", [known, `Steps settle for ηρ < 2(1 + β) = ${fixed(2 * (1 + beta), 2)}; the oscillator knows nothing of it.`, from]];
  const regime = Math.abs(zeta - 1) < 1e-3 ? "critical" : alpha2 > 0 ? "over" : "under";
  const swing = regime === "under" ? `, half a period is ${compact(Math.PI / Math.sqrt(-alpha2) / eta)} steps` : "";
  const { exact, smooth } = laws(setting);
  const [one, two] = [Math.sqrt(exact.theta), Math.sqrt(smooth.theta)].map(compact);
  return [`The oscillator is ${NAMES[regime]}${swing}.`, [known, `In the end θ has the standard deviation ${one}; continuous theory says ${two}.`, from]];
}
