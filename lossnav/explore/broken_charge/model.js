// Two weights in a row, L = (ab − y)², under gradient descent with momentum and decay: v ← βv − g − λθ, θ ← θ + ηv.
// Rescaling, ξ = (a, −b), leaves the loss as it is; its quantity a² − b² moves by decay and by the length of steps.

import { coin } from "../coins.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ start: number[], eta: number, beta: number, decay: number, noise: number }} Setting */
/** @typedef {ReturnType<typeof pairWalk>} PairWalk */

/**
 * The walk until it ends or leaves the picture: places, a² − b², and |v_a|² − |v_b|² of each step. The target y is
 * 1 ± noise, drawn anew at each step.
 * @param {Setting} setting
 */
export function pairWalk({ start, eta, beta, decay, noise }) {
  let [[a, b], va, vb] = [start, 0, 0];
  const [points, imbalance, sources] = [[[a, b]], [a * a - b * b], /** @type {number[]} */ ([])];
  for (let step = 1; step <= SHARED.steps; step++) {
    const residual = 2 * (a * b - 1 - noise * coin(step));
    [va, vb] = [beta * va - residual * b - decay * a, beta * vb - residual * a - decay * b];
    [a, b] = [a + eta * va, b + eta * vb];
    if (Math.abs(a) + Math.abs(b) > 8 * SHARED.edge) break;
    points.push([a, b]);
    imbalance.push(a * a - b * b);
    sources.push(va * va - vb * vb);
  }
  return { points, imbalance, sources };
}

/**
 * a² − b² from its first value and the sources alone: no gradient is asked. Without sources, what decay alone does.
 * @type {(first: number, sources: number[], setting: Setting) => number[]}
 */
export function chargeLaw(first, sources, { eta, beta, decay }) {
  let [size, charge] = [first, 0];
  return [first, ...sources.map((source) => {
    const pull = beta * charge - decay * size;
    [size, charge] = [size + 2 * eta * pull + eta * eta * source, pull + eta * source];
    return size;
  })];
}
