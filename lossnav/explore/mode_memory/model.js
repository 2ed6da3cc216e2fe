// The distance after n steps of one mode of SGD, in units of that after one: of this mode, and of a flat direction.

import { samples } from "../kit.js";
import { exponentAt, modeDistances } from "../modes.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ bend: number, beta: number, n: number }} Setting */

const MOST = SHARED.axis.range[1];

/** Distances for 0 … MOST + 1 steps, η being 1. */
const walked = (/** @type {number} */ bend, /** @type {number} */ beta) => modeDistances(bend, MOST + 1, { eta: 1, beta });

/** Twice the variance of the position, over the distance of one step. */
export const ceilingOf = (/** @type {number} */ bend, /** @type {number} */ beta) => (1 + beta) / bend;

/** The distance after n steps over that of one, and the exponent there. */
export function distanceAt(/** @type {Setting} */ { bend, beta, n }) {
  const far = walked(bend, beta);
  return { far: far[n] / far[1], c: exponentAt(far, n) };
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ bend, beta }) {
  const counts = [...new Set(samples(Math.log10(SHARED.axis.range[0]), Math.log10(MOST), 240).map((u) => Math.round(10 ** u)))];
  const line = (/** @type {Float64Array} */ far) => counts.map((n) => [Math.log10(n), Math.log10(far[n] / far[1])]);
  const top = Math.log10(ceilingOf(bend, beta));
  return { flat: line(walked(0, beta)), mode: line(walked(bend, beta)), ceiling: counts.map((n) => [Math.log10(n), top]) };
}
