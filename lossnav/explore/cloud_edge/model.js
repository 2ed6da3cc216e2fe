// The stationary covariance of one mode of SGD: of the steps, relative to that of the stochastic differential equation.

import { samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ beta: number, stretch: number }} Setting */

/** Where ηh leaves no stationary law. */
export const edgeAt = (/** @type {number} */ beta) => 2 * (1 + beta);

/** Var θ of the steps over that of the equation. */
export const spreadAt = (/** @type {number} */ stretch, /** @type {number} */ beta) => 1 / (1 - stretch / edgeAt(beta));

/** The correlation of θ and v, which belongs to a time half a step earlier. */
export const tiltAt = (/** @type {number} */ stretch, /** @type {number} */ beta) => Math.sqrt(stretch / edgeAt(beta));

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ beta }) {
  const [low, high] = [SHARED.axis.range[0], SHARED.axis.range[1]];
  const edge = edgeAt(beta);
  const line = (/** @type {number} */ end, /** @type {(x: number) => number} */ height) => samples(low, end, 240).map((x) => [x, height(x)]);
  return {
    spread: line(0.99 * edge, (x) => spreadAt(x, beta)),
    smooth: line(high, () => 1),
    edge: samples(0, 6, 60).map((y) => [edge, y]),
    tilt: line(0.99 * edge, (x) => tiltAt(x, beta)),
    none: line(high, () => 0),
  };
}
