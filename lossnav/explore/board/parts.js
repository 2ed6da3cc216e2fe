// The parts of the board: rows of switches, the list of names, formulas, code, and what is said.

/** @import { Corner, Run } from "./model.js" */
/** @import { Shown, SwitchName } from "./corners.js" */

import { formula } from "../formula.js";
import { couple, entries, fixed, lastOf, make, mapped, setAll } from "../kit.js";
import { treeNode } from "../trees.js";
import SHARED from "./constants.json" with { type: "json" };
import { ANSWERS, KNOWN, SWITCHES, alike, differing } from "./corners.js";
import { BOARD_BOWL } from "./model.js";

/**
 * A row of buttons for each switch; `show` presses those of a corner and marks the rows that have changed, `point` marks
 * those that would.
 * @param {(name: SwitchName, position: string) => void} choose
 */
export function switchRows(choose) {
  const rows = mapped(SWITCHES, ([label, positions], name) => {
    const buttons = mapped(positions, (words, position) => {
      const node = make("button", { type: "button", class: "ln-choice" }, words);
      node.addEventListener("click", () => choose(name, position));
      return node;
    });
    const group = make("div", { class: "ln-switch", role: "group", "aria-label": label }, make("span", { class: "ln-soft", "aria-hidden": "true" }, label), make("span", { class: "ln-choices" }, ...Object.values(buttons)));
    return { group, buttons };
  });
  const node = make("div", { class: "ln-switches" }, ...Object.values(rows).map(({ group }) => group));
  const point = (/** @type {SwitchName[]} */ names) => {
    for (const [name, { group }] of entries(rows)) group.classList.toggle("ln-would", names.includes(name));
  };
  /** @type {(at: Corner, changed: SwitchName[]) => void} */
  const show = (at, changed) => {
    for (const [name, { group, buttons }] of entries(rows)) {
      group.classList.toggle("ln-changed", changed.includes(name));
      for (const [position, button] of entries(buttons)) setAll(button, { "aria-pressed": String(at[name] === position) });
    }
    point([]);
  };
  return { node, show, point };
}

/**
 * The names as buttons that lead to their corners, each with the number of switches that differ; the one reached is lit.
 * @param {(at: Corner) => void} go
 * @param {(names: SwitchName[]) => void} point
 */
export function knownList(go, point) {
  /** @type {Corner} */
  let here;
  const chips = KNOWN.map((known) => {
    const count = make("span", { class: "ln-count", "aria-hidden": "true" }); // the title says it in words
    const node = make("button", { type: "button", class: "ln-choice" }, known.name, count);
    node.addEventListener("click", () => go(known.at));
    for (const event of ["pointerenter", "focus"]) node.addEventListener(event, () => point(differing(here, known.at)));
    for (const event of ["pointerleave", "blur"]) node.addEventListener(event, () => point([]));
    return { known, node, count };
  });
  const show = (/** @type {Corner} */ at) => {
    here = at;
    for (const { known, node, count } of chips) {
      const names = differing(at, known.at);
      const away = names.length ? `differs in ${switchWords(names)}` : "here";
      count.textContent = names.length ? String(names.length) : "✓";
      setAll(node, { "aria-pressed": String(!names.length), title: away });
    }
  };
  const node = make("div", { class: "ln-known", role: "group", "aria-label": "known names" }, make("span", { class: "ln-soft" }, "take me to"), make("span", { class: "ln-choices" }, ...chips.map(({ node: chip }) => chip)));
  return { node, show };
}

/** The switches' names in a row. */
const switchWords = (/** @type {SwitchName[]} */ names) => names.map((name) => SWITCHES[name][0]).join(", ");

/** The formulas of a corner, each in a line of its own. */
export function formulaBox() {
  const labels = { equation: "equation", velocity: "what solves it", rate: "with", step: "a step" };
  const lines = mapped(labels, (words) => ({ words: make("span", { class: "ln-soft" }, words), box: make("div", { class: "ln-formula" }) }));
  const beliefs = make("div", { class: "ln-beliefs" });
  const rows = Object.values(lines).map(({ words, box }) => make("div", { class: "ln-line-of" }, words, box));
  const node = make("div", { class: "ln-formulas", "aria-live": "off" }, ...rows, make("div", { class: "ln-line-of" }, make("span", { class: "ln-soft" }, "beliefs"), beliefs), make("p", { class: "ln-note" }, SHARED.said));
  const show = (/** @type {Shown | null} */ shown) => {
    for (const [name, { box }] of entries(lines)) box.replaceChildren(...(shown ? [formula(treeNode(shown[name]))] : ["–"]));
    beliefs.replaceChildren(...(shown ? shown.beliefs.map((tree) => formula(treeNode(tree))) : ["–"]));
  };
  return { node, show };
}

/** The torch code of a step. */
export function codeBox() {
  const text = make("code");
  const box = make("pre", { class: "ln-source", tabindex: 0, "aria-label": "the torch code of a step" }, text);
  const show = (/** @type {Shown | null} */ shown) => {
    text.textContent = shown ? shown.source : "# no plan, no step";
  };
  return { node: make("div", {}, make("span", { class: "ln-soft" }, "a step in torch, as rule.optimizer(…) runs it"), box), show };
}

/**
 * What the board says of a corner and its path: first what the last answer changed.
 * @type {(at: Corner, run: Run, path: number[][], shown: Shown | null, changed: SwitchName[]) => [string, string[]]}
 */
export function boardWords(at, { start, dt, noise }, path, shown, changed) {
  const away = KNOWN.map((known) => ({ known, names: differing(at, known.at) })).sort((a, b) => a.names.length - b.names.length);
  const [{ known, names }] = away;
  const near = away.filter((one) => one.names.length === names.length).map((one) => `${one.known.name} (${switchWords(one.names)})`);
  const spell = (/** @type {number} */ v) => fixed(v, 2);
  const end = lastOf(path);
  const loss = end.reduce((sum, x, i) => sum + (BOARD_BOWL[i] * x * x) / 2, 0);
  const lost = end.some((x) => Math.abs(x) > SHARED.gone);
  const [last] = changed;
  const answer = changed.length === 1 ? [ANSWERS[last][at[last]]] : [];
  const from = `Δt = ${fixed(dt, 2)}, σ = ${fixed(noise, 2)}, from ${couple(start, spell)}`;
  if (!shown) {
    const reason = "With γ = 0 the whole future counts, without a curvature nothing ends the descent, and the gradient is believed to last: J has no minimum.";
    return [[...answer, "There is no plan."].join(" "), [reason, "Any one helps: γ > 0, a curvature, or a belief that fades.", from]];
  }
  const twin = alike(shown);
  let [verdict, more] = [`This is ${known.name}.`, `${known.note}.`];
  if (names.length && twin) {
    [verdict, more] = [`This is ${twin.name}, too.`, `Its code is the same: here it makes no difference ${switchWords(differing(at, twin.at))}.`];
  } else if (names.length) {
    const switches = names.length === 1 ? "One switch" : `${names.length} switches`;
    [verdict, more] = ["No optimizer of the list.", `${switches} away: ${near.slice(0, 2).join("; ")}.`];
  }
  const where = lost ? `lost after ${path.length - 1} steps` : `after ${path.length - 1} steps at ${couple(end, spell)}, L = ${fixed(loss, 3)}`;
  return [[...answer, verdict].join(" "), [more, `${from}: first to ${couple(path[1], spell)}, ${where}.`]];
}
