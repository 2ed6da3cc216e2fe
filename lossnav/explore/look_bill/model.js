// A minimum that wanders, dθ* = √D·dW with kh = D = 1, seen exactly every T for the price c₀: the expected cost per time, as
// sums over all looks of a plan that decays at the rate r and of an error that grows between them.

import { bisect, linesOver } from "../kit.js";
import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, price: number, eta: number, every: number }} Setting */

/**
 * What looks cost, what it costs not to see in between, and both: γ times J, per unit of time.
 * @type {(given: Setting, every: number) => { looks: number, blind: number, both: number }}
 */
export function billOf(given, every) {
  const { gamma, price, eta } = given;
  const [r, y] = [restRate(gamma, eta), gamma * every];
  const often = y < 1e-6 ? 1 / every : gamma / -Math.expm1(-y); // γ over the sum of the discounts
  const grown = y < 1e-3 ? every * every * (1 / 2 - y / 3 + (y * y) / 8) : (1 - Math.exp(-y) * (1 + y)) / (gamma * gamma);
  const floor = r / (2 * eta);
  const plan = floor * Math.exp(-y) * every * often; // that of seeing always, of what is seen later
  const [looks, blind] = [often * price, (often * grown) / 2 + plan - floor];
  return { looks, blind, both: looks + blind };
}

/** The best time between two looks (W22). */
export function bestInterval(/** @type {Setting} */ given) {
  const { gamma, price, eta } = given;
  const wanted = (2 * eta * price) / restRate(gamma, eta) ** 2;
  const surprise = (/** @type {number} */ every) => {
    const y = gamma * every;
    return y < 1e-3 ? every * every * (1 / 2 - y / 6 + (y * y) / 24) : (Math.expm1(-y) + y) / (gamma * gamma);
  };
  return bisect((every) => surprise(every) >= wanted, 0, Math.sqrt(2 * wanted) + gamma * wanted);
}

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const [line, best] = [linesOver(SHARED.axis), bestInterval(given)];
  const part = (/** @type {keyof ReturnType<typeof billOf>} */ name) => line((every) => Math.log10(billOf(given, every)[name]));
  return { both: part("both"), looks: part("looks"), blind: part("blind"), best: [[Math.log10(best), Math.log10(billOf(given, best).both)]] };
}
