// A weight with mean μ and variance v under Eqs. 15 and 16, η = k = 1, planned again at each switch of a quadratic task.
//
// With time in units of 1/r, r = √(γ²/4+λ) − γ/2, and y = ln(v/v*), z = (μ−a)/√v*, v* = λ/H, one number is left,
// p = r/(r+γ): 1 without discounting, 0 when overdamped.
//     p y″ − (1−p) y′ = e^y − 1 − p z′² e^{−y},     p z″ − (1−p + p y′) z′ = e^y z
// The plan is the solution that comes to rest, y = z = 0; near it both decay as e^{−τ}.

import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, entropy: number, curvature: number, minimum: number, switches: Switch[], now: number }} Setting */
/** @typedef {[number, number, number]} Switch time, curvature and minimum */
/** @typedef {{ curvature: number, minimum: number }} Task */
/** @typedef {{ variance: number, mean: number }} Held */
/** @typedef {{ y: Float64Array, z: Float64Array }} Plan at TIMES */
/** @typedef {ReturnType<typeof switchScales>} Scales */
/** @typedef {ReturnType<typeof stretch>} Stretch */
/** @typedef {{ scales: Scales, life: Stretch[], ahead: Stretch | null, now: Held }} Story */

const UNTIL = 13; // units of 1/r; e^{−13} cannot be seen
const COUNT = 320; // intervals
// Quadratic in the index plus a share of the cube: dense at the start, where a long way is covered fast.
export const TIMES = Array.from({ length: COUNT + 1 }, (_, i) => UNTIL * (0.15 * (i / COUNT) ** 2 + 0.85 * (i / COUNT) ** 4));

/**
 * r and p of one setting.
 * @param {{ gamma: number, entropy: number }} setting
 */
function switchScales({ gamma, entropy }) {
  const rate = restRate(gamma, entropy);
  return { rate, share: rate / (rate + gamma) };
}

const FADES = TIMES.map((t) => Math.exp(-t));

/** The weights of the two neighbours and the middle in first and second differences at each inner time. */
const STENCILS = TIMES.slice(1, -1).map((t, i) => {
  const [back, ahead] = [t - TIMES[i], TIMES[i + 2] - t];
  const sum = back + ahead;
  return {
    first: [-ahead / (back * sum), (ahead - back) / (back * ahead), back / (ahead * sum)],
    second: [2 / (back * sum), -2 / (back * ahead), 2 / (ahead * sum)],
  };
});

// What one time tells, for the solver's inner loop: both residuals, and how each depends on y and z at i−1, i and i+1.
const RESIDUAL = new Float64Array(2);
const BLOCKS = [0, 1, 2].map(() => new Float64Array(4));

/**
 * Residuals of both equations at inner time i into RESIDUAL, and where wanted their derivatives into BLOCKS.
 * @type {(p: number, plan: Plan, i: number, jacobian: boolean) => void}
 */
function local(p, { y, z }, i, jacobian) {
  const { first, second } = STENCILS[i - 1];
  const yt = first[0] * y[i - 1] + first[1] * y[i] + first[2] * y[i + 1];
  const zt = first[0] * z[i - 1] + first[1] * z[i] + first[2] * z[i + 1];
  const ytt = second[0] * y[i - 1] + second[1] * y[i] + second[2] * y[i + 1];
  const ztt = second[0] * z[i - 1] + second[1] * z[i] + second[2] * z[i + 1];
  const up = Math.exp(y[i]);
  const push = (p * zt * zt) / up;
  const q = 1 - p;
  RESIDUAL[0] = p * ytt - q * yt - up + 1 + push;
  RESIDUAL[1] = p * ztt - (q + p * yt) * zt - up * z[i];
  if (!jacobian) return;
  for (let j = 0; j < 3; j++) {
    const block = BLOCKS[j];
    block[0] = p * second[j] - q * first[j];
    block[1] = (2 * push * first[j]) / (zt || 1);
    block[2] = -p * zt * first[j];
    block[3] = p * second[j] - (q + p * yt) * first[j];
  }
  BLOCKS[1][0] -= up + push;
  BLOCKS[1][2] -= up * z[i];
  BLOCKS[1][3] -= up;
}

/**
 * The root mean square of all residuals, weighted as the unknowns are spread.
 * @type {(p: number, plan: Plan) => number}
 */
function missBy(p, plan) {
  let sum = 0;
  for (let i = 1; i < COUNT; i++) {
    local(p, plan, i, false);
    const scale = p * STENCILS[i - 1].second[1] - 1; // a residual's worth in units of the unknowns
    sum += (RESIDUAL[0] / scale) ** 2 + (RESIDUAL[1] / scale) ** 2;
  }
  return Math.sqrt(sum / COUNT);
}

// x_i = r_i − u_i x_{i+1}: the four numbers of u_i and the two of r_i, from 6(i − 1) on.
const ROWS = new Float64Array(6 * COUNT);

/**
 * One Newton step: the solution of the block-tridiagonal system, by elimination of 2 × 2 blocks.
 * @type {(p: number, plan: Plan) => Plan}
 */
function newtonMove(p, plan) {
  const [low, mid, high] = BLOCKS;
  let [u0, u1, u2, u3, r0, r1] = [0, 0, 0, 0, 0, 0];
  for (let i = 1; i < COUNT; i++) {
    local(p, plan, i, true);
    const m0 = mid[0] - low[0] * u0 - low[1] * u2;
    const m1 = mid[1] - low[0] * u1 - low[1] * u3;
    const m2 = mid[2] - low[2] * u0 - low[3] * u2;
    const m3 = mid[3] - low[2] * u1 - low[3] * u3;
    const f0 = -RESIDUAL[0] - low[0] * r0 - low[1] * r1;
    const f1 = -RESIDUAL[1] - low[2] * r0 - low[3] * r1;
    const det = m0 * m3 - m1 * m2;
    u0 = (m3 * high[0] - m1 * high[2]) / det;
    u1 = (m3 * high[1] - m1 * high[3]) / det;
    u2 = (m0 * high[2] - m2 * high[0]) / det;
    u3 = (m0 * high[3] - m2 * high[1]) / det;
    r0 = (m3 * f0 - m1 * f1) / det;
    r1 = (m0 * f1 - m2 * f0) / det;
    const at = 6 * (i - 1);
    ROWS[at] = u0;
    ROWS[at + 1] = u1;
    ROWS[at + 2] = u2;
    ROWS[at + 3] = u3;
    ROWS[at + 4] = r0;
    ROWS[at + 5] = r1;
  }
  const [dy, dz] = [new Float64Array(COUNT + 1), new Float64Array(COUNT + 1)];
  // At the end x′ = −x: the last value is a fixed part of the one before it (as in every guess).
  const keep = Math.exp(TIMES[COUNT - 1] - TIMES[COUNT]);
  const det = (1 + keep * u0) * (1 + keep * u3) - keep * u1 * (keep * u2);
  dy[COUNT - 1] = ((1 + keep * u3) * r0 - keep * u1 * r1) / det;
  dz[COUNT - 1] = ((1 + keep * u0) * r1 - keep * u2 * r0) / det;
  dy[COUNT] = keep * dy[COUNT - 1];
  dz[COUNT] = keep * dz[COUNT - 1];
  for (let i = COUNT - 2; i >= 1; i--) {
    const at = 6 * (i - 1);
    dy[i] = ROWS[at + 4] - ROWS[at] * dy[i + 1] - ROWS[at + 1] * dz[i + 1];
    dz[i] = ROWS[at + 5] - ROWS[at + 2] * dy[i + 1] - ROWS[at + 3] * dz[i + 1];
  }
  return { y: dy, z: dz };
}

/**
 * Newton's method with halved steps where a whole one does not help; null where it does not get there.
 * @type {(p: number, guess: Plan) => Plan | null}
 */
function settle(p, guess) {
  let [plan, error] = [guess, missBy(p, guess)];
  for (let round = 0; round < 40 && error > 1e-10; round++) {
    const move = newtonMove(p, plan);
    for (let share = 1, before = error; error >= before; share /= 2) {
      if (share < 1e-3) return error < 1e-7 ? plan : null;
      const next = combined(plan, (v, i, part) => v + share * move[part][i]);
      const miss = missBy(p, next);
      if (miss < before) [plan, error] = [next, miss];
    }
  }
  return error < 1e-7 ? plan : null;
}

/**
 * A plan from a plan, value by value.
 * @type {(plan: Plan, change: (value: number, i: number, part: "y" | "z") => number) => Plan}
 */
function combined({ y, z }, change) {
  const found = { y: new Float64Array(COUNT + 1), z: new Float64Array(COUNT + 1) };
  for (let i = 0; i <= COUNT; i++) {
    found.y[i] = change(y[i], i, "y");
    found.z[i] = change(z[i], i, "z");
  }
  return found;
}

/**
 * A guess from a plan that begins near by: its ends are moved, and the change fades.
 * @type {(near: Plan, to: { y: number, z: number }) => Plan}
 */
const moved = (near, to) => combined(near, (v, i, part) => v + (to[part] - near[part][0]) * FADES[i]);

/**
 * The plan from (y0, z0) for one p. `near`, a plan of like settings, makes it quick; without it the start is walked to
 * from rest, in strides as long as Newton's method bears.
 * @param {number} p
 * @param {number} y0
 * @param {number} z0
 * @param {Plan | null} near
 * @returns {Plan}
 */
export function switchPlan(p, y0, z0, near = null) {
  const quick = near && settle(p, moved(near, { y: y0, z: z0 }));
  if (quick) return quick;
  /** @type {Plan} */
  let plan = { y: new Float64Array(COUNT + 1), z: new Float64Array(COUNT + 1) };
  for (let done = 0, stride = 1; done < 1; ) {
    const goal = Math.min(1, done + stride);
    const guess = done ? combined(plan, (v) => (v * goal) / done) : moved(plan, { y: goal * y0, z: goal * z0 });
    const found = settle(p, guess);
    if (found) {
      [plan, done] = [found, goal];
      stride *= 1.7;
    } else {
      stride /= 2;
      if (stride < 1e-3) throw new Error(`no plan from y = ${y0}, z = ${z0} at p = ${p}`);
    }
  }
  return plan;
}

/**
 * The value of y or z of a plan at a time since its beginning.
 * @param {Float64Array} values
 * @param {number} time
 */
function valueAt(values, time) {
  if (time <= 0) return values[0];
  if (time >= UNTIL) return values[COUNT] * Math.exp(UNTIL - time);
  let [low, high] = [0, COUNT];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (TIMES[middle] <= time) low = middle;
    else high = middle;
  }
  const share = (time - TIMES[low]) / (TIMES[high] - TIMES[low]);
  return values[low] + share * (values[high] - values[low]);
}

/**
 * One stretch of the learner's life: a task from a time on, with the plan made there.
 * @param {Scales & { entropy: number }} scales
 * @param {number} since
 * @param {Task} task
 * @param {Held} state
 * @param {Plan | null} [near]
 */
function stretch({ share, entropy }, since, { curvature, minimum }, state, near = null) {
  const rest = entropy / curvature;
  const root = Math.sqrt(rest);
  const same = Math.abs(Math.log(state.variance / rest)) < 1e-12 && state.mean === minimum;
  const plan = same ? null : switchPlan(share, Math.log(state.variance / rest), (state.mean - minimum) / root, near);
  /** @type {(time: number) => Held} */
  const at = (time) => {
    if (!plan) return { variance: rest, mean: minimum };
    const [y, z] = [valueAt(plan.y, time - since), valueAt(plan.z, time - since)];
    return { variance: rest * Math.exp(y), mean: minimum + root * z };
  };
  // v̇/v just after the switch, in units of r; second order, from the first three times
  const [t1, t2] = [TIMES[1], TIMES[2]];
  const growth = plan ? ((plan.y[1] - plan.y[0]) * t2 * t2 - (plan.y[2] - plan.y[0]) * t1 * t1) / (t1 * t2 * (t2 - t1)) : 0;
  const peak = plan ? rest * Math.exp(plan.y.reduce((a, b) => Math.max(a, b))) : rest;
  const times = plan ? TIMES.map((t) => since + t) : [since];
  return { since, curvature, minimum, rest, at, growth, peak, times, plan };
}

/**
 * The learner's life: at rest in the first task until the first of the switches, each a surprise; times in units of
 * 1/r. `ahead` is what would follow if the next task came now; null where that is the present one.
 * @param {Setting} setting
 * @param {Story | null} before of like settings, which makes it quick
 * @returns {Story}
 */
export function taskHistory({ gamma, entropy, switches, curvature, minimum, now }, before = null) {
  const scales = { entropy, ...switchScales({ gamma, entropy }) };
  const near = (/** @type {number} */ i) => before?.life[i]?.plan;
  const { first } = SHARED;
  const life = [stretch(scales, -Infinity, first, { variance: entropy / first.curvature, mean: first.minimum })];
  for (const [time, h, a] of switches) {
    life.push(stretch(scales, time, { curvature: h, minimum: a }, life[life.length - 1].at(time), near(life.length)));
  }
  const last = life[life.length - 1];
  const same = curvature === last.curvature && minimum === last.minimum;
  const ahead = same ? null : stretch(scales, now, { curvature, minimum }, last.at(now), before?.ahead?.plan);
  return { scales, life, ahead, now: last.at(now) };
}
