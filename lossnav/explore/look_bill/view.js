// The view of the price of looking: what looks cost and what it costs not to look, over the time between two.

/** @import { Setting } from "./model.js" */

import { discountDial, logDial } from "../controls.js";
import { curvesView } from "../curves.js";
import { fixed } from "../kit.js";
import { explorable, inPython } from "../life.js";
import { bestInterval, billOf, curves } from "./model.js";
import SHARED from "./constants.json" with { type: "json" };

/** @type {(given: Setting) => [string, string[]]} */
function lookWords(given) {
  const best = bestInterval(given);
  const { looks, blind } = billOf(given, given.every);
  const least = billOf(given, best);
  return [`Best is a look every ${fixed(best, 2)}.`, [
    `γ = ${fixed(given.gamma, 2)}, c₀ = ${fixed(given.price, 3)}, η = ${fixed(given.eta, 2)}.`,
    `At T = ${fixed(given.every, 2)} looks cost ${fixed(looks, 3)}, not knowing ${fixed(blind, 3)}.`,
    `Both: ${fixed(looks + blind, 3)}; at the best T ${fixed(least.looks + least.blind, 3)}.`,
  ]];
}

export default explorable("LookBill", ...curvesView(SHARED, {
  dials: (state) => ({
    gamma: discountDial(state, SHARED.traits.gamma.range),
    price: logDial(state, "price", { symbol: "c₀", name: "price of a look", marks: SHARED.traits.price.range, digits: 3 }),
    eta: logDial(state, "eta", { symbol: "η", name: "how cheap speed is", marks: SHARED.traits.eta.range }),
  }),
  curves,
  words: lookWords,
  python: ({ gamma, price, eta }) => [`ln.looking.interval(${inPython(price)}, kh=1, D=1, gamma=${inPython(gamma)}, eta=${inPython(eta)})`],
}));
