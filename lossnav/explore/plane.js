// The square plane of two weights: its frame and ground, and arrows.

/** @import { Box, Figure, Scale } from "./kit.js" */

import { PHONE_TALL, WIDE, arrowhead, draw, drawLine, drawPanel, ink, nameAcross, panelWindow, plainTicks, resize, scale, stageWidth, ticksAcross, ticksUp } from "./kit.js";

/** @typedef {Box & { w: number, size: number, x: Scale, y: Scale }} SquareFrame */

/**
 * Sizes and scales of a plane [−edge, edge]² for one width; `aside` is kept free beside it on wide pages.
 * @param {Figure} stage
 * @param {HTMLElement} root
 * @param {number} width
 * @param {{ edge: number, aside?: number, most?: number }} wanted
 * @returns {SquareFrame}
 */
export function squareFrame(stage, root, width, { edge, aside = 268, most = 500 }) {
  const w = stageWidth(root, width, aside, width < WIDE ? PHONE_TALL : most);
  const [left, top] = [30, 22];
  const size = w - left - 8;
  const [right, bottom] = [left + size, top + size];
  resize(stage, w, bottom + 36);
  return { left, right, top, bottom, size, w, x: scale([-edge, edge], [left, right]), y: scale([-edge, edge], [bottom, top]) };
}

/**
 * The panel, its axes with tick labels at `values`, and their names.
 * @param {Element} at
 * @param {SquareFrame} f
 * @param {number[]} values
 * @param {string[]} names across, up
 */
export function squareGround(at, f, values, [across, up]) {
  drawPanel(at, f, up);
  ticksAcross(at, f, f.x, plainTicks(values), { drop: 16, mark: "none" });
  ticksUp(at, f, f.y, plainTicks(values), { gap: 6, grid: false });
  nameAcross(at, f, across, 32);
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
