// The view of the price of looking: what looks cost and what it costs not to look, over the time between two.

import { ofCurves } from "../curves.js";
import { fixed, lastOf } from "../kit.js";
import { bestInterval, billOf, curves } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

export default ofCurves("LookBill", SHARED, {
  curves,
  words(given) {
    const best = bestInterval(given);
    const { looks, blind, both } = billOf(given, given.every);
    return [`Best is a look every ${fixed(best, 2)}${best > lastOf(SHARED.axis.range) ? ", farther than drawn" : ""}.`, [
      `γ = ${fixed(given.gamma, 2)}, c₀ = ${fixed(given.price, 3)}, η = ${fixed(given.eta, 2)}.`,
      `At T = ${fixed(given.every, 2)} looks cost ${fixed(looks, 3)}, not knowing ${fixed(blind, 3)}.`,
      `Both: ${fixed(both, 3)}; at the best T ${fixed(billOf(given, best).both, 3)}.`,
    ]];
  },
  python: (_, { gamma, price, eta }) => [`ln.looking.interval(${price}, kh=1, D=1, gamma=${gamma}, eta=${eta})`],
});
