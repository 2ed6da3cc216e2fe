// Panels over a running time: a stack that shares its time axis, a line that says "now", and what makes time run.

import { draw, scale, setAll, stageWidth } from "./kit.js";

/**
 * Sizes of a stack of panels for one width. `rows` is [[name, title, height, height on a phone], …]; each becomes
 * f.rows[name] = {top, bottom, title}; a title of null is left to the view.
 */
export function chartFrame(stage, root, width, rows, aside = 348) {
  const w = stageWidth(root, width, aside);
  const wide = root.classList.contains("ln-wide");
  const [left, right] = [40, w - 10];
  let top = 22;
  const found = {};
  for (const [name, title, tall, short] of rows) {
    const bottom = top + (wide ? tall : short);
    found[name] = { top, bottom, title };
    top = bottom + 34;
  }
  const bottom = top - 34;
  setAll(stage, { viewBox: `0 0 ${w} ${bottom + 38}`, width: w, height: bottom + 38 });
  return { w, left, right, bottom, rows: found };
}

/** The panels and their titles. */
export function chartGround(at, f) {
  for (const { top, bottom, title } of Object.values(f.rows)) {
    draw(at, "rect", { class: "ln-panel", x: f.left, y: top, width: f.right - f.left, height: bottom - top });
    if (title) draw(at, "text", { class: "ln-name", x: f.left, y: top - 7 }, title);
  }
}

/** The time axis from `first`, `span` long, with ticks every `step`; returns its scale. */
export function timeAxis(at, f, first, span, step, name) {
  const x = scale([first, first + span], [f.left, f.right]);
  for (let t = Math.ceil(first / step) * step; t <= first + span; t += step) {
    draw(at, "line", { class: "ln-axis", x1: x(t), x2: x(t), y1: f.bottom, y2: f.bottom + 4 });
    draw(at, "text", { class: "ln-tick", x: x(t), y: f.bottom + 17, "text-anchor": "middle" }, String(t).replace("-", "−"));
  }
  draw(at, "text", { class: "ln-name", x: (f.left + f.right) / 2, y: f.bottom + 33, "text-anchor": "middle" }, name);
  return x;
}

/** The value axis of a panel over `range` with labelled ticks [[value, label], …]; returns its scale. */
export function valueAxis(at, f, row, range, ticks) {
  const y = scale(range, [row.bottom, row.top]);
  for (const [value, label] of ticks) {
    draw(at, "line", { class: "ln-grid", x1: f.left, x2: f.right, y1: y(value), y2: y(value) });
    draw(at, "text", { class: "ln-tick", x: f.left - 5, y: y(value) + 4, "text-anchor": "end" }, label);
  }
  return y;
}

/** A part of the drawing that clips what leaves a panel. */
export function panelWindow(at, f, { top, bottom }) {
  const [width, height] = [f.right - f.left, bottom - top];
  return draw(at, "svg", { x: f.left, y: top, width, height, viewBox: `${f.left} ${top} ${width} ${height}` });
}

/** Where the window must begin for `now` to lie between `low` and `high` after its beginning. */
export const follow = (first, now, low, high) => (now < first + low ? now - low : now > first + high ? now - high : first);

const running = new WeakMap(); // widget → what stops the view that makes its time run

/**
 * Makes time run: calls `advance(seconds)` before each frame while it is wanted and the view can be seen; `show(on)`
 * tells whether it is wanted. Only one view of a widget runs.
 */
export function player(root, state, advance, show) {
  let [wanted, visible, frame, last] = [false, false, 0, 0];
  const tick = (time) => {
    frame = requestAnimationFrame(tick);
    const seconds = Math.min((time - last) / 1000, 0.25); // a tab that slept does not catch up
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
  const want = (on) => {
    if (on) {
      const other = running.get(state.shared);
      if (other && other !== stop) other();
      running.set(state.shared, stop);
    }
    wanted = on;
    show(on);
    settle();
  };
  const stop = () => want(false);
  const observer = new IntersectionObserver(([entry]) => {
    visible = entry.isIntersecting;
    settle();
  });
  observer.observe(root);
  const leave = () => {
    observer.disconnect();
    stop();
  };
  return { want, leave, wanted: () => wanted };
}

/** Whether the reader has asked for little motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
