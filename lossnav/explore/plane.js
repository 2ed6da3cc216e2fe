// The square plane of two weights: its frame and ground, and arrows.

/** @import { Box, Paper, Scale } from "./kit.js" */

import { PHONE_TALL, WIDE, arrowhead, draw, drawLine, drawPanel, ink, nameAcross, panelWindow, plainTicks, resize, scale, stageWidth, ticksAcross, ticksUp } from "./kit.js";

/** @typedef {Box & { w: number, size: number, x: Scale, y: Scale }} SquareFrame */

/**
 * A plane [−edge, edge]² for one width, with `ticks` on both axes and the names across and up; `aside` is kept free
 * beside it on wide pages.
 * @param {Paper} paper
 * @param {{ edge: number, ticks: number[], names: string[], aside?: number, most?: number }} wanted
 * @returns {SquareFrame}
 */
export function squareFrame({ root, stage, ground, width }, { edge, ticks, names: [across, up], aside = 268, most = 500 }) {
  const w = stageWidth(root, width, aside, width < WIDE ? PHONE_TALL : most);
  const [left, top] = [30, 22];
  const size = w - left - 8;
  const [right, bottom] = [left + size, top + size];
  resize(stage, w, bottom + 36);
  const f = { left, right, top, bottom, size, w, x: scale([-edge, edge], [left, right]), y: scale([-edge, edge], [bottom, top]) };
  drawPanel(ground, f, up);
  ticksAcross(ground, f, f.x, plainTicks(ticks), { drop: 16, mark: "none" });
  ticksUp(ground, f, f.y, plainTicks(ticks), { gap: 6, grid: false });
  nameAcross(ground, f, across, 32);
  return f;
}

/**
 * The contours ½Σhᵢθᵢ² = level²/2 of a bowl about the origin, and a cross at its bottom.
 * @type {(at: Element, f: SquareFrame, curvatures: number[]) => void}
 */
export function bowlContours(at, f, curvatures) {
  const inner = panelWindow(at, f);
  for (let level = 0.5; level <= 4.5; level += 0.5) {
    const [rx, ry] = curvatures.map((h) => Math.abs(f.x(level / Math.sqrt(h)) - f.x(0)));
    draw(inner, "ellipse", { class: "ln-contour", cx: f.x(0), cy: f.y(0), rx, ry });
  }
  draw(at, "path", { class: "ln-cross", d: `M${f.x(0) - 5} ${f.y(0)}h10M${f.x(0)} ${f.y(0) - 5}v10` });
}

/**
 * The part of an arrow from `from` through `through`, `length` times as long, that lies in the frame.
 * @type {(f: SquareFrame, from: number[], through: number[], length: number) => { cut: boolean, tip: number[] } | null}
 */
export function clip(f, from, through, length) {
  if (!(length > 0)) return null;
  const way = [through[0] - from[0], through[1] - from[1]];
  const low = [f.left, f.top];
  let most = Infinity;
  way.forEach((v, i) => {
    if (v !== 0) most = Math.min(most, ((v > 0 ? low[i] + f.size : low[i]) - from[i]) / v);
  });
  const cut = length > most;
  const reach = cut ? most : length;
  return { cut, tip: [from[0] + way[0] * reach, from[1] + way[1] * reach] };
}

/**
 * An arrow between two pixels as far as it lies in the frame, where an open head ends it.
 * @type {(at: Element, f: SquareFrame, from: number[], to: number[], style: Parameters<typeof drawArrow>[3]) => void}
 */
export function drawArrowWithin(at, f, from, to, style) {
  const ray = clip(f, from, to, 1);
  if (ray) drawArrow(at, from, ray.tip, { ...style, hollow: ray.cut });
}

/**
 * An arrow between two pixels; `hollow` ends it with an open head; `more` goes to its shaft.
 * @param {Element} at
 * @param {number[]} from
 * @param {number[]} to
 * @param {{ color: string, dash: string, width?: number, hollow?: boolean, [more: string]: unknown }} style
 */
export function drawArrow(at, from, to, { color, dash, width = 2.4, hollow = false, ...more }) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const shaft = Math.max(0, 1 - 9 / Math.hypot(dx, dy));
  const line = { stroke: color, "stroke-width": width, "stroke-dasharray": dash, ...more };
  drawLine(at, [from, [from[0] + dx * shaft, from[1] + dy * shaft]], line);
  draw(at, "path", { d: arrowhead(to[0], to[1], dx, dy, 11), fill: hollow ? ink("paper") : color, stroke: color, "stroke-width": 1.5 });
}
