// The view of one path at many paces.

import { declaredDial } from "../controls.js";
import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { curves, regretParts, sumsOf } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("PathPace", SHARED, {
  dials: (state) => ({
    power: declaredDial(state, SHARED.traits, "power"),
    bend: declaredDial(state, SHARED.traits, "bend", { label: (v) => (Number.isInteger(v) ? String(v) : "√10") }),
  }),
  curves,
  words(given) {
    const sums = sumsOf(given);
    const { speed, direction } = regretParts(sums, given.pace);
    const best = Math.sqrt(sums.slow / sums.fast);
    return [`Speed costs ${fixed(speed, 3)}, direction ${fixed(direction, 3)} of the least.`, [
      `Run with b = ${fixed(given.power, 2)} at the pace c = ${fixed(given.pace, 2)}.`,
      `Its best pace is ${fixed(best, 3)}; there speed costs ${fixed(regretParts(sums, best).speed, 3)}.`,
      `Timing factor there: ${fixed(Math.sqrt(sums.fast * sums.slow) / sums.length, 3)}.`,
    ]];
  },
  python: (_, { power, bend, pace }) => [
    "y = np.linspace(1, 0, 20001)",
    `path = np.stack([y, y ** ${bend}], axis=1)`,
    `bowl = ln.losses.Quadratic(np.diag([1.0, ${SHARED.kappa}.0]), minimum=[0.0, 0.0])`,
    "L = bowl.value((path[1:] + path[:-1]) / 2)",
    `wanted, mine = np.sqrt(2 * L), ${pace} * np.sqrt(11) * (L / 5.5) ** ${power}`,
    "speed = np.sum((mine - wanted) ** 2 / (2 * mine) * np.linalg.norm(np.diff(path, axis=0), axis=1))",
    "speed / ln.value(ln.Objective(), bowl, [1.0, 1.0])  # the part of the least cost",
  ],
});
