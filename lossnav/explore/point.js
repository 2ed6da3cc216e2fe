// Points to drag: along a scale, and in the plane of two weights.

/** @import { HandleValue } from "./controls.js" */
/** @import { Figure, Scale } from "./kit.js" */
/** @import { State } from "./life.js" */

import { handle } from "./controls.js";
import { clamp, fixed, ink } from "./kit.js";

/** @typedef {{ x: Scale, y: Scale }} PlaneScales */

/**
 * A handle along a scale for what `read` says, which `go` sets; returns what puts it there, at a height. `steps` are
 * those of the keys, and of the keys with Shift; Home and End go to the ends of the scale.
 * @param {Figure} stage
 * @param {{ label: string, color?: string, ends: number[], steps: [number, number], read: () => number, go: (value: number) => void }} wanted
 */
export function axisPoint(stage, { label, color = ink("ink"), ends: [low, high], steps: [small, far], read, go }) {
  /** @type {Scale} */
  let axis;
  const knob = handle(stage, {
    label,
    color,
    onDrag: (px) => go(axis.invert(px)),
    onKey: ([dx, dy], big) => go(read() + (dx + dy) * (big ? far : small)),
    onEnd: (side) => go(side < 0 ? low : high),
  });
  return (/** @type {Scale} */ x, /** @type {number} */ py, /** @type {HandleValue} */ value) => {
    axis = x;
    knob.place(x(read()), py, value);
  };
}

/**
 * A handle for two numbers that `read` says and `go` sets, each between its `ends`; returns what puts it there. `steps` are
 * those of the keys, and of the keys with Shift, for each number; Home and End move the first.
 * @param {Figure} stage
 * @param {{ label: string, color?: string, kind: string, part?: string, ends: number[][], steps: number[][], read: () => number[], go: (place: number[]) => void }} wanted
 */
export function pairPoint(stage, { label, color = ink("ink"), kind, part, ends, steps, read, go }) {
  /** @type {PlaneScales} */
  let frame;
  const move = (/** @type {number[]} */ place) => go(place.map((v, i) => clamp(v, ends[i][0], ends[i][1])));
  const knob = handle(stage, {
    label: `${label}; arrow keys move it both ways`,
    kind,
    part,
    color,
    onDrag: (px, py) => move([frame.x.invert(px), frame.y.invert(py)]),
    onKey: (way, big) => move(read().map((v, i) => v + way[i] * steps[big ? 1 : 0][i])),
    onEnd: (side) => move([ends[0][side < 0 ? 0 : 1], read()[1]]),
  });
  return (/** @type {PlaneScales} */ f, /** @type {HandleValue} */ value) => {
    frame = f;
    const [x, y] = read();
    knob.place(f.x(x), f.y(y), value);
  };
}

/**
 * A handle for the trait that holds a point of the plane, at most `hold` from the axis θ₂ and `tall` from θ₁; returns
 * what puts it there.
 * @param {Figure} stage
 * @param {State<any>} state
 * @param {string} trait
 * @param {{ label: string, color: string, hold: number, tall?: number, small?: number, kind?: string, axes?: string[] }} wanted
 */
export function planePoint(stage, state, trait, { label, color, hold, tall = hold, small = 0.05, kind = "point of the plane", axes = ["θ₁", "θ₂"] }) {
  const put = pairPoint(stage, {
    label,
    color,
    kind,
    part: trait,
    ends: [[-hold, hold], [-tall, tall]],
    steps: [[small, small], [0.5, 0.5]],
    read: () => state.get(trait),
    go: (place) => state.set(trait, place),
  });
  return (/** @type {PlaneScales} */ f) => {
    const [x, y] = state.get(trait);
    put(f, { now: x.toFixed(2), low: -hold, high: hold, text: `${axes[0]} = ${fixed(x, 2)}, ${axes[1]} = ${fixed(y, 2)}` });
  };
}
