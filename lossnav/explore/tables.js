// Tables whose rows begin with a sample of what they are about.

/** @import { Attributes } from "./kit.js" */

import { draw, entries, ink, make, mapped } from "./kit.js";

/** @typedef {{ row: HTMLElement, cells: HTMLElement[], drawn: SVGElement }} TableRow */

/** How a line of the constants is drawn. */
export const inked = (/** @type {{ tint: string, dash: string }} */ { tint, dash }) => ({ stroke: ink(tint), "stroke-dasharray": dash });

/**
 * A row's sample in a table: a piece of its line.
 * @type {(style: Attributes) => (at: SVGElement) => SVGElement}
 */
export const lineSample = (style) => (at) => draw(at, "path", { class: "ln-line", d: "M0 6H20", "stroke-width": 2.6, ...style });

/**
 * A table of rows {key: {name, sample}}, `sample` drawing into 20 × 12 pixels; `heads` name the columns, if given.
 * @template {string} K
 * @param {Record<K, { name: string, sample: (at: SVGElement) => SVGElement }>} rows
 * @param {string[]} heads
 */
export function sampleTable(rows, heads = []) {
  const body = make("tbody");
  const found = /** @type {Record<K, TableRow>} */ ({});
  for (const [key, { name, sample }] of entries(rows)) {
    const box = draw(make("span"), "svg", { class: "ln-sample", viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" });
    const drawn = sample(box);
    const cells = (heads.length ? heads.slice(1) : [""]).map(() => make("td"));
    const row = make("tr", { "data-part": key }, make("th", { scope: "row" }, box, ` ${name}`), ...cells);
    body.append(row);
    found[key] = { row, cells, drawn };
  }
  const names = heads.map((head) => (head ? make("th", { scope: "col" }, head) : make("td")));
  const node = make("table", { class: "ln-table" }, ...(names.length ? [make("thead", {}, make("tr", {}, ...names))] : []), body);
  return { node, rows: found };
}

/**
 * A table of lines {key: {name, …}}: what each is called, and how `style` draws it.
 * @template {string} K
 * @template {{ name: string }} L
 * @param {Record<K, L>} lines
 * @param {string[]} heads
 * @param {(line: L, key: K) => Attributes} style
 */
export const lineTable = (lines, heads, style) => sampleTable(mapped(lines, (line, key) => ({ name: line.name, sample: lineSample(style(line, key)) })), heads);
