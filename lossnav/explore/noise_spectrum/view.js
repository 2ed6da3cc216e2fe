// The view of the noise on a spectrum: bars that drain as n grows, and the exponent over n, with n to drag.

/** @import { ChartFrame } from "../chart.js" */
/** @import { Scale } from "../kit.js" */
/** @import { State } from "../life.js" */
/** @import { Setting } from "./model.js" */

import { chartFrame, valueAxis } from "../chart.js";
import { buttonRow, declaredDial } from "../controls.js";
import { clamp, compact, curve, draw, drawLine, fixed, ink, panelWindow, plainTicks, samples, upright } from "../kit.js";
import { countHandle, countPlayer } from "../knobs.js";
import { inPython } from "../life.js";
import { logAxis } from "../logs.js";
import { exponentAt } from "../modes.js";
import { simple } from "../simple.js";
import SHARED from "./constants.json" with { type: "json" };
import { halfCounts, mostSteps, noiseShares, octaves, spectrumDistances, stillCounts } from "./model.js";

/** @typedef {Setting & { n: number }} Traits */
/** @typedef {{ h: Scale, share: Scale, x: Scale, c: Scale }} SpectrumScales */

export default simple("NoiseSpectrum", SHARED, (state, root) => {
  /** Who moves s wants the power law. @type {State<Traits>} */
  const bent = { ...state, set: (trait, value) => [state.set(trait, value), state.set("own", 0)] };
  const choice = buttonRow([
    ["The network's", "the noise that was measured", () => state.set("own", 1)],
    ["A power law", "noise that grows like a power of curvature", () => state.set("own", 0)],
  ]);
  const steps = countPlayer(root, state, [2, mostSteps]);
  return {
    dials: { slope: declaredDial(bent, SHARED.traits, "slope") },
    control: [steps.node],
    more: [choice.node],
    grips(stage) {
      const knob = countHandle(stage, state, [2, mostSteps]);
      return ({ frame, scales }, { n, ...setting }) => {
        const c = exponentAt(spectrumDistances(setting), n);
        const { top, bottom } = frame.rows.c;
        knob.place(scales.x, clamp(scales.c(c), top, bottom), `, c = ${fixed(c, 2)}`);
      };
    },
    lay(paper) {
      const { ground } = paper;
      const frame = chartFrame(paper, { share: ["share of the noise in each octave", 170, 130], c: ["exponent c after n steps", 120, 100] }, 66);
      const ends = [2 ** SHARED.first, 2 ** (SHARED.first + SHARED.shares.length)];
      const scales = {
        h: logAxis(ground, { ...frame, bottom: frame.rows.share.bottom }, ends, "curvature ρ + λ"),
        share: valueAxis(ground, frame.rows.share, [0, SHARED.top], plainTicks([0, 0.1, 0.2, 0.3], 1)),
        x: logAxis(ground, frame, SHARED.n, "number of steps n"),
        c: valueAxis(ground, frame.rows.c, [-1, 2.1], plainTicks([-1, 0, 1, 2])),
      };
      return { frame, scales };
    },
    show(at, { frame, scales }, { n, ...setting }) {
      choice.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String((i === 0) === Boolean(setting.own))));
      const far = spectrumDistances(setting);
      drawShares(at, frame, scales, setting, n);
      drawExponent(at, frame, scales, setting, far, n);
      return spectrumWords(setting, far, n);
    },
    leave: steps.leave,
    python({ own }, { eta, beta, slope, n }) {
      const grown = [`noise = rho ** ${slope}`, `noise *= ${inPython(SHARED.trace)} / np.sum(noise)`];
      const known = `eta=${eta}, beta=${beta}, batch=${SHARED.batch}`;
      const noise = own ? [`noise = ${inPython(SHARED.trace)} * np.array(${inPython(SHARED.shares)})`] : grown;
      return [`rho = 2.0 ** (${SHARED.first} + np.arange(${octaves.length}) + 0.5)`, ...noise, `ln.sgd.displacement(rho, ${n}, ${known}, gradient_variance=noise, form="discrete")`];
    },
  };
});

/**
 * Bars of the noise, dark as far as they count after n steps, and the line that says how far that is.
 * @type {(at: Element, f: ChartFrame<"share" | "c">, scales: SpectrumScales, setting: Setting, n: number) => void}
 */
function drawShares(at, f, { h, share }, setting, n) {
  const inner = panelWindow(at, f.rows.share);
  const half = Math.log10(2) / 2;
  noiseShares(setting).forEach((part, j) => {
    const [left, right] = [h(Math.log10(octaves[j]) - half) + 1, h(Math.log10(octaves[j]) + half) - 1];
    const bar = (/** @type {number} */ size, /** @type {number} */ opacity) =>
      draw(inner, "rect", { x: left, width: right - left, y: share(size), height: f.rows.share.bottom - share(size), fill: ink("descent"), "fill-opacity": opacity });
    bar(part, 0.22);
    bar(part * stillCounts(octaves[j], n, setting), 0.75);
  });
  const row = f.rows.share;
  const grid = samples(SHARED.first * Math.log10(2), (SHARED.first + SHARED.shares.length) * Math.log10(2), 64);
  const line = grid.map((u) => [h(u), share(SHARED.top * stillCounts(10 ** u, n, setting))]);
  drawLine(inner, line, { stroke: ink("optimal"), "stroke-width": 2.2, ...curve("counts", h, share) });
  const words = draw(inner, "text", { class: "ln-text", x: row.right - 6, y: row.top + 18, "text-anchor": "end" }, "what still counts, 0 to 1");
  words.style.setProperty("--c", ink("optimal"));
}

/**
 * The exponent over n, and that of the power law.
 * @type {(at: Element, f: ChartFrame<"share" | "c">, scales: SpectrumScales, setting: Setting, far: Float64Array, n: number) => void}
 */
function drawExponent(at, f, { x, c }, { slope, own }, far, n) {
  const inner = panelWindow(at, f.rows.c);
  const steps = [...new Set(samples(Math.log10(2), Math.log10(mostSteps), 1200).map((u) => Math.round(10 ** u)))];
  if (!own) drawLine(inner, [[f.left, c(1 - slope)], [f.right, c(1 - slope)]], { stroke: ink("ink"), "stroke-width": 1.4, "stroke-dasharray": "5 4" });
  upright(inner, x(Math.log10(n)), f.rows.c, "ln-grid");
  drawLine(inner, steps.map((k) => [x(Math.log10(k)), c(exponentAt(far, k))]), { stroke: ink("optimal"), "stroke-width": 2.6, ...curve("exponent", x, c) });
}

/**
 * What counts at n, and whether there is an exponent.
 * @type {(setting: Setting, far: Float64Array, n: number) => [string, string[]]}
 */
function spectrumWords(setting, far, n) {
  const c = exponentAt(far, n);
  const counts = noiseShares(setting).reduce((sum, part, j) => sum + part * stillCounts(octaves[j], n, setting), 0);
  const half = halfCounts(n, setting);
  const where = half === null ? "more than half of it at each curvature" : `half of it at curvature ${compact(half)}`;
  const law = setting.own ? "The network's bars are no power: c depends on n." : `Bars like ρˢ with s = ${fixed(setting.slope, 2)}: the dashed line is 1 − s = ${fixed(1 - setting.slope, 2)}.`;
  return [`After ${n} steps c = ${fixed(c, 2)}.`, [
    `${fixed(100 * counts, 0)} % of the noise still counts, ${where}.`,
    `|Δ|² = ${compact(far[n])} at η = ${compact(setting.eta)}, β = ${fixed(setting.beta, 2)}.`,
    law,
  ]];
}
