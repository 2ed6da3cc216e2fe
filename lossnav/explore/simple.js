// The view of an explorable with one figure: sliders and points to move, what they draw, and a sentence about it.

/** @import { Box, Figure, Layer } from "./kit.js" */
/** @import { State, View } from "./life.js" */
/** @import { Track } from "./runner.js" */

import { figure, layer, readoutNode, scaffold, verdictLines } from "./kit.js";
import { runner } from "./runner.js";

/** @typedef {{ node: Node, show: (value: any) => void }} Mover a slider */

/**
 * S, the scene, is what depends on the size alone: scales and panels.
 * @template T, S
 * @typedef {object} Simple
 * @property {string} label what it is about, for screen readers
 * @property {string} title
 * @property {string} hint what to try
 * @property {{ [trait in keyof T]?: Mover }} dials by trait
 * @property {Node[]} [beside] more for the column of sliders
 * @property {Node[]} [above] more for the column of words, above them
 * @property {(stage: Figure) => (scene: S, given: T) => void} [grips] makes the handles, and returns how they are put
 * @property {(stage: Figure, ground: Layer, width: number) => S} lay draws what depends on the size alone
 * @property {(at: Layer, scene: S, given: T) => [string, string[], Track[]?]} show draws the rest; the verdict, details, and tracks of dots
 * @property {{ seconds: number, inside: (scene: S) => Box }} [run] where the dots run for which `show` has tracks
 * @property {(given: T) => string[]} [python] lines that compute it, after `import lossnav as ln`
 */

/**
 * @template T, S
 * @param {HTMLElement} root
 * @param {State<T>} state
 * @param {(keyof T & string)[]} traits
 * @param {Simple<T, S>} parts
 * @returns {View}
 */
export function simpleView(root, state, traits, { label, title, hint, dials, beside = [], above = [], grips, lay, show, run, python }) {
  const [stage, readout] = [figure(), readoutNode()];
  const sliders = /** @type {[keyof T & string, Mover][]} */ (Object.entries(dials));
  const [ground, moving] = [layer(stage), layer(stage)];
  const dots = run && runner(root, state, stage, run.seconds);
  const control = [...sliders.map(([, { node }]) => node), ...(dots ? [dots.node] : []), ...beside];
  scaffold(root, { label, title, hint, areas: { control, stage: [stage], words: [...above, readout] } });
  const put = grips?.(stage);
  const read = () => /** @type {T} */ (state.pick(...traits));
  /** @type {S} */
  let scene;
  return {
    layout(width) {
      ground.replaceChildren();
      scene = lay(stage, ground, width);
    },
    update() {
      const given = read();
      for (const [trait, slider] of sliders) slider.show(given[trait]);
      moving.replaceChildren();
      const [verdict, lines, tracks = []] = show(moving, scene, given);
      if (run) dots?.show(run.inside(scene), tracks);
      put?.(scene, given);
      readout.replaceChildren(...verdictLines(verdict, lines));
    },
    leave: () => dots?.leave(),
    python: () => python?.(read()) ?? [],
  };
}
