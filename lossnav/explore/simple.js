// The view of an explorable with one figure: sliders and points to move, what they draw, and a sentence about it.

/** @import { Box, Figure, Layer, Paper } from "./kit.js" */
/** @import { Given, State, View } from "./life.js" */
/** @import { Track } from "./runner.js" */

import { declaredDials } from "./controls.js";
import { figure, layer, mapped, readout, scaffold } from "./kit.js";
import { explorable, inPython } from "./life.js";
import { runner } from "./runner.js";

/** @typedef {{ node: Node, show: (value: any) => void }} Mover a slider */
/**
 * Constants: the label is what it is about, for screen readers, and the hint what to try.
 * @typedef {{ title: string, label: string, hint: string, traits: Record<string, any> }} SimpleSheet
 */

/**
 * S, the scene, is what depends on the size alone: scales and panels; traits are spelled as Python writes them.
 * @template T, S
 * @typedef {object} Simple
 * @property {{ [trait in keyof T]?: Mover }} [dials] by trait, the main one first; those that constants declare follow
 * @property {{ legend: Node, node: Node }} [table] what the lines are, and their numbers
 * @property {Node[]} [legend] what the lines are, where they have no numbers
 * @property {Node[]} [control] what belongs to the main control
 * @property {Node[]} [more] further controls
 * @property {Node[]} [numbers] the table, if there is one, and notes
 * @property {(stage: Figure, below: Figure) => (scene: S, given: T) => void} [grips] makes the handles, and returns how they are put
 * @property {(paper: Paper, below: Paper) => S} lay draws what depends on the size alone
 * @property {(at: Layer, scene: S, given: T, over: Layer) => [string, string[], Track[]?]} show draws the rest; the verdict, details, and tracks of dots
 * @property {"below" | "details"} [two] where a second figure stands
 * @property {{ seconds: number, inside: (scene: S) => Box }} [run] where the dots run for which `show` has tracks
 * @property {(given: T, spelled: Record<keyof T & string, string>) => string[]} [python] lines that compute it, after `import lossnav as ln`
 * @property {() => void} [leave] stops what else runs
 */

/**
 * @template T, S
 * @param {HTMLElement} root
 * @param {State<T>} state
 * @param {SimpleSheet} sheet the constants
 * @param {Simple<T, S>} parts
 * @returns {View}
 */
export function simpleView(root, state, sheet, parts) {
  const { dials = {}, table, legend = table && [table.legend], control = [], more = [], numbers = table ? [table.node] : [], grips, lay, show, run, python } = parts;
  const [stage, below, says] = [figure(), figure(), readout()];
  const sliders = /** @type {[keyof T & string, Mover][]} */ (Object.entries({ ...dials, ...declaredDials(state, sheet.traits, dials) }));
  const [ground, moving, under, over] = [layer(stage), layer(stage), layer(below), layer(below)];
  const dots = run && runner(root, state, stage, run.seconds);
  const [first, ...others] = sliders.map(([, { node }]) => node);
  const main = [...(first ? [first] : []), ...(dots ? [dots.node] : []), ...control];
  scaffold(root, {
    ...sheet,
    stage: [stage],
    legend,
    control: main,
    says,
    more: [...others, ...more],
    rows: parts.two === "below" ? [below] : [],
    numbers: [...(parts.two === "details" ? [below] : []), ...numbers],
  });
  const put = grips?.(stage, below);
  const read = () => /** @type {T} */ (state.pick(.../** @type {(keyof T & string)[]} */ (Object.keys(sheet.traits))));
  /** @type {S} */
  let scene;
  return {
    layout(width) {
      ground.replaceChildren();
      under.replaceChildren();
      scene = lay({ root, stage, ground, width }, { root, stage: below, ground: under, width });
    },
    update() {
      const given = read();
      for (const [trait, slider] of sliders) slider.show(given[trait]);
      moving.replaceChildren();
      over.replaceChildren();
      const [verdict, lines, tracks = []] = show(moving, scene, given, over);
      if (run) dots?.show(run.inside(scene), tracks);
      put?.(scene, given);
      says.say(verdict, lines);
    },
    leave() {
      dots?.leave();
      parts.leave?.();
    },
    python: () => python?.(read(), mapped(/** @type {Record<keyof T & string, unknown>} */ (read()), (value) => inPython(value))) ?? [],
  };
}

/**
 * An explorable with such a view.
 * @template {SimpleSheet} D
 * @template S
 * @param {string} name
 * @param {D} sheet
 * @param {(state: State<Given<D>>, root: HTMLElement) => Simple<Given<D>, S>} parts
 */
export const simple = (name, sheet, parts) => explorable(name, (root, state) => simpleView(root, state, sheet, parts(state, root)), sheet);
