// The view of a task switch: variance, mean and learning rate over a running time, and the bowls of both tasks.

/** @import { Attributes, Box, Figure, Paper, Scale } from "../kit.js" */
/** @import { ChartFrame } from "../chart.js" */
/** @import { Build } from "../life.js" */
/** @import { Held, Setting, Story, Stretch } from "./model.js" */

import { calm, chartFrame, follow, player, timeAxis, valueAxis } from "../chart.js";
import { buttonRow, declaredDials, handle } from "../controls.js";
import { clamp, compact, curve, draw, drawDot, drawLine, drawPanel, entries, figure, fixed, ink, isWide, lastOf, layer, nameAcross, panelWindow, plainTicks, readout, resize, samples, scaffold, scale, ticksAcross, trace, upright } from "../kit.js";
import { around, dense, edges, placeLabels } from "../labels.js";
import { explorable } from "../life.js";
import { axisPoint } from "../point.js";
import { lineTable } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { taskHistory } from "./model.js";

/** @typedef {Box & { x: Scale, y: Scale }} BowlFrame */
/** @typedef {ChartFrame<"variance" | "mean" | "pace"> & { bowl: BowlFrame }} SwitchFrame */
/** @typedef {Held & { t: number }} Moment */
/** @typedef {{ style: Attributes, points: Moment[] }} Piece what one line shows */
/** @typedef {{ from: number, to: number, part: Stretch }} Shown the part of a stretch that the window shows */

const { span: SPAN, past: PAST } = SHARED.window; // units of 1/r
const LONGEST = SHARED.longest; // from a switch to the last time
const MOST = SHARED.traits.switches.most;
const PACE = 2; // units of 1/r per second
const AWAY = lastOf(SHARED.traits.minimum.range); // farthest minimum
const SHARP = [SHARED.traits.curvature.range[0], lastOf(SHARED.traits.curvature.range)];
const ARM = 1.5; // from the minimum to the handle of the curvature
const COLOR = ink("uncertain");
const LIVED = { stroke: COLOR, "stroke-width": 3 };
const PLANNED = { stroke: COLOR, "stroke-width": 1.6, "stroke-opacity": 0.75 };
const AHEAD = { stroke: COLOR, "stroke-width": 2.4, "stroke-dasharray": "3 4" };
const LEGEND = { lived: { name: "lived", style: LIVED }, planned: { name: "as planned", style: PLANNED }, ahead: { name: "after Switch", style: AHEAD } };

/** @type {Build<Setting>} */
const buildTaskSwitch = (root, state) => {
  const dials = declaredDials(state, SHARED.traits);
  const [stage, bowl, says] = [figure(), figure(), readout()];
  const last = () => state.get("switches").at(-1)?.[0] ?? 0;
  const go = (/** @type {number} */ time) => state.set("now", clamp(time, last(), last() + LONGEST));
  let until = Infinity;
  const time = player(root, state, {
    advance(seconds) {
      const end = Math.min(until, last() + LONGEST);
      state.show("now", Math.min(end, state.get("now") + PACE * seconds));
      if (state.get("now") >= end) goTo(end);
    },
    button: () => row.buttons[1],
    play: "Run",
  });
  const goTo = (/** @type {number} */ moment) => {
    time.pause();
    go(moment);
  };
  const run = (/** @type {number} */ to) => {
    until = to;
    if (calm()) go(to === Infinity ? state.get("now") + 1 : to);
    else time.want(true);
  };
  const change = () => {
    time.pause();
    const { now, switches, curvature, minimum } = state.pick("now", "switches", "curvature", "minimum");
    const kept = switches.length && now - lastOf(switches)[0] < 1e-6 ? switches.slice(0, -1) : switches;
    if (kept.length === MOST) return;
    state.set("switches", [...kept, [now, curvature, minimum]]);
    run(now + 5);
  };
  const restart = () => {
    state.set("switches", []);
    state.set("now", 0);
    root.dispatchEvent(new Event("reset"));
  };
  const row = buttonRow([
    ["Switch", "the next task comes now, as a surprise", change],
    ["Run", "let time run", () => (time.wanted() ? goTo(state.get("now")) : run(Infinity))],
    ["Restart", "back to the first task, at rest", restart],
  ]);
  scaffold(root, {
    label: "what a switch of the task does to a weight's variance",
    title: SHARED.title,
    hint: "Drag the next task's minimum, or its arm to bend it; then press Switch. Raise γ and press again.",
    legend: [lineTable(LEGEND, [], ({ style }) => style).legend],
    stage: [stage],
    control: [/** @type {Element} */ (bowl), row.node],
    says,
    more: Object.values(dials).map((dial) => dial.node),
  });
  const [ground, moving, bowls] = [stage, stage, bowl].map(layer);
  const setMinimum = (/** @type {number} */ a) => state.set("minimum", clamp(Math.round(a * 100) / 100, -AWAY, AWAY));
  const setCurvature = (/** @type {number} */ h) => state.set("curvature", clamp(h, SHARP[0], SHARP[1]));
  const putBottom = axisPoint(bowl, { label: "minimum of the next task", ends: [-AWAY, AWAY], steps: [0.05, 0.5], read: () => state.get("minimum"), go: setMinimum });
  const arm = handle(bowl, {
    label: "curvature of the next task",
    color: ink("neutral"),
    onDrag: (_, py) => setCurvature((2 * frame.bowl.y.invert(py)) / ARM ** 2),
    onKey: ([dx, dy], big) => setCurvature(state.get("curvature") * (big ? 1.4 : 1.05) ** (dx + dy)),
    onEnd: (side) => setCurvature(SHARP[side < 0 ? 0 : 1]),
  });
  const putCursor = axisPoint(stage, { label: "running time", ends: [-Infinity, Infinity], steps: [0.1, 1], read: () => state.get("now"), go: goTo });

  /** @type {SwitchFrame} */
  let frame;
  /** @type {Story | null} */
  let story = null;
  let first = state.get("now") - PAST;
  const view = {
    /** @param {number} width */
    layout(width) {
      ground.replaceChildren();
      frame = switchFrame({ root, stage, ground, width }, bowl);
    },
    update() {
      const given = state.pick("gamma", "entropy", "curvature", "minimum", "switches", "now");
      story = taskHistory(given, story);
      // A window that followed the hand would run away under it.
      if (!stage.querySelector(".ln-held")) first = follow(first, given.now, 3, 7);
      for (const [trait, dial] of entries(dials)) dial.show(/** @type {Record<string, any>} */ (given)[trait]);
      row.buttons[0].disabled = given.switches.length >= MOST;
      moving.replaceChildren();
      const x = timeAxis(moving, frame, first, SPAN, 2, `time, in units of 1/r = ${compact(1 / story.scales.rate)}`);
      switchCurves(moving, frame, x, given, story);
      const { variance } = frame.rows;
      upright(moving, x(given.now), { top: variance.top, bottom: frame.bottom }, "ln-plumb");
      const moment = { now: given.now.toFixed(2), low: last(), high: last() + LONGEST, text: `time ${fixed(given.now, 1)}` };
      putCursor(x, variance.bottom + 17, moment);
      bowls.replaceChildren();
      switchBowls(bowls, frame.bowl, given, story);
      const [a, h] = [given.minimum, given.curvature];
      putBottom(frame.bowl.x, frame.bowl.y(0), { now: a.toFixed(2), low: -AWAY, high: AWAY, text: `a = ${fixed(a, 2)}` });
      const tip = [frame.bowl.x(a + (a > 1.5 ? -ARM : ARM)), frame.bowl.y((h * ARM ** 2) / 2)];
      arm.place(tip[0], tip[1], { now: h.toFixed(3), low: SHARP[0], high: SHARP[1], text: `H = ${fixed(h, 2)}` });
      says.say(...switchWords(given, story));
    },
    leave: time.leave,
  };
  stage.addEventListener("lostpointercapture", view.update);
  root.addEventListener("reset", () => {
    first = state.get("now") - PAST;
    view.update();
  });
  return view;
};

/**
 * Sizes and scales of both drawings for one width.
 * @type {(paper: Paper, bowl: Figure) => SwitchFrame}
 */
function switchFrame(paper, bowl) {
  const frame = chartFrame(paper, {
    variance: ["variance v, at rest v*, in doublings", 170, 140],
    mean: ["mean μ ± √v", 150, 120],
    pace: ["learning rate, times that in the first task", 100, 80],
  });
  const [w, h] = isWide(paper.root) ? [paper.width - 40 - frame.w, 176] : [frame.w, 116];
  resize(bowl, w, h);
  const box = { left: 8, right: w - 8, top: 22, bottom: h - 34 };
  return { ...frame, bowl: { ...box, x: scale([-4.6, 4.6], [box.left, box.right]), y: scale([-0.35, 5.4], [box.bottom, box.top]) } };
}

/**
 * What has been lived, what is planned, and what would follow the next task, in all three panels.
 * @type {(at: Element, f: SwitchFrame, x: Scale, given: Setting, story: Story) => void}
 */
function switchCurves(at, f, x, { now, entropy, switches }, story) {
  const { shown, lines } = switchPieces(x.invert(f.left), x.invert(f.right), now, story);
  const values = lines.flatMap(({ points }) => points.map(({ variance }) => variance));
  const rests = shown.map(({ part }) => part.rest);
  const panels = {
    variance: { y: doublings(at, f, [...values, ...rests]), line: (/** @type {Held} */ held) => Math.log2(held.variance) },
    mean: { y: valueAxis(at, f.rows.mean, SHARED.window.mean, plainTicks([-4, -2, 0, 2, 4])), line: (/** @type {Held} */ held) => held.mean },
    pace: { y: paceAxis(at, f, values.map((v) => v / entropy)), line: (/** @type {Held} */ held) => held.variance / entropy },
  };
  for (const [name, { y, line }] of entries(panels)) {
    const inner = panelWindow(at, f.rows[name]);
    for (const [time] of switches) upright(inner, x(time), f.rows[name], "ln-divide");
    for (const { from, to, part } of shown) {
      const level = y(line({ variance: part.rest, mean: part.minimum }));
      const dash = part === story.ahead ? "2 4" : "none";
      draw(inner, "line", { x1: x(from), x2: x(to), y1: level, y2: level, stroke: ink("neutral"), "stroke-width": 1.6, "stroke-dasharray": dash });
    }
    for (const { style, points } of lines) {
      if (name === "mean") band(inner, x, y, points, style);
      drawLine(inner, points.map((p) => [x(p.t), y(line(p))]), { ...style, ...curve(name, x, y) });
    }
    drawDot(inner, [x(now), y(line(story.now))], 5, COLOR);
  }
  nameRests(at, f, x, panels.variance.y, { shown, lines, uprights: [now, ...switches.map(([time]) => time)] }, [now, story.now.variance]);
}

/**
 * What the window from `low` to `high` shows of each stretch, and the lines through it, in pieces of one style.
 * @type {(low: number, high: number, now: number, story: Story) => { shown: Shown[], lines: Piece[] }}
 */
function switchPieces(low, high, now, { life, ahead }) {
  /** @type {Piece[]} */
  const lines = [];
  /** @type {(style: Attributes, part: Stretch, from: number, to: number) => void} */
  const piece = (style, part, from, to) => {
    if (from >= to) return;
    const inside = part.times.filter((t) => t > from && t < to);
    const moment = (/** @type {number} */ t) => {
      const { variance, mean } = part.at(t);
      return { t, variance, mean };
    };
    lines.push({ style, points: [from, ...inside, to].map(moment) });
  };
  const ends = life.map((part, i) => ({ from: Math.max(low, part.since), to: Math.min(high, life[i + 1]?.since ?? high), part }));
  for (const { from, to, part } of ends) {
    piece(LIVED, part, from, Math.min(to, now));
    piece(PLANNED, part, Math.max(from, now), to);
  }
  if (ahead) {
    piece(AHEAD, ahead, now, high);
    ends.push({ from: now, to: high, part: ahead });
  }
  return { shown: ends.filter(({ from, to }) => from < to), lines };
}

/**
 * Names the equilibria of what is shown, before and after, off the curves.
 * @type {(at: Element, f: SwitchFrame, x: Scale, y: Scale, seen: { shown: Shown[], lines: Piece[], uprights: number[] }, dot: [number, number]) => void}
 */
function nameRests(at, f, x, y, { shown, lines, uprights }, [now, variance]) {
  const row = f.rows.variance;
  const wanted = shown.filter(({ part }, i) => i === 0 || part.rest !== shown[i - 1].part.rest);
  const labels = wanted.map(({ from, to, part }, i) => {
    const last = i > 0 && i === wanted.length - 1;
    const place = { x: last ? f.right : x((from + to) / 2), y: y(Math.log2(part.rest)), dx: 0, dy: -1, far: 4 };
    return { text: `v* = ${compact(part.rest)}`, color: ink("neutral"), ...place };
  });
  const curves = lines.flatMap(({ points }) => dense(points.map((p) => [x(p.t), y(Math.log2(p.variance))])));
  const strokes = [...curves, ...uprights.flatMap((t) => dense([[x(t), row.top], [x(t), row.bottom]]))];
  const dot = around([x(now), y(Math.log2(variance))], 6);
  placeLabels(at, edges(row), labels, [dot], strokes);
}

/**
 * The band μ ± √v.
 * @type {(at: Element, x: Scale, y: Scale, points: Moment[], style: Attributes) => void}
 */
function band(at, x, y, points, style) {
  const side = (/** @type {number} */ sign) => points.map(({ t, mean, variance }) => [x(t), y(mean + sign * Math.sqrt(variance))]);
  draw(at, "path", { d: `${trace([...side(1), ...side(-1).reverse()])}Z`, fill: COLOR, "fill-opacity": style === LIVED ? 0.22 : 0.1 });
}

/**
 * A logarithmic axis over whole doublings, at least three.
 * @type {(at: Element, f: SwitchFrame, values: number[]) => Scale}
 */
function doublings(at, f, values) {
  const low = Math.floor(Math.log2(Math.min(...values)) - 0.15);
  const high = Math.max(low + 3, Math.ceil(Math.log2(Math.max(...values)) + 0.15));
  const every = Math.ceil((high - low) / 6);
  /** @type {[number, string][]} */
  const ticks = [];
  for (let k = low; k <= high; k++) if (k % every === 0) ticks.push([k, k < 0 ? `1/${2 ** -k}` : String(2 ** k)]);
  return valueAxis(at, f.rows.variance, [low, high], ticks);
}

/**
 * A linear axis from 0 that holds all values, with a tick at 1.
 * @type {(at: Element, f: SwitchFrame, values: number[]) => Scale}
 */
function paceAxis(at, f, values) {
  const most = Math.max(1.5, ...values) * 1.05;
  const unit = 10 ** Math.floor(Math.log10(most));
  const top = unit * ([1.5, 2, 3, 5].find((step) => step * unit >= most) ?? 10);
  const { top: above, bottom: below } = f.rows.pace;
  const ticks = below - above < 13 * top ? [0, top] : [0, 1, top]; // labels are as tall
  return valueAxis(at, f.rows.pace, [0, top], ticks.map((v) => [v, String(v)]));
}

/**
 * Both tasks' losses, and the weight's distribution now.
 * @type {(at: Element, f: BowlFrame, given: Setting, story: Story) => void}
 */
function switchBowls(at, f, { curvature, minimum }, { life, ahead, now }) {
  drawPanel(at, f, ahead ? "loss of this task, and of the next (dashed)" : "loss of this task");
  const inner = panelWindow(at, f);
  const places = samples(-4.6, 4.6, 140);
  const bump = places.map((place) => [f.x(place), f.y(2.2 * Math.exp(-((place - now.mean) ** 2) / (2 * now.variance)))]);
  const base = f.y(0);
  draw(inner, "path", { d: `${trace([[f.left, base], ...bump, [f.right, base]])}Z`, fill: COLOR, "fill-opacity": 0.25, stroke: COLOR, "stroke-width": 1.4 });
  /** @type {(h: number, a: number, style: Attributes) => void} */
  const well = (h, a, style) => {
    const line = places.map((place) => [f.x(place), f.y((h / 2) * (place - a) ** 2)]).filter(([, y]) => y > f.top - 60);
    drawLine(inner, line, style);
  };
  const present = lastOf(life);
  well(present.curvature, present.minimum, { stroke: ink("neutral"), "stroke-width": 2.4 });
  if (ahead) well(curvature, minimum, { stroke: ink("ink"), "stroke-width": 2, "stroke-dasharray": "5 4" });
  ticksAcross(at, f, f.x, plainTicks([-4, -2, 0, 2, 4]), { drop: 15, mark: "none" });
  nameAcross(at, f, "weight θ", 30);
}

/**
 * What the picture means, in words and numbers.
 * @type {(given: Setting, story: Story) => [string, string[]]}
 */
function switchWords({ gamma, entropy, now }, { scales, life, ahead, now: held }) {
  const present = lastOf(life);
  const next = ahead ?? present;
  const start = ahead ? held : present.plan ? present.at(present.since) : held;
  const factor = next.peak / start.variance;
  const goal = next.rest / start.variance;
  const by = (/** @type {number} */ v) => `×\u00a0${compact(v)}`;
  let verdict = "At rest: v = v*, and nothing changes.";
  if (next.plan) {
    const after = goal > 1.005 ? `settles at ${by(goal)}` : goal < 0.995 ? `falls to ${by(goal)}` : "comes back";
    if (factor > 1.005 && factor > 1.01 * goal) verdict = `A switch takes the variance to ${by(factor)}; it ${after}.`;
    else if (goal > 1.005) verdict = `A switch takes the variance up to ${by(goal)}.`;
    else if (goal < 0.995) verdict = `A switch takes the variance down to ${by(goal)}.`;
    else verdict = "A switch hardly moves the variance.";
  }
  const growth = next.growth * scales.rate;
  return [verdict, [
    `v* = λₛ/(kH) = ${compact(next.rest)}; at time ${fixed(now, 1)} v = ${compact(held.variance)}, μ = ${fixed(held.mean, 2)}.`,
    `At the switch v̇/v = ${fixed(growth, 3)}, γ + v̇/v = ${fixed(gamma + growth, 3)}.`,
    `γ = ${fixed(gamma, 2)}: γ²/(4ηλₛ) = ${compact(gamma ** 2 / (4 * entropy))}, r = ${compact(scales.rate)}.`,
  ]];
}

/**
 * Switches follow each other, and now the last of them, none later than `longest` after the one before.
 * @type {(values: Record<string, any>) => Record<string, any>}
 */
function inOrder(values) {
  let last = 0;
  const switches = values.switches.map((/** @type {number[]} */ [time, ...task]) => [(last = clamp(time, last, last + SHARED.longest)), ...task]);
  return { ...values, switches, now: clamp(values.now, last, last + SHARED.longest) };
}

export default explorable("TaskSwitch", buildTaskSwitch, SHARED, inOrder);
