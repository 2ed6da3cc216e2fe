// The view of the race: the landscape with the planner's paths from all its edge, four learners from one start, their
// losses against time.

/** @import { Attributes, Box, Figure, Scale } from "../kit.js" */
/** @import { Row } from "../chart.js" */
/** @import { State } from "../life.js" */
/** @import { Plan, Planner, RunnerName, Tracks } from "./model.js" */

import { calm, player, timeAxis, valueAxis } from "../chart.js";
import { buttonRow, handle, linearDial, logDial } from "../controls.js";
import { clamp, curve, draw, drawDot, drawLine, drawPanel, entries, figure, fixed, ink, isWide, layer, mapped, nameAcross, panelWindow, pixels, plainTicks, make, readoutNode, resize, samples, scaffold, scale, stageWidth, ticksAcross, ticksUp, trace, upright, verdictLines } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { planePoint } from "../point.js";
import { lineTable } from "../tables.js";
import { wellLoss } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };
import { deepEnds, edgeStarts, nearRest, planFrom, raceLoss, racePlanner, runRace, trackAction, wholePath } from "./model.js";

/** @typedef {{ start: number[], gamma: number, tilt: number, now: number }} Traits */
/** @typedef {Box & { x: Scale, y: Scale, losses: Row }} RaceFrame */
/** @typedef {{ planner: Planner, plans: Plan[], deep: Record<RunnerName, number> }} Edge what all starts of the edge do */
/** @typedef {{ tracks: Tracks, plan: Plan }} Race */

const UNTIL = SHARED.race.step * SHARED.race.steps;
const STARTS = edgeStarts();
const LINES = mapped(SHARED.lines, ({ color, dash }) => /** @type {Attributes} */ ({ stroke: ink(color), "stroke-dasharray": dash, "stroke-width": 2.2 }));
const NOTE =
  "γ is the planner's alone. The other three have the rate 0.02, the heavy ball a momentum of 0.9; one of their steps " +
  "takes 0.02 units of time. J is the cost of each whole path (Eq. 2).";

/**
 * @param {HTMLElement} root
 * @param {State<Traits>} state
 */
function buildRace(root, state) {
  const { marks } = SHARED;
  const [least, most] = marks.gamma;
  const dials = {
    gamma: logDial(state, "gamma", { symbol: "γ", name: "discount rate", marks: [least, 0, most], text: (v) => fixed(v, 3) }),
    tilt: linearDial(state, "tilt", { symbol: "d", name: "tilt", marks: marks.tilt, label: (v) => fixed(v, v % 1 ? 1 : 0) }, 240),
  };
  const [stage, readout, table] = [figure(), readoutNode(), raceTable()];
  const time = player(root, state, {
    advance(seconds) {
      state.show("now", Math.min(UNTIL, state.get("now") + seconds));
      if (state.get("now") >= UNTIL) goTo(UNTIL);
    },
    button: () => row.buttons[0],
    play: "Play",
    readout,
  });
  const goTo = (/** @type {number} */ now) => {
    time.pause();
    state.set("now", clamp(now, 0, UNTIL));
  };
  const run = () => {
    if (time.wanted()) return goTo(state.get("now"));
    if (state.get("now") >= UNTIL) state.show("now", 0);
    time.want(true);
  };
  const row = buttonRow([
    ["Play", "let them run", run],
    ["Step", "one step of each", () => goTo(state.get("now") + SHARED.race.step)],
    ["Restart", "all back to the start", () => goTo(0)],
  ]);
  scaffold(root, {
    label: "four learners on one landscape",
    title: SHARED.title,
    hint: "Drag the start, press Play. Then raise γ past γₕₑₜ: the pink paths that crossed fall back, one by one.",
    areas: { control: [row.node, dials.gamma.node, dials.tilt.node], stage: [stage], words: [table.node, readout, make("p", { class: "ln-note" }, NOTE)] },
  });
  const [ground, fan, moving] = [stage, stage, stage].map(layer);
  const point = planePoint(stage, state, "start", { label: "start", color: ink("ink"), hold: SHARED.starts.x, tall: SHARED.starts.y });
  const cursor = handle(stage, {
    label: "time of the race",
    color: ink("neutral"),
    onDrag: (px) => goTo(((px - frame.left) / (frame.right - frame.left)) * UNTIL),
    onKey: ([dx, dy], big) => goTo(state.get("now") + (dx + dy) * (big ? 0.5 : 0.1)),
    onEnd: (side) => goTo(side < 0 ? 0 : UNTIL),
  });

  /** @type {RaceFrame} */
  let frame;
  /** @type {Edge | null} */
  let edge = null;
  /** @type {(Race & { start: number[], costs: Record<RunnerName, number> }) | null} */
  let race = null;
  let [drawn, tilted] = [false, NaN];
  if (!calm()) time.want(true);
  return {
    /** @param {number} width */
    layout(width) {
      frame = raceFrame(stage, root, width);
      [drawn, tilted] = [false, NaN];
    },
    update() {
      const { start, gamma, tilt, now } = state.pick("start", "gamma", "tilt", "now");
      if (edge?.planner.policy.gamma !== gamma || edge.planner.tilt !== tilt) {
        edge = edgeOf(gamma, tilt, edge);
        [drawn, race] = [false, null];
      }
      if (race?.start !== start) {
        const run = runRace(edge.planner, start);
        race = { ...run, start, costs: { ...mapped(run.tracks, (track) => trackAction(gamma, tilt, track)), planner: run.plan.action } };
      }
      for (const [trait, dial] of entries(dials)) dial.show({ gamma, tilt }[trait]);
      if (tilted !== tilt) {
        const { threshold } = edge.planner;
        dials.gamma.mark(1, threshold > 2 * least ? threshold : 0, `γₕₑₜ ${fixed(threshold, 3)}`); // off the track below
        raceGround(ground, frame, tilt);
      }
      if (!drawn) raceFan(fan, frame, edge);
      [drawn, tilted] = [true, tilt];
      moving.replaceChildren();
      const at = mapped(race.tracks, (track) => trackAt(track, now));
      raceTracks(moving, frame, race.tracks, at, now);
      const t = raceLosses(moving, frame, tilt, race.tracks, at, now);
      point.show(frame);
      cursor.place(t(now), frame.losses.bottom - 6, { now: now.toFixed(2), low: 0, high: UNTIL, text: `time ${fixed(now, 2)}` });
      table.show(mapped(at, (place) => raceLoss(tilt, place)), race.costs, edge);
      readout.replaceChildren(...raceWords(edge, race.plan, start, now));
    },
    python() {
      const { start, gamma, tilt } = state.pick("start", "gamma", "tilt");
      return [`loss = ln.losses.DoubleWell(d=${inPython(tilt)})`, `path = ln.solve(ln.Objective(gamma=${inPython(gamma)}), loss, ${inPython(start)})`, "path.action, path.asymptote"];
    },
    leave: time.leave,
  };
}

/**
 * What the starts of the edge do; what γ does not change is taken from before.
 * @type {(gamma: number, tilt: number, before: Edge | null) => Edge}
 */
function edgeOf(gamma, tilt, before) {
  const planner = racePlanner(gamma, tilt);
  const plans = STARTS.map((start) => planFrom(planner, start));
  const rules = before?.planner.tilt === tilt ? before.deep : deepEnds(planner, STARTS);
  return { planner, plans, deep: { ...rules, planner: plans.filter(({ deep }) => deep).length } };
}

/**
 * A track between two of its steps.
 * @type {(track: number[][], now: number) => number[]}
 */
function trackAt(track, now) {
  const at = Math.min(now / SHARED.race.step, track.length - 1);
  const i = Math.min(Math.floor(at), track.length - 2);
  return track[i].map((v, axis) => v + (at - i) * (track[i + 1][axis] - v));
}

/**
 * Sizes and scales of the plane and of the losses for one width.
 * @type {(stage: Figure, root: HTMLElement, width: number) => RaceFrame}
 */
function raceFrame(stage, root, width) {
  const w = stageWidth(root, width, 24, 760);
  const { x, y } = SHARED.window;
  const [left, right, top] = [34, w - 8, 22];
  const bottom = top + ((right - left) * (y[1] - y[0])) / (x[1] - x[0]);
  const low = bottom + 58;
  const end = low + (isWide(root) ? 96 : 84);
  resize(stage, w, end + 38);
  return { left, right, top, bottom, x: scale(x, [left, right]), y: scale(y, [bottom, top]), losses: { left, right, top: low, bottom: end, title: "loss" } };
}

/**
 * The landscape as level sets L ≤ level, whose borders are the contours θ₂ = ±√((level − L(θ₁, 0))/c).
 * @type {(at: Element, f: RaceFrame, tilt: number) => void}
 */
function raceGround(at, f, tilt) {
  at.replaceChildren();
  drawPanel(at, f, "the loss from above, θ₂ against θ₁");
  drawPanel(at, f.losses, "loss of each, against time");
  const inner = panelWindow(at, f);
  const { first, every, count } = SHARED.levels;
  const [low, high] = SHARED.window.x;
  const places = samples(low, high, 120);
  const floor = places.map((x) => wellLoss({ a: SHARED.well.a, b: SHARED.well.b, d: tilt }, x));
  for (let level = first; level < first + every * count; level += every) {
    /** @type {number[][]} */
    let run = [];
    const close = () => {
      const border = [...run, ...run.map(([x, y]) => [x, -y]).reverse()];
      if (run.length > 1) draw(inner, "path", { class: "ln-basin", d: `${trace(border.map(pixels(f)))}Z` });
      run = [];
    };
    places.forEach((x, i) => {
      const room = level - floor[i];
      const before = i ? level - floor[i - 1] : room;
      if (room * before < 0) run.push([places[i - 1] + ((x - places[i - 1]) * before) / (before - room), 0]);
      if (room >= 0) run.push([x, Math.sqrt(room / SHARED.well.c)]);
      else close();
    });
    close();
  }
  ticksAcross(at, f, f.x, plainTicks([-1, 0, 1]), { drop: 15, mark: "none" });
  ticksUp(at, f, f.y, plainTicks([-1, 0, 1]), { gap: 6, grid: false });
  nameAcross(at, f, "θ₁", 30);
}

/**
 * The planner's paths from the edge; those that end in the shallow well are grey.
 * @type {(at: Element, f: RaceFrame, edge: Edge) => void}
 */
function raceFan(at, f, { planner, plans }) {
  at.replaceChildren();
  const inner = panelWindow(at, f);
  for (const plan of plans) {
    const style = plan.deep ? { stroke: ink("optimal"), "stroke-width": 1.4, "stroke-opacity": 0.8 } : { stroke: ink("neutral"), "stroke-width": 1.5, "stroke-dasharray": "2 3" };
    drawLine(inner, wholePath(planner, plan).map(pixels(f)), { ...style, ...curve("fan", f.x, f.y) });
  }
  for (const [x, y] of STARTS) draw(inner, "circle", { class: "ln-start", cx: f.x(x), cy: f.y(y), r: 3.5 });
}

/**
 * The four tracks: the whole of each thin, what has been run thick, and where it is.
 * @type {(at: Element, f: RaceFrame, tracks: Tracks, places: Record<RunnerName, number[]>, now: number) => void}
 */
function raceTracks(at, f, tracks, places, now) {
  const inner = panelWindow(at, f);
  const done = Math.floor(now / SHARED.race.step) + 1;
  for (const [name, track] of entries(tracks)) {
    const line = track.map(pixels(f));
    drawLine(inner, line, { ...LINES[name], "stroke-width": 2, ...curve(name, f.x, f.y) });
    drawLine(inner, [...line.slice(0, done), pixels(f)(places[name])], { ...LINES[name], "stroke-width": 3.2, "stroke-dasharray": "none" });
  }
  for (const [name, place] of entries(places)) drawDot(inner, pixels(f)(place), 6, String(LINES[name].stroke));
}

/**
 * Each one's loss against time; returns the scale of time.
 * @type {(at: Element, f: RaceFrame, tilt: number, tracks: Tracks, places: Record<RunnerName, number[]>, now: number) => Scale}
 */
function raceLosses(at, f, tilt, tracks, places, now) {
  const losses = mapped(tracks, (track) => track.map((place) => raceLoss(tilt, place)));
  const all = Object.values(losses).flat();
  const low = Math.min(...all);
  const high = Math.max(...all, low + 0.3);
  const air = 0.06 * (high - low);
  const t = timeAxis(at, { ...f, w: 0, rows: {}, bottom: f.losses.bottom }, 0, UNTIL, 1, "time t");
  const step = [0.1, 0.2, 0.5, 1, 2].find((size) => (high - low) / size < 3.5) ?? 5;
  const ticks = samples(-5, 15, 20).map((i) => step * i).filter((v) => v > low - air && v < high + air);
  const y = valueAxis(at, f.losses, [low - air, high + air], plainTicks(ticks, step < 1 ? 1 : 0));
  const inner = panelWindow(at, f.losses);
  upright(inner, t(now), f.losses, "ln-plumb");
  for (const [name, values] of entries(losses)) {
    drawLine(inner, values.map((v, i) => [t(i * SHARED.race.step), y(v)]), { ...LINES[name], ...curve(`loss of ${name}`, t, y) });
  }
  for (const [name, place] of entries(places)) drawDot(inner, [t(now), y(raceLoss(tilt, place))], 4, String(LINES[name].stroke));
  return t;
}

/** The table of the four: loss now, cost of the whole path, and how many of the edge's starts reach the deep well. */
function raceTable() {
  const { node, rows } = lineTable(SHARED.lines, ["learner", "L now", "J", "deep"], (_, name) => LINES[name]);
  /** @type {(losses: Record<RunnerName, number>, costs: Record<RunnerName, number>, edge: Edge) => void} */
  const show = (losses, costs, { deep, planner }) => {
    for (const [name, { cells }] of entries(rows)) {
      cells[0].textContent = fixed(losses[name], 2);
      cells[1].textContent = fixed(costs[name], 3);
      cells[2].textContent = planner.tilt ? `${deep[name]} of ${STARTS.length}` : "–";
    }
  };
  return { node, show };
}

/**
 * What the knobs give, in words and numbers.
 * @type {(edge: Edge, plan: Plan, start: number[], now: number) => (Node | string)[]}
 */
function raceWords({ planner, deep }, plan, [x, y], now) {
  const { gamma } = planner.policy;
  const all = STARTS.length;
  const verdict = !planner.tilt
    ? "Both wells are equally deep: nobody has a reason to cross."
    : deep.planner === all
      ? `The planner crosses: ${all} of ${all} end in the deep well.`
      : deep.planner > deep.descent
        ? `Crossing pays from near: ${deep.planner} of ${all} end in the deep well.`
        : `The planner stays, as gradient descent does: ${deep.planner} of ${all} end in the deep well.`;
  const { rates, descent, ballistic } = nearRest(planner, plan);
  const percent = (/** @type {number} */ part) => `${fixed(100 * part, 0)} %`.replace(" ", "\u00a0");
  const [sight, name, off] = descent < ballistic
    ? ["Short-sighted", "gradient descent, −∇L/γ", descent]
    : ["Far-sighted", "ballistic, r = √H", ballistic];
  const rule = off < 0.25 ? `${sight}: ${name}, within ${percent(off)}.` : `Between the limits: ${percent(off)} off ${name}.`;
  const well = planner.tilt ? (plan.deep ? "deep" : "shallow") : plan.deep ? "right" : "left";
  return verdictLines(verdict, [
    `γ = ${fixed(gamma, 3)}; for this tilt γₕₑₜ = ${fixed(planner.threshold, 3)}.`,
    `Near its well θ̇ = −r(θ − θ*), r = √(γ²/4 + H) − γ/2 = (${rates.map((r) => fixed(r, 3)).join(", ")}).`,
    rule,
    `Time ${fixed(now, 2)}. From (${fixed(x, 2)}, ${fixed(y, 2)}) it ends in the ${well} well.`,
  ]);
}

export default explorable("Race", buildRace, ["start", "gamma", "tilt", "now"]);
