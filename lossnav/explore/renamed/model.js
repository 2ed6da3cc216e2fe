// Five rules on one quadratic loss with one metric, each computed for the parameters ψ, θ = Mψ, and seen in θ (Eq. 10).

import { mapped, samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ unit: number, mix: number, first: number }} Setting */
/** @typedef {number[][]} Matrix of two rows */

/** @type {(A: Matrix, B: Matrix) => Matrix} */
const times = (A, B) => A.map((row) => B[0].map((_, j) => row[0] * B[0][j] + row[1] * B[1][j]));
const det = (/** @type {Matrix} */ [[a, b], [c, d]]) => a * d - b * c;
/** @type {(A: Matrix) => Matrix} */
const flipped = ([[a, b], [c, d]]) => [[a, c], [b, d]];
/** @type {(A: Matrix, by: number, B: Matrix, more: number) => Matrix} */
const sum = (A, by, B, more) => A.map((row, i) => row.map((v, j) => by * v + more * B[i][j]));
/** @type {(A: Matrix) => Matrix} */
const inverse = (A) => sum([[A[1][1], -A[0][1]], [-A[1][0], A[0][0]]], 1 / det(A), A, 0);
const ONE = [[1, 0], [0, 1]];

/** The geometric mean G # H of two matrices with two rows. @type {(G: Matrix, H: Matrix) => Matrix} */
function mean(G, H) {
  const [g, h] = [G, H].map((A) => Math.sqrt(det(A)));
  const S = sum(G, 1 / g, H, 1 / h);
  return sum(S, Math.sqrt((g * h) / det(S)), S, 0);
}

/** What each rule multiplies −∇L by, in the coordinates of metric and Hessian. @type {(G: Matrix, H: Matrix) => Record<string, Matrix>} */
const rules = (G, H) => ({ descent: ONE, half: inverse(mean(ONE, H)), natural: inverse(G), ballistic: inverse(mean(G, H)), newton: inverse(H) });

const names = (/** @type {Setting} */ { unit, mix }) => [[1, mix], [0, unit]];
const startOf = (/** @type {Setting} */ { first }) => [[first], [SHARED.second]];

/** The same, carried back to θ. @type {(given: Setting) => Record<string, Matrix>} */
export function carried(given) {
  const M = names(given);
  const seen = (/** @type {Matrix} */ A) => times(flipped(M), times(A, M));
  return mapped(rules(seen(SHARED.metric), seen(SHARED.hessian)), (P) => times(M, times(P, flipped(M))));
}

/** The direction in which each rule leaves the start, in degrees. @type {(given: Setting) => Record<string, number>} */
function headings(given) {
  const slope = times(SHARED.hessian, startOf(given));
  return mapped(carried(given), (P) => {
    const [[x], [y]] = times(P, slope);
    return (Math.atan2(-y, -x) * 180) / Math.PI;
  });
}

/** By how much names turn each rule's first direction, in degrees. @type {(given: Setting) => Record<string, number>} */
export function turned(given) {
  const old = headings({ ...given, unit: 1, mix: 0 });
  return mapped(headings(given), (now, rule) => Math.abs(((now - old[rule] + 540) % 360) - 180));
}

/** θ̇ = −PHθ from the start: what is left of the slow mode falls from 1 to 0.001. @type {(P: Matrix, start: Matrix) => number[][]} */
function path(P, start) {
  const A = times(P, SHARED.hessian);
  const half = (A[0][0] + A[1][1]) / 2;
  const slow = det(A) / (half + Math.sqrt(Math.max(0, half ** 2 - det(A))));
  const lead = (2 * half) / slow - 2; // of the fast mode, over the slow one
  const rest = times(sum(A, 1, ONE, -slow), start);
  return samples(0, 1, 240).map((u) => {
    const left = 1 - 0.999 * u ** 3;
    const share = left * (lead < 1e-9 ? Math.log(left) : Math.expm1(lead * Math.log(left)) / lead) / slow;
    return start.map(([x], i) => left * x + share * rest[i][0]);
  });
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const [M, start, H] = [names(given), startOf(given), SHARED.hessian];
  const turn = samples(0, 2 * Math.PI, 240).map((angle) => [[Math.cos(angle)], [Math.sin(angle)]]);
  const height = times(flipped(start), times(H, start))[0][0];
  const old = carried({ ...given, unit: 1, mix: 0 });
  return {
    level: turn.map((way) => way.map(([v]) => v * Math.sqrt(height / times(flipped(way), times(H, way))[0][0]))),
    ball: turn.map((way) => times(M, way).map(([v], i) => start[i][0] + (SHARED.ball * v) / Math.sqrt(given.unit))),
    oldDescent: path(old.descent, start),
    oldHalf: path(old.half, start),
    ...mapped(carried(given), (P) => path(P, start)),
  };
}
