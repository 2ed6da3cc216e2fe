// The view of one noisy mode: its phase plane, with a start to drag, and what three sliders make of it.

/** @import { State } from "../life.js" */
/** @import { SquareFrame } from "../plane.js" */
/** @import { Setting } from "./model.js" */

import { handle, logDial, traitDial } from "../controls.js";
import { clamp, compact, couple, curve, draw, drawDot, drawLine, figure, fixed, ink, layer, panelWindow, pixels, readoutNode, samples, scaffold, verdictLines } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { squareFrame, squareGround } from "../plane.js";
import { lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { laws, matched, oscillator, rates, settles, steps } from "./model.js";

/** @typedef {Setting & { start: number[] }} Traits */

const TINT = { path: "descent", mean: "ink", exact: "optimal", circle: "optimal" };
const NAMES = { over: "overdamped", critical: "critical", under: "underdamped" };

/**
 * @param {HTMLElement} root
 * @param {State<Traits>} state
 */
function buildNoisyOscillator(root, state) {
  const spell = (/** @type {number} */ v) => fixed(v, v < 0.01 ? 4 : v < 0.1 ? 3 : 2);
  const eta = logDial(state, "eta", { symbol: "η", name: "learning rate", marks: SHARED.eta, text: spell });
  const most = Math.log(1 - SHARED.beta[SHARED.beta.length - 1]);
  const beta = traitDial(
    state,
    "beta",
    { symbol: "β", name: "momentum", marks: SHARED.beta, text: (v) => fixed(v, 3) },
    { toPosition: (v) => Math.log(1 - v) / most, toValue: (u) => clamp(1 - Math.exp(most * u), SHARED.beta[0], SHARED.beta[SHARED.beta.length - 1]) },
  );
  const rho = logDial(state, "rho", { symbol: "ρ", name: "curvature", marks: SHARED.rho });
  const [stage, readout] = [figure(), readoutNode()];
  const table = lineTable(SHARED.lines, [], ({ dash }, key) => ({ stroke: ink(TINT[key]), "stroke-dasharray": dash, "stroke-width": key === "path" ? 1.2 : 2.6 }));
  scaffold(root, {
    label: "one mode of SGD with noise, in phase space",
    title: SHARED.title,
    hint: "Raise ρ from left to right: it creeps, it swings, it diverges. Raise β: the cloud grows. Drag the start.",
    areas: { control: [eta.node, beta.node, rho.node, table.node], stage: [stage], words: [readout] },
  });
  const [ground, moving] = [layer(stage), layer(stage)];
  const move = (/** @type {number} */ x, /** @type {number} */ y) => state.set("start", [x, y].map((v) => clamp(v, -SHARED.hold, SHARED.hold)));
  /** @type {SquareFrame} */
  let frame;
  const knob = handle(stage, {
    label: "start; arrow keys move it both ways",
    kind: "point of the phase plane",
    color: ink("ink"),
    onDrag: (px, py) => move(frame.x.invert(px), frame.y.invert(py)),
    onKey: ([dx, dy], big) => move(state.get("start")[0] + dx * (big ? 0.5 : 0.05), state.get("start")[1] + dy * (big ? 0.5 : 0.05)),
    onEnd: (side) => move(side * SHARED.hold, state.get("start")[1]),
  });
  return {
    /** @param {number} width */
    layout(width) {
      frame = squareFrame(stage, root, width, { edge: SHARED.edge, alone: true });
      ground.replaceChildren();
      squareGround(ground, frame, [-2, -1, 0, 1, 2], ["position θ − μ", "velocity v, in units of ω"]);
    },
    update() {
      const setting = state.pick("eta", "beta", "rho");
      const start = state.get("start");
      eta.show(setting.eta);
      beta.show(setting.beta);
      rho.show(setting.rho);
      moving.replaceChildren();
      drawAll(moving, frame, setting, start);
      const text = `θ = ${fixed(start[0], 2)}, v/ω = ${fixed(start[1], 2)}`;
      knob.place(frame.x(start[0]), frame.y(start[1]), { now: start[0].toFixed(2), low: -SHARED.hold, high: SHARED.hold, text });
      readout.replaceChildren(...words(setting, start));
    },
    python() {
      const { eta: step, beta: kept, rho: bend } = state.pick("eta", "beta", "rho");
      const known = `eta=${inPython(step)}, beta=${inPython(kept)}`;
      const lines = [`mode = ln.sgd.Mode(${inPython(bend)}, ${known})`];
      if (settles(state.pick("eta", "beta", "rho"))) lines.push(`law = ln.sgd.stationary(${inPython(bend)}, ${known}, batch=1, noise=${SHARED.noise}, form="discrete")`);
      return lines;
    },
  };
}

/** @type {(at: Element, f: SquareFrame, setting: Setting, start: number[]) => void} */
function drawAll(at, f, setting, [theta, w]) {
  const inner = panelWindow(at, f);
  const { omega } = rates(setting);
  const pixel = pixels(f);
  const scaled = (/** @type {number[]} */ [a, v]) => pixel([a, v / omega]);
  const v0 = w * omega;
  const walk = steps(setting, [theta, v0]).map(scaled);
  const { exact, smooth } = laws(setting);
  drawLine(inner, walk, { stroke: ink("descent"), "stroke-width": 0.9, opacity: 0.75, ...curve("path", f.x, f.y) });
  for (const spot of walk.slice(1)) if (Math.abs(spot[0]) < 4 * f.w && Math.abs(spot[1]) < 4 * f.w) draw(inner, "circle", { cx: spot[0], cy: spot[1], r: 1.5, fill: ink("descent") });
  const from = [theta, matched(setting, [theta, v0])];
  const line = times(setting).map((t) => scaled(oscillator(setting, t, from)));
  drawLine(inner, line, { stroke: ink("ink"), "stroke-width": 2, ...curve("mean", f.x, f.y) });
  const ring = (/** @type {{ theta: number, v: number, both: number }} */ law) => ellipse(law).map(scaled);
  drawLine(inner, ring(smooth), { stroke: ink("optimal"), "stroke-width": 2, "stroke-dasharray": SHARED.lines.circle.dash, ...curve("circle", f.x, f.y) });
  if (settles(setting)) drawLine(inner, ring(exact), { stroke: ink("optimal"), "stroke-width": 2.6, ...curve("exact", f.x, f.y) });
  drawDot(inner, pixel([0, 0]), 2.5, ink("soft"));
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

/**
 * What the setting is, in words.
 * @type {(setting: Setting, start: number[]) => Node[]}
 */
function words(setting, start) {
  const { eta, beta, rho } = setting;
  const { zeta, alpha2 } = rates(setting);
  const known = `η = ${compact(eta)}, β = ${fixed(beta, 2)}, ρ = ${fixed(rho, 2)}: ηρ = ${compact(eta * rho)}, ζ = ${compact(zeta)}`;
  const from = `From ${couple(start, (v) => fixed(v, 2))}.`;
  if (!settles(setting)) return verdictLines("SGD diverges.", [known, `Steps settle for ηρ < 2(1 + β) = ${fixed(2 * (1 + beta), 2)}; the oscillator knows nothing of it.`, from]);
  const regime = Math.abs(zeta - 1) < 1e-3 ? "critical" : alpha2 > 0 ? "over" : "under";
  const swing = regime === "under" ? `, half a period is ${compact(Math.PI / Math.sqrt(-alpha2) / eta)} steps` : "";
  const { exact, smooth } = laws(setting);
  const [one, two] = [Math.sqrt(exact.theta), Math.sqrt(smooth.theta)].map(compact);
  return verdictLines(`It is ${NAMES[regime]}${swing}.`, [known, `In the end θ has the standard deviation ${one}; continuous theory says ${two}.`, from]);
}

export default explorable("NoisyOscillator", buildNoisyOscillator, ["start", "eta", "beta", "rho"]);
