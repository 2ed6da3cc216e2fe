// The path θ₂ = θ₁ᵐ from (1, 1) to the minimum of ½(θ₁² + κθ₂²) at γ = 0, with the speed c·√(2L₀)·(L/L₀)ᵇ; η = k = 1.

import { linesOver } from "../kit.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ power: number, bend: number, pace: number }} Setting */
/** @typedef {{ fast: number, slow: number, length: number, least: number }} Sums */

const PARTS = 2000;

/**
 * ∫v dl and ∫w²/v dl at c = 1, the length ∫w dl with w = √(2L), and V at the start; Simpson's rule over t = θ₁^⅓.
 * @type {(given: { power: number, bend: number }) => Sums}
 */
export function sumsOf({ power, bend }) {
  const { kappa } = SHARED;
  const first = Math.sqrt(1 + kappa);
  let [fast, slow, length] = [0, 0, 0];
  for (let i = 1; i <= PARTS; i++) {
    const t = i / PARTS;
    const y = t ** 3;
    const part = (((i === PARTS ? 1 : 2 + 2 * (i % 2)) / (3 * PARTS)) * 3 * t * t) * Math.hypot(1, bend * y ** (bend - 1));
    const w = Math.hypot(y, Math.sqrt(kappa) * y ** bend) / first;
    fast += part * w ** (2 * power);
    slow += part * w ** (2 - 2 * power);
    length += part * w;
  }
  return { fast: first * fast, slow: first * slow, length: first * length, least: (1 + Math.sqrt(kappa)) / 2 };
}

/**
 * The regret over the least cost, in parts.
 * @type {(sums: Sums, pace: number) => { speed: number, direction: number }}
 */
export const regretParts = ({ fast, slow, length, least }, pace) => ({
  speed: ((pace * fast + slow / pace) / 2 - length) / least,
  direction: length / least - 1,
});

/** @type {(given: Setting) => Record<string, number[][]>} */
export function curves(given) {
  const sums = sumsOf(given);
  const line = linesOver(SHARED.axis);
  const [speed, direction] = [line((pace) => regretParts(sums, pace).speed), line((pace) => regretParts(sums, pace).direction)];
  return { total: speed.map(([u, part], i) => [u, part + direction[i][1]]), speed, direction };
}
