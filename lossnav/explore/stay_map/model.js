// Which plan is best in the double well, by discount and start: the map, and the paths that belong to one point of it.

/** @import { Policy } from "../wells.js" */

import { plansFrom, wellHeteroclinic, wellPolicy, wellRests } from "../wells.js";
import SHARED from "./constants.json" with { type: "json" };

export const wells = () => wellRests(SHARED.well);
export const threshold = () => wellHeteroclinic(SHARED.well);

/** @type {(gamma: number) => Policy} */
export const plansAt = (gamma) => wellPolicy(SHARED.well, gamma, SHARED.orbits);

/** @type {(policy: Policy, start: number) => ReturnType<typeof plansFrom>} */
export const bothPlans = (policy, start) => plansFrom(policy, start, SHARED.until);
