// Tables whose rows begin with a sample of what they are about.

/** @import { Attributes } from "./kit.js" */

import { draw, entries, ink, make, mapped } from "./kit.js";

/** @typedef {{ row: HTMLElement, cells: HTMLElement[] }} TableRow */

/** How a line of the constants is drawn. @type {(line: { tint: string, dash: string, width?: number }) => Attributes} */
export const inked = ({ tint, dash, width }) => ({ stroke: ink(tint), "stroke-dasharray": dash, ...(width ? { "stroke-width": width } : {}) });

/**
 * A row's sample in a table: a piece of its line.
 * @type {(style: Attributes) => (at: SVGElement) => SVGElement}
 */
export const lineSample = (style) => (at) => draw(at, "path", { class: "ln-line", d: "M0 6H20", "stroke-width": 2.6, ...style });

/**
 * What a drawing shows {key: {name, sample}}, `sample` drawing into 20 × 12 pixels: as a legend, and as a table of numbers,
 * whose columns `heads` name, if given.
 * @template {string} K
 * @param {Record<K, { name: string, sample: (at: SVGElement) => SVGElement }>} rows
 * @param {string[]} heads
 */
export function sampleTable(rows, heads = []) {
  const [body, legend] = [make("tbody"), make("ul", { class: "ln-legend" })];
  const found = /** @type {Record<K, TableRow>} */ ({});
  const said = new Set();
  for (const [key, { name, sample }] of entries(rows)) {
    const [box, again] = [0, 1].map(() => draw(make("span"), "svg", { class: "ln-sample", viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true" }));
    for (const at of [box, again]) sample(at);
    if (!said.has(name)) legend.append(make("li", { "data-part": key }, again, ` ${name}`));
    said.add(name); // what is drawn alike in two rows is one line of the legend
    const cells = (heads.length ? heads.slice(1) : [""]).map(() => make("td"));
    const row = make("tr", { "data-part": key }, make("th", { scope: "row" }, box, ` ${name}`), ...cells);
    body.append(row);
    found[key] = { row, cells };
  }
  const names = heads.map((head) => (head ? make("th", { scope: "col" }, head) : make("td")));
  const node = make("table", { class: "ln-table" }, ...(names.length ? [make("thead", {}, make("tr", {}, ...names))] : []), body);
  /** Writes each row's cells, and lights that of `best`, if one is named. @type {(values: (key: K) => string[], best?: string) => void} */
  const fill = (values, best) => {
    for (const [key, { row, cells }] of entries(found)) {
      values(key).forEach((text, i) => (cells[i].textContent = text));
      if (best !== undefined) row.classList.toggle("ln-best", key === best);
    }
  };
  return { node, legend, fill };
}

/**
 * A legend and a table of lines {key: {name, …}}: what each is called, and how `style` draws it.
 * @template {string} K
 * @template {{ name: string }} L
 * @param {Record<K, L>} lines
 * @param {string[]} heads
 * @param {(line: L, key: K) => Attributes} style
 */
export const lineTable = (lines, heads, style) => sampleTable(mapped(lines, (line, key) => ({ name: line.name, sample: lineSample(style(line, key)) })), heads);
