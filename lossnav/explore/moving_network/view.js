// The view of the moving network: distance and exponent over the steps, predicted and recorded, and three sliders.

/** @import { ChartFrame } from "../chart.js" */
/** @import { Scale } from "../kit.js" */
/** @import { Run, Setting } from "./model.js" */

import { chartFrame, valueAxis } from "../chart.js";
import { clamp, compact, curve, draw, drawLine, fixed, ink, panelWindow, plainTicks, samples, upright } from "../kit.js";
import { countHandle, countPlayer } from "../knobs.js";
import { logAxis, logUp } from "../logs.js";
import { exponentAt } from "../modes.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { forecast, longest, meanFar, measuredExponents, nearestLag, nearestRun, temperature } from "./model.js";

/** @typedef {Setting & { n: number }} Traits */
/** @typedef {ChartFrame<"far" | "slope">} MotionFrame */
/** @typedef {{ f: MotionFrame, x: Scale, up: Scale, slope: Scale }} Scene */

export default simple("MovingNetwork", SHARED, (state, root) => {
  const table = lineTable(SHARED.lines, [], (line, key) => ({ ...inked(line), "stroke-width": key === "seeds" ? 6 : 2.4, "stroke-linecap": key === "seeds" ? "round" : "butt" }));
  const steps = countPlayer(root, state, [2, longest]);
  return {
    legend: [table.legend],
    control: [steps.node],
    grips(stage) {
      const knob = countHandle(stage, state, [2, longest]);
      return (/** @type {Scene} */ { f, x, up }, { n, ...setting }) => {
        const { top, bottom } = f.rows.far;
        knob.place(x, clamp(up(Math.log10(forecast(setting)[n])), top, bottom));
      };
    },
    lay(paper) {
      const { ground } = paper;
      const f = chartFrame(paper, { far: ["squared distance after n steps", 270, 230], slope: ["exponent c: the slope of that line", 110, 96] });
      return {
        f,
        x: logAxis(ground, f, SHARED.n, "number of steps n"),
        up: logUp(ground, f.rows.far, SHARED.far),
        slope: valueAxis(ground, f.rows.slope, [0, 2.1], plainTicks([0, 1, 2])),
      };
    },
    show(at, scene, { n, ...setting }) {
      const [far, near] = [forecast(setting), nearestRun(setting)];
      drawMotion(at, scene, far, near, n);
      return motionWords(setting, n, far, near);
    },
    python(_, { eta, batch, beta, n }) {
      const known = `eta=${eta}, batch=${batch}, beta=${beta}`;
      return [`nodes, weights = explore.MovingNetwork.spectrum()`, `ln.sgd.displacement(nodes, ${n}, ${known}, gradient_variance=weights, form="discrete")`];
    },
    leave: steps.leave,
  };
});

/** @type {(at: Element, scene: Scene, far: Float64Array, near: { run: Run, same: boolean }, n: number) => void} */
function drawMotion(at, { f, x, up, slope }, far, { run, same }, n) {
  const [upper, lower] = [panelWindow(at, f.rows.far), panelWindow(at, f.rows.slope)];
  const steps = [...new Set(samples(0, Math.log10(longest), 1200).map((u) => Math.round(10 ** u)))];
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
}

/**
 * What is predicted at n, and what was measured nearby.
 * @type {(setting: Setting, n: number, far: Float64Array, near: { run: Run, same: boolean }) => [string, string[]]}
 */
function motionWords(setting, n, far, { run, same }) {
  const [i, T] = [nearestLag(run, n), temperature(setting)];
  const lag = run.lags[i];
  const ratio = meanFar(run)[i] / far[lag];
  const spelled = `η = ${compact(run.eta)}, S = ${run.batch}, β = ${fixed(run.beta, 2)}`;
  const verdict = same ? `Measured over predicted: ${fixed(ratio, 2)} after ${lag} steps.` : `No run here. Hollow dots: the nearest, at ${spelled}.`;
  return [verdict, [
    `After n = ${n} steps |Δ|² = ${compact(far[n])}, and c = ${fixed(exponentAt(far, n), 2)}.`,
    `T = η/(S(1−β)) = ${compact(1000 * T)}·10⁻³.`,
    `Dots: recorded at ${spelled}.`,
  ]];
}
