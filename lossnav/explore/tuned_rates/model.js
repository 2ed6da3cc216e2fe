// What three rules reached in recorded runs: means over seeds, and the best of the rates that a rule may try.

import { entries } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ tries: number, rate: number }} Setting */
/** @typedef {keyof typeof SHARED.recorded} Task */
/** @typedef {{ rule: string, mean: number }} Reached */

/** @type {Record<Task, Record<string, Record<string, number[]>>>} */
const RECORDED = SHARED.recorded;
const TASKS = /** @type {Task[]} */ (Object.keys(RECORDED));

const mean = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Points [half decades from the paper's rate, mean accuracy in %] of a rule. */
const line = (/** @type {Task} */ task, /** @type {string} */ rule) => entries(RECORDED[task][rule])
  .map(([half, seeds]) => [Number(half), mean(seeds)])
  .sort(([a], [b]) => a - b);

/** The rules by what they reach at the best of the rates that they may try, best first; none where no rate was recorded. */
export const order = (/** @type {Task} */ task, /** @type {Setting} */ { tries, rate }) => Object.keys(RECORDED[task])
  .map((rule) => ({ rule, means: line(task, rule).filter(([half]) => Math.abs(half - rate) <= tries).map(([, reached]) => reached) }))
  .filter(({ means }) => means.length > 0)
  .map(({ rule, means }) => ({ rule, mean: Math.max(...means) }))
  .sort((a, b) => b.mean - a.mean);

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves({ tries, rate }) {
  /** @type {Record<string, number[][]>} */
  const found = {};
  for (const task of TASKS) {
    for (const rule of Object.keys(RECORDED[task])) found[`${task}_${rule}`] = line(task, rule);
    const ends = SHARED.rows[task].range;
    found[`${task}_least`] = ends.map((y) => [rate - tries, y]);
    found[`${task}_most`] = ends.map((y) => [rate + tries, y]);
  }
  return found;
}
