// A network that keeps moving: what its base setting predicts for others, and the runs that were recorded there.

import { distances } from "../modes.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ eta: number, batch: number, beta: number }} Setting */
/** @typedef {{ eta: number, batch: number, beta: number, lags: number[], far: number[][] }} Run */

/** The most steps that are shown. */
export const longest = SHARED.n[1];

/**
 * Squared distances after 0 … longest + 1 steps, from the noise and the curvature of the base.
 * @type {(setting: Setting) => Float64Array}
 */
export function forecast({ eta, batch, beta }) {
  return distances(SHARED.nodes, SHARED.weights.map((w) => w / batch), longest + 1, { eta, beta });
}

/** T = η/(S(1 − β)). */
export const temperature = (/** @type {Setting} */ { eta, batch, beta }) => eta / (batch * (1 - beta));

/**
 * The recorded run whose setting is nearest, and whether it is this setting, as well as a hand can tell.
 * @type {(setting: Setting) => { run: Run, same: boolean }}
 */
export function nearestRun(setting) {
  const away = (/** @type {Run} */ run) => [run.eta / setting.eta, run.batch / setting.batch, (1 - run.beta) / (1 - setting.beta)].map((ratio) => Math.abs(Math.log(ratio)));
  const size = (/** @type {Run} */ run) => away(run).reduce((sum, part) => sum + part, 0);
  const run = SHARED.runs.reduce((best, next) => (size(next) < size(best) ? next : best));
  return { run, same: Math.max(...away(run)) < SHARED.near };
}

/**
 * Measured distances, the mean of the seeds at each lag.
 * @type {(run: Run) => number[]}
 */
export const meanFar = ({ lags, far }) => lags.map((_, i) => far.reduce((sum, seed) => sum + seed[i], 0) / far.length);

/**
 * Measured exponents between a lag and the next: [n, c], n their geometric mean.
 * @type {(run: Run) => number[][]}
 */
export function measuredExponents(run) {
  const far = meanFar(run);
  return run.lags.slice(1).map((lag, i) => [Math.sqrt(lag * run.lags[i]), Math.log(far[i + 1] / far[i]) / Math.log(lag / run.lags[i])]);
}

/**
 * The lag nearest to n on a logarithmic axis, as its place among the run's.
 * @type {(run: Run, n: number) => number}
 */
export const nearestLag = ({ lags }, n) => lags.reduce((best, lag, i) => (Math.abs(Math.log(lag / n)) < Math.abs(Math.log(lags[best] / n)) ? i : best), 0);
