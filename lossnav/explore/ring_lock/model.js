// The angle φ on a ring that is tilted and runs with the current q, with η = k = d = 1:
// J = ∫ e^{−γt} {(φ̇ − q)²/2 + cos φ} dt, hence φ̈ = γ(φ̇ − q) − sin φ. Of all extremals from one angle the fastest is the
// best; orbits are followed in the angle, against time, where neighbours draw together. The start is the top, φ = 0.

import { bisect, lastOf } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, current: number }} Setting */
/** @typedef {number[][]} Orbit [angle, velocity], in the order of time */

const STEPS = 960; // a round
const ROUND = 2 * Math.PI;

/**
 * An orbit, backward from an angle and a velocity, until it has turned by `length` or would turn round. A step is
 * (v₁² − v₀²)/2 = γh((v₀ + v₁)/2 − q) + cos φ₁ − cos φ₀, h < 0: that is exact for γ = 0, and leaves a rest along the path
 * that ends there.
 * @type {(setting: Setting, angle: number, velocity: number, length: number) => Orbit}
 */
function before({ gamma, current }, angle, velocity, length) {
  const count = Math.max(1, Math.ceil((STEPS * length) / ROUND));
  const h = -length / count;
  const orbit = [[angle, velocity]];
  for (let i = 1; i <= count; i++) {
    const [[from, v], to] = [orbit[i - 1], angle + i * h];
    const energy = v ** 2 / 2 + gamma * h * (v / 2 - current) + Math.cos(to) - Math.cos(from);
    if (energy < 0) break;
    orbit.push([to, (gamma * h) / 2 + Math.sqrt((gamma * h) ** 2 / 4 + 2 * energy)]);
  }
  return orbit.reverse();
}

/**
 * The angle at which one can rest, in the lower half of the ring; null where the current is too strong for one. Where it
 * has just become that, the time to pass is beyond numbers, and the rest stays.
 * @type {(setting: Setting) => number | null}
 */
export const restAngle = ({ gamma, current }) => (gamma * current < 1 + 1e-4 ? Math.PI + Math.asin(Math.min(1, gamma * current)) : null);

/** The path that comes to rest at an angle, from `length` before it. @type {(setting: Setting, rest: number, length: number) => Orbit} */
export const intoRest = (setting, rest, length) => before(setting, rest, 0, length);

/** ∮φ̇ dφ along an orbit. @type {(orbit: Orbit) => number} */
const area = (orbit) => orbit.slice(1).reduce((sum, [angle, velocity], i) => sum + ((angle - orbit[i][0]) * (velocity + orbit[i][1])) / 2, 0);

/**
 * Whether the learner comes to rest: a loop that begins and ends at rest earns less, 2πq, than its length, and above the
 * crossover wherever there is a rest.
 * @type {(setting: Setting) => boolean}
 */
export function locks(setting) {
  const rest = restAngle(setting);
  return rest !== null && (setting.gamma >= SHARED.crossover || area(intoRest(setting, rest, ROUND)) >= ROUND * setting.current);
}

/**
 * One round of the path that goes round for ever, from the top: as fast as its circulation is 2πq.
 * @type {(setting: Setting) => Orbit}
 */
export function runningOrbit(setting) {
  const round = (/** @type {number} */ velocity) => before(setting, ROUND, velocity, ROUND);
  const fastEnough = (/** @type {Orbit} */ orbit) => orbit[0][0] <= 1e-9 && area(orbit) >= ROUND * setting.current;
  return round(bisect((velocity) => fastEnough(round(velocity)), 0, setting.current + 3) + 1e-12); // it moves everywhere
}

/** γJ along an orbit from its beginning; without a discount, the cost per unit of time. @type {(setting: Setting, orbit: Orbit) => number} */
export const costRate = ({ current }, [[angle, velocity]]) => Math.cos(angle) + (current ** 2 - velocity ** 2) / 2;

/** How long each piece of an orbit takes, if the velocity changes in proportion to the angle. @type {(orbit: Orbit) => number[]} */
const durations = (orbit) =>
  orbit.slice(1).map(([to, fast], i) => {
    const [from, slow] = orbit[i];
    const change = fast / slow - 1;
    return ((to - from) / slow) * (Math.abs(change) < 1e-6 ? 1 : Math.log1p(change) / change);
  });

/** How long an orbit takes. @type {(orbit: Orbit) => number} */
export const duration = (orbit) => durations(orbit).reduce((sum, time) => sum + time, 0);

/**
 * Points [time, angle] of an orbit until a time; one that goes round goes on.
 * @type {(orbit: Orbit, until: number) => number[][]}
 */
export function timed(orbit, until) {
  const [times, rests] = [durations(orbit), lastOf(orbit)[1] === 0];
  const points = [[0, orbit[0][0]]];
  for (let i = 0; ; i++) {
    const [time, angle] = lastOf(points);
    const [lap, at] = [Math.floor(i / times.length), i % times.length];
    if (rests && lap) return points;
    const [next, to] = [time + times[at], lap * ROUND + orbit[at + 1][0]];
    if (!(next < until)) return [...points, [until, Number.isFinite(next) ? angle + ((to - angle) * (until - time)) / (next - time) : to]];
    points.push([next, to]);
  }
}
