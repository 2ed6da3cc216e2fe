// The optimum on L = ½θᵀHθ, H = diag(h), with a metric G and η = k = 1, in the modes HX = GX diag(c), XᵀGX = I (Eqs. 8–10).

/** @import { Symmetric } from "../pairs.js" */

import { acted, alongTurn, radians } from "../pairs.js";
import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ start: number[], angle: number, ratio: number, gamma: number }} Setting */

export const VALLEY = SHARED.curvatures; // h

/** @type {(u: number[], v: number[]) => number} */
const dot = ([a, b], [c, d]) => a * c + b * d;

/**
 * G: unit ellipse of area π, its long axis `ratio` times the short one and `angle` degrees from the θ₁ axis.
 * @type {(angle: number, ratio: number) => Symmetric}
 */
const metricOf = (angle, ratio) => alongTurn(radians(angle), 1 / ratio, ratio);

/**
 * Its inverse: det G = 1, so the price of the two axes changes places.
 * @type {(metric: Symmetric) => Symmetric}
 */
const inverseOf = ([a, b, c]) => [c, -b, a];

/**
 * Curvatures c per unit of price, ascending, and the modes, the columns of X.
 * @param {Symmetric} metric
 */
function priceModes(metric) {
  const h = VALLEY;
  const [g11, g12, g22] = metric;
  // The root of G with det G = 1 is (G + I)/√(tr G + 2); so its inverse S is [G₂₂ + 1, −G₁₂, G₁₁ + 1] over the same.
  const size = Math.sqrt(g11 + g22 + 2);
  /** @type {Symmetric} */
  const s = [(g22 + 1) / size, -g12 / size, (g11 + 1) / size];
  const a = s[0] ** 2 * h[0] + s[1] ** 2 * h[1]; // SHS, symmetric
  const b = s[1] * (s[0] * h[0] + s[2] * h[1]);
  const d = s[1] ** 2 * h[0] + s[2] ** 2 * h[1];
  const high = (a + d) / 2 + Math.hypot((a - d) / 2, b);
  const low = (h[0] * h[1]) / high; // det G⁻¹H = det H, without cancellation
  const turn = Math.atan2(2 * b, a - d) / 2; // of the steep mode
  const steep = [Math.cos(turn), Math.sin(turn)];
  return { curvatures: [low, high], modes: [acted(s, [-steep[1], steep[0]]), acted(s, steep)] };
}

/** @typedef {ReturnType<typeof metricLaw>} MetricLaw */

/**
 * The optimum from `start`: curvatures, rates (Eq. 75), the path, its cost, and the four directions at the start.
 * @param {Setting} setting
 */
export function metricLaw({ start, angle, ratio, gamma }) {
  const metric = metricOf(angle, ratio);
  const { curvatures, modes } = priceModes(metric);
  const rates = curvatures.map((c) => restRate(gamma, c));
  const slope = start.map((x, i) => VALLEY[i] * x);
  const along = modes.map((mode) => dot(mode, slope)); // Xᵀg = diag(c)z₀
  const blend = (/** @type {number[]} */ weights) => [0, 1].map((j) => weights[0] * modes[0][j] + weights[1] * modes[1][j]);
  const place = (/** @type {number} */ t) => blend(along.map((v, i) => (v / curvatures[i]) * Math.exp(-rates[i] * t)));
  const action = along.reduce((sum, v, i) => sum + (rates[i] / 2) * (v / curvatures[i]) ** 2, 0);
  const downhill = acted(inverseOf(metric), slope);
  const ways = {
    natural: downhill.map((v) => -v),
    ballistic: blend(along.map((v, i) => -v / Math.sqrt(curvatures[i]))),
    newton: start.map((x) => -x),
    descent: slope.map((v) => -v),
    optimal: blend(along.map((v, i) => (-rates[i] * v) / curvatures[i])), // θ̇(0)
  };
  const commute = Math.abs(metric[1] * (VALLEY[1] - VALLEY[0])) < 1e-9; // GH − HG has no other entry
  return { metric, curvatures, modes, rates, place, action, ways, commute };
}

/**
 * Times that follow the path to where it cannot be told from its end.
 * @type {(rates: number[]) => number[]}
 */
export const restTimes = (rates) => Array.from({ length: 161 }, (_, i) => (9 / rates[0]) * (i / 160) ** 3);

/**
 * The angle in (−90, 90] and the axis ratio in [1, most] of the ellipse of this size with its long axis ending at a tip.
 * @param {number[]} tip
 * @param {number} size
 * @param {number} most
 */
export function ellipseThrough([x, y], size, most) {
  let angle = Math.round((Math.atan2(y, x) * 180) / Math.PI); // whole degrees, so that the axes can be hit
  if (angle > 90) angle -= 180;
  if (angle <= -90) angle += 180;
  return { angle, ratio: Math.min(most, Math.max(1, (Math.hypot(x, y) / size) ** 2)) };
}
