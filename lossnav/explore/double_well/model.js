// The mathematics of the tilted double well L = a(θ²−b)² + dθ (Eq. 28, θ₁ part), η = k = 1; no page needed.
//
// Optimal paths lie on the stable manifolds of the saddles (minimum, 0) of θ̇ = p, ṗ = γp + L′(θ) (Eq. 3). Followed
// backwards in time from its minimum, where p = −r(θ − minimum), such an orbit attracts its neighbours, so a plain
// Runge–Kutta integration is accurate; forwards it would not be. One orbit holds the path from every start.

export const WELL = Object.freeze({ a: 1, b: 1, d: -0.5 });
const NEAR = 1e-4; // where the orbit leaves the saddle's series expansion
const STEP = 0.008;

export const loss = (x, w = WELL) => w.a * (x * x - w.b) ** 2 + w.d * x;
export const slope = (x, w = WELL) => 4 * w.a * x * (x * x - w.b) + w.d;
export const bend = (x, w = WELL) => 4 * w.a * (3 * x * x - w.b);

/** The stationary points {left, barrier, right}, by Newton's iteration from those without tilt. */
export function stationary(w = WELL) {
  const polish = (x) => {
    for (let i = 0; i < 60; i++) x -= slope(x, w) / bend(x, w);
    return x;
  };
  return { left: polish(-Math.sqrt(w.b)), barrier: polish(0), right: polish(Math.sqrt(w.b)) };
}

/** The decay rate r of a path into a minimum (Eq. 75). */
export const decay = (gamma, minimum, w = WELL) => Math.sqrt(gamma ** 2 / 4 + bend(minimum, w)) - gamma / 2;

/**
 * The paths into `minimum` from one side (−1 or 1), as one orbit followed backwards until it turns (p = 0) or passes
 * `limit`. Sample i is `i·step` before sample 0: x, p = θ̇, and the excess J − L(minimum)/γ of the path from there.
 * `reach` is the farthest start; `turned` says whether the orbit ends there.
 */
export function orbit(gamma, minimum, side, limit, w = WELL) {
  const r = decay(gamma, minimum, w);
  const floor = loss(minimum, w);
  const cubic = (-12 * w.a * minimum) / (3 * r + gamma);
  let x = side * NEAR;
  let p = -r * x + cubic * x * x;
  let cost = (r * x * x) / 2;
  x += minimum;
  const found = { gamma, minimum, side, rate: r, floor, step: STEP, x: [x], p: [p], cost: [cost] };
  const rates = (y) => [-y[1], -gamma * y[1] - slope(y[0], w), y[1] ** 2 / 2 + loss(y[0], w) - floor - gamma * y[2]];
  for (let i = 0; i < 12000; i++) {
    const next = rungeKutta(rates, [x, p, cost], STEP);
    if (next[1] * side >= 0) return { ...found, ...turn(found, next, w) };
    [x, p, cost] = next;
    found.x.push(x);
    found.p.push(p);
    found.cost.push(cost);
    if ((x - limit) * side > 0) return { ...found, reach: limit, turned: false };
    if (Math.abs(p) < 1e-9) break; // creeping into the barrier, an overdamped rest
  }
  return { ...found, reach: x, turned: true };
}

/** Where, between the last sample and the next, the speed vanishes. */
function turn(found, [, pNext], w) {
  const last = found.x.length - 1;
  const [x, p] = [found.x[last], found.p[last]];
  const [slow, fast] = [-found.gamma * p - slope(x, w), pNext - p];
  // p(s) ≈ p + s·slow·STEP + s²(fast − slow·STEP): its root in (0, 1].
  const curve = fast - slow * STEP;
  let s = -p / fast;
  for (let i = 0; i < 8; i++) s -= (p + s * slow * STEP + s * s * curve) / (slow * STEP + 2 * s * curve);
  const way = -STEP * (p * s + (slow * STEP * s * s) / 2 + (curve * s ** 3) / 3);
  return { reach: x + way, turned: true };
}

function rungeKutta(rates, y, h) {
  const along = (k, by) => y.map((v, i) => v + by * k[i]);
  const k1 = rates(y);
  const k2 = rates(along(k1, h / 2));
  const k3 = rates(along(k2, h / 2));
  const k4 = rates(along(k3, h));
  return y.map((v, i) => v + (h / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]));
}

/** The path of an orbit that starts at `start`: {speed, excess, action, time left to sample 0}, or null beyond reach. */
export function pathFrom(found, start, w = WELL) {
  const { gamma, minimum, side, rate, floor, x, p, cost, step } = found;
  const away = (start - minimum) * side;
  const sum = (excess) => excess + floor / gamma;
  if (away <= NEAR) {
    const excess = (rate * away * away) / 2;
    return { speed: -rate * side * away, excess, action: sum(excess), index: 0, time: 0 };
  }
  if ((start - found.reach) * side > 0) return null;
  let [low, high] = [0, x.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((x[middle] - start) * side > 0) high = middle;
    else low = middle;
  }
  const [i, j] = [low, high];
  const force = (n) => -gamma * p[n] - slope(x[n], w);
  let s = (start - x[i]) / (x[j] - x[i]);
  for (let n = 0; n < 4; n++) {
    const at = hermite(x[i], x[j], -p[i] * step, -p[j] * step, s);
    s -= (at.value - start) / (at.slope || Infinity);
  }
  const spend = (n) => p[n] ** 2 / 2 + loss(x[n], w) - floor - gamma * cost[n];
  const speed = hermite(p[i], p[j], force(i) * step, force(j) * step, s).value;
  const excess = hermite(cost[i], cost[j], spend(i) * step, spend(j) * step, s).value;
  return { speed, excess, action: sum(excess), index: i, time: (i + s) * step };
}

function hermite(y0, y1, m0, m1, s) {
  const d = y1 - y0;
  const value = y0 + s * (m0 + s * (3 * d - 2 * m0 - m1 + s * (m0 + m1 - 2 * d)));
  return { value, slope: m0 + s * (2 * (3 * d - 2 * m0 - m1) + 3 * s * (m0 + m1 - 2 * d)) };
}

/** θ against time of a path: [[t, θ], …] up to `until`, every `stride` samples. */
export function course(found, path, start, until, stride = 4) {
  const points = [[0, start]];
  for (let i = path.index; i >= 0; i -= stride) {
    const t = path.time - i * found.step;
    if (t > until) break;
    if (t > 0) points.push([t, found.x[i]]);
  }
  const [last] = points[points.length - 1];
  const left = found.side * NEAR * Math.exp(-found.rate * Math.max(0, until - path.time));
  if (last < until) points.push([until, found.minimum + left]);
  return points;
}

/** Both families of paths at one discount rate, over starts in [low, high]. */
export function policy(gamma, [low, high], w = WELL) {
  const rests = stationary(w);
  const family = (minimum) => ({ left: orbit(gamma, minimum, -1, low, w), right: orbit(gamma, minimum, 1, high, w) });
  const [stay, cross] = [family(rests.left), family(rests.right)];
  return { gamma, rests, stay, cross, indifference: indifference(rests, stay.right, cross.left, w) };
}

export const branch = (family, start) => (start < family.left.minimum ? family.left : family.right);

/** The start from which both ends cost the same, or null where crossing wins from everywhere on the left. */
function indifference({ left, barrier }, stay, cross, w) {
  if (!cross.turned || cross.reach <= left) return null;
  let [low, high] = [cross.reach, stay.reach];
  if (high - low < 1e-7) return barrier; // no spiral round the barrier: the two families only meet there
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    const gap = pathFrom(cross, middle, w).action - pathFrom(stay, middle, w).action;
    if (gap > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The discount rate at which the crossing orbit comes to rest in the shallow well (a heteroclinic orbit). */
export function heteroclinic(w = WELL) {
  const { left, barrier, right } = stationary(w);
  let [low, high] = [1e-3, 2 * Math.sqrt(-bend(barrier, w))];
  while (high - low > 1e-11) {
    const middle = (low + high) / 2;
    if (orbit(middle, right, -1, left, w).turned) high = middle;
    else low = middle;
  }
  return (low + high) / 2;
}

/** Gradient flow θ̇ = −L′/γ (Eq. 4) from `start`: its course up to `until`, where it ends, and what it costs. */
export function gradientFlow(gamma, start, until, w = WELL) {
  const { left, barrier, right } = stationary(w);
  const end = Math.abs(start - barrier) < 1e-9 ? barrier : start < barrier ? left : right;
  const floor = loss(end, w);
  const step = 0.004 / Math.max(1, gamma ** 2 / 40); // in s = t/γ, where the flow does not depend on γ
  const rates = ([x, , s]) => {
    const pull = slope(x, w);
    return [-pull, Math.exp(-gamma * gamma * s) * (pull ** 2 / (2 * gamma) + gamma * (loss(x, w) - floor)), 1];
  };
  let y = [start, 0, 0];
  const points = [[0, start]];
  for (let i = 1; i < 20000 && Math.abs(slope(y[0], w)) > 1e-9; i++) {
    y = rungeKutta(rates, y, step);
    const t = gamma * y[2];
    if (t <= until && (i % 8 === 0 || i < 40)) points.push([t, y[0]]);
  }
  points.push([until, points[points.length - 1][0] > until - 0.1 ? points[points.length - 1][1] : y[0]]);
  return { points, end, action: y[1] + floor / gamma };
}
