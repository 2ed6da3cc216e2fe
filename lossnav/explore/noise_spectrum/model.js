// The noise on a spectrum of curvatures, octave by octave: what of it still counts after n steps, and the exponent.

import { bisect } from "../kit.js";
import { distances, modeDistances } from "../modes.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ eta: number, beta: number, slope: number, own: number }} Setting */

/** The most steps that are shown. */
export const mostSteps = SHARED.n[1];

/** The middle of each octave of curvature. */
export const octaves = SHARED.shares.map((_, j) => 2 ** (SHARED.first + j + 0.5));

/**
 * The share of the noise in each octave: the network's own, or one that grows like a power of curvature.
 * @type {(setting: Setting) => number[]}
 */
export function noiseShares({ slope, own }) {
  if (own) return SHARED.shares;
  const powers = octaves.map((h) => h ** slope);
  const total = powers.reduce((sum, value) => sum + value, 0);
  return powers.map((value) => value / total);
}

/**
 * Squared distances after 0 … mostSteps + 1 steps.
 * @type {(setting: Setting) => Float64Array}
 */
export const spectrumDistances = (setting) => distances(octaves, noiseShares(setting).map((w) => (w * SHARED.trace) / SHARED.batch), mostSteps + 1, setting);

/**
 * How far a direction of this curvature gets in n steps over how far a flat one gets, in the square.
 * @type {(h: number, n: number, setting: Setting) => number}
 */
export const stillCounts = (h, n, setting) => modeDistances(h, n, setting)[n] / modeDistances(0, n, setting)[n];

/**
 * The smallest curvature of which no more than a half still counts; null where that is none of the spectrum's.
 * @type {(n: number, setting: Setting) => number | null}
 */
export function halfCounts(n, setting) {
  const counts = (/** @type {number} */ u) => stillCounts(2 ** u, n, setting);
  const end = SHARED.first + SHARED.shares.length;
  let high = SHARED.first - 6; // the longest memory has its half above
  while (counts(high) > 0.5) if (++high > end) return null;
  return 2 ** bisect((u) => counts(u) <= 0.5, high - 1, high);
}
