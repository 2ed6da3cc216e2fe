// Kinetic energy along the paths into both minima of the double well, followed back from where they rest (η = k = 1).

/** @import { Family } from "../wells.js" */

import { branch, pathFrom, wellHeteroclinic, wellLoss, wellPolicy } from "../wells.js";
import { linesOver, samples } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, start: number }} Setting */

export const threshold = () => wellHeteroclinic(SHARED.well);

const plansAt = (/** @type {number} */ gamma) => wellPolicy(SHARED.well, gamma, SHARED.axis.range);

const kinetic = (/** @type {number} */ speed) => speed ** 2 / 2;

/** @type {(given: Setting) => Record<"stay" | "cross", number | null>} J of each plan, null for one that does not exist */
export function costs({ gamma, start }) {
  const plans = plansAt(gamma);
  const cost = (/** @type {Family} */ family) => pathFrom(branch(family, start), start)?.action ?? null;
  return { stay: cost(plans.stay), cross: cost(plans.cross) };
}

/** What the crossing path has left at the shallow minimum; null, and where it stalls, if it does not get there. */
export function leftOver(/** @type {number} */ gamma) {
  const { cross, rests } = plansAt(gamma);
  const path = pathFrom(cross.left, rests.left);
  return { spare: path && kinetic(path.speed), stalls: cross.left.reach };
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ gamma }) {
  const { stay, cross, rests } = plansAt(gamma);
  const line = (/** @type {Family} */ { left, right }) => {
    const [west, east] = [left, right].map((orbit) =>
      samples(orbit.reach, orbit.minimum, 120).map((theta) => [theta, kinetic(pathFrom(orbit, theta)?.speed ?? 0)]),
    );
    return [...west, ...east.reverse()];
  };
  const floor = wellLoss(SHARED.well, rests.right);
  return { loss: linesOver(SHARED.axis)((theta) => wellLoss(SHARED.well, theta) - floor), stay: line(stay), cross: line(cross) };
}
