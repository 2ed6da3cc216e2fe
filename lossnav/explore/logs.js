// Charts over the number of steps, on logarithmic axes.

/** @import { ChartFrame, Row } from "./chart.js" */
/** @import { Scale } from "./kit.js" */

import { nameTicks } from "./chart.js";
import { scale, ticksUp } from "./kit.js";

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/**
 * A power of ten as an axis writes it.
 * @type {(power: number) => string}
 */
const spellPower = (power) => (power >= -2 && power <= 4 ? String(10 ** power) : `10${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((c) => RAISED[Number(c)]).join("")}`);

/**
 * The scale of the logarithm to base 10 along a chart, with ticks at whole powers, or each `every` of them.
 * @type {(at: Element, f: ChartFrame<string>, range: number[], name: string, every?: number) => Scale}
 */
export function logAxis(at, f, range, name, every = 1) {
  const x = scale(range.map(Math.log10), [f.left, f.right]);
  nameTicks(at, f, x, powersIn(range.map(Math.log10), every), name);
  return x;
}

/**
 * The scale of the logarithm to base 10 up a panel, whose range is given in powers; every other power has its tick.
 * @type {(at: Element, row: Row, powers: number[]) => Scale}
 */
export function logUp(at, row, [low, high]) {
  const y = scale([low, high], [row.bottom, row.top]);
  ticksUp(at, row, y, powersIn([low, high], 2));
  return y;
}

/**
 * @param {number[]} range
 * @param {number} every
 * @returns {[number, string][]}
 */
function powersIn([low, high], every) {
  /** @type {[number, string][]} */
  const ticks = [];
  for (let power = Math.ceil(low - 1e-9); power <= high + 1e-9; power += every) ticks.push([power, spellPower(power)]);
  return ticks;
}
