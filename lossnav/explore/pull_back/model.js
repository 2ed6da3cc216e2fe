// A weight that has learned a task with its minimum at −1 to the precision p, and meets one with its minimum at 1.

import { linesOver } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ certainty: number, curvature: number, place: number }} Setting */

/** The loss of the second task, and the pull that stands for the first. */
export const costs = (/** @type {Omit<Setting, "place">} */ { certainty, curvature }, /** @type {number} */ theta) => ({
  task: (curvature * (theta - 1) ** 2) / 2,
  pull: (certainty * (theta + 1) ** 2) / 2,
});

/** Where both together are lowest. */
export const settled = (/** @type {Omit<Setting, "place">} */ { certainty, curvature }) => (curvature - certainty) / (curvature + certainty);

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const [line, least] = [linesOver(SHARED.axis), settled(given)];
  const both = (/** @type {number} */ theta) => costs(given, theta).task + costs(given, theta).pull;
  return {
    task: line((theta) => costs(given, theta).task),
    pull: line((theta) => costs(given, theta).pull),
    both: line(both),
    settled: [[least, both(least)]],
  };
}
