// What a hand or a key moves: sliders, draggable points, buttons.

/** @import { Figure } from "./kit.js" */
/** @import { State } from "./life.js" */

import { clamp, draw, fixed, lastOf, make, setAll, trueMinus } from "./kit.js";

/**
 * @typedef {object} Dial
 * @property {string} symbol
 * @property {string} name
 * @property {number[]} marks the first and the last end its range
 * @property {number} [digits]
 * @property {string} [unit]
 * @property {(value: number) => string} [text]
 * @property {(value: number) => string} [label]
 */

/** @typedef {{ toPosition: (value: number) => number, toValue: (position: number) => number, steps?: number }} Track */

/** @typedef {ReturnType<typeof traitDial>} Slider */

/**
 * A slider for a trait: a native range input with its label, live value and marks under the track.
 * @param {State<any>} state
 * @param {string} trait by which the text around it speaks of it, too
 * @param {Dial} dial
 * @param {Track} track
 */
export function traitDial(state, trait, dial, { toPosition, toValue, steps = 1000 }) {
  const { symbol, name, marks, digits = 2, unit = "" } = dial;
  const { text = (v) => fixed(v, digits) + unit, label = (v) => trueMinus(String(v)) + unit } = dial;
  const input = make("input", { type: "range", min: 0, max: steps, step: 1, "aria-label": `${symbol}, ${name}` });
  const shown = make("output", { class: "ln-value" });
  const tags = marks.map(() => make("span", { class: "ln-mark", "aria-hidden": "true" }));
  /** Puts a mark where its value is; one that leaves the track is hidden. */
  const mark = (/** @type {number} */ i, /** @type {number} */ value, words = label(value)) => {
    const at = toPosition(value);
    tags[i].textContent = words;
    tags[i].style.setProperty("--at", String(clamp(at, 0, 1)));
    tags[i].style.visibility = at < 0 || at > 1 ? "hidden" : "";
  };
  marks.forEach((value, i) => mark(i, value));
  const head = make("span", { class: "ln-head" }, make("b", {}, symbol), ` ${name}`, shown);
  const node = make("label", { class: "ln-slider ln-marked", "data-part": trait }, head, make("span", { class: "ln-track" }, input, ...tags));
  const go = () => state.set(trait, toValue(input.valueAsNumber / steps));
  input.addEventListener("input", go);
  input.addEventListener("keydown", (event) => {
    const way = ARROWS.get(event.key);
    if (!way) return;
    event.preventDefault();
    const by = (way[0] + way[1]) * Math.ceil(steps / 200) * (event.shiftKey ? 10 : 1);
    const before = shown.textContent;
    // One press is one change that can be seen, also where the scale is so fine that a step would not show.
    let next = clamp(input.valueAsNumber + by, 0, steps);
    while (text(toValue(next / steps)) === before && next > 0 && next < steps) next = clamp(next + by, 0, steps);
    input.valueAsNumber = next;
    go();
  });
  const show = (/** @type {number} */ value) => {
    // Positions between the input's own steps are left alone while it is being moved.
    const position = Math.round(toPosition(value) * steps);
    if (position !== input.valueAsNumber) input.valueAsNumber = position;
    input.setAttribute("aria-valuetext", text(value));
    shown.textContent = text(value);
  };
  return { node, show, mark };
}

const forgets = (/** @type {number} */ beta) => Math.log(1 - beta);

/**
 * What is the same in equal parts of a track: a difference, a factor, a difference of roots, which is finer towards 0,
 * where its range begins, or a factor of the memory 1/(1 − β). First where a value is, from 0 to 1, then what lies there.
 * @type {Record<string, [(low: number, high: number, value: number) => number, (low: number, high: number, u: number) => number]>}
 */
const TRACKS = {
  linear: [(low, high, value) => (value - low) / (high - low), (low, high, u) => low + (high - low) * u],
  log: [(low, high, value) => Math.log(value / low) / Math.log(high / low), (low, high, u) => low * (high / low) ** u],
  root: [(_, high, value) => Math.sqrt(value / high), (_, high, u) => high * u * u],
  memory: [
    (low, high, value) => (forgets(value) - forgets(low)) / (forgets(high) - forgets(low)),
    (low, high, u) => clamp(1 - Math.exp(forgets(low) + (forgets(high) - forgets(low)) * u), low, high),
  ],
};

/**
 * The slider that constants declare beside the range of a trait.
 * @type {(state: State<any>, traits: Record<string, any>, trait: string, more?: Partial<Dial>) => Slider}
 */
export function declaredDial(state, traits, trait, more) {
  const { dial, range, steps, whole, ...own } = traits[trait];
  const [low, high] = [range[0], lastOf(range)];
  const [to, from] = TRACKS[dial];
  return traitDial(state, trait, { ...own, marks: range, ...more }, {
    toPosition: (v) => to(low, high, v),
    toValue: whole ? (u) => Math.round(from(low, high, u)) : (u) => from(low, high, u),
    steps,
  });
}

/**
 * The sliders of all traits that have one, but for those that are `made`.
 * @type {(state: State<any>, traits: Record<string, any>, made?: object) => Record<string, Slider>}
 */
export function declaredDials(state, traits, made = {}) {
  const wanted = Object.keys(traits).filter((trait) => traits[trait].dial && !(trait in made));
  return Object.fromEntries(wanted.map((trait) => [trait, declaredDial(state, traits, trait)]));
}

/** @type {Map<string, [number, number]>} */
const ARROWS = new Map([["ArrowRight", [1, 0]], ["ArrowLeft", [-1, 0]], ["ArrowUp", [0, 1]], ["ArrowDown", [0, -1]]]);

/**
 * @typedef {object} Handle
 * @property {string} label
 * @property {string} color
 * @property {string} [kind] what it is, where it is more than a slider
 * @property {string} [part] by which the text around it speaks of it
 * @property {(x: number, y: number) => void} onDrag where its centre should go, in pixels of the drawing
 * @property {(way: [number, number], big: boolean) => void} onKey one arrow press
 * @property {(side: -1 | 1) => void} onEnd Home or End
 */

/** @typedef {{ now: string | number, low: number, high: number, text: string }} HandleValue */

/**
 * A draggable, focusable point.
 * @param {Figure} svg
 * @param {Handle} handle
 */
export function handle(svg, { label, color, kind, part, onDrag, onKey, onEnd }) {
  const node = draw(svg, "g", { class: "ln-handle", role: "slider", tabindex: 0, "aria-label": label });
  if (kind) setAll(node, { "aria-roledescription": kind });
  if (part) setAll(node, { "data-part": part });
  node.style.setProperty("--c", color);
  draw(node, "circle", { class: "ln-reach", r: 22 });
  draw(node, "circle", { class: "ln-ring", r: 13 });
  draw(node, "circle", { class: "ln-knob", r: 8 });
  let [x, y] = [0, 0];
  /** @type {{ pointer: number, dx: number, dy: number } | null} */
  let grip = null;
  /** @type {(event: PointerEvent) => [number, number]} */
  const pixel = (event) => {
    const box = svg.getBoundingClientRect();
    const zoom = svg.viewBox.baseVal.width / box.width || 1;
    return [(event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom];
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || grip) return; // the first finger has it
    const [px, py] = pixel(event);
    grip = { pointer: event.pointerId, dx: px - x, dy: py - y };
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    node.classList.add("ln-held");
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (grip?.pointer !== event.pointerId) return;
    const [px, py] = pixel(event);
    onDrag(px - grip.dx, py - grip.dy);
  });
  for (const end of /** @type {const} */ (["pointerup", "pointercancel", "lostpointercapture"])) {
    node.addEventListener(end, (event) => {
      if (grip?.pointer !== event.pointerId) return;
      grip = null;
      node.classList.remove("ln-held");
    });
  }
  // Older Safari ignores touch-action inside SVG; without this a drag would scroll the page.
  node.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  node.addEventListener("keydown", (event) => {
    const way = ARROWS.get(event.key);
    if (way) onKey(way, event.shiftKey);
    else if (event.key === "PageUp") onKey([0, 1], true);
    else if (event.key === "PageDown") onKey([0, -1], true);
    else if (event.key === "Home") onEnd(-1);
    else if (event.key === "End") onEnd(1);
    else return;
    event.preventDefault();
  });
  /** @type {(px: number, py: number, value: HandleValue) => void} */
  const place = (px, py, { now, low, high, text }) => {
    [x, y] = [px, py];
    setAll(node, {
      transform: `translate(${px.toFixed(2)} ${py.toFixed(2)})`,
      "aria-valuemin": low,
      "aria-valuemax": high,
      "aria-valuenow": now,
      "aria-valuetext": text,
    });
  };
  return { node, place };
}

/**
 * A row of buttons [[text, what it does in words, onClick], …]; returns its node and the buttons.
 * @param {[string, string, () => void][]} buttons
 */
export function buttonRow(buttons) {
  const made = buttons.map(([text, words, onClick]) => {
    const node = make("button", { type: "button", class: "ln-button", title: words }, text);
    node.addEventListener("click", onClick);
    return node;
  });
  return { node: make("div", { class: "ln-buttons" }, ...made), buttons: made };
}
