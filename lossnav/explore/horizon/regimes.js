// The plane of the two dimensionless groups that decide the regime, γ²/(4ηkh) and rΔt: where each limit holds.

import { clamp, draw, trace } from "../kit.js";
import { around, placeLabels, textWidth } from "../labels.js";
import { BOWL, TOLERANCE, groups, validity } from "./model.js";

export const LIMITS = {
  newton: { name: "Newton", color: "var(--ln-newton)", dash: "9 3 2 3" },
  descent: { name: "gradient descent", color: "var(--ln-descent)", dash: "7 4" },
  ballistic: { name: "ballistic", color: "var(--ln-ballistic)", dash: "none" },
};

/** Decades shown: of γ²/(4ηkh) across and rΔt upwards. */
export const GROUPS = { damping: [-3, 3], progress: [-4, 2] };

/** Where the names of the limits stand: x, y, anchor. */
const namePlaces = (f) => ({
  newton: [(f.left + f.right) / 2, f.top + 16, "middle"],
  ballistic: [f.left + 6, f.bottom - 7, "start"],
  descent: [f.right - 6, f.bottom - 7, "end"],
});

/** Their boxes. */
const nameBoxes = (f) =>
  Object.entries(namePlaces(f)).map(([key, [x, y, anchor]]) => {
    const width = textWidth(LIMITS[key].name);
    const left = x - { start: 0, middle: width / 2, end: width }[anchor];
    return [left, y - 12, left + width, y + 4];
  });

/** The regime plane: where each limit gives one direction's step to within the tolerance. */
export function planeGround(at, f) {
  const { damping, progress } = GROUPS;
  draw(at, "rect", { class: "ln-panel", x: f.left, y: f.top, width: f.right - f.left, height: f.bottom - f.top });
  const region = (key, bound) => {
    const edge = [];
    for (let d = damping[0]; d <= damping[1] + 1e-9; d += 0.02) {
      const high = bound(validity(10 ** d, TOLERANCE));
      if (high > 10 ** progress[0]) edge.push([f.x(d), f.y(Math.log10(high))]);
    }
    const side = key === "newton" ? f.top : f.bottom;
    const outline = [[edge[0][0], side], ...edge, [edge[edge.length - 1][0], side]];
    draw(at, "path", { d: `${trace(outline)}Z`, fill: LIMITS[key].color, "fill-opacity": 0.26 });
  };
  for (const key of Object.keys(LIMITS)) region(key, (v) => v[key]);
  for (const [key, [x, y, anchor]] of Object.entries(namePlaces(f))) {
    const text = draw(at, "text", { class: "ln-text ln-bare", x, y, "text-anchor": anchor }, LIMITS[key].name);
    text.style.setProperty("--c", LIMITS[key].color);
  }
  for (const d of [-2, 0, 2]) {
    draw(at, "text", { class: "ln-tick", x: f.x(d), y: f.bottom + 15, "text-anchor": "middle" }, decade(d));
    draw(at, "line", { class: "ln-grid", x1: f.x(d), x2: f.x(d), y1: f.top, y2: f.bottom });
  }
  for (const p of [-2, 0, 2]) {
    draw(at, "text", { class: "ln-tick", x: f.left - 5, y: f.y(p) + 4, "text-anchor": "end" }, decade(p));
    draw(at, "line", { class: "ln-grid", x1: f.left, x2: f.right, y1: f.y(p), y2: f.y(p) });
  }
  draw(at, "text", { class: "ln-name", x: f.left, y: f.top - 8 }, "where a limit is good to 10%");
  draw(at, "text", { class: "ln-name", x: (f.left + f.right) / 2, y: f.bottom + 32, "text-anchor": "middle" }, "γ²/(4ηkh), damping");
  const [nx, ny] = [12, (f.top + f.bottom) / 2];
  draw(at, "text", { class: "ln-name", x: nx, y: ny, "text-anchor": "middle", transform: `rotate(-90 ${nx} ${ny})` }, "rΔt");
}

const decade = (power) => ({ "-2": "0.01", 0: "1", 2: "100" })[power];

/** Where both eigendirections are in the regime plane. */
export function planeSpots(at, f, { gamma, dt }) {
  const spots = BOWL.map((h) => {
    const { damping, progress } = groups(h, gamma, dt);
    return [f.x(clamp(Math.log10(damping), ...GROUPS.damping)), f.y(clamp(Math.log10(progress), ...GROUPS.progress))];
  });
  for (const [x, y] of spots) draw(at, "circle", { class: "ln-dot", cx: x, cy: y, r: 5.5, fill: "var(--ln-optimal)" });
  const labels = spots.map(([x, y], i) => ({ text: i ? "θ₂" : "θ₁", x, y, dx: 0.8, dy: -0.6, far: 7, color: "var(--ln-optimal)" }));
  const obstacles = [...nameBoxes(f), ...spots.map((spot) => around(spot, 5))];
  placeLabels(at, [f.left, f.top, f.right, f.bottom], labels, obstacles, []);
}
