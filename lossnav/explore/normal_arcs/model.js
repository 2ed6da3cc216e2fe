// Ways between two normal distributions: the shortest by the Fisher metric, and two that are straight in some names.

import { samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ mu: number, sigma: number, share: number }} Setting */
/** @typedef {(share: number) => number[]} Way the mean and the spread at a share of the way */

/** The Fisher distance of two normal distributions. */
function fisherDistance(/** @type {number[]} */ [m, s], /** @type {number[]} */ [n, u]) {
  return 2 * Math.SQRT2 * Math.asinh(Math.hypot((m - n) / Math.SQRT2, s - u) / (2 * Math.sqrt(s * u)));
}

/**
 * All three ways from the fixed start: a semicircle of the half-plane (μ/√2, σ), and two straight lines.
 * @type {(setting: Setting) => Record<"arc" | "spread" | "precision", Way>}
 */
export function ways({ mu, sigma }) {
  const [m, s] = SHARED.from;
  const between = (/** @type {number} */ a, /** @type {number} */ b, /** @type {number} */ share) => a + (b - a) * share;
  return {
    arc: semicircle([m, s], [mu, sigma]),
    spread: (share) => [between(m, mu, share), between(s, sigma, share)],
    precision: (share) => [between(m, mu, share), between(s ** -2, sigma ** -2, share) ** -0.5],
  };
}

/** @type {(from: number[], to: number[]) => Way} */
function semicircle([m, s], [n, u]) {
  const wide = (n - m) / Math.SQRT2;
  if (Math.abs(wide) < 1e-7) return (share) => [m, s ** (1 - share) * u ** share];
  const [half, bow] = [wide / 2, ((u - s) / wide) * ((u + s) / 2)];
  const [begin, end] = [Math.asinh((-half - bow) / s), Math.asinh((half - bow) / u)];
  return (share) => {
    const at = begin + share * (end - begin);
    return [m + (Math.SQRT2 * s * Math.sinh(at - begin)) / Math.cosh(at), (s * Math.cosh(begin)) / Math.cosh(at)];
  };
}

/** Its length: that of many short pieces. */
export function wayLength(/** @type {Way} */ way, pieces = 1000) {
  const points = samples(0, 1, pieces).map(way);
  return points.slice(1).reduce((sum, point, i) => sum + fisherDistance(points[i], point), 0);
}
