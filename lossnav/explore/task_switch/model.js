// A weight with mean μ and variance v under Eqs. 15 and 16, η = k = 1, planned again at each switch of a quadratic task.
//
// With time in units of 1/r, r = √(γ²/4+λ) − γ/2, and y = ln(v/v*), z = (μ−a)/√v*, v* = λ/H, one number is left,
// p = r/(r+γ): 1 without discounting, 0 when overdamped.
//     p y″ − (1−p) y′ = e^y − 1 − p z′² e^{−y},     p z″ − (1−p + p y′) z′ = e^y z
// The plan is the solution that comes to rest, y = z = 0; near it both decay as e^{−τ}.

import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ gamma: number, entropy: number, curvature: number, minimum: number, switches: Switch[], now: number }} Setting */
/** @typedef {[number, number, number]} Switch time, curvature and minimum */
/** @typedef {{ curvature: number, minimum: number }} Task */
/** @typedef {{ variance: number, mean: number }} Held */
/** @typedef {{ y: Float64Array, z: Float64Array }} Plan at TIMES */
/** @typedef {ReturnType<typeof switchScales>} Scales */
/** @typedef {ReturnType<typeof stretch>} Stretch */
/** @typedef {{ scales: Scales, life: Stretch[], ahead: Stretch | null, now: Held }} Story */
/** @typedef {{ residual: [number, number], blocks: number[][] }} Local blocks of the neighbours and the middle, row by row */

const UNTIL = 13; // units of 1/r; e^{−13} cannot be seen
const COUNT = 320; // intervals
// Quadratic in the index plus a share of the cube: dense at the start, where a long way is covered fast.
export const TIMES = Array.from({ length: COUNT + 1 }, (_, i) => UNTIL * (0.15 * (i / COUNT) ** 2 + 0.85 * (i / COUNT) ** 4));

/**
 * r and p of one setting.
 * @param {{ gamma: number, entropy: number }} setting
 */
function switchScales({ gamma, entropy }) {
  const rate = entropy / (Math.sqrt(gamma ** 2 / 4 + entropy) + gamma / 2);
  return { rate, share: rate / (rate + gamma) };
}

/** The weights of the two neighbours and the middle in first and second differences at each inner time. */
const STENCILS = TIMES.slice(1, -1).map((t, i) => {
  const [back, ahead] = [t - TIMES[i], TIMES[i + 2] - t];
  const sum = back + ahead;
  return {
    first: [-ahead / (back * sum), (ahead - back) / (back * ahead), back / (ahead * sum)],
    second: [2 / (back * sum), -2 / (back * ahead), 2 / (ahead * sum)],
  };
});

/**
 * Residuals of both equations at inner time i, and their derivatives by y and z at i−1, i, i+1 where these are wanted.
 * @type {(p: number, plan: Plan, i: number, jacobian?: boolean) => Local}
 */
function local(p, { y, z }, i, jacobian = false) {
  const { first, second } = STENCILS[i - 1];
  const [a, b, c] = first;
  const yt = a * y[i - 1] + b * y[i] + c * y[i + 1];
  const zt = a * z[i - 1] + b * z[i] + c * z[i + 1];
  const ytt = second[0] * y[i - 1] + second[1] * y[i] + second[2] * y[i + 1];
  const ztt = second[0] * z[i - 1] + second[1] * z[i] + second[2] * z[i + 1];
  const up = Math.exp(y[i]);
  const push = (p * zt * zt) / up;
  const q = 1 - p;
  /** @type {[number, number]} */
  const residual = [p * ytt - q * yt - up + 1 + push, p * ztt - (q + p * yt) * zt - up * z[i]];
  if (!jacobian) return { residual, blocks: [] };
  const blocks = [0, 1, 2].map((j) => [
    p * second[j] - q * first[j], (2 * push * first[j]) / (zt || 1),
    -p * zt * first[j], p * second[j] - (q + p * yt) * first[j],
  ]);
  blocks[1][0] -= up + push;
  blocks[1][2] -= up * z[i];
  blocks[1][3] -= up;
  return { residual, blocks };
}

/**
 * The root mean square of all residuals, weighted as the unknowns are spread.
 * @type {(p: number, plan: Plan) => number}
 */
function missBy(p, plan) {
  let sum = 0;
  for (let i = 1; i < COUNT; i++) {
    const [u, v] = local(p, plan, i).residual;
    const scale = STENCILS[i - 1].second[1]; // a residual's worth in units of the unknowns
    sum += (u / (p * scale - 1)) ** 2 + (v / (p * scale - 1)) ** 2;
  }
  return Math.sqrt(sum / COUNT);
}

/**
 * One Newton step: the solution of the block-tridiagonal system, by elimination of 2 × 2 blocks.
 * @type {(p: number, plan: Plan) => Plan}
 */
function newtonMove(p, plan) {
  const [ups, rights] = /** @type {number[][][]} */ ([[], []]); // x_i = right_i − up_i x_{i+1}
  let [up, right] = [[0, 0, 0, 0], [0, 0]];
  for (let i = 1; i < COUNT; i++) {
    const { residual, blocks: [low, mid, high] } = local(p, plan, i, true);
    const m = [
      mid[0] - low[0] * up[0] - low[1] * up[2], mid[1] - low[0] * up[1] - low[1] * up[3],
      mid[2] - low[2] * up[0] - low[3] * up[2], mid[3] - low[2] * up[1] - low[3] * up[3],
    ];
    const f = [-residual[0] - low[0] * right[0] - low[1] * right[1], -residual[1] - low[2] * right[0] - low[3] * right[1]];
    const det = m[0] * m[3] - m[1] * m[2];
    const inverse = [m[3] / det, -m[1] / det, -m[2] / det, m[0] / det];
    up = [
      inverse[0] * high[0] + inverse[1] * high[2], inverse[0] * high[1] + inverse[1] * high[3],
      inverse[2] * high[0] + inverse[3] * high[2], inverse[2] * high[1] + inverse[3] * high[3],
    ];
    right = [inverse[0] * f[0] + inverse[1] * f[1], inverse[2] * f[0] + inverse[3] * f[1]];
    ups.push(up);
    rights.push(right);
  }
  const [dy, dz] = [new Float64Array(COUNT + 1), new Float64Array(COUNT + 1)];
  // At the end x′ = −x: the last value is a fixed part of the one before it (as in every guess).
  const step = TIMES[COUNT] - TIMES[COUNT - 1];
  const keep = Math.exp(-step);
  const last = ups[COUNT - 2];
  const m = [1 + keep * last[0], keep * last[1], keep * last[2], 1 + keep * last[3]];
  const det = m[0] * m[3] - m[1] * m[2];
  const [f, g] = rights[COUNT - 2];
  dy[COUNT - 1] = (m[3] * f - m[1] * g) / det;
  dz[COUNT - 1] = (m[0] * g - m[2] * f) / det;
  dy[COUNT] = keep * dy[COUNT - 1];
  dz[COUNT] = keep * dz[COUNT - 1];
  for (let i = COUNT - 2; i >= 1; i--) {
    dy[i] = rights[i - 1][0] - ups[i - 1][0] * dy[i + 1] - ups[i - 1][1] * dz[i + 1];
    dz[i] = rights[i - 1][1] - ups[i - 1][2] * dy[i + 1] - ups[i - 1][3] * dz[i + 1];
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
const combined = ({ y, z }, change) => ({ y: y.map((v, i) => change(v, i, "y")), z: z.map((v, i) => change(v, i, "z")) });

/**
 * A guess from a plan that begins near by: its ends are moved, and the change fades.
 * @type {(near: Plan, to: { y: number, z: number }) => Plan}
 */
const moved = (near, to) => combined(near, (v, i, part) => v + (to[part] - near[part][0]) * Math.exp(-TIMES[i]));

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
  const peak = plan ? rest * Math.exp(Math.max(...plan.y)) : rest;
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
