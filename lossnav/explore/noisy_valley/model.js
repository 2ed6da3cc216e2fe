// Two dimensions, A = (D + Q)U: what the noise makes of a valley, in closed form (K26–K29, K44).

import { alongTurn, radians } from "../pairs.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ angle: number, ratio: number }} Setting */
/** @typedef {number[][]} Matrix */

export const VALLEY = SHARED.valley;

/**
 * The diffusion matrix with determinant 1, its strong axis at an angle in degrees.
 * @param {Setting} setting
 * @returns {Matrix}
 */
export function diffusion({ angle, ratio }) {
  const [first, aside, second] = alongTurn(radians(angle), Math.sqrt(ratio), 1 / Math.sqrt(ratio));
  return [[first, aside], [aside, second]];
}

/** @type {(m: Matrix, x: number[]) => number[]} */
export const times = (m, x) => m.map((row) => row[0] * x[0] + row[1] * x[1]);

/** @type {(m: Matrix) => Matrix} */
export function inverse([[a, b], [c, d]]) {
  const det = a * d - b * c;
  return [[d / det, -b / det], [-c / det, a / det]];
}

/**
 * Q₁₂ and U. In two dimensions AD − DA = QA + AQ is one equation: Q₁₂ tr A = (AD − DA)₁₂.
 * @param {Setting} setting
 */
export function split(setting) {
  const [d, a] = [diffusion(setting), VALLEY];
  const q = (a[0][0] * d[0][1] + a[0][1] * d[1][1] - d[0][0] * a[0][1] - d[0][1] * a[1][1]) / (a[0][0] + a[1][1]);
  const left = inverse([[d[0][0], d[0][1] + q], [d[1][0] - q, d[1][1]]]);
  const columns = [0, 1].map((j) => times(left, [a[0][j], a[1][j]]));
  return { d, q, u: [[columns[0][0], columns[1][0]], [columns[0][1], columns[1][1]]] };
}

/**
 * The drift at a place, and its two parts.
 * @type {(setting: Setting, x: number[]) => { drift: number[], down: number[], round: number[] }}
 */
export function parts(setting, x) {
  const { d, q, u } = split(setting);
  const slope = times(u, x);
  const negative = (/** @type {number[]} */ v) => v.map((one) => -one);
  return { drift: negative(times(VALLEY, x)), down: negative(times(d, slope)), round: [-q * slope[1], q * slope[0]] };
}

/**
 * Where a linear field takes a place x in a time t: e^{Mt}x, M having the columns field(e₁) and field(e₂).
 * @type {(field: (x: number[]) => number[], x: number[], t: number) => number[]}
 */
export function carriedBy(field, x, t) {
  const [[a, c], [b, d]] = [field([1, 0]), field([0, 1])];
  const half = (a + d) / 2;
  const square = half ** 2 - (a * d - b * c);
  const root = Math.sqrt(Math.abs(square));
  const even = square < 0 ? Math.cos(root * t) : Math.cosh(root * t);
  const odd = root < 1e-9 ? t : (square < 0 ? Math.sin(root * t) : Math.sinh(root * t)) / root;
  const aside = times([[a - half, b], [c, d - half]], x);
  return x.map((v, i) => Math.exp(half * t) * (even * v + odd * aside[i]));
}

/**
 * The level set of ½xᵀMx through a place, `count` + 1 points.
 * @type {(m: Matrix, x: number[], count?: number) => number[][]}
 */
export function level(m, x, count = 160) {
  const [[a, b], [, d]] = m;
  const size = x[0] * times(m, x)[0] + x[1] * times(m, x)[1];
  const low = Math.sqrt(a); // Cholesky's factor: a circle in Lᵀx
  const [side, rest] = [b / low, Math.sqrt(d - (b / low) ** 2)];
  return Array.from({ length: count + 1 }, (_, i) => {
    const turn = (2 * Math.PI * i) / count;
    const y = (Math.sqrt(size) * Math.sin(turn)) / rest;
    return [(Math.sqrt(size) * Math.cos(turn) - side * y) / low, y];
  });
}

/**
 * The angle of the long axis of the ellipses of M, in degrees, from −90 to 90.
 * @type {(m: Matrix) => number}
 */
export const longAxis = ([[a, b], [, d]]) => (Math.atan2(-2 * b, d - a) * 90) / Math.PI;
