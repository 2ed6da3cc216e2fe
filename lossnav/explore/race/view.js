// The view of the race: the landscape with the planner's paths from all its edge, four learners from one start, their
// losses against time.

/** @import { Figure, Scale } from "../kit.js" */
/** @import { Row } from "../chart.js" */
/** @import { Build } from "../life.js" */
/** @import { Plane, Way } from "./land.js" */
/** @import { Land, Plan, Planner, RunnerName, Tracks } from "./model.js" */

import { calm, player, timeAxis, valueAxis } from "../chart.js";
import { buttonRow, declaredDial, traitDial } from "../controls.js";
import { clamp, compact, curve, drawDot, drawLine, drawPanel, entries, figure, fixed, ink, isWide, layer, make, mapped, panelWindow, pixels, plainTicks, readout, resize, samples, scaffold, scale, stageWidth, upright } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { axisPoint, planePoint } from "../point.js";
import { between } from "../runner.js";
import { inked } from "../tables.js";
import SHARED from "./constants.json" with { type: "json" };
import { digger, landFan, landGround, landSection, wayOf } from "./land.js";
import { deepEnds, edgeStarts, planFrom, raceLoss, racePlanner, runRace, shared, trackAction } from "./model.js";
import { lawNode, raceHeadline, raceTable, raceWords } from "./words.js";

/** @typedef {Land & { start: number[], gamma: number, now: number }} Traits */
/** @typedef {Plane & { profile: Plane, losses: Row }} RaceFrame the plane, and what is below it */
/** @typedef {{ gamma: number, land: Land, planner: Planner, ways: Way[], deep: Record<RunnerName, number>, count: number }} Edge what all starts of the edge do */
/** @typedef {{ start: number[], tracks: Tracks, losses: Record<RunnerName, number[]>, plan: Plan, costs: Record<RunnerName, number>, drawn: boolean }} Race */

const UNTIL = SHARED.race.step * SHARED.race.steps;
const STARTS = edgeStarts();
const LINES = mapped(SHARED.lines, inked);
const SIGHTS = /** @type {Record<number, string>} */ ({ [SHARED.traits.gamma.range[0]]: "far", [SHARED.traits.gamma.range[1]]: "near" });
const TILTS = /** @type {Record<number, string>} */ ({ "-1.2": "right", 0: "level", 1.2: "left" });
const NOTE =
  "The sight is 1/γ, the planner's alone. The other three have the rate 0.02, the heavy ball a momentum of 0.9; one of their steps " +
  "takes 0.02 units of time. J is the cost of each whole path (Eq. 2).";

/** @type {Build<Traits>} */
const buildRace = (root, state) => {
  const [least, most] = SHARED.traits.gamma.range;
  const decades = Math.log(most / least);
  const dials = {
    gamma: traitDial(
      state, "gamma",
      { symbol: "Sight", name: "how far ahead the planner looks", marks: [most, 0, least], text: (v) => compact(1 / v), label: (v) => SIGHTS[v] ?? "" },
      { toPosition: (v) => Math.log(most / v) / decades, toValue: (u) => most * Math.exp(-decades * u) },
    ),
    tilt: declaredDial(state, SHARED.traits, "tilt", { text: tiltWords, label: (v) => TILTS[v] ?? "" }),
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
    hint: "Drag the start, or let the planner look less far: the pink paths that crossed fall back, the farthest first.",
    stage: [stage],
    legend: [table.legend],
    control: [dials.gamma.node, dials.tilt.node],
    says,
    more: [lands.node, row.node],
    rows: [below],
    numbers: [table.node, law.node, make("p", { class: "ln-note" }, NOTE)],
  });
  // The title is the verdict.
  const headline = /** @type {HTMLElement} */ (root.querySelector(".ln-title"));
  const [ground, fan, whole, moving] = [stage, stage, stage, stage].map(layer);
  const [still, section] = [layer(below), layer(below)];
  const spade = digger(below, state);
  const [lines, passing] = [layer(below), layer(below)];
  const putStart = planePoint(stage, state, "start", { label: "start", color: ink("ink"), hold: SHARED.starts.x, tall: SHARED.starts.y });
  const putCursor = axisPoint(below, { label: "time of the race", color: ink("neutral"), ends: [0, UNTIL], steps: [0.1, 0.5], read: () => state.get("now"), go: goTo });

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
      drawPanel(still, frame.profile, "across both wells: press to dig");
      drawPanel(still, frame.losses, "the loss of each, against time");
      t = timeAxis(still, { ...frame.losses, w: 0, rows: {} }, 0, UNTIL, 1, "time");
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
        dials.gamma.mark(1, threshold > 2 * least ? threshold : 0, "enough to cross"); // off the track without one
        landGround(ground, frame, planner.well);
        landSection(section, frame.profile, planner.well);
        spade.show(frame.profile, land);
      }
      if (drawn.edge !== edge) landFan(fan, frame, edge.ways, STARTS);
      drawn = { edge, land };
      if (!race.drawn) {
        whole.replaceChildren();
        lines.replaceChildren();
        raceTracks(whole, frame, race.tracks);
        loss = raceLosses(lines, frame, t, race.losses);
        race.drawn = true;
      }
      moving.replaceChildren();
      passing.replaceChildren();
      const at = mapped(race.tracks, (track) => between(track, now / SHARED.race.step));
      raceNow([moving, passing], frame, { t, y: loss }, planner, race.tracks, at, now);
      putStart(frame);
      putCursor(t, frame.losses.bottom - 6, { now: now.toFixed(2), low: 0, high: UNTIL, text: `time ${fixed(now, 2)}` });
      table.show(mapped(at, (place) => raceLoss(planner.well, place)), race.costs, edge);
      law.show(planner, race.plan);
      headline.textContent = raceHeadline(edge);
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
};

/** Which well is deeper, and how much the land leans. */
const tiltWords = (/** @type {number} */ tilt) => (Math.abs(tilt) < 0.005 ? "level" : `${tilt < 0 ? "right" : "left"}, ${fixed(Math.abs(tilt), 2)}`);

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

/** @type {(stage: Figure, below: Figure, root: HTMLElement, width: number) => RaceFrame} */
function raceFrame(stage, below, root, width) {
  const w = stageWidth(root, width, 270);
  const { x, y, floor } = SHARED.window;
  const bottom = (w * (y[1] - y[0])) / (x[1] - x[0]);
  resize(stage, w, bottom);
  const [left, right, top] = [34, w - 8, 22];
  const foot = top + (isWide(root) ? 112 : 96);
  const low = foot + 30;
  const end = low + (isWide(root) ? 96 : 84);
  resize(below, w, end + 38);
  const profile = { left, right, top, bottom: foot, x: scale(x, [left, right]), y: scale(floor, [foot, top]) };
  return { left: 0, right: w, top: 0, bottom, x: scale(x, [0, w]), y: scale(y, [bottom, 0]), profile, losses: { left, right, top: low, bottom: end, title: "loss" } };
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
 * @type {(at: Element[], f: RaceFrame, axes: { t: Scale, y: Scale }, planner: Planner, tracks: Tracks, places: Record<RunnerName, number[]>, now: number) => void}
 */
function raceNow([plane, below], f, { t, y }, { well }, tracks, places, now) {
  const [inner, under] = [panelWindow(plane, f), panelWindow(below, f.losses)];
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
