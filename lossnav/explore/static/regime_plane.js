// The plane of the two dimensionless groups that decide the regime, γ²/(4ηkh) and rΔt: where each limit holds.

import { clamp, draw, trace } from "./kit.js";
import { BOWL, TOLERANCE, groups, validity } from "./horizon_model.js";

export const LIMITS = {
  newton: { name: "Newton", color: "var(--ln-newton)", dash: "9 3 2 3" },
  descent: { name: "gradient descent", color: "var(--ln-descent)", dash: "7 4" },
  ballistic: { name: "ballistic", color: "var(--ln-ballistic)", dash: "none" },
};

/** Decades shown: of γ²/(4ηkh) across and rΔt upwards. */
export const GROUPS = { damping: [-3, 3], progress: [-4, 2] };

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
  const text = (x, y, words, color, anchor = "middle") => {
    draw(at, "text", { class: "ln-text ln-bare", x, y, "text-anchor": anchor }, words).style.setProperty("--c", color);
  };
  text((f.left + f.right) / 2, f.top + 16, "Newton", LIMITS.newton.color);
  text(f.left + 6, f.bottom - 7, "ballistic", LIMITS.ballistic.color, "start");
  text(f.right - 6, f.bottom - 7, "gradient descent", LIMITS.descent.color, "end");
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
  const same = Math.hypot(spots[0][0] - spots[1][0], spots[0][1] - spots[1][1]) < 28;
  spots.forEach(([x, y], i) => {
    draw(at, "circle", { class: "ln-dot", cx: x, cy: y, r: 5.5, fill: "var(--ln-optimal)" });
    const right = x < f.right - 34;
    const low = y < f.top + 30 ? 17 : -8;
    const shift = same && i ? (right ? 24 : -24) : 0;
    const label = { x: x + (right ? 8 : -8) + shift, y: y + low, "text-anchor": right ? "start" : "end" };
    draw(at, "text", { class: "ln-text", ...label }, i ? "θ₂" : "θ₁").style.setProperty("--c", "var(--ln-optimal)");
  });
}
