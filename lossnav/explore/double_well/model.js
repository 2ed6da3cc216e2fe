// The double well of the paper's Fig. 1, θ₁ part: one landscape, whose paths are those of wells.js; no page needed.

import { rungeKutta, wellHeteroclinic, wellLoss, wellPolicy, wellRests, wellSlope } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };

/** @import { Policy, Rates } from "../wells.js" */

const WELL = SHARED.well;

export const loss = (/** @type {number} */ x) => wellLoss(WELL, x);
const slope = (/** @type {number} */ x) => wellSlope(WELL, x);

export const stationary = () => wellRests(WELL);

/** @type {(gamma: number) => Policy} */
export const policy = (gamma) => wellPolicy(WELL, gamma, SHARED.orbits);

export const heteroclinic = () => wellHeteroclinic(WELL);

/**
 * Gradient flow θ̇ = −L′/γ (Eq. 4) from `start`: its course up to `until`, where it ends, and what it costs.
 * @param {number} gamma
 * @param {number} start
 * @param {number} until
 */
export function gradientFlow(gamma, start, until) {
  const { left, barrier, right } = stationary();
  const end = Math.abs(start - barrier) < 1e-9 ? barrier : start < barrier ? left : right;
  const floor = loss(end);
  const step = 0.004 / Math.max(1, gamma ** 2 / 40); // in s = t/γ, where the flow does not depend on γ
  /** @type {Rates} */
  const rates = ([x, , s]) => {
    const pull = slope(x);
    return [-pull, Math.exp(-gamma * gamma * s) * (pull ** 2 / (2 * gamma) + gamma * (loss(x) - floor)), 1];
  };
  let y = [start, 0, 0];
  const points = [[0, start]];
  for (let i = 1; i < 20000 && Math.abs(slope(y[0])) > 1e-9; i++) {
    const [before, , since] = y;
    y = rungeKutta(rates, y, step);
    const [from, t] = [gamma * since, gamma * y[2]];
    if (t < until) {
      if (i % 8 === 0 || i < 40) points.push([t, y[0]]);
    } else if (from < until) points.push([until, before + ((y[0] - before) * (until - from)) / (t - from)]);
  }
  if (points[points.length - 1][0] < until) points.push([until, y[0]]); // at rest before
  return { points, end, action: y[1] + floor / gamma };
}
