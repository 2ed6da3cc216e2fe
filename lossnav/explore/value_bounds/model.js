// The least cost V on L = ln cosh θ + θ²/20 (η = k = 1), and its bounds (L24): kL/s₊(M) ≤ V ≤ kL/s₊(μ).

import { linesOver } from "../kit.js";
import { fastRate } from "../rates.js";
import { rungeKutta } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, smoothness: number, pl: number, start: number }} Setting */

const { ridge, axis } = SHARED;
const [LOW, HIGH, COUNT] = [axis.range[0], axis.range[1], 240];

/** L at θ > 0. @type {(theta: number) => number} */
const lossAt = (theta) => theta + Math.log1p(Math.exp(-2 * theta)) - Math.LN2 + (ridge * theta ** 2) / 2;

/** @type {(theta: number) => number} */
const slopeAt = (theta) => Math.tanh(theta) + ridge * theta;

/** |∇L|²/2L: largest at the minimum, 1 + ridge. @type {(theta: number) => number} */
export const bendAt = (theta) => slopeAt(theta) ** 2 / (2 * lossAt(theta));

/** @type {(gamma: number, h: number) => number} */
const perLoss = (gamma, h) => 1 / fastRate(gamma, h);

/**
 * V/kL at θ = `from` and at `count` further points up to `to`, each the same factor from the one before. In u = ln θ the
 * equation of V, V′ = √(2(L − γV)), is that of y = V/L; far below, the loss is a bowl, and y is that of its curvature.
 * @type {(gamma: number, to: number) => number[]}
 */
function ratios(gamma, to) {
  const [bottom, parts] = [LOW / 100, 2 * COUNT];
  const step = Math.log(to / bottom) / parts;
  const rise = (/** @type {number[]} */ [u, y]) => {
    const [theta, loss] = [Math.exp(u), lossAt(Math.exp(u))];
    return [1, theta * (Math.sqrt(Math.max(0, 2 * (1 - gamma * y)) / loss) - (y * slopeAt(theta)) / loss)];
  };
  const found = [[Math.log(bottom), perLoss(gamma, 1 + ridge)]];
  for (let n = 0; n < parts; n++) found.push(rungeKutta(rise, found[n], step));
  return found.map(([, y]) => y);
}

/** V at the start, and what the bounds say. @type {(given: Setting) => { value: number, lower: number, upper: number }} */
export function boundsOf({ gamma, smoothness, pl, start }) {
  const loss = lossAt(start);
  const ys = ratios(gamma, start);
  return { value: loss * ys[ys.length - 1], lower: loss * perLoss(gamma, smoothness), upper: loss * perLoss(gamma, pl) };
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ gamma, smoothness, pl }) {
  const line = linesOver(axis, COUNT);
  const ys = ratios(gamma, HIGH).slice(COUNT);
  return {
    value: line(bendAt).map(([u], i) => [u, Math.log10(ys[i])]),
    lower: line(() => Math.log10(perLoss(gamma, smoothness))),
    upper: line(() => Math.log10(perLoss(gamma, pl))),
    bend: line(bendAt),
    smoothness: line(() => smoothness),
    pl: line(() => pl),
  };
}
