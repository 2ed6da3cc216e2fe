// Labels that keep apart from each other, from handles and, as far as can be, from the lines.

import { clamp, draw } from "./kit.js";

/** @typedef {[number, number, number, number]} Edges left, top, right, bottom */

/**
 * A label at the tip (x, y) of something that points along (dx, dy).
 * @typedef {object} Label
 * @property {string} text
 * @property {number} x
 * @property {number} y
 * @property {number} dx
 * @property {number} dy
 * @property {string} color
 * @property {number} [far] pixels from the tip
 */

/** @typedef {{ label: Label, boxes: { b: Edges, cost: number }[] }} Choice */

const LINE = 16; // height of a label's box

/**
 * At least the width of a label's text, in pixels.
 * @param {string} text
 */
export const textWidth = (text) => 4 + 7.8 * [...text].length;

/**
 * Puts each label near its tip, preferably ahead of it: inside `box`, over neither another label nor one of the boxes
 * `obstacles` nor `strokes`, points of the lines, and all together as far from these as can be. A label without such a
 * place is left out: tables name all lines.
 * @param {Element} at
 * @param {Edges} box
 * @param {Label[]} labels
 * @param {Edges[]} obstacles
 * @param {number[][]} strokes
 */
export function placeLabels(at, box, labels, obstacles, strokes) {
  const [xs, ys] = [0, 1].map((axis) => Float64Array.from(strokes, (point) => point[axis]));
  /** @type {(b: Edges, air: number, enough?: number) => number} */
  const covered = ([left, top, right, bottom], air, enough = Infinity) => {
    let count = 0;
    for (let i = 0; i < xs.length && count < enough; i++) {
      if (xs[i] > left - air && xs[i] < right + air && ys[i] > top - air && ys[i] < bottom + air) count++;
    }
    return count;
  };
  const choices = labels.map((label) => {
    const free = places(label, box).filter((b) => covered(b, -2, 1) === 0 && obstacles.every((taken) => apart(b, taken)));
    // Lines are wide, and arrows have heads: best is a place with some air.
    return { label, boxes: free.map((b) => ({ b, cost: covered(b, 4) })).sort((p, q) => p.cost - q.cost) };
  });
  let best = { cost: Infinity, found: /** @type {{ label: Label, b: Edges }[]} */ ([]) };
  for (const order of orders(choices)) {
    const found = /** @type {{ label: Label, b: Edges }[]} */ ([]);
    let cost = 0;
    for (const { label, boxes } of order) {
      const place = boxes.find(({ b }) => found.every((other) => apart(b, other.b)));
      cost += place?.cost ?? 1000;
      if (place) found.push({ label, b: place.b });
    }
    if (cost < best.cost) best = { cost, found };
    if (cost === 0) break;
  }
  for (const { label, b } of best.found) {
    const place = { x: (b[0] + b[2]) / 2, y: b[3] - 4, "text-anchor": "middle" };
    draw(at, "text", { class: "ln-text", ...place }, label.text).style.setProperty("--c", label.color);
  }
}

/** @type {(a: Edges, b: Edges) => boolean} */
const apart = (a, b) => b[2] < a[0] || b[0] > a[2] || b[3] < a[1] || b[1] > a[3];

/**
 * All orders of a few things, the given one first; of many, that one alone.
 * @param {Choice[]} things
 * @returns {Choice[][]}
 */
function orders(things) {
  if (things.length < 2 || things.length > 4) return [things];
  return things.flatMap((first, i) => orders(things.filter((_, j) => j !== i)).map((rest) => [first, ...rest]));
}

/**
 * The box of a handle or dot, to keep labels off it.
 * @param {number[]} middle
 * @returns {Edges}
 */
export const around = ([x, y], size = 12) => [x - size, y - size, x + size, y + size];

/**
 * The edges of a panel.
 * @param {import("./kit.js").Box} box
 * @returns {Edges}
 */
export const edges = ({ left, top, right, bottom }) => [left, top, right, bottom];

/**
 * Points along a line through pixels, at most 6 apart, for labels to keep off.
 * @param {number[][]} points
 */
export function dense(points) {
  const found = points.slice(0, 1);
  for (let i = 1; i < points.length; i++) {
    const [[x, y], [x1, y1]] = [points[i - 1], points[i]];
    const parts = Math.ceil(Math.hypot(x1 - x, y1 - y) / 6);
    for (let j = 1; j <= parts; j++) found.push([x + ((x1 - x) * j) / parts, y + ((y1 - y) * j) / parts]);
  }
  return found;
}

/**
 * The boxes where a label could go, the likeliest first.
 * @param {Label} label
 * @param {Edges} box
 * @returns {Edges[]}
 */
function places({ text, x, y, dx, dy, far = 9 }, [left, top, right, bottom]) {
  const width = textWidth(text);
  const near = [[dx, dy], [1, 0], [-1, 0], [-dy, dx], [dy, -dx], [0.8, -0.6], [0.8, 0.6], [-0.8, -0.6], [-0.8, 0.6]];
  const away = [[1, 1.8], [-1, 1.8], [1, -1.8], [-1, -1.8], [0, 2.5], [0, -2.5], [-1, 2.5], [-1, -2.5]];
  const beside = [[1.6, 0], [-1.6, 0], [1.6, 1.8], [-1.6, 1.8], [1.6, -1.8], [-1.6, -1.8]];
  return [...near, ...away, ...beside].map(([sx, sy]) => {
    const [cx, cy] = [x + sx * (far + width / 2), y + sy * (far + LINE / 2)];
    const [from, over] = [clamp(cx - width / 2, left + 1, right - width - 1), clamp(cy - LINE / 2, top + 1, bottom - LINE - 1)];
    return [from, over, from + width, over + LINE];
  });
}
