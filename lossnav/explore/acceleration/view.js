// The view of the methods: their losses over the steps, and what a step leaves of a mode, against its curvature.

/** @import { ChartFrame } from "../chart.js" */
/** @import { Scale } from "../kit.js" */
/** @import { Track } from "../runner.js" */
/** @import { Recursion, Rule, Setting } from "./model.js" */

import { chartFrame, timeAxis, valueAxis } from "../chart.js";
import { declaredDial } from "../controls.js";
import { clamp, compact, curve, drawLine, entries, fixed, ink, mapped, nameAcross, panelWindow, plainTicks, samples, scale, ticksAcross, upright } from "../kit.js";
import { inPython } from "../life.js";
import { kept } from "../modes.js";
import { axisPoint } from "../point.js";
import { overTime } from "../runner.js";
import { simple } from "../simple.js";
import { inked, lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { race } from "./model.js";

const FLOOR = Math.log10(SHARED.edge);

export default simple("Acceleration", SHARED, (state) => {
  const table = lineTable(SHARED.lines, ["", "steps to 10⁻⁶", "kept at h"], inked);
  return {
    dials: { kappa: declaredDial(state, SHARED.traits, "kappa", { text: (v) => fixed(v, v < 10 ? 2 : 1) }) },
    table,
    two: "below",
    grips(_, chart) {
      const read = () => Math.log10(state.get("curvature"));
      const go = (/** @type {number} */ u) => state.set("curvature", 10 ** clamp(u, FLOOR, 0));
      const put = axisPoint(chart, { label: "curvature h; arrow keys move it", ends: [FLOOR, 0], steps: [0.03, 0.25], read, go });
      return ({ bottom, across }, { curvature: h }) => put(across, bottom.rows.kept.bottom - 16, { now: h.toFixed(4), low: SHARED.edge, high: 1, text: `h = ${compact(h)}` });
    },
    lay(paper, below) {
      const bottom = chartFrame(below, { kept: ["what a step leaves of a mode", 120, 120] });
      const top = chartFrame(paper, { loss: ["loss, as a power of ten", 250, 190] });
      const across = scale([FLOOR, 0], [bottom.left, bottom.right]);
      /** @type {[number, string][]} */
      const ticks = SHARED.traits.curvature.range.map((h) => [Math.log10(h), String(h)]);
      ticksAcross(below.ground, bottom.rows.kept, across, ticks);
      nameAcross(below.ground, bottom.rows.kept, "curvature h, the largest being 1", 33);
      return { top, bottom, across };
    },
    show(at, { top, bottom, across }, setting, over) {
      const found = race(setting);
      const tracks = drawLosses(at, top, mapped(found.runs, ({ losses }) => losses));
      drawKept(over, bottom, found.rules, setting, across);
      table.fill((rule) => {
        const { needed } = found.runs[rule];
        return [Number.isFinite(needed) ? String(needed) : "never", fixed(found.here[rule], 3)];
      });
      return [...accelerationWords(setting, mapped(found.runs, ({ needed }) => needed)), tracks];
    },
    run: { seconds: 8, inside: ({ top }) => top.rows.loss },
    python: (given, { guess, curvature }) => [
      `ball = ln.acceleration.tuned("heavy ball", ${inPython(given.guess / given.kappa)}, ${guess})`,
      `ball.kept([${curvature}])`,
    ],
  };
});

/**
 * The losses; returns where each rule is as steps are made.
 * @type {(at: Element, f: ChartFrame<"loss">, losses: Record<Rule, number[]>) => Track[]}
 */
function drawLosses(at, f, losses) {
  const x = timeAxis(at, f, 0, SHARED.steps, 20, "steps");
  const y = valueAxis(at, f.rows.loss, [SHARED.least, 1], plainTicks([-8, -6, -4, -2, 0]));
  const inner = panelWindow(at, f.rows.loss);
  return entries(losses).map(([rule, line]) => {
    const points = line.map((loss, n) => [x(n), y(Math.log10(Math.max(loss, 10 ** SHARED.least)))]);
    drawLine(inner, points, { ...inked(SHARED.lines[rule]), ...curve(`loss ${rule}`, x, y) });
    return overTime(points, f, ink(SHARED.lines[rule].tint));
  });
}

/** @type {(at: Element, f: ChartFrame<"kept">, rules: Record<Rule, Recursion>, setting: Setting, x: Scale) => void} */
function drawKept(at, f, rules, { kappa, curvature }, x) {
  const row = f.rows.kept;
  const y = valueAxis(at, row, [0, SHARED.top], plainTicks([0, 0.5, 1], 1));
  const inner = panelWindow(at, row);
  for (const [rule, recursion] of entries(rules)) {
    const points = samples(-Math.log10(kappa), 0, 150).map((u) => [x(u), y(kept(recursion(10 ** u)))]);
    drawLine(inner, points, { ...inked(SHARED.lines[rule]), ...curve(`kept ${rule}`, x, y) });
  }
  upright(at, x(-Math.log10(kappa)), row, "ln-axis");
  upright(at, x(Math.log10(curvature)), row, "ln-axis");
}

/** @type {(setting: Setting, needed: Record<Rule, number>) => [string, string[]]} */
function accelerationWords({ kappa, guess, curvature }, needed) {
  const there = entries(needed).flatMap(([rule, count]) => (Number.isFinite(count) ? SHARED.lines[rule].name : []));
  const verdict = there.length === entries(needed).length
    ? `For 10⁻⁶ gradient descent needs ${compact(needed.descent / needed.heavy)} times a heavy ball's steps.`
    : `Still arriving: ${there.join(", ") || "none of the five"}.`;
  const inside = curvature >= (1 - 1e-9) / kappa ? "" : ", flatter than the loss";
  return [verdict, [
    `κ = ${compact(kappa)}, √κ = ${compact(Math.sqrt(kappa))}.`,
    `Believed curvature: ${fixed(guess, 2)} times the true.`,
    `Mark at h = ${compact(curvature)}${inside}.`,
  ]];
}
