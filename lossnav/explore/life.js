// The life of a widget's view: from the static twin that it replaces to its end, and what a reader takes away.

import { buttonRow } from "./controls.js";
import { clamp, lastOf, make } from "./kit.js";

/**
 * What a script needs of anywidget's model.
 * @typedef {object} Model
 * @property {(trait: string) => any} get
 * @property {(trait: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, listener: () => void) => void} on
 * @property {(event: string, listener: () => void) => void} off
 */

/**
 * A widget's traits T, so that views of one widget, and Python where there is a kernel, stay in step.
 * @template T
 * @typedef {object} State
 * @property {<K extends keyof T & string>(trait: K) => T[K]} get
 * @property {<K extends keyof T & string>(...traits: K[]) => Pick<T, K>} pick several at once
 * @property {<K extends keyof T & string>(trait: K, value: T[K]) => void} set
 * @property {<K extends keyof T & string>(trait: K, value: T[K]) => void} show for what moves by itself: Python hears of it at the next set
 * @property {object} shared the same for all views of a widget
 */

/**
 * @typedef {object} View
 * @property {(width: number) => void} layout draws what depends on the size
 * @property {() => void} update draws what depends on the state
 * @property {() => void} [leave] stops what runs by itself
 * @property {() => string[]} [python] lines that compute what is on show, after `import lossnav as ln`
 */

/**
 * What builds the view of a widget with the traits T.
 * @template T
 * @typedef {(root: HTMLElement, state: State<T>) => View} Build
 */

/** @typedef {Record<string, unknown>} Values traits by name */

/**
 * The traits that constants declare.
 * @template {{ traits: Record<string, { start: unknown }> }} D
 * @typedef {{ [K in keyof D["traits"]]: D["traits"][K]["start"] }} Given
 */

const NARROW = 120; // pixels: a page that is not laid out yet, or a box that is folded away

/**
 * A value as Python writes it; null stands for ∞, which JSON does not have.
 * @param {unknown} value
 * @returns {string}
 */
export function inPython(value) {
  if (value === null || value === Infinity) return "math.inf";
  if (Array.isArray(value)) return value.some(Array.isArray) || !value.length ? `[${value.map(inPython).join(", ")}]` : `(${value.map(inPython).join(", ")})`;
  return JSON.stringify(value);
}

/**
 * The lines that show the explorable in a notebook as it is on the page, with those that compute what it shows.
 * @param {string} name
 * @param {Values} values
 * @param {string[]} computed
 */
function pythonOf(name, values, computed) {
  const call = `explore.${name}(${Object.entries(values).map(([trait, value]) => `${trait}=${inPython(value)}`).join(", ")})`;
  const lines = [...computed, call];
  const head = (/** @type {string} */ used, words = used) => (lines.some((line) => line.includes(`${used}.`)) ? [`import ${words}`, ""] : []);
  return [...head("math"), ...head("np", "numpy as np"), ...(computed.length ? ["import lossnav as ln"] : []), "from lossnav import explore", "", ...lines].join("\n");
}

/** What an address calls an explorable: by its name, and on a page with several of it by its place among them. */
function calledInAddress(/** @type {HTMLElement} */ root) {
  const { explorable: name } = root.dataset;
  const place = [...document.querySelectorAll(`[data-explorable="${name}"]`)].indexOf(root);
  return place > 0 ? `${name}.${place + 1}` : String(name);
}

/** The part of an address that holds a state: #explore=NAME&trait=JSON&… */
const inAddress = (/** @type {string} */ called, /** @type {Values} */ values) =>
  "#" + new URLSearchParams([["explore", called], ...Object.entries(values).map(([trait, value]) => [trait, JSON.stringify(value)])]).toString();

/**
 * What constants declare of a trait (base.py makes Python's of it, and checks it alike); null as an end stands for ∞.
 * @typedef {object} Trait
 * @property {unknown} start
 * @property {(number | null)[]} [range] its inner numbers are marks
 * @property {number[][]} [ranges]
 * @property {string[]} [choices]
 * @property {{ range: number[], whole?: boolean }[]} [rows]
 * @property {number} [most]
 * @property {boolean} [whole]
 */

/** @typedef {{ traits: Record<string, any>, axis?: { range: number[] } }} Declared a trait without a range has the axis's */

/**
 * A number brought into its range; undefined for what is none.
 * @type {(value: unknown, part: { range?: (number | null)[], whole?: boolean }) => number | null | undefined}
 */
function within(value, { range = [], whole }) {
  const [low, high] = [range[0] ?? -Infinity, lastOf(range) ?? Infinity];
  if (value === null && high === Infinity) return null;
  if (typeof value !== "number") return undefined;
  const found = clamp(value, low, high);
  return found === Infinity ? null : whole ? Math.round(found) : found;
}

/** @type {(value: unknown, parts: { range?: (number | null)[], whole?: boolean }[]) => unknown} */
function eachWithin(value, parts) {
  if (!Array.isArray(value) || value.length !== parts.length) return undefined;
  const found = parts.map((part, i) => within(value[i], part));
  return found.includes(undefined) ? undefined : found;
}

/**
 * A value of a stranger as a trait takes it: numbers come into their ranges; undefined for what is of another kind.
 * @param {unknown} value
 * @param {Trait} trait
 */
export function taken(value, { range, ranges, choices, rows, most, whole }) {
  if (choices) return choices.find((choice) => choice === value);
  if (ranges) return eachWithin(value, ranges.map((ends) => ({ range: ends })));
  if (!rows) return within(value, { range, whole });
  const found = Array.isArray(value) ? value.slice(0, most).map((row) => eachWithin(row, rows)) : [undefined];
  return found.includes(undefined) ? undefined : found;
}

/**
 * The state that the page's address holds for an explorable, as far as its traits take it, and whether that is all.
 * @param {string} called
 * @param {Declared} declared
 * @returns {{ asked: Values, whole: boolean }}
 */
function fromAddress(called, { traits, axis }, hash = location.hash) {
  const told = new URLSearchParams(hash.replace(/^#/, ""));
  /** @type {Values} */
  const asked = {};
  let whole = true;
  for (const [trait, given] of told.get("explore") === called ? Object.entries(traits) : []) {
    const text = told.get(trait);
    if (text === null) continue;
    let value;
    try {
      value = taken(JSON.parse(text), { range: axis?.range, ...given });
    } catch {
      value = undefined; // an address that somebody cut
    }
    whole &&= value !== undefined && JSON.stringify(value) === JSON.stringify(JSON.parse(text));
    if (value !== undefined) asked[trait] = value;
  }
  return { asked, whole };
}

/**
 * What stands at the foot of an explorable: back to its first state, its state as Python, and as an address.
 * @param {string} name
 * @param {() => string} link the end of an address
 * @param {() => Values} read
 * @param {() => void} reset
 * @param {() => string[]} computed
 * @param {HTMLElement} said where it is told what came of it
 */
function takeaway(name, link, read, reset, computed, said) {
  const shown = make("textarea", { class: "ln-code", readonly: "", rows: 1, spellcheck: "false", "aria-label": "to copy" });
  const offer = (/** @type {string} */ text, /** @type {string} */ words) => {
    shown.value = text;
    shown.rows = text.split("\n").length;
    shown.hidden = false;
    shown.select();
    said.textContent = "";
    navigator.clipboard?.writeText(text).then(() => (said.textContent = words), () => (said.textContent = "Copy it from here."));
  };
  const { node } = buttonRow([
    ["Reset", "back to the first state", () => {
      shown.hidden = true;
      said.textContent = "";
      reset();
    }],
    ["Python", "this state as Python", () => offer(pythonOf(name, read(), computed()), "Copied.")],
    ["Link", "an address of this state", () => offer(location.href.replace(/#.*/, "") + link(), "Copied.")],
  ]);
  shown.hidden = true;
  node.classList.add("ln-take");
  node.append(said);
  return [node, shown];
}

/**
 * Hides the last static twin before `root` in the page, with the box of its output; returns how to bring it back.
 * @param {HTMLElement} root
 */
function replaceTwin(root) {
  const before = (/** @type {Element} */ twin) => twin.compareDocumentPosition(root) & Node.DOCUMENT_POSITION_FOLLOWING;
  const twins = document.querySelectorAll(`.lossnav-fallback[data-for="${root.dataset.explorable}"]`);
  const twin = [...twins].filter(before).pop();
  if (!twin) return () => {};
  const box = twin.parentElement;
  const hidden = box && box.childElementCount === 1 && !box.contains(root) ? [twin, box] : [twin];
  hidden.forEach((node) => node.classList.add("lossnav-replaced"));
  return () => hidden.forEach((node) => node.classList.remove("lossnav-replaced"));
}

/**
 * An anywidget module.
 * @template T
 * @param {string} name
 * @param {Build<T>} build
 * @param {Declared} declared the constants, with the traits in the order in which Python's constructor takes them
 * @param {(values: Values) => Values} settle brings traits that depend on each other in order
 */
export function explorable(name, build, declared, settle = (values) => values) {
  const traits = /** @type {(keyof T & string)[]} */ (Object.keys(declared.traits));
  return {
    /** @param {{ model: Model, el: HTMLElement }} given */
    render({ model, el }) {
      const root = make("div", { class: "lossnav-explorable", "data-explorable": name, role: "group" });
      let timer = 0;
      /** @type {State<T>} */
      const state = {
        get: (trait) => model.get(trait),
        pick: (...picked) => /** @type {any} */ (Object.fromEntries(picked.map((trait) => [trait, model.get(trait)]))),
        set(trait, value) {
          model.set(trait, value);
          clearTimeout(timer);
          // Python needs the place where the hand rests, not every pixel on the way.
          timer = window.setTimeout(() => model.save_changes(), 60);
        },
        show: (trait, value) => model.set(trait, value),
        shared: model,
      };
      el.append(root);
      const read = () => /** @type {Values} */ (state.pick(...traits));
      const first = structuredClone(read());
      const put = (/** @type {Values} */ values) => Object.entries(values).forEach(([trait, value]) => state.set(/** @type {any} */ (trait), /** @type {any} */ (value)));
      const back = () => {
        put(structuredClone(first));
        // For what is no trait.
        root.dispatchEvent(new Event("reset"));
      };
      const called = calledInAddress(root);
      /** Takes the state in the page's address, if it is meant, and says what there is to say of that. */
      const follow = () => {
        const { asked, whole } = fromAddress(called, declared);
        const held = Object.keys(asked).length > 0;
        const settled = held ? settle({ ...first, ...asked }) : {};
        put(settled);
        if (held) requestAnimationFrame(() => root.scrollIntoView({ block: "center" }));
        const asTold = whole && Object.entries(asked).every(([trait, value]) => JSON.stringify(settled[trait]) === JSON.stringify(value));
        return asTold ? "" : "The address asks for more than this takes.";
      };
      const told = follow();
      const view = build(root, state);
      const foot = /** @type {HTMLElement} */ (root.querySelector(".ln-foot"));
      const said = make("span", { class: "ln-note", role: "status" }, told);
      foot.append(...takeaway(name, () => inAddress(called, read()), read, back, () => view.python?.() ?? [], said));
      const again = () => (said.textContent = follow());
      window.addEventListener("hashchange", again); // a Link that is opened where it was made, and the way back
      const update = () => view.update();
      model.on("change", update);
      let width = 0;
      const fit = (/** @type {number} */ next) => {
        if (next < NARROW || Math.abs(next - width) < 1) return;
        width = next;
        view.layout(width);
        view.update();
      };
      /** @type {(() => void) | null} */
      let restoreTwin = null;
      const settleIn = () => {
        if (root.isConnected) restoreTwin ??= replaceTwin(root); // in one go: between two frames nothing may move
        fit(root.clientWidth);
      };
      fit(root.clientWidth < NARROW ? 640 : root.clientWidth);
      settleIn();
      const observer = new ResizeObserver(settleIn);
      observer.observe(root);
      return () => {
        view.leave?.();
        clearTimeout(timer);
        observer.disconnect();
        model.off("change", update);
        window.removeEventListener("hashchange", again);
        restoreTwin?.();
      };
    },
  };
}
