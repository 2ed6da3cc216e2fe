// Which plan is best in the double well, by discount and start: the map, and the paths that belong to one point of it.

/** @import { Policy } from "../wells.js" */

import { branch, course, pathFrom, wellHeteroclinic, wellPolicy, wellRests } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };

export const wells = () => wellRests(SHARED.well);
export const threshold = () => wellHeteroclinic(SHARED.well);

/** @type {(gamma: number) => Policy} */
export const plansAt = (gamma) => wellPolicy(SHARED.well, gamma, SHARED.orbits);

/**
 * θ over time and J of both plans from one start, null for one that does not exist.
 * @type {(policy: Policy, start: number) => Record<"stay" | "cross", { points: number[][], action: number } | null>}
 */
export function bothPlans(policy, start) {
  const plan = (/** @type {"stay" | "cross"} */ name) => {
    const orbit = branch(policy[name], start);
    const path = pathFrom(orbit, start);
    return path && { points: course(orbit, path, start, SHARED.until), action: path.action };
  };
  return { stay: plan("stay"), cross: plan("cross") };
}
