// The view of how much a belief that knows nothing learns from its n-th datum.

import { ofCurves } from "../curves.js";
import { fixed } from "../kit.js";
import { adamGain, curves, kalmanGain } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("FilterGains", SHARED, {
  curves,
  words({ beta, n }) {
    const [exact, adam] = [kalmanGain(beta, n), adamGain(beta, n)];
    return [`Datum ${n} counts ${fixed(100 * adam, 2)} % for Adam, ${fixed(100 * exact, 2)} % for the exact filter.`, [
      `Adam is ${fixed(adam / exact, 3)} times as ready to learn.`,
      `Both end at 1 − β = ${fixed(1 - beta, 4)}, after some 1/(1 − β) = ${fixed(1 / (1 - beta), 1)} data.`,
    ]];
  },
  python: (_, { beta, n }) => [`exact = ln.belief.kalman_gains(${beta}, ${n})`, `adam = ln.belief.corrected_gains(${beta}, ${n})`, "adam[-1] / exact[-1]"],
});
