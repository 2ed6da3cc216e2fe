// The landscape of the race: its section along θ₂ = 0, where it is dug, its level sets, and the optimal paths on it.

/** @import { Box, Figure, Scale } from "../kit.js" */
/** @import { State } from "../life.js" */
/** @import { Well } from "../wells.js" */
/** @import { Land, Plan, Planner } from "./model.js" */

import { handle } from "../controls.js";
import { clamp, curve, draw, drawLine, fixed, ink, panelWindow, pixels, samples, trace } from "../kit.js";
import { wellLoss } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };
import { landOf, wholePath } from "./model.js";

/** @typedef {Box & { x: Scale, y: Scale }} Plane */
/** @typedef {{ plan: Plan, way: number[][] }} Way */

const { place: FAR, depth: DEPTHS, snap: SNAP, new: NEW } = SHARED.dug;

/** The handle that digs, and the ground that takes a click; `show` puts both where they belong. */
export function digger(/** @type {Figure} */ stage, /** @type {State<any>} */ state) {
  /** @type {Plane} */
  let frame;
  const dig = (/** @type {number} */ place, /** @type {number} */ depth) => {
    const kept = Math.abs(depth) < SNAP ? 0 : clamp(depth, DEPTHS[0], DEPTHS[1]);
    state.set("dug", [clamp(place, -FAR, FAR), kept]);
  };
  const ground = draw(stage, "rect", { class: "ln-dig", fill: "transparent" });
  ground.addEventListener("click", (event) => {
    const box = stage.getBoundingClientRect();
    const zoom = stage.viewBox.baseVal.width / box.width || 1;
    dig(frame.x.invert((event.clientX - box.left) * zoom), NEW);
  });
  const spade = handle(stage, {
    label: "well to dig; arrow keys move it, up and down raise and lower it",
    kind: "point of the landscape",
    color: ink("ink"),
    onDrag: (px, py) => {
      const place = clamp(frame.x.invert(px), -FAR, FAR);
      dig(place, wellLoss(landOf({ tilt: state.get("tilt"), dug: [0, 0] }), place) - frame.y.invert(py));
    },
    onKey([dx, dy], big) {
      const [place, depth] = state.get("dug");
      const lower = dy * (big ? 0.4 : 0.1);
      // Two keys lead out of the flat part about 0, whose dips are not dug.
      dig(place + dx * (big ? 0.25 : 0.05), Math.abs(depth - lower) < SNAP && depth === 0 ? -lower : depth - lower);
    },
    onEnd: (side) => dig(side * FAR, state.get("dug")[1] || NEW),
  });
  /** @type {(f: Plane, land: Land) => void} */
  const show = (f, land) => {
    frame = f;
    const [place, depth] = land.dug;
    const text = depth ? `a ${depth > 0 ? "well" : "hill"} of ${fixed(Math.abs(depth), 2)} at θ₁ = ${fixed(place, 2)}` : "nothing dug";
    for (const [name, value] of Object.entries({ x: f.left, y: f.top, width: f.right - f.left, height: f.bottom - f.top })) ground.setAttribute(name, String(value));
    const y = clamp(f.y(wellLoss(landOf(land), place)), f.top + 8, f.bottom - 8);
    spade.place(f.x(place), y, { now: depth.toFixed(2), low: DEPTHS[0], high: DEPTHS[1], text });
  };
  return { show };
}

/** @type {(well: Well) => { places: number[], floor: number[] }} */
function section(well) {
  const places = samples(SHARED.window.x[0], SHARED.window.x[1], 140);
  return { places, floor: places.map((x) => wellLoss(well, x)) };
}

/**
 * The landscape as level sets L ≤ level, whose borders are the contours θ₂ = ±√((level − L(θ₁, 0))/c).
 * @type {(at: Element, plane: Plane, well: Well) => void}
 */
export function landGround(at, plane, well) {
  at.replaceChildren();
  const { places, floor } = section(well);
  const inner = panelWindow(at, plane);
  const { first, every, count } = SHARED.levels;
  for (let level = first; level < first + every * count; level += every) {
    const sets = levelSets(places, floor, level).map((border) => `${trace(border.map(pixels(plane)))}Z`);
    if (sets.length) draw(inner, "path", { class: "ln-basin", d: sets.join("") });
  }
}

/** @type {(at: Element, profile: Plane, well: Well) => void} */
export function landSection(at, profile, well) {
  at.replaceChildren();
  const { places, floor } = section(well);
  const side = panelWindow(at, profile);
  const line = places.map((x, i) => [profile.x(x), profile.y(floor[i])]);
  draw(side, "path", { class: "ln-hill", d: `${trace([[profile.left, profile.bottom], ...line, [profile.right, profile.bottom]])}Z` });
  drawLine(side, line, { stroke: ink("neutral"), "stroke-width": 2, ...curve("section", profile.x, profile.y) });
}

/**
 * The borders of the parts of one level set.
 * @type {(places: number[], floor: number[], level: number) => number[][][]}
 */
function levelSets(places, floor, level) {
  /** @type {number[][][]} */
  const found = [];
  /** @type {number[][]} */
  let run = [];
  const close = () => {
    if (run.length > 1) found.push([...run, ...run.map(([x, y]) => [x, -y]).reverse()]);
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
  return found;
}

/** @type {(planner: Planner, plan: Plan) => Way} */
export const wayOf = (planner, plan) => ({ plan, way: wholePath(planner, plan) });

/**
 * The planner's paths from the edge; those that end elsewhere than in a deepest well are grey.
 * @type {(at: Element, f: Plane, ways: Way[], starts: number[][]) => void}
 */
export function landFan(at, f, ways, starts) {
  at.replaceChildren();
  const inner = panelWindow(at, f);
  ways.forEach(({ plan, way }, i) => {
    const style = plan.deep ? { stroke: ink("optimal"), "stroke-width": 1.4, "stroke-opacity": 0.8 } : { stroke: ink("neutral"), "stroke-width": 1.5, "stroke-dasharray": "2 3" };
    const line = way.map(([x, part]) => [f.x(x), f.y(starts[i][1] * part)]);
    drawLine(inner, line, { ...style, ...curve("fan", f.x, f.y) });
  });
  for (const [x, y] of starts) draw(inner, "circle", { class: "ln-start", cx: f.x(x), cy: f.y(y), r: 3.5 });
}
