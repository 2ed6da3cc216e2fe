// Lines over one axis, as a widget's constants describe them: sliders, a mark to drag along the axis, a table of lines.

/** @import { ChartFrame } from "./chart.js" */
/** @import { Scale } from "./kit.js" */
/** @import { Given, State, Values, View } from "./life.js" */
/** @import { Mover } from "./simple.js" */

import { chartFrame, nameTicks, valueAxis } from "./chart.js";
import { handle } from "./controls.js";
import { clamp, compact, curve, drawDot, drawLine, entries, fixed, ink, lastOf, mapped, panelWindow, scale, upright } from "./kit.js";
import { explorable } from "./life.js";
import { traitPlayer } from "./runner.js";
import { simpleView } from "./simple.js";
import { inked, lineTable } from "./tables.js";

/** @typedef {{ trait: string, name: string, mark: string, range: number[], ticks: (string | number)[][], log?: boolean, whole?: boolean, seconds?: number }} Axis */
/** @typedef {{ title: string, range: number[], ticks: (string | number)[][], tall: number, short: number }} CurveRow */
/** @typedef {{ row: string, name: string, tint: string, dash: string, dots?: boolean }} CurveLine */
/** @typedef {{ title: string, label: string, hint: string, traits: Record<string, any>, axis: Axis, rows: Record<string, CurveRow>, lines: Record<string, CurveLine> }} Sheet */
/** @typedef {{ f: ChartFrame<string>, x: Scale, up: Record<string, Scale> }} CurveScene */

/** Where a value of the axis is drawn: lines come in these numbers, too. */
export const along = (/** @type {{ log?: boolean }} */ axis, /** @type {number} */ value) => (axis.log ? Math.log10(value) : value);

/** The height of a line at a place; no number where it does not pass, is upright or closes. @type {(line: number[][], u: number) => number} */
function heightAt(line, u) {
  const next = Math.abs(line[0][0] - lastOf(line)[0]) < 1e-9 ? 0 : line.findIndex(([to], i) => i && (line[i - 1][0] - u) * (to - u) <= 0);
  if (next < 1) return NaN;
  const [[from, v], [to, w]] = line.slice(next - 1, next + 1);
  return scale([from, to], [v, w])(u);
}

/**
 * @template T
 * @typedef {object} CurveParts
 * @property {(state: State<T>) => { [trait in keyof T]?: Mover }} [dials] by trait, where constants do not declare them
 * @property {(given: T) => Record<string, number[][]>} curves points of each line, logarithms where an axis has them
 * @property {(given: T) => [string, string[]]} words
 * @property {(given: T, spelled: Record<keyof T & string, string>) => string[]} python
 * @property {(values: Values) => Values} [settle] brings traits that depend on each other in order
 */

/**
 * An explorable of lines; the trait along the axis comes last.
 * @template {Sheet} S
 * @param {string} name
 * @param {S} sheet
 * @param {CurveParts<Given<S>>} parts
 */
export const ofCurves = (name, sheet, parts) => explorable(name, (root, state) => buildCurves(root, state, sheet, parts), sheet, parts.settle);

/**
 * @template T
 * @param {HTMLElement} root
 * @param {State<T>} state
 * @param {Sheet} sheet
 * @param {CurveParts<T>} parts
 * @returns {View}
 */
function buildCurves(root, state, sheet, parts) {
  const { axis, rows, lines } = sheet;
  const trait = /** @type {keyof T & string} */ (lastOf(Object.keys(sheet.traits)));
  const [low, high] = [axis.range[0], lastOf(axis.range)];
  const ends = [low, high].map((value) => along(axis, value));
  const at = () => /** @type {number} */ (state.get(trait));
  const value = (/** @type {number} */ u) => {
    const found = clamp(axis.log ? 10 ** u : u, low, high);
    return /** @type {any} */ (axis.whole ? Math.round(found) : found);
  };
  // A dot is a line without a length; in the legend a dash is.
  const style = (/** @type {CurveLine} */ line) => ({ ...inked(line), ...(line.dots ? { "stroke-width": 8, "stroke-linecap": "round" } : { "stroke-width": 2.4 }) });
  const table = lineTable(lines, [], (line) => ({ ...style(line), ...(line.dots ? { "stroke-dasharray": "0 20", "stroke-dashoffset": 10 } : {}) }));
  const go = (/** @type {number} */ u) => {
    time?.pause();
    state.set(trait, value(u));
  };
  const time = axis.seconds ? traitPlayer(root, state, trait, { ends, along: (v) => along(axis, v), value, seconds: axis.seconds }) : null;
  /** @type {CurveScene} */
  let drawn;
  return simpleView(root, state, sheet, {
    dials: parts.dials?.(state),
    legend: [table.legend],
    control: time ? [time.node] : [],
    grips(stage) {
      stage.classList.add("ln-curves");
      const knob = handle(stage, {
        label: `${axis.mark}; arrow keys move it`,
        color: ink("ink"),
        part: trait,
        onDrag: (px) => go(drawn.x.invert(px)),
        onKey([dx, dy], big) {
          const [now, way] = [at(), dx + dy];
          const u = along(axis, now) + way * (ends[1] - ends[0]) * (big ? 0.1 : 0.01);
          go(value(u) === now ? along(axis, clamp(now + way, low, high)) : u);
        },
        onEnd: (side) => go(ends[side < 0 ? 0 : 1]),
      });
      return ({ f, x }) => {
        const shown = axis.whole ? fixed(at(), 0) : axis.log ? compact(at()) : fixed(at(), 2);
        knob.place(x(along(axis, at())), Object.values(f.rows)[0].bottom, { now: at(), low, high, text: `${axis.mark} = ${shown}` });
      };
    },
    lay(paper) {
      const { ground } = paper;
      const f = chartFrame(paper, mapped(rows, ({ title, tall, short }) => /** @type {[string, number, number]} */ ([title, tall, short])));
      const x = scale(ends, [f.left, f.right]);
      nameTicks(ground, f, x, /** @type {[number, string][]} */ (axis.ticks).map(([v, text]) => [along(axis, v), text]), axis.name);
      const up = mapped(rows, ({ range, ticks }, name) => valueAxis(ground, f.rows[name], range, /** @type {[number, string][]} */ (ticks)));
      return (drawn = { f, x, up });
    },
    show(layer, { f, x, up }, given) {
      const found = parts.curves(given);
      const here = along(axis, at());
      for (const box of Object.values(f.rows)) upright(layer, x(here), box, "ln-plumb");
      const inner = mapped(f.rows, (box) => panelWindow(layer, box));
      for (const [key, line] of entries(lines)) {
        const y = up[line.row];
        const points = found[key].map(([u, v]) => [x(u), y(v)]);
        for (const piece of line.dots ? points.map((point) => [point, point]) : [points]) drawLine(inner[line.row], piece, { ...style(line), ...curve(key, x, y) });
        const [least, most] = rows[line.row].range;
        const v = heightAt(found[key], here);
        if (!line.dots && v >= least && v <= most) drawDot(layer, [x(here), y(v)], 4, ink(line.tint));
      }
      return parts.words(given);
    },
    python: parts.python,
    leave: time?.leave,
  });
}
