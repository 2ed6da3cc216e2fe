// What a hand moves wherever SGD runs: a number of steps.

/** @import { Figure, Scale } from "./kit.js" */
/** @import { State } from "./life.js" */

import { handle } from "./controls.js";
import { clamp, ink } from "./kit.js";
import { traitPlayer } from "./runner.js";

/**
 * A handle for the trait n, a number of steps from `low` to `high`, along an axis of log₁₀ n; `place` puts it there.
 * @param {Figure} stage
 * @param {State<any>} state
 * @param {[number, number]} ends
 */
export function countHandle(stage, state, [low, high]) {
  /** @type {Scale} */
  let axis;
  const move = (/** @type {number} */ n) => state.set("n", clamp(Math.round(n), low, high));
  const knob = handle(stage, {
    label: "n, the number of steps; arrow keys move it",
    color: ink("ink"),
    onDrag: (px) => move(10 ** axis.invert(px)),
    onKey([dx, dy], big) {
      const [n, way] = [state.get("n"), dx + dy];
      const next = Math.round(n * (big ? 1.5 : 1.07) ** way);
      move(next === n ? n + way : next);
    },
    onEnd: (side) => move(side < 0 ? low : high),
  });
  const place = (/** @type {Scale} */ x, /** @type {number} */ py, text = "") => {
    axis = x;
    const n = state.get("n");
    knob.place(x(Math.log10(n)), py, { now: n, low, high, text: `n = ${n}${text}` });
  };
  return { place };
}

/**
 * A button that lets the trait n run from `low` to `high`, each factor in the same time.
 * @type {(root: HTMLElement, state: State<any>, ends: [number, number]) => ReturnType<typeof traitPlayer>}
 */
export function countPlayer(root, state, [low, high]) {
  const value = (/** @type {number} */ u) => clamp(Math.round(10 ** u), low, high);
  return traitPlayer(root, state, "n", { ends: [low, high].map(Math.log10), along: Math.log10, value, seconds: 8 });
}
