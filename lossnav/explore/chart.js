// Panels over a running time: a stack that shares its time axis, and what makes time run.

/** @import { Box, Paper, Scale } from "./kit.js" */
/** @import { State } from "./life.js" */

import { PHONE_TALL, drawPanel, entries, isWide, nameAcross, resize, scale, stageWidth, ticksAcross, ticksUp, trueMinus } from "./kit.js";

/** @typedef {Box & { title: string | null }} Row */

/**
 * @template {string} K
 * @typedef {{ w: number, left: number, right: number, bottom: number, rows: Record<K, Row> }} ChartFrame
 */

/**
 * A stack of panels for one width. `rows` is {name: [title, height, height on a phone], …}; each becomes f.rows[name]; a
 * title of null is left to the view. `gap` is kept between them.
 * @template {string} K
 * @param {Paper} paper
 * @param {Record<K, [string | null, number, number]>} rows
 * @returns {ChartFrame<K>}
 */
export function chartFrame({ root, stage, ground, width }, rows, gap = 34, aside = 348) {
  const w = stageWidth(root, width, aside);
  const [left, right] = [40, w - 10];
  const heights = Object.values(rows).map(([, tall, short]) => (isWide(root) ? tall : short));
  const room = isWide(root) ? Infinity : PHONE_TALL - 60 - gap * (heights.length - 1);
  const part = Math.min(1, room / heights.reduce((sum, height) => sum + height, 0));
  let top = 22;
  const found = /** @type {Record<K, Row>} */ ({});
  for (const [i, [name, [title]]] of entries(rows).entries()) {
    const bottom = top + Math.round(part * heights[i]);
    found[name] = { left, right, top, bottom, title };
    drawPanel(ground, found[name], title);
    top = bottom + gap;
  }
  const bottom = top - gap;
  resize(stage, w, bottom + 38);
  return { w, left, right, bottom, rows: found };
}

/**
 * The time axis from `first`, `span` long, with ticks every `step`; returns its scale.
 * @param {Element} at
 * @param {ChartFrame<string>} f
 * @param {number} first
 * @param {number} span
 * @param {number} step
 * @param {string} name
 */
export function timeAxis(at, f, first, span, step, name) {
  const x = scale([first, first + span], [f.left, f.right]);
  /** @type {[number, string][]} */
  const ticks = [];
  for (let t = Math.ceil(first / step) * step; t <= first + span; t += step) ticks.push([t, trueMinus(String(t))]);
  nameTicks(at, f, x, ticks, name);
  return x;
}

/**
 * Ticks and the name of the axis under a stack of panels.
 * @type {(at: Element, f: ChartFrame<string>, x: Scale, ticks: [number, string][], name: string) => void}
 */
export function nameTicks(at, f, x, ticks, name) {
  const box = { ...f, top: 0 };
  ticksAcross(at, box, x, ticks);
  nameAcross(at, box, name, 33);
}

/**
 * The value axis of a panel over `range` with labelled ticks [[value, label], …]; returns its scale.
 * @param {Element} at
 * @param {Row} row
 * @param {number[]} range
 * @param {[number, string][]} ticks
 */
export function valueAxis(at, row, range, ticks) {
  const y = scale(range, [row.bottom, row.top]);
  ticksUp(at, row, y, ticks);
  return y;
}

/**
 * Where the window must begin for `now` to lie between `low` and `high` after its beginning.
 * @type {(first: number, now: number, low: number, high: number) => number}
 */
export const follow = (first, now, low, high) => (now < first + low ? now - low : now > first + high ? now - high : first);

/** @type {WeakMap<object, () => void>} widget → what stops the view that makes its time run */
const running = new WeakMap();

/**
 * Makes time run, for a button that reads `play` or "Pause": calls `advance(seconds)` before each frame while it is
 * wanted and the view can be seen. Only one view of a widget runs, and Reset stops it.
 * @param {HTMLElement} root
 * @param {State<any>} state
 * @param {{ advance: (seconds: number) => void, button: () => HTMLElement, play: string }} parts
 */
export function player(root, state, { advance, button, play }) {
  let [wanted, visible, frame, last] = [false, false, 0, 0];
  const tick = (/** @type {number} */ time) => {
    frame = requestAnimationFrame(tick);
    // A tab that slept does not catch up.
    const seconds = Math.min((time - last) / 1000, 0.25);
    last = time;
    if (seconds > 0) advance(seconds);
  };
  const settle = () => {
    const on = wanted && visible;
    if (on && !frame) {
      last = performance.now();
      frame = requestAnimationFrame(tick);
    } else if (!on && frame) {
      cancelAnimationFrame(frame);
      frame = 0;
    }
  };
  const want = (/** @type {boolean} */ on) => {
    if (on) {
      const other = running.get(state.shared);
      if (other && other !== stop) other();
      running.set(state.shared, stop);
    }
    wanted = on;
    button().textContent = on ? "Pause" : play;
    // Nobody wants every step read out.
    root.querySelector(".lossnav-readout")?.setAttribute("aria-live", on ? "off" : "polite");
    settle();
  };
  const stop = () => want(false);
  const observer = new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    settle();
  });
  observer.observe(root);
  root.addEventListener("reset", stop);
  const leave = () => {
    observer.disconnect();
    stop();
  };
  const pause = () => {
    if (wanted) stop();
  };
  return { want, pause, leave, wanted: () => wanted };
}

/** Whether the reader has asked for little motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
