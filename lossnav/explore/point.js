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
 * A handle for the trait that holds a point of the plane, at most `hold` from the axis θ₂ and `tall` from θ₁; returns
 * what puts it there.
 * @param {Figure} stage
 * @param {State<any>} state
 * @param {string} trait
 * @param {{ label: string, color: string, hold: number, tall?: number, small?: number, kind?: string, axes?: string[] }} wanted
 */
export function planePoint(stage, state, trait, { label, color, hold, tall = hold, small = 0.05, kind = "point of the plane", axes = ["θ₁", "θ₂"] }) {
  /** @type {PlaneScales} */
  let frame;
  const move = (/** @type {number} */ x, /** @type {number} */ y) => state.set(trait, [clamp(x, -hold, hold), clamp(y, -tall, tall)]);
  const knob = handle(stage, {
    label: `${label}; arrow keys move it both ways`,
    kind,
    part: trait,
    color,
    onDrag: (px, py) => move(frame.x.invert(px), frame.y.invert(py)),
    onKey([dx, dy], big) {
      const [x, y] = state.get(trait);
      move(x + dx * (big ? 0.5 : small), y + dy * (big ? 0.5 : small));
    },
    onEnd: (side) => move(side * hold, state.get(trait)[1]),
  });
  return (/** @type {PlaneScales} */ f) => {
    frame = f;
    const [x, y] = state.get(trait);
    const text = `${axes[0]} = ${fixed(x, 2)}, ${axes[1]} = ${fixed(y, 2)}`;
    knob.place(f.x(x), f.y(y), { now: x.toFixed(2), low: -hold, high: hold, text });
  };
}
