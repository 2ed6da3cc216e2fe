// What every drawing needs: elements, numbers in words, scales and paths, panels with axes, and the layout.

/** @typedef {[number, number]} Point */
/** @typedef {Record<string, string | number | undefined>} Attributes */
/** @typedef {{ (value: number): number, invert: (pixel: number) => number }} Scale */
/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element with attributes and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {(string | Node)[]} children
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAll(node, attributes);
  node.append(...children);
  return node;
}

/**
 * An SVG element, appended to `parent`; `text` becomes its text content.
 * @template {keyof SVGElementTagNameMap} K
 * @param {Element} parent
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {string | null} text
 */
export function draw(parent, tag, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, tag);
  setAll(node, attributes);
  if (text !== null) node.textContent = text;
  parent.append(node);
  return node;
}

/** @type {(node: Element, attributes: Attributes) => void} */
export function setAll(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
}

/** @typedef {ReturnType<typeof figure>} Figure */

/** An empty drawing. */
export const figure = () => draw(make("div"), "svg", { class: "ln-figure" });

/** @type {(stage: Figure, width: number, height: number) => void} */
export const resize = (stage, width, height) => setAll(stage, { viewBox: `0 0 ${width} ${height}`, width, height });

/** @typedef {SVGGElement} Layer */

/**
 * A part of a drawing that a view empties and fills again; screen readers pass it over.
 * @type {(stage: Figure) => Layer}
 */
export const layer = (stage) => draw(stage, "g", { "aria-hidden": "true" });

/**
 * A drawing, and its layer for what depends on the size alone.
 * @typedef {{ root: HTMLElement, stage: Figure, ground: Layer, width: number }} Paper `width` is the explorable's
 */

/** A colour of the style sheet. */
export const ink = (/** @type {string} */ name) => `var(--ln-${name})`;

/** The same text with a true minus sign. */
export const trueMinus = (/** @type {string} */ text) => text.replace("-", "−");

/**
 * A number with a true minus sign, and no minus before a rounded zero.
 * @param {number} value
 * @param {number} digits
 */
export function fixed(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : trueMinus(text);
}

/**
 * About three significant digits over any range, for readouts.
 * @param {number} value
 */
export function compact(value) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return "∞";
  const size = Math.abs(value);
  if (size >= 1e4 || size < 1e-3) {
    const [digits, power] = value.toExponential(1).split("e");
    const raised = [...String(Number(power))].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");
    return `${trueMinus(digits)}·10${raised}`;
  }
  return fixed(value, clamp(2 - Math.floor(Math.log10(size)), 0, 4));
}

/** An angle in degrees. */
export const degrees = (/** @type {number} */ value) => `${fixed(value, 1)}°`;

/** @type {(values: number[], spell: (value: number) => string) => string} */
export const couple = ([a, b], spell) => `(${spell(a)}, ${spell(b)})`;

/**
 * Keeps each equation of a sentence, and each number with its per cent, on one line.
 * @param {string} text
 */
export const unbroken = (text) => text.replace(/ = /g, "\u00a0=\u00a0").replace(/ %/g, "\u00a0%");

/** @type {(value: number, low: number, high: number) => number} */
export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/**
 * The end of a range.
 * @template T
 * @param {T[]} values
 */
export const lastOf = (values) => values[values.length - 1];

/**
 * `count` + 1 numbers from `low` to `high`.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 */
export const samples = (low, high, count) => Array.from({ length: count + 1 }, (_, i) => low + ((high - low) * i) / count);

/**
 * What draws lines over an axis: points of a height that depends on the place, which is a logarithm where the axis is.
 * @type {(axis: { range: number[], log?: boolean }, count?: number) => (height: (value: number) => number) => number[][]}
 */
export function linesOver({ range, log }, count = 240) {
  const [low, high] = log ? range.map(Math.log10) : range;
  const grid = samples(low, high, count);
  return (height) => grid.map((u) => [u, height(log ? 10 ** u : u)]);
}

/**
 * Between two numbers, from where on something holds, to the last digits.
 * @type {(holds: (value: number) => boolean, low: number, high: number) => number}
 */
export function bisect(holds, low, high) {
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return (low + high) / 2;
}

/**
 * A linear map from data to pixels, with its inverse.
 * @param {number[]} data its two ends
 * @param {number[]} pixels
 * @returns {Scale}
 */
export function scale([a, b], [from, to]) {
  return Object.assign((/** @type {number} */ value) => from + ((value - a) / (b - a)) * (to - from), {
    invert: (/** @type {number} */ pixel) => a + ((pixel - from) / (to - from)) * (b - a),
  });
}

/**
 * The map from the plane to its pixels.
 * @param {{ x: Scale, y: Scale }} frame
 * @returns {(point: number[]) => Point}
 */
export const pixels = (frame) => ([x, y]) => [frame.x(x), frame.y(y)];

/**
 * A number of pixels with two decimals. Redraws write thousands of them, and this takes a third of the time of toFixed.
 * @param {number} v
 */
function pixelText(v) {
  const n = Math.round(Math.abs(v) * 100);
  if (!(n < 1e9)) return v.toFixed(2); // far out, or no number
  const part = n % 100;
  return `${v < 0 && n ? "-" : ""}${(n / 100) | 0}${part < 10 ? ".0" : "."}${part}`;
}

/**
 * SVG path data through pixel points.
 * @param {number[][]} points
 */
export function trace(points) {
  let path = "";
  for (let i = 0; i < points.length; i++) path += `${i ? "L" : "M"}${pixelText(points[i][0])} ${pixelText(points[i][1])}`;
  return path;
}

/** @type {(at: Element, points: number[][], style: Attributes) => SVGPathElement} */
export const drawLine = (at, points, style) => draw(at, "path", { class: "ln-line", d: trace(points), ...style });

/** @type {(at: Element, point: number[], r: number, fill: string) => SVGCircleElement} */
export const drawDot = (at, [cx, cy], r, fill) => draw(at, "circle", { class: "ln-dot", cx, cy, r, fill });

/**
 * A small closed triangle with its tip at (x, y), pointing along (dx, dy).
 * @param {number} x
 * @param {number} y
 * @param {number} dx
 * @param {number} dy
 */
export function arrowhead(x, y, dx, dy, size = 9) {
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  const [bx, by] = [x - size * ux, y - size * uy];
  const half = size * 0.42;
  return `M${x} ${y}L${bx - half * uy} ${by + half * ux}L${bx + half * uy} ${by - half * ux}Z`;
}

/**
 * The ground of a panel, with its title above it.
 * @type {(at: Element, box: Box, title: string | null) => void}
 */
export function drawPanel(at, { left, right, top, bottom }, title) {
  draw(at, "rect", { class: "ln-panel", x: left, y: top, width: right - left, height: bottom - top });
  if (title) draw(at, "text", { class: "ln-name", x: left, y: top - 7 }, title);
}

/**
 * A part of the drawing that clips what leaves a panel.
 * @type {(at: Element, box: Box) => SVGSVGElement}
 */
export function panelWindow(at, { left, right, top, bottom }) {
  const [width, height] = [right - left, bottom - top];
  return draw(at, "svg", { x: left, y: top, width, height, viewBox: `${left} ${top} ${width} ${height}` });
}

/** @type {(at: Element, x: number, box: { top: number, bottom: number }, kind: string) => void} */
export const upright = (at, x, { top, bottom }, kind) => void draw(at, "line", { class: kind, x1: x, x2: x, y1: top, y2: bottom });

/**
 * Labels under a panel at `ticks` [[value, label], …], `drop` pixels below it; `mark` draws a short line to each, or,
 * as "grid", a long one.
 * @param {Element} at
 * @param {Box} box
 * @param {Scale} x
 * @param {[number, string][]} ticks
 * @param {{ drop?: number, mark?: "short" | "grid" | "none" }} style
 */
export function ticksAcross(at, box, x, ticks, { drop = 17, mark = "short" } = {}) {
  for (const [value, label] of ticks) {
    const px = x(value);
    if (mark === "short") upright(at, px, { top: box.bottom, bottom: box.bottom + 4 }, "ln-axis");
    draw(at, "text", { class: "ln-tick", x: px, y: box.bottom + drop, "text-anchor": "middle" }, label);
    if (mark === "grid") upright(at, px, box, "ln-grid");
  }
}

/**
 * Labels beside a panel at `ticks` [[value, label], …], with lines across it.
 * @param {Element} at
 * @param {Box} box
 * @param {Scale} y
 * @param {[number, string][]} ticks
 * @param {{ gap?: number, grid?: boolean }} style
 */
export function ticksUp(at, box, y, ticks, { gap = 5, grid = true } = {}) {
  for (const [value, label] of ticks) {
    const py = y(value);
    if (grid) draw(at, "line", { class: "ln-grid", x1: box.left, x2: box.right, y1: py, y2: py });
    draw(at, "text", { class: "ln-tick", x: box.left - gap, y: py + 4, "text-anchor": "end" }, label);
  }
}

/**
 * Ticks that are labelled by their values.
 * @type {(values: number[], digits?: number) => [number, string][]}
 */
export const plainTicks = (values, digits = 0) => values.map((value) => [value, fixed(value, digits)]);

/**
 * The name of the axis under a panel.
 * @type {(at: Element, box: Box, name: string, drop: number) => void}
 */
export function nameAcross(at, { left, right, bottom }, name, drop) {
  draw(at, "text", { class: "ln-name", x: (left + right) / 2, y: bottom + drop, "text-anchor": "middle" }, name);
}

/** @typedef {ReturnType<typeof readout>} Readout */

/** What the picture means: one sentence, and the lines of detail that belong to it. */
export function readout() {
  const verdict = make("p", { class: "lossnav-readout ln-verdict", "aria-live": "polite" });
  const details = make("p", { class: "lossnav-readout ln-numbers" });
  const say = (/** @type {string} */ words, /** @type {string[]} */ lines) => {
    verdict.replaceChildren(make("b", {}, unbroken(words)));
    details.replaceChildren(...lines.map((line) => make("span", { class: "ln-block" }, unbroken(line))));
  };
  return { verdict, details, say };
}

/**
 * @typedef {object} Content of an explorable
 * @property {string} label what it is about, for screen readers
 * @property {string} title
 * @property {string} hint what to try
 * @property {Node[]} stage the plot
 * @property {Node[]} [legend] what its lines are
 * @property {Node[]} control the main control
 * @property {Readout} says
 * @property {Node[]} [more] further controls, beside the plot where there is room
 * @property {Node[]} [rows] further plots, below it there
 * @property {Node[]} [numbers] tables, formulas, notes
 */

/**
 * Puts an explorable together: the plot, its main control and a sentence about it; all else lies behind "Details".
 * @type {(root: HTMLElement, content: Content) => void}
 */
export function scaffold(root, { label, title, hint, stage, legend = [], control, says, more = [], rows = [], numbers = [] }) {
  root.setAttribute("aria-label", `Explorable: ${label}`);
  const area = (/** @type {string} */ name, /** @type {Node[]} */ ...nodes) => make("div", { class: `ln-${name}` }, ...nodes);
  const side = area("side", ...legend, area("control", ...control), says.verdict);
  const folded = area("folded", area("more", ...more), area("rows", ...rows), ...numbers, says.details);
  root.append(
    make("p", { class: "ln-title" }, title),
    make("p", { class: "ln-hint" }, hint),
    area("body", area("stage", ...stage), side),
    area("foot", make("details", { class: "ln-details" }, make("summary", {}, "Details"), folded)),
  );
}

/**
 * Puts further controls beside the plot, and further plots below it, where there is room, else behind "Details".
 * @type {(root: HTMLElement) => void}
 */
function unfold(root) {
  const [more, rows, verdict, body, details, folded] = ["more", "rows", "verdict", "body", "details", "folded"].map((name) => /** @type {HTMLElement} */ (root.querySelector(`.ln-${name}`)));
  const hidden = !isWide(root) && more.childNodes.length + rows.childNodes.length;
  details.children[0].textContent = hidden ? "Controls" : "Details";
  if (isWide(root) === (rows.parentElement === body)) return;
  if (isWide(root)) {
    verdict.before(more);
    body.append(rows);
  } else folded.prepend(more, rows);
}

export const WIDE = 660; // pixels: from here on plot and words stand side by side
export const PHONE_TALL = 300; // pixels: of a plot on a phone's screen, beside its control and its words

/** @type {(root: HTMLElement) => boolean} */
export const isWide = (root) => root.classList.contains("ln-wide");

/**
 * Chooses the wide or the narrow arrangement; returns the width of the stage, which leaves `aside` beside it.
 * @param {HTMLElement} root
 * @param {number} width
 * @param {number} aside
 */
export function stageWidth(root, width, aside, most = Infinity) {
  const wide = width >= WIDE;
  root.classList.toggle("ln-wide", wide);
  unfold(root);
  const w = Math.round(Math.min(width - (wide ? aside : 24), most));
  root.style.setProperty("--ln-stage", `${w}px`);
  return w;
}

/**
 * The entries of a record, with the keys that it is known to have.
 * @template {string} K
 * @template V
 * @param {Record<K, V>} record
 */
export const entries = (record) => /** @type {[K, V][]} */ (Object.entries(record));

/**
 * A record with the same keys.
 * @template {string} K
 * @template V, W
 * @param {Record<K, V>} record
 * @param {(value: V, key: K) => W} change
 */
export const mapped = (record, change) =>
  /** @type {Record<K, W>} */ (Object.fromEntries(entries(record).map(([key, value]) => [key, change(value, key)])));

/**
 * Names a line, and says at which pixels the data's origin and (1, 1) lie, so that tests can read its numbers back.
 * @type {(name: string, x: Scale, y: Scale) => Attributes}
 */
export const curve = (name, x, y) => ({ "data-curve": name, "data-units": [x(0), y(0), x(1), y(1)].join(" ") });
