// Gradient descent with momentum and decay on a loss of the direction alone: v ← βv − g − λθ, θ ← θ + ηv, where g is
// tangential and of size 1/r. It is a steady pull and one whose sign is drawn anew at each step (T25–T30).

import { coin } from "../coins.js";
import { kept } from "../modes.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ eta: number, beta: number, decay: number, noise: number, start: number }} Setting */
/** @typedef {ReturnType<typeof coneWalk>} Walk */

/** The radius of rest: T30 for the steady part of the pull, the white-noise law for the rest of it. */
const restingRadius = (/** @type {Setting} */ { eta, beta, decay, noise }) =>
  ((eta / (2 * decay * (1 - beta))) * (noise + ((1 - noise) * (1 + beta)) / (1 - beta))) ** 0.25;

/** The angle of a step at rest, T29. */
const restingAngle = (/** @type {Setting} */ { eta, beta, decay }) => Math.sqrt((2 * eta * decay) / (1 + beta));

/** The steps in which r⁴ forgets by 1/e: small deviations of it obey v ← βv − 4λx, x ← x + ηv. */
const memoryOf = (/** @type {Setting} */ { eta, beta, decay }) => -1 / Math.log(kept([1 + beta - 4 * eta * decay, beta]));

/** What is left after so many steps, by the laws, of the way from the start to the radius of rest. */
const wayLeft = (/** @type {Setting} */ setting, steps = SHARED.steps) =>
  Math.abs((1 + (setting.start ** 4 - 1) * Math.exp(-steps / memoryOf(setting))) ** 0.25 - 1);

/**
 * The walk in units of the radius of rest, its radius, and the angle of each block of steps (root of the mean square)
 * over that of rest.
 * @param {Setting} setting
 */
export function coneWalk(setting) {
  const { eta, beta, decay, noise, start } = setting;
  const rest = restingRadius(setting);
  const law = restingAngle(setting);
  const [steady, white] = [Math.sqrt(1 - noise), Math.sqrt(noise)];
  let [x, y, vx, vy] = [start * rest, 0, 0, 0];
  const points = [[x / rest, y / rest]];
  const radius = [start];
  const angles = [];
  let squares = 0;
  for (let step = 1; step <= SHARED.steps; step++) {
    const pull = (steady + white * coin(step)) / (x * x + y * y);
    vx = beta * vx - pull * -y - decay * x;
    vy = beta * vy - pull * x - decay * y;
    const [nx, ny] = [x + eta * vx, y + eta * vy];
    squares += Math.atan2(x * ny - y * nx, x * nx + y * ny) ** 2;
    [x, y] = [nx, ny];
    points.push([x / rest, y / rest]);
    radius.push(Math.hypot(x, y) / rest);
    if (step % SHARED.block === 0) {
      angles.push(Math.sqrt(squares / SHARED.block) / law);
      squares = 0;
    }
  }
  return { points, radius, angles, rest, law, memory: memoryOf(setting), left: wayLeft(setting), halfway: wayLeft(setting, SHARED.steps / 2) };
}
