// The view of a task switch: variance, mean and learning rate over a running time, and the bowls of both tasks.

import { buttonRow, clamp, compact, discountDial, draw, explorable, figure, fixed, handle, logDial, readoutNode, scaffold, scale, setAll, slider, trace, verdictLines } from "../kit.js";
import { calm, chartFrame, chartGround, follow, panelWindow, player, timeAxis, valueAxis } from "../chart.js";
import { around, dense, placeLabels } from "../labels.js";
import { taskHistory } from "./model.js";

const SPAN = 12; // units of 1/r
const LONGEST = 13; // from a switch to the last time
const PACE = 2; // units of 1/r per second
const AWAY = 3; // farthest minimum
const SHARP = [0.25, 4]; // curvatures
const ARM = 1.5; // from the minimum to the handle of the curvature
const MOST = 8; // switches
const TRAITS = ["gamma", "entropy", "curvature", "minimum", "switches", "now"];
const COLOR = "var(--ln-uncertain)";
const LIVED = { stroke: COLOR, "stroke-width": 3 };
const PLANNED = { stroke: COLOR, "stroke-width": 1.6, "stroke-opacity": 0.75 };
const AHEAD = { stroke: COLOR, "stroke-width": 2.4, "stroke-dasharray": "3 4" };

function buildTaskSwitch(root, state) {
  const gamma = discountDial(state);
  const entropy = logDial(state, "entropy", "λₛ", "weight of entropy", [0.2, 0.5, 1, 2], 2);
  const curvature = logDial(state, "curvature", "H", "curvature of the next task", [0.25, 0.5, 1, 2, 4], 2);
  const minimum = slider({
    symbol: "a",
    name: "minimum of the next task",
    marks: [-3, -1.5, 0, 1.5, 3].map((value) => ({ value, label: fixed(value, value % 1 ? 1 : 0) })),
    toPosition: (v) => (v + AWAY) / (2 * AWAY),
    toValue: (u) => (2 * u - 1) * AWAY,
    text: (v) => fixed(v, 2),
    onInput: (v) => state.set("minimum", v),
    steps: 600,
  });
  const [stage, bowl, readout] = [figure(), figure(), readoutNode()];
  const last = () => state.get("switches").at(-1)?.[0] ?? 0;
  const go = (time) => state.set("now", clamp(time, last(), last() + LONGEST));
  let until = Infinity;
  const time = player(
    root,
    state,
    (seconds) => {
      const end = Math.min(until, last() + LONGEST);
      state.show("now", Math.min(end, state.get("now") + PACE * seconds));
      if (state.get("now") >= end) time.want(false), go(end);
    },
    (on) => {
      row.buttons[1].textContent = on ? "Pause" : "Run";
      readout.setAttribute("aria-live", on ? "off" : "polite");
    },
  );
  const pause = () => time.wanted() && time.want(false);
  const run = (to) => {
    until = to;
    if (calm()) go(to === Infinity ? state.get("now") + 1 : to);
    else time.want(true);
  };
  const change = () => {
    pause();
    const [now, past] = [state.get("now"), state.get("switches")];
    const kept = past.length && now - past[past.length - 1][0] < 1e-6 ? past.slice(0, -1) : past;
    if (kept.length === MOST) return;
    state.set("switches", [...kept, [now, state.get("curvature"), state.get("minimum")]]);
    run(now + 5);
  };
  const reset = () => {
    pause();
    state.set("switches", []);
    state.set("now", 0);
  };
  const row = buttonRow([
    ["Switch", "the next task comes now, as a surprise", change],
    ["Run", "let time run", () => (time.wanted() ? (pause(), go(state.get("now"))) : run(Infinity))],
    ["Reset", "back to the first task, at rest", reset],
  ]);
  scaffold(root, {
    label: "what a switch of the task does to a weight's variance",
    title: "A task switch, and how sure to stay",
    hint: "Drag the next task's minimum, or its arm to bend it; then press Switch. Try flatter, steeper, only moved; then raise γ.",
    areas: { map: [bowl, row.node], stage: [stage], words: [readout], control: [gamma.node, entropy.node, curvature.node, minimum.node] },
  });
  const [ground, moving, bowls] = [stage, stage, bowl].map((at) => draw(at, "g", { "aria-hidden": "true" }));
  const setMinimum = (a) => state.set("minimum", clamp(Math.round(a * 100) / 100, -AWAY, AWAY));
  const setCurvature = (h) => state.set("curvature", clamp(h, ...SHARP));
  const bottom = handle(bowl, {
    label: "minimum of the next task",
    color: "var(--ln-ink)",
    onDrag: (px) => setMinimum(frame.bowl.x.invert(px)),
    onKey: ([dx, dy], big) => setMinimum(state.get("minimum") + (dx + dy) * (big ? 0.5 : 0.05)),
    onEnd: (side) => setMinimum(side * AWAY),
  });
  const arm = handle(bowl, {
    label: "curvature of the next task",
    color: "var(--ln-neutral)",
    onDrag: (px, py) => setCurvature((2 * frame.bowl.y.invert(py)) / ARM ** 2),
    onKey: ([dx, dy], big) => setCurvature(state.get("curvature") * (big ? 1.4 : 1.05) ** (dx + dy)),
    onEnd: (side) => setCurvature(SHARP[side < 0 ? 0 : 1]),
  });
  const cursor = handle(stage, {
    label: "running time",
    color: "var(--ln-ink)",
    onDrag: (px) => (pause(), go(first + ((px - frame.left) / (frame.right - frame.left)) * SPAN)),
    onKey: ([dx, dy], big) => (pause(), go(state.get("now") + (dx + dy) * (big ? 1 : 0.1))),
    onEnd: (side) => (pause(), go(side < 0 ? last() : last() + LONGEST)),
  });

  let [frame, first, story] = [null, state.get("now") - 4, null];
  return {
    layout(width) {
      frame = switchFrame(stage, bowl, root, width);
      ground.replaceChildren();
      chartGround(ground, frame);
    },
    update() {
      const given = Object.fromEntries(TRAITS.map((name) => [name, state.get(name)]));
      story = taskHistory(given, story);
      first = follow(first, given.now, 3, 7);
      for (const [dial, trait] of [[gamma, "gamma"], [entropy, "entropy"], [curvature, "curvature"], [minimum, "minimum"]]) dial.show(given[trait]);
      row.buttons[0].disabled = given.switches.length >= MOST;
      moving.replaceChildren();
      const x = timeAxis(moving, frame, first, SPAN, 2, `time, in units of 1/r = ${compact(1 / story.scales.rate)}`);
      switchCurves(moving, frame, x, given, story);
      const [px, py] = [x(given.now), frame.rows.variance.bottom + 17];
      draw(moving, "line", { class: "ln-plumb", x1: px, x2: px, y1: frame.rows.variance.top, y2: frame.bottom });
      cursor.place(px, py, { now: given.now.toFixed(2), low: last(), high: last() + LONGEST, text: `time ${fixed(given.now, 1)}` });
      bowls.replaceChildren();
      switchBowls(bowls, frame.bowl, given, story);
      const [a, h] = [given.minimum, given.curvature];
      bottom.place(frame.bowl.x(a), frame.bowl.y(0), { now: a.toFixed(2), low: -AWAY, high: AWAY, text: `a = ${fixed(a, 2)}` });
      const side = a > 1.5 ? -1 : 1;
      arm.place(frame.bowl.x(a + side * ARM), frame.bowl.y((h * ARM ** 2) / 2), { now: h.toFixed(3), low: SHARP[0], high: SHARP[1], text: `H = ${fixed(h, 2)}` });
      readout.replaceChildren(...switchWords(given, story));
    },
    leave: time.leave,
  };
}

/** Sizes and scales of both drawings for one width. */
function switchFrame(stage, bowl, root, width) {
  const frame = chartFrame(stage, root, width, [
    ["variance", "variance v, on a scale of doublings", 170, 140],
    ["mean", "mean μ ± √v", 150, 120],
    ["pace", "learning rate, times that in the first task", 100, 80],
  ]);
  const wide = root.classList.contains("ln-wide");
  const [w, h] = [wide ? width - 40 - frame.w : frame.w, 176];
  setAll(bowl, { viewBox: `0 0 ${w} ${h}`, width: w, height: h });
  const box = { left: 8, right: w - 8, top: 22, bottom: h - 34 };
  return { ...frame, bowl: { ...box, x: scale([-4.6, 4.6], [box.left, box.right]), y: scale([-0.35, 5.4], [box.bottom, box.top]) } };
}

/** What has been lived, what is planned, and what would follow the next task, in all three panels. */
function switchCurves(at, f, x, { now, entropy, switches }, story) {
  const [low, high] = [x.invert(f.left), x.invert(f.right)];
  const samples = (part, from, to) => {
    const inside = part.times.filter((t) => t > from && t < to);
    return [from, ...inside, to].map((t) => ({ t, ...part.at(t) }));
  };
  const lines = [];
  story.life.forEach((part, i) => {
    const [from, to] = [Math.max(low, part.since), Math.min(high, story.life[i + 1]?.since ?? Infinity)];
    if (from < Math.min(to, now)) lines.push([LIVED, samples(part, from, Math.min(to, now))]);
    if (Math.max(from, now) < to) lines.push([PLANNED, samples(part, Math.max(from, now), to)]);
  });
  if (story.ahead) lines.push([AHEAD, samples(story.ahead, now, high)]);
  const values = lines.flatMap(([, points]) => points.map((point) => point.variance));
  const rests = story.life.map((part, i) => [Math.max(low, part.since), Math.min(high, story.life[i + 1]?.since ?? high), part]);
  if (story.ahead) rests.push([now, high, story.ahead]);
  const shown = rests.filter(([from, to]) => from < to);
  const draws = { variance: ({ variance }) => Math.log2(variance), mean: ({ mean }) => mean, pace: ({ variance }) => variance / entropy };
  const scales = {
    variance: doublings(at, f, [...values, ...shown.map(([, , part]) => part.rest)]),
    mean: valueAxis(at, f, f.rows.mean, [-4.5, 4.5], [-4, -2, 0, 2, 4].map((v) => [v, fixed(v, 0)])),
    pace: paceAxis(at, f, values.map((v) => v / entropy)),
  };
  for (const [name, y] of Object.entries(scales)) {
    const inner = panelWindow(at, f, f.rows[name]);
    for (const [time] of switches) draw(inner, "line", { class: "ln-divide", x1: x(time), x2: x(time), y1: f.rows[name].top, y2: f.rows[name].bottom });
    const level = { variance: (part) => Math.log2(part.rest), mean: (part) => part.minimum, pace: (part) => part.rest / entropy }[name];
    for (const [from, to, part] of shown) {
      const dash = part === story.ahead ? "2 4" : "none";
      draw(inner, "line", { x1: x(from), x2: x(to), y1: y(level(part)), y2: y(level(part)), stroke: "var(--ln-neutral)", "stroke-width": 1.6, "stroke-dasharray": dash });
    }
    for (const [style, points] of lines) {
      if (name === "mean") band(inner, x, y, points, style);
      draw(inner, "path", { class: "ln-line", d: trace(points.map((p) => [x(p.t), y(draws[name](p))])), ...style });
    }
    draw(inner, "circle", { class: "ln-dot", cx: x(now), cy: y(draws[name](story.now)), r: 5, fill: COLOR });
  }
  nameRests(at, f, x, scales.variance, { shown, lines, uprights: [now, ...switches.map(([time]) => time)] }, [now, story.now]);
}

/** Names the equilibria of what is shown, before and after, off the curves. */
function nameRests(at, f, x, y, { shown, lines, uprights }, [now, held]) {
  const row = f.rows.variance;
  const wanted = shown.filter(([, , part], i) => i === 0 || part.rest !== shown[i - 1][2].rest);
  const labels = wanted.map(([from, to, part], i) => {
    const last = i > 0 && i === wanted.length - 1;
    const place = { x: last ? f.right : x((from + to) / 2), y: y(Math.log2(part.rest)), dx: 0, dy: -1, far: 4 };
    return { text: `v* = ${compact(part.rest)}`, color: "var(--ln-neutral)", ...place };
  });
  const curves = lines.flatMap(([, points]) => dense(points.map((p) => [x(p.t), y(Math.log2(p.variance))])));
  const strokes = [...curves, ...uprights.flatMap((t) => dense([[x(t), row.top], [x(t), row.bottom]]))];
  const dot = around([x(now), y(Math.log2(held.variance))], 6);
  placeLabels(at, [f.left, row.top, f.right, row.bottom], labels, [dot], strokes);
}

/** The band μ ± √v. */
function band(at, x, y, points, style) {
  const side = (sign) => points.map(({ t, mean, variance }) => [x(t), y(mean + sign * Math.sqrt(variance))]);
  draw(at, "path", { d: `${trace([...side(1), ...side(-1).reverse()])}Z`, fill: COLOR, "fill-opacity": style === LIVED ? 0.22 : 0.1 });
}

/** A logarithmic axis over whole doublings, at least three. */
function doublings(at, f, values) {
  const low = Math.floor(Math.log2(Math.min(...values)) - 0.15);
  const high = Math.max(low + 3, Math.ceil(Math.log2(Math.max(...values)) + 0.15));
  const every = Math.ceil((high - low) / 6);
  const ticks = [];
  for (let k = low; k <= high; k++) if (k % every === 0) ticks.push([k, k < 0 ? `1/${2 ** -k}` : String(2 ** k)]);
  return valueAxis(at, f, f.rows.variance, [low, high], ticks);
}

/** A linear axis from 0 that holds all values, with a tick at 1. */
function paceAxis(at, f, values) {
  const most = Math.max(1.5, ...values) * 1.05;
  const unit = 10 ** Math.floor(Math.log10(most));
  const top = unit * [1.5, 2, 3, 5, 10].find((step) => step * unit >= most);
  const ticks = top > 8 ? [0, top] : [0, 1, top];
  return valueAxis(at, f, f.rows.pace, [0, top], ticks.map((v) => [v, String(v)]));
}

/** Both tasks' losses, and the weight's distribution now. */
function switchBowls(at, f, { curvature, minimum }, { life, ahead, now }) {
  draw(at, "text", { class: "ln-name", x: f.left, y: f.top - 7 }, ahead ? "loss of this task, and of the next (dashed)" : "loss of this task");
  draw(at, "rect", { class: "ln-panel", x: f.left, y: f.top, width: f.right - f.left, height: f.bottom - f.top });
  const inner = panelWindow(at, f, f);
  const places = Array.from({ length: 141 }, (_, i) => -4.6 + (9.2 * i) / 140);
  const bump = places.map((place) => [f.x(place), f.y(2.2 * Math.exp(-((place - now.mean) ** 2) / (2 * now.variance)))]);
  const base = f.y(0);
  draw(inner, "path", { d: `${trace([[f.left, base], ...bump, [f.right, base]])}Z`, fill: COLOR, "fill-opacity": 0.25, stroke: COLOR, "stroke-width": 1.4 });
  const well = (h, a, style) => {
    const line = places.map((place) => [f.x(place), f.y((h / 2) * (place - a) ** 2)]).filter(([, y]) => y > f.top - 60);
    draw(inner, "path", { class: "ln-line", d: trace(line), ...style });
  };
  const present = life[life.length - 1];
  well(present.curvature, present.minimum, { stroke: "var(--ln-neutral)", "stroke-width": 2.4 });
  if (ahead) well(curvature, minimum, { stroke: "var(--ln-ink)", "stroke-width": 2, "stroke-dasharray": "5 4" });
  for (const value of [-4, -2, 0, 2, 4]) draw(at, "text", { class: "ln-tick", x: f.x(value), y: f.bottom + 15, "text-anchor": "middle" }, fixed(value, 0));
  draw(at, "text", { class: "ln-name", x: (f.left + f.right) / 2, y: f.bottom + 30, "text-anchor": "middle" }, "weight θ");
}

/** What the picture means, in words and numbers. */
function switchWords({ gamma, entropy, now }, { scales, life, ahead, now: held }) {
  const present = life[life.length - 1];
  const next = ahead ?? present;
  const start = ahead ? held : present.plan ? present.at(present.since) : held;
  const factor = next.peak / start.variance;
  const goal = next.rest / start.variance;
  const by = (v) => `×\u00a0${compact(v)}`;
  let verdict = "At rest: v = v*, and nothing changes.";
  if (next.plan) {
    const after = goal > 1.005 ? `settles at ${by(goal)}` : goal < 0.995 ? `falls to ${by(goal)}` : "comes back";
    if (factor > 1.005 && factor > 1.01 * goal) verdict = `The variance rises ${by(factor)}, then ${after}.`;
    else if (goal > 1.005) verdict = `The variance rises at once, ${by(goal)}.`;
    else if (goal < 0.995) verdict = `The variance falls, ${by(goal)}.`;
    else verdict = "The variance hardly moves.";
  }
  const growth = next.growth * scales.rate;
  return verdictLines(verdict, [
    `v* = λₛ/(kH) = ${compact(next.rest)}; at time ${fixed(now, 1)} v = ${compact(held.variance)}, μ = ${fixed(held.mean, 2)}.`,
    `At the switch v̇/v = ${fixed(growth, 3)}, γ + v̇/v = ${fixed(gamma + growth, 3)}.`,
    `γ = ${fixed(gamma, 2)}: γ²/(4ηλₛ) = ${compact(gamma ** 2 / (4 * entropy))}, r = ${compact(scales.rate)}.`,
  ]);
}

export default explorable("TaskSwitch", buildTaskSwitch);
