// The square plane of two weights: its frame and ground, points to drag on it, arrows, and labels that keep apart.

import { arrowhead, clamp, draw, fixed, handle, scale, setAll, stageWidth, trace } from "./kit.js";

/** Sizes and scales of a plane [−edge, edge]² for one width; `aside` is kept free beside it on wide pages. */
export function squareFrame(stage, root, width, { edge, aside = 348, most = 500 }) {
  const w = stageWidth(root, width, aside, most);
  const [left, top] = [30, 22];
  const size = w - left - 8;
  setAll(stage, { viewBox: `0 0 ${w} ${top + size + 36}`, width: w, height: top + size + 36 });
  return { left, top, size, w, x: scale([-edge, edge], [left, left + size]), y: scale([-edge, edge], [top + size, top]) };
}

/** A part of the drawing that clips what leaves the plane. */
export const squareWindow = (at, f) => draw(at, "svg", { x: f.left, y: f.top, width: f.size, height: f.size, viewBox: `${f.left} ${f.top} ${f.size} ${f.size}` });

/** The panel, its axes with tick labels at `values`, and their names. */
export function squareGround(at, f, values, [across, up]) {
  draw(at, "rect", { class: "ln-panel", x: f.left, y: f.top, width: f.size, height: f.size });
  for (const value of values) {
    const text = fixed(value, 0);
    draw(at, "text", { class: "ln-tick", x: f.x(value), y: f.top + f.size + 16, "text-anchor": "middle" }, text);
    draw(at, "text", { class: "ln-tick", x: f.left - 6, y: f.y(value) + 4, "text-anchor": "end" }, text);
  }
  draw(at, "text", { class: "ln-name", x: f.x(0), y: f.top + f.size + 32, "text-anchor": "middle" }, across);
  draw(at, "text", { class: "ln-name", x: f.left, y: f.top - 7 }, up);
}

/** The contours ½Σhᵢθᵢ² = level²/2 of a bowl about the origin, and a cross at its bottom. */
export function bowlContours(at, f, curvatures) {
  const inner = squareWindow(at, f);
  for (let level = 0.5; level <= 4.5; level += 0.5) {
    const [rx, ry] = curvatures.map((h) => Math.abs(f.x(level / Math.sqrt(h)) - f.x(0)));
    draw(inner, "ellipse", { class: "ln-contour", cx: f.x(0), cy: f.y(0), rx, ry });
  }
  draw(at, "path", { class: "ln-cross", d: `M${f.x(0) - 5} ${f.y(0)}h10M${f.x(0)} ${f.y(0) - 5}v10` });
}

/** A handle for the trait that holds a point of the plane, at most `hold` from either axis; `show` puts it there. */
export function planePoint(stage, state, trait, { label, color, hold, small = 0.05 }) {
  let frame = null;
  const move = (x, y) => state.set(trait, [clamp(x, -hold, hold), clamp(y, -hold, hold)]);
  const knob = handle(stage, {
    label: `${label}; arrow keys move it both ways`,
    color,
    onDrag: (px, py) => move(frame.x.invert(px), frame.y.invert(py)),
    onKey([dx, dy], big) {
      const [x, y] = state.get(trait);
      move(x + dx * (big ? 0.5 : small), y + dy * (big ? 0.5 : small));
    },
    onEnd: (side) => move(side * hold, state.get(trait)[1]),
  });
  const show = (f) => {
    frame = f;
    const [x, y] = state.get(trait);
    const text = `θ₁ = ${fixed(x, 2)}, θ₂ = ${fixed(y, 2)}`;
    knob.place(f.x(x), f.y(y), { now: x.toFixed(2), low: -hold, high: hold, text });
  };
  return { show };
}

/** An arrow between two pixels; `hollow` ends it with an open head. */
export function drawArrow(at, from, to, { color, dash, width = 2.4, hollow = false }) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const shaft = Math.max(0, 1 - 9 / Math.hypot(dx, dy));
  const line = { stroke: color, "stroke-width": width, "stroke-dasharray": dash };
  draw(at, "path", { class: "ln-line", d: trace([from, [from[0] + dx * shaft, from[1] + dy * shaft]]), ...line });
  draw(at, "path", { d: arrowhead(...to, dx, dy, 11), fill: hollow ? "var(--ln-paper)" : color, stroke: color, "stroke-width": 1.5 });
}
