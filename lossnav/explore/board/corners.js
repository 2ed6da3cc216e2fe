// What Python says of each corner of the switches: formulas, code and names, unpacked from its table.

/** @import { Corner } from "./model.js" */

import SHARED from "./constants.json" with { type: "json" };

const { table: TABLE } = SHARED;
const FIRST = 0x100; // the character of number 0
const PREFIX = "torch._foreach_";

/** @typedef {keyof Corner} SwitchName */
/** @typedef {string | unknown[]} Tree */
/** @typedef {{ equation: Tree, rate: Tree, velocity: Tree, step: Tree, beliefs: Tree[], source: string }} Shown */
/** @typedef {{ name: string, at: Corner, note: string }} Known */

/** The switches in their order, with the words of their positions. */
export const SWITCHES = /** @type {Record<SwitchName, [string, Record<string, string>]>} */ (/** @type {unknown} */ (SHARED.switches));
/** What each answer means to the learner. */
export const ANSWERS = /** @type {Record<SwitchName, Record<string, string>>} */ (/** @type {unknown} */ (SHARED.answers));
export const SWITCH_NAMES = /** @type {SwitchName[]} */ (Object.keys(SWITCHES));

/** @type {(positions: string[]) => Corner} */
const cornerOf = (positions) => /** @type {Corner} */ (Object.fromEntries(SWITCH_NAMES.map((name, i) => [name, positions[i]])));

/** The published optimizers that have a corner. @type {Known[]} */
export const KNOWN = Object.entries(TABLE.known).map(([name, [positions, note]]) => ({ name, at: cornerOf(/** @type {string[]} */ (positions)), note: String(note) }));

/** @type {(at: Corner, other: Corner) => SwitchName[]} */
export const differing = (at, other) => SWITCH_NAMES.filter((name) => at[name] !== other[name]);

/** The characters of a string as numbers. */
const places = (/** @type {string} */ packed) => [...packed].map((c) => c.charCodeAt(0) - FIRST);

/**
 * What a corner shows; null where there is no plan.
 * @type {(at: Corner) => Shown | null}
 */
export function shownAt(at) {
  const index = SWITCH_NAMES.reduce((sum, name) => {
    const positions = Object.keys(SWITCHES[name][1]);
    return sum * positions.length + Math.max(0, positions.indexOf(at[name]));
  }, 0);
  const packed = TABLE.corners[index];
  if (!packed) return null;
  const [equation, rate, velocity, step, code, ...beliefs] = places(packed);
  const [head, ...body] = places(TABLE.codes[code]).map((i) => TABLE.lines[i]);
  const source = [head, ...body.map((line) => `    ${line.replaceAll("~", PREFIX)}`), ""].join("\n");
  const tree = (/** @type {number} */ i) => /** @type {Tree} */ (TABLE.trees[i]);
  return { equation: tree(equation), rate: tree(rate), velocity: tree(velocity), step: tree(step), beliefs: beliefs.map(tree), source };
}

const SOURCES = KNOWN.map(({ at }) => shownAt(at)?.source);

/** The known corner whose code is what a corner shows. @type {(shown: Shown) => Known | undefined} */
export const alike = ({ source }) => KNOWN[SOURCES.indexOf(source)];

/** @type {(at: Corner, dt: string) => string[]} */
export function calledAt(at, dt) {
  const said = (/** @type {SwitchName} */ name) => /** @type {Record<SwitchName, Record<string, string>>} */ (/** @type {unknown} */ (TABLE.arguments))[name][at[name]];
  const wants = [said("horizon"), said("drift")].filter(Boolean).join(", ");
  const parts = [`ln.Objective(${wants})`, said("belief"), said("curvature"), said("metric"), `dt=${dt}`, said("time")];
  return ["rule = ln.derive(", ...parts.filter(Boolean).map((part) => `    ${part},`), ")"];
}
