// The view of the moving network: distance and exponent over the steps, predicted and recorded, and three sliders.

/** @import { ChartFrame } from "../chart.js" */
/** @import { Scale } from "../kit.js" */
/** @import { State } from "../life.js" */
/** @import { Run, Setting } from "./model.js" */

import { chartFrame, chartGround, valueAxis } from "../chart.js";
import { handle, logDial, traitDial } from "../controls.js";
import { clamp, compact, curve, draw, drawLine, figure, fixed, ink, lastOf, layer, panelWindow, plainTicks, readoutNode, samples, scaffold, upright, verdictLines } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { logAxis, logUp } from "../logs.js";
import { exponentAt } from "../modes.js";
import { lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { forecast, longest, meanFar, measuredExponents, nearestLag, nearestRun, temperature } from "./model.js";

/** @typedef {Setting & { n: number }} Traits */
/** @typedef {ChartFrame<"far" | "slope">} MotionFrame */
/** @typedef {{ x: Scale, up: Scale, slope: Scale }} Scales */

const TINT = { far: "optimal", seeds: "descent", tangent: "ink" };

/**
 * @param {HTMLElement} root
 * @param {State<Traits>} state
 */
function buildMovingNetwork(root, state) {
  const [few, many] = [SHARED.batch[0], lastOf(SHARED.batch)];
  const [short, long] = [SHARED.beta[0], lastOf(SHARED.beta)].map((v) => Math.log(1 - v));
  const eta = logDial(state, "eta", { symbol: "η", name: "learning rate", marks: SHARED.eta, text: (v) => fixed(v, 4) });
  const batch = traitDial(
    state,
    "batch",
    { symbol: "S", name: "batch size", marks: SHARED.batch, text: (v) => fixed(v, 0) },
    { toPosition: (v) => Math.log(v / few) / Math.log(many / few), toValue: (u) => Math.round(few * (many / few) ** u) },
  );
  const beta = traitDial(
    state,
    "beta",
    { symbol: "β", name: "momentum", marks: SHARED.beta, text: (v) => fixed(v, 3) },
    { toPosition: (v) => (Math.log(1 - v) - short) / (long - short), toValue: (u) => clamp(1 - Math.exp(short + (long - short) * u), SHARED.beta[0], lastOf(SHARED.beta)) },
  );
  const [stage, readout] = [figure(), readoutNode()];
  const table = lineTable(SHARED.lines, [], ({ dash }, key) => ({ stroke: ink(TINT[key]), "stroke-dasharray": dash, "stroke-width": key === "seeds" ? 6 : 2.4, "stroke-linecap": key === "seeds" ? "round" : "butt" }));
  scaffold(root, {
    label: "how far a trained network gets in n steps, predicted and recorded",
    title: SHARED.title,
    hint: "Drag n along the line and read the exponent there. Then heat the network, with any of the three: where does the line leave the dots?",
    areas: { control: [eta.node, batch.node, beta.node, table.node], stage: [stage], words: [readout] },
  });
  const [ground, moving] = [layer(stage), layer(stage)];
  const move = (/** @type {number} */ n) => state.set("n", clamp(Math.round(n), 2, longest));
  /** @type {MotionFrame} */
  let frame;
  /** @type {Scales} */
  let scales;
  const knob = handle(stage, {
    label: "n, the number of steps; arrow keys move it",
    color: ink("ink"),
    onDrag: (px) => move(10 ** scales.x.invert(px)),
    onKey([dx, dy], big) {
      const [n, way] = [state.get("n"), dx + dy];
      const next = Math.round(n * (big ? 1.5 : 1.07) ** way);
      move(next === n ? n + way : next);
    },
    onEnd: (side) => move(side < 0 ? 2 : longest),
  });
  return {
    /** @param {number} width */
    layout(width) {
      frame = chartFrame(stage, root, width, { far: ["squared distance after n steps", 270, 230], slope: ["exponent c: the slope of that line", 110, 96] });
      ground.replaceChildren();
      chartGround(ground, frame);
      scales = {
        x: logAxis(ground, frame, SHARED.n, "number of steps n"),
        up: logUp(ground, frame.rows.far, SHARED.far),
        slope: valueAxis(ground, frame.rows.slope, [0, 2.1], plainTicks([0, 1, 2])),
      };
    },
    update() {
      const setting = state.pick("eta", "batch", "beta");
      const n = state.get("n");
      eta.show(setting.eta);
      batch.show(setting.batch);
      beta.show(setting.beta);
      moving.replaceChildren();
      const far = forecast(setting);
      const near = nearestRun(setting);
      const [px, py] = drawMotion(moving, frame, scales, far, near, n);
      knob.place(px, py, { now: n, low: 2, high: longest, text: `n = ${n}` });
      readout.replaceChildren(...motionWords(setting, n, far, near));
    },
    python() {
      const { eta: step, batch: size, beta: kept } = state.pick("eta", "batch", "beta");
      const known = `eta=${inPython(step)}, batch=${inPython(size)}, beta=${inPython(kept)}`;
      return [`nodes, weights = explore.MovingNetwork.spectrum()`, `ln.sgd.displacement(nodes, ${state.get("n")}, ${known}, gradient_variance=weights, form="discrete")`];
    },
  };
}

/**
 * Lines and dots; returns the pixel of n on the line.
 * @type {(at: Element, f: MotionFrame, scales: Scales, far: Float64Array, near: { run: Run, same: boolean }, n: number) => number[]}
 */
function drawMotion(at, f, { x, up, slope }, far, { run, same }, n) {
  const [upper, lower] = [panelWindow(at, f.rows.far), panelWindow(at, f.rows.slope)];
  const steps = [...new Set(samples(0, Math.log10(longest), 120).map((u) => Math.round(10 ** u)))];
  const place = (/** @type {number} */ k, /** @type {number} */ value) => [x(Math.log10(k)), up(Math.log10(value))];
  for (const box of [f.rows.far, f.rows.slope]) upright(at, x(Math.log10(n)), box, "ln-grid");
  drawLine(lower, [[f.left, slope(1)], [f.right, slope(1)]], { stroke: ink("soft"), "stroke-width": 1, "stroke-dasharray": "5 4" });
  drawLine(upper, steps.map((k) => place(k, far[k])), { stroke: ink("optimal"), "stroke-width": 2.6, ...curve("far", x, up) });
  const bent = steps.filter((k) => k > 1).map((k) => [x(Math.log10(k)), slope(exponentAt(far, k))]);
  drawLine(lower, bent, { stroke: ink("optimal"), "stroke-width": 2.6, ...curve("slope", x, slope) });
  const look = { fill: same ? ink("descent") : "none", stroke: ink("descent"), "stroke-width": 1.3 };
  const dot = (/** @type {Element} */ inner, /** @type {number[]} */ [cx, cy]) => draw(inner, "circle", { cx, cy, r: 3.2, ...look });
  for (const seed of run.far) seed.forEach((value, i) => dot(upper, place(run.lags[i], value)));
  for (const [k, c] of measuredExponents(run)) dot(lower, [x(Math.log10(k)), slope(c)]);
  const c = exponentAt(far, n);
  const tangent = [-0.5, 0.5].map((u) => [x(Math.log10(n) + u), up(Math.log10(far[n]) + c * u)]);
  drawLine(upper, tangent, { stroke: ink("ink"), "stroke-width": 1.8, "stroke-dasharray": "5 4" });
  const row = f.rows.far;
  return [x(Math.log10(n)), clamp(up(Math.log10(far[n])), row.top, row.bottom)];
}

/**
 * What is predicted at n, and what was measured nearby.
 * @type {(setting: Setting, n: number, far: Float64Array, near: { run: Run, same: boolean }) => Node[]}
 */
function motionWords(setting, n, far, { run, same }) {
  const [i, T] = [nearestLag(run, n), temperature(setting)];
  const lag = run.lags[i];
  const ratio = meanFar(run)[i] / far[lag];
  const verdict = same ? `Measured over predicted: ${fixed(ratio, 2)} after ${lag} steps.` : "No run was recorded here.";
  const spelled = `η = ${compact(run.eta)}, S = ${run.batch}, β = ${fixed(run.beta, 2)}`;
  return verdictLines(verdict, [
    `After n = ${n} steps |Δ|² = ${compact(far[n])}, and c = ${fixed(exponentAt(far, n), 2)}.`,
    `T = η/(S(1−β)) = ${compact(1000 * T)}·10⁻³.`,
    same ? `Dots: recorded at ${spelled}.` : `Hollow dots: the nearest, at ${spelled}.`,
  ]);
}

export default explorable("MovingNetwork", buildMovingNetwork, ["eta", "batch", "beta", "n"]);
