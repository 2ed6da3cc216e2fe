// The view of two plans that are followed back from where they rest.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { costs, curves, leftOver, threshold } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("FollowedBack", SHARED, {
  curves,
  words(given) {
    const { stay, cross } = costs(given);
    const { spare, stalls } = leftOver(given.gamma);
    const told = (/** @type {number | null} */ cost, /** @type {string[]} */ [how, not]) => (cost === null ? `No path ${not} from here.` : `${how} costs J = ${fixed(cost, 4)}.`);
    return [cross === null || (stay !== null && stay < cross) ? "The best plan stays." : "The best plan goes to the deep valley.", [
      `γ = ${fixed(given.gamma, 2)}, γₕₑₜ = ${fixed(threshold(), 3)}; from θ = ${fixed(given.start, 2)}.`,
      told(stay, ["Staying", "stays"]),
      told(cross, ["Crossing", "crosses"]),
      spare === null ? `Followed back, the crossing path stalls at θ = ${fixed(stalls, 3)}.` : `Followed back, the crossing path passes the shallow well with K = ${fixed(spare, 3)}.`,
    ]];
  },
  python: (_, { gamma, start }) => [
    "from lossnav.trajectory import phase_plane",
    "",
    "well = ln.losses.Section(ln.losses.DoubleWell(), axis=0)",
    "left, _, right = well.stationary_points()[:, 0]",
    `laws = [phase_plane.feedback(ln.Objective(gamma=${gamma}), well, end, (-1.75, 1.75)) for end in (left, right)]`,
    `[(float(law.speed(${start})) ** 2 / 2, float(law.action(${start}))) for law in laws]  # K, J`,
  ],
});
