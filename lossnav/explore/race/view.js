// The view of the race: the landscape with the planner's paths from all its edge, four learners from one start, their
// losses against time.

/** @import { Attributes, Figure, Scale } from "../kit.js" */
/** @import { Row } from "../chart.js" */
/** @import { State } from "../life.js" */
/** @import { Plane, Way } from "./land.js" */
/** @import { Land, Plan, Planner, RunnerName, Tracks } from "./model.js" */

import { calm, player, timeAxis, valueAxis } from "../chart.js";
import { buttonRow, handle, linearDial, logDial } from "../controls.js";
import { clamp, curve, drawDot, drawLine, drawPanel, entries, figure, fixed, ink, isWide, layer, make, mapped, panelWindow, pixels, plainTicks, readout, resize, samples, scaffold, scale, stageWidth, upright } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { planePoint } from "../point.js";
import { inked } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { digger, landFan, landFrame, landGround, wayOf } from "./land.js";
import { deepEnds, edgeStarts, planFrom, raceLoss, racePlanner, runRace, shared, trackAction } from "./model.js";
import { lawNode, raceTable, raceWords } from "./words.js";

/** @typedef {Land & { start: number[], gamma: number, now: number }} Traits */
/** @typedef {Plane & { profile: Plane, losses: Row }} RaceFrame */
/** @typedef {{ gamma: number, land: Land, planner: Planner, ways: Way[], deep: Record<RunnerName, number>, count: number }} Edge what all starts of the edge do */
/** @typedef {{ start: number[], tracks: Tracks, losses: Record<RunnerName, number[]>, plan: Plan, costs: Record<RunnerName, number>, drawn: boolean }} Race */

const UNTIL = SHARED.race.step * SHARED.race.steps;
const STARTS = edgeStarts();
const LINES = mapped(SHARED.lines, (line) => /** @type {Attributes} */ ({ ...inked(line), "stroke-width": 2.2 }));
const NOTE =
  "γ is the planner's alone. The other three have the rate 0.02, the heavy ball a momentum of 0.9; one of their steps " +
  "takes 0.02 units of time. J is the cost of each whole path (Eq. 2).";

/**
 * @param {HTMLElement} root
 * @param {State<Traits>} state
 */
function buildRace(root, state) {
  const { traits } = SHARED;
  const [least, most] = traits.gamma.range;
  const dials = {
    gamma: logDial(state, "gamma", { symbol: "γ", name: "discount rate", marks: [least, 0, most], text: (v) => fixed(v, 3) }),
    tilt: linearDial(state, "tilt", { symbol: "d", name: "tilt", marks: traits.tilt.range, label: (v) => fixed(v, v % 1 ? 1 : 0) }, 240),
  };
  const [stage, below, says, law, table] = [figure(), figure(), readout(), lawNode(), raceTable()];
  const time = player(root, state, {
    advance(seconds) {
      state.show("now", Math.min(UNTIL, state.get("now") + seconds));
      if (state.get("now") >= UNTIL) goTo(UNTIL);
    },
    button: () => row.buttons[0],
    play: "Play",
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
  const lands = buttonRow(entries(SHARED.lands).map(([name, land]) => [name, "choose this landscape", () => choose(land)]));
  const choose = (/** @type {Land} */ { tilt, dug }) => {
    state.set("tilt", tilt);
    state.set("dug", [...dug]);
  };
  scaffold(root, {
    label: "four learners on one landscape",
    title: SHARED.title,
    hint: "Drag the start, press Play. Then raise γ past γₕₑₜ: the pink paths that crossed fall back, one by one.",
    stage: [stage],
    legend: [table.legend],
    control: [row.node, dials.gamma.node],
    says,
    more: [lands.node, dials.tilt.node],
    rows: [below],
    numbers: [table.node, law.node, make("p", { class: "ln-note" }, NOTE)],
  });
  const [still, ground, under] = [layer(stage), layer(stage), layer(below)];
  const spade = digger(stage, state);
  const [fan, whole, moving, curves, over] = [stage, stage, stage, below, below].map(layer);
  const point = planePoint(stage, state, "start", { label: "start", color: ink("ink"), hold: SHARED.starts.x, tall: SHARED.starts.y });
  const cursor = handle(below, {
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
  /** @type {Race | null} */
  let race = null;
  /** @type {{ edge: Edge | null, land: Land | null }} */
  let drawn = { edge: null, land: null };
  /** @type {Scale} */
  let t;
  /** @type {Scale} */
  let loss;
  if (!calm()) time.want(true);
  return {
    /** @param {number} width */
    layout(width) {
      frame = raceFrame(stage, below, root, width);
      still.replaceChildren();
      under.replaceChildren();
      landFrame(still, frame, frame.profile);
      drawPanel(under, frame.losses, "loss of each, against time");
      t = timeAxis(under, { ...frame, w: 0, rows: {}, bottom: frame.losses.bottom }, 0, UNTIL, 1, "time t");
      drawn = { edge: null, land: null };
      if (race) race.drawn = false;
    },
    update() {
      const { start, gamma, tilt, dug, now } = state.pick("start", "gamma", "tilt", "dug", "now");
      if (edge?.gamma !== gamma || edge.land.tilt !== tilt || edge.land.dug !== dug) {
        edge = edgeOf(gamma, { tilt, dug }, edge);
        race = null;
      }
      const { planner, land } = edge;
      if (race?.start !== start) race = raceOf(planner, gamma, start);
      for (const [trait, dial] of entries(dials)) dial.show({ gamma, tilt }[trait]);
      if (drawn.land !== land) {
        const { threshold } = planner;
        dials.gamma.mark(1, threshold > 2 * least ? threshold : 0, `γₕₑₜ ${fixed(threshold, 3)}`); // off the track below
        landGround(ground, frame, frame.profile, planner.well);
        spade.show(frame.profile, land);
      }
      if (drawn.edge !== edge) landFan(fan, frame, edge.ways, STARTS);
      drawn = { edge, land };
      if (!race.drawn) {
        whole.replaceChildren();
        curves.replaceChildren();
        raceTracks(whole, frame, race.tracks);
        loss = raceLosses(curves, frame, t, race.losses);
        race.drawn = true;
      }
      moving.replaceChildren();
      over.replaceChildren();
      const at = mapped(race.tracks, (track) => trackAt(track, now));
      raceNow(moving, over, frame, { t, y: loss }, planner, race.tracks, at, now);
      point.show(frame);
      cursor.place(t(now), frame.losses.bottom - 6, { now: now.toFixed(2), low: 0, high: UNTIL, text: `time ${fixed(now, 2)}` });
      table.show(mapped(at, (place) => raceLoss(planner.well, place)), race.costs, edge);
      law.show(planner, race.plan);
      says.say(...raceWords(edge, race.plan, start, now));
    },
    python() {
      const { start, gamma, tilt, dug } = state.pick("start", "gamma", "tilt", "dug");
      const [place, depth] = dug.map(inPython);
      const well = `ln.losses.DoubleWell(d=${inPython(tilt)})`;
      const dip = `${depth} * np.exp(-(((theta[..., 0] - ${place}) / ${SHARED.dug.wide}) ** 2) / 2)`;
      const made = dug[1] ? [`well = ${well}`, `loss = ln.losses.Function(lambda theta: well.value(theta) - ${dip}, dim=2)`] : [`loss = ${well}`];
      return [...made, `path = ln.solve(ln.Objective(gamma=${inPython(gamma)}), loss, ${inPython(start)})`, "path.action, path.asymptote"];
    },
    leave: time.leave,
  };
}

/**
 * What the starts of the edge do; what γ does not change is taken from before.
 * @type {(gamma: number, land: Land, before: Edge | null) => Edge}
 */
function edgeOf(gamma, { tilt, dug }, before) {
  const same = before && before.land.tilt === tilt && before.land.dug === dug;
  const land = same ? before.land : { tilt, dug };
  const planner = racePlanner(gamma, land);
  const ways = shared(STARTS, (x) => wayOf(planner, planFrom(planner, x)));
  const rules = same ? before.deep : deepEnds(planner, STARTS);
  return { gamma, land, planner, ways, deep: { ...rules, planner: ways.filter(({ plan }) => plan.deep).length }, count: STARTS.length };
}

/**
 * The four from one start, with their losses and what their whole paths cost.
 * @type {(planner: Planner, gamma: number, start: number[]) => Race}
 */
function raceOf(planner, gamma, start) {
  const { tracks, plan, action } = runRace(planner, start);
  const { well } = planner;
  const losses = mapped(tracks, (track) => track.map((place) => raceLoss(well, place)));
  return { start, tracks, losses, plan, costs: { ...mapped(tracks, (track) => trackAction(gamma, well, track)), planner: action }, drawn: false };
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
 * Sizes and scales of the section, the plane and the losses for one width.
 * @type {(stage: Figure, below: Figure, root: HTMLElement, width: number) => RaceFrame}
 */
function raceFrame(stage, below, root, width) {
  const w = stageWidth(root, width, 270);
  const { x, y, floor } = SHARED.window;
  const [left, right, above] = [34, w - 8, 22];
  const floorAt = above + (isWide(root) ? 90 : 60);
  const top = floorAt + 26;
  const bottom = top + ((right - left) * (y[1] - y[0])) / (x[1] - x[0]);
  const losses = { left, right, top: above, bottom: above + 84, title: "loss" };
  resize(stage, w, bottom + 36);
  resize(below, w, losses.bottom + 38);
  const across = scale(x, [left, right]);
  const profile = { left, right, top: above, bottom: floorAt, x: across, y: scale(floor, [floorAt, above]) };
  return { left, right, top, bottom, x: across, y: scale(y, [bottom, top]), profile, losses };
}

/**
 * The whole of the four tracks, thin.
 * @type {(at: Element, f: RaceFrame, tracks: Tracks) => void}
 */
function raceTracks(at, f, tracks) {
  const inner = panelWindow(at, f);
  for (const [name, track] of entries(tracks)) drawLine(inner, track.map(pixels(f)), { ...LINES[name], "stroke-width": 2, ...curve(name, f.x, f.y) });
}

/**
 * Each one's loss against time; returns the scale of the losses.
 * @type {(at: Element, f: RaceFrame, t: Scale, losses: Record<RunnerName, number[]>) => Scale}
 */
function raceLosses(at, f, t, losses) {
  const all = Object.values(losses).flat();
  const low = Math.min(...all);
  const high = Math.max(...all, low + 0.3);
  const air = 0.06 * (high - low);
  const step = [0.1, 0.2, 0.5, 1, 2].find((size) => (high - low) / size < 3.5) ?? 5;
  const ticks = samples(-5, 15, 20).map((i) => step * i).filter((v) => v > low - air && v < high + air);
  const y = valueAxis(at, f.losses, [low - air, high + air], plainTicks(ticks, step < 1 ? 1 : 0));
  const inner = panelWindow(at, f.losses);
  for (const [name, values] of entries(losses)) {
    drawLine(inner, values.map((v, i) => [t(i * SHARED.race.step), y(v)]), { ...LINES[name], ...curve(`loss of ${name}`, t, y) });
  }
  return y;
}

/**
 * What has been run, thick, and where each is, in both panels.
 * @type {(at: Element, below: Element, f: RaceFrame, axes: { t: Scale, y: Scale }, planner: Planner, tracks: Tracks, places: Record<RunnerName, number[]>, now: number) => void}
 */
function raceNow(at, below, f, { t, y }, { well }, tracks, places, now) {
  const [inner, under] = [panelWindow(at, f), panelWindow(below, f.losses)];
  const done = Math.floor(now / SHARED.race.step) + 1;
  for (const [name, track] of entries(tracks)) {
    drawLine(inner, [...track.slice(0, done), places[name]].map(pixels(f)), { ...LINES[name], "stroke-width": 3.2, "stroke-dasharray": "none" });
  }
  upright(under, t(now), f.losses, "ln-plumb");
  for (const [name, place] of entries(places)) {
    drawDot(inner, pixels(f)(place), 6, String(LINES[name].stroke));
    drawDot(under, [t(now), y(raceLoss(well, place))], 4, String(LINES[name].stroke));
  }
}

export default explorable("Race", buildRace, SHARED);
