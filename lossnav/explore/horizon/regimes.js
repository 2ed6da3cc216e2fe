// The plane of the two dimensionless groups that decide the regime, γ²/(4ηkh) and rΔt: where each limit holds.

/** @import { Box, Scale } from "../kit.js" */
/** @import { Edges } from "../labels.js" */

import { clamp, draw, drawDot, drawPanel, entries, ink, lastOf, nameAcross, ticksAcross, ticksUp, trace } from "../kit.js";
import { around, edges, placeLabels, textWidth } from "../labels.js";
import SHARED from "./constants.json" with { type: "json" };
import { BOWL, TOLERANCE, groups, validity } from "./model.js";

/** @typedef {Box & { x: Scale, y: Scale }} RegimeFrame */
/** @typedef {keyof typeof SHARED.limits} LimitName */

/** @type {Record<LimitName, { name: string, dash: string }>} */
export const LIMITS = SHARED.limits;

/** Decades shown: of γ²/(4ηkh) across and rΔt upwards. */
export const GROUPS = { damping: [-3, 3], progress: [-4, 2] };

/** @type {[number, string][]} */
const DECADES = [[-2, "0.01"], [0, "1"], [2, "100"]];

/** @type {(f: Box) => Record<LimitName, { x: number, y: number, anchor: "start" | "middle" | "end" }>} */
const namePlaces = (f) => ({
  newton: { x: (f.left + f.right) / 2, y: f.top + 16, anchor: "middle" },
  ballistic: { x: f.left + 6, y: f.bottom - 7, anchor: "start" },
  descent: { x: f.right - 6, y: f.bottom - 7, anchor: "end" },
});

/** @type {(f: Box) => Edges[]} */
const nameBoxes = (f) =>
  entries(namePlaces(f)).map(([key, { x, y, anchor }]) => {
    const width = textWidth(LIMITS[key].name);
    const left = x - { start: 0, middle: width / 2, end: width }[anchor];
    return [left, y - 12, left + width, y + 4];
  });

/**
 * The regime plane: where each limit gives one direction's step to within the tolerance.
 * @param {Element} at
 * @param {RegimeFrame} f
 */
export function planeGround(at, f) {
  drawPanel(at, f, null);
  for (const [key] of entries(LIMITS)) drawRegion(at, f, key);
  for (const [key, { x, y, anchor }] of entries(namePlaces(f))) {
    const text = draw(at, "text", { class: "ln-text ln-bare", x, y, "text-anchor": anchor }, LIMITS[key].name);
    text.style.setProperty("--c", ink(key));
  }
  ticksAcross(at, f, f.x, DECADES, { drop: 15, mark: "grid" });
  ticksUp(at, f, f.y, DECADES);
  draw(at, "text", { class: "ln-name", x: f.left, y: f.top - 8 }, "where a limit is good to 10%");
  nameAcross(at, f, "γ²/(4ηkh), damping", 32);
  const [nx, ny] = [12, (f.top + f.bottom) / 2];
  draw(at, "text", { class: "ln-name", x: nx, y: ny, "text-anchor": "middle", transform: `rotate(-90 ${nx} ${ny})` }, "rΔt");
}

/**
 * Where one limit holds.
 * @type {(at: Element, f: RegimeFrame, key: LimitName) => void}
 */
function drawRegion(at, f, key) {
  const [low, high] = GROUPS.damping;
  const edge = [];
  for (let d = low; d <= high + 1e-9; d += 0.02) {
    const bound = validity(10 ** d, TOLERANCE)[key];
    if (bound > 10 ** GROUPS.progress[0]) edge.push([f.x(d), f.y(Math.log10(bound))]);
  }
  const side = key === "newton" ? f.top : f.bottom;
  const outline = [[edge[0][0], side], ...edge, [lastOf(edge)[0], side]];
  draw(at, "path", { d: `${trace(outline)}Z`, fill: ink(key), "fill-opacity": 0.26 });
}

/**
 * Where both eigendirections are in the regime plane.
 * @type {(at: Element, f: RegimeFrame, step: { gamma: number, dt: number }) => void}
 */
export function planeSpots(at, f, { gamma, dt }) {
  /** @type {(value: number, range: number[]) => number} */
  const decade = (value, [low, high]) => clamp(Math.log10(value), low, high);
  const spots = BOWL.map((h) => {
    const { damping, progress } = groups(h, gamma, dt);
    return [f.x(decade(damping, GROUPS.damping)), f.y(decade(progress, GROUPS.progress))];
  });
  for (const spot of spots) drawDot(at, spot, 5.5, ink("optimal"));
  const labels = spots.map(([x, y], i) => ({ text: i ? "θ₂" : "θ₁", x, y, dx: 0.8, dy: -0.6, far: 7, color: ink("optimal") }));
  placeLabels(at, edges(f), labels, [...nameBoxes(f), ...spots.map((spot) => around(spot, 5))], []);
}
