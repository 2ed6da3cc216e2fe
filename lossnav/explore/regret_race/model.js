// Six rules on L = ½(θ₁² + κθ₂²), η = k = 1, and what each regrets in J: the sum of |θ̇ − θ̇*|²/2 along its steps, joined by
// straight lines, split into speed and direction. Each gets the time of a step that suits it best.

import { restRate } from "../rates.js";
import SHARED from "./constants.json" with { type: "json" };

/** @typedef {{ start: number[], gamma: number, kappa: number }} Setting */
/** @typedef {keyof typeof SHARED.lines} Rule */
/** @typedef {{ m: number[], v: number[], n: number }} Memory */
/** @typedef {(x: number[], g: number[], memory: Memory) => number[]} Step */
/** @typedef {{ speed: number, direction: number, dt: number }} Regret over the least cost */

/**
 * One step of each rule, at the rates of the textbooks where there are such.
 * @type {(kappa: number) => Record<Rule, Step>}
 */
function stepsOf(kappa) {
  const root = Math.sqrt(kappa);
  const share = (root - 1) / (root + 1);
  const h = [1, kappa];
  const { rate, decays, tiny } = SHARED.adam;
  return {
    descent: (_, g) => g.map((v) => -v / kappa),
    heavy(_, g, memory) {
      memory.m = memory.m.map((m, i) => share ** 2 * m - (4 * g[i]) / (1 + root) ** 2);
      return memory.m;
    },
    // The gradient where momentum alone would lead.
    nesterov(x, _, memory) {
      memory.m = memory.m.map((m, i) => share * m - (h[i] * (x[i] + share * m)) / kappa);
      return memory.m;
    },
    adam(_, g, memory) {
      const [one, two] = decays;
      memory.m = memory.m.map((m, i) => one * m + (1 - one) * g[i]);
      memory.v = memory.v.map((v, i) => two * v + (1 - two) * g[i] ** 2);
      memory.n += 1;
      return memory.m.map((m, i) => (-rate * m) / (1 - one ** memory.n) / (Math.sqrt(memory.v[i] / (1 - two ** memory.n)) + tiny));
    },
    newton: (x) => x.map((v) => -SHARED.newton * v),
    ballistic: (x) => x.map((v, i) => (-SHARED.ballistic * Math.sqrt(h[i]) * v) / root),
  };
}

/**
 * Where each rule is after 0, 1, … steps, until its loss is `arrive` of the first.
 * @type {(setting: Setting) => Record<Rule, number[][]>}
 */
function pathsOf({ start, kappa }) {
  const loss = (/** @type {number[]} */ [x, y]) => (x * x + kappa * y * y) / 2;
  const enough = SHARED.arrive * loss(start);
  const steps = stepsOf(kappa);
  const found = /** @type {Record<Rule, number[][]>} */ ({});
  for (const rule of /** @type {Rule[]} */ (Object.keys(steps))) {
    const memory = { m: [0, 0], v: [0, 0], n: 0 };
    const places = [start];
    let x = start;
    while (places.length <= SHARED.steps && (loss(x) > enough || places.length < 2)) {
      const step = steps[rule](x, [x[0], kappa * x[1]], memory);
      x = x.map((v, i) => v + step[i]);
      places.push(x);
    }
    found[rule] = places;
  }
  return found;
}

/**
 * ∫₀¹ e^{−ys} s^j ds for j = 0, 1, 2.
 * @type {(y: number) => number[]}
 */
function fadedPowers(y) {
  if (y < 1) {
    // A series: no digits cancel.
    return [0, 1, 2].map((j) => {
      let [sum, term] = [0, 1];
      for (let i = 0; i < 20; i++) {
        sum += term / (j + 1 + i);
        term *= -y / (i + 1);
      }
      return sum;
    });
  }
  const fades = Math.exp(-y);
  return [(1 - fades) / y, (1 - fades * (1 + y)) / y ** 2, (2 - fades * (2 + 2 * y + y * y)) / y ** 3];
}

/**
 * Nodes and weights of Gauss and Legendre on [0, 1], by Newton's method on the polynomial.
 * @type {(count: number) => [number, number][]}
 */
function gaussNodes(count) {
  return Array.from({ length: count }, (_, i) => {
    let z = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5));
    let slope = 1;
    for (let n = 0; n < 30; n++) {
      let [before, now] = [1, z];
      for (let j = 2; j <= count; j++) [before, now] = [now, ((2 * j - 1) * z * now - (j - 1) * before) / j];
      slope = (count * (z * now - before)) / (z * z - 1);
      z -= now / slope;
    }
    return [(1 - z) / 2, 1 / ((1 - z * z) * slope * slope)];
  });
}

const NODES = gaussNodes(SHARED.nodes);

/**
 * The least cost from `x`: V = ½Σrᵢxᵢ².
 * @type {(rates: number[], x: number[]) => number}
 */
const leastCost = (rates, x) => rates.reduce((sum, r, i) => sum + (r * x[i] ** 2) / 2, 0);

/**
 * The regret of a path, and the time of a step for which it costs least.
 * @type {(path: number[][], setting: Setting) => Regret}
 */
function regretOf(path, { gamma, kappa }) {
  if (!Math.hypot(...path[0])) return { speed: 0, direction: 0, dt: 1 };
  const h = [1, kappa];
  const rates = h.map((bend) => restRate(gamma, bend));
  const moves = path.slice(1).map((x, n) => x.map((v, i) => v - path[n][i]));
  const squares = moves.map((d) => (d[0] * d[0] + d[1] * d[1]) / 2);
  // L along a step is a + bs + cs².
  const along = moves.map((d, n) => [0, 1, 2].map((j) => d.reduce((sum, v, i) => sum + (h[i] * [path[n][i] ** 2, 2 * path[n][i] * v, v * v][j]) / 2, 0)));
  const mean = (/** @type {number[]} */ c) => c[0] + c[1] / 2 + c[2] / 3;
  const total = (/** @type {number[]} */ values) => values.reduce((sum, v) => sum + v, 0);
  const guess = Math.sqrt(total(squares) / total(along.map(mean)));
  const last = leastCost(rates, path[path.length - 1]);
  const cost = (/** @type {number} */ dt) => {
    const faded = fadedPowers(gamma * dt);
    let [sum, weight] = [0, 1];
    const fades = Math.exp(-gamma * dt);
    for (let n = 0; n < squares.length; n++) {
      const c = along[n];
      sum += weight * ((squares[n] / dt) * faded[0] + dt * (c[0] * faded[0] + c[1] * faded[1] + c[2] * faded[2]));
      weight *= fades;
    }
    return sum + weight * last;
  };
  const dt = gamma === 0 ? guess : guess * Math.exp(lowestBetween((u) => cost(guess * Math.exp(u))));
  const reach = Math.min(1, 20 / (gamma * dt));
  let [speed, direction, weight] = [0, 0, 1];
  for (let n = 0; n < moves.length; n++) {
    const [vx, vy] = [moves[n][0] / dt, moves[n][1] / dt];
    const own = Math.hypot(vx, vy);
    for (const [node, part] of NODES) {
      const s = reach * node;
      const w = weight * dt * reach * part * Math.exp(-gamma * dt * s);
      const [bx, by] = [-rates[0] * (path[n][0] + s * moves[n][0]), -rates[1] * (path[n][1] + s * moves[n][1])];
      const ideal = Math.hypot(bx, by);
      speed += (w * (own - ideal) ** 2) / 2;
      direction += w * Math.max(0, own * ideal - vx * bx - vy * by);
    }
    weight *= Math.exp(-gamma * dt);
  }
  const least = leastCost(rates, path[0]);
  return { speed: speed / least, direction: direction / least, dt };
}

/**
 * Where a function is lowest on [−far, far]: the best of a grid, then the golden section about it.
 * @param {(u: number) => number} cost
 */
function lowestBetween(cost) {
  const count = 48;
  const at = (/** @type {number} */ i) => SHARED.far * (-1 + (2 * i) / count);
  let best = 0;
  let least = Infinity;
  for (let i = 0; i <= count; i++) {
    const found = cost(at(i));
    if (found < least) [best, least] = [i, found];
  }
  let [low, high] = [at(Math.max(0, best - 1)), at(Math.min(count, best + 1))];
  const golden = (Math.sqrt(5) - 1) / 2;
  let [a, b] = [high - golden * (high - low), low + golden * (high - low)];
  let [atA, atB] = [cost(a), cost(b)];
  for (let n = 0; n < 24; n++) {
    if (atA < atB) {
      [high, b, atB] = [b, a, atA];
      a = high - golden * (high - low);
      atA = cost(a);
    } else {
      [low, a, atA] = [a, b, atB];
      b = low + golden * (high - low);
      atB = cost(b);
    }
  }
  return (low + high) / 2;
}

/**
 * Where the optimal path is at a time.
 * @type {(setting: Setting, t: number) => number[]}
 */
export const placeOfBest = ({ start, gamma, kappa }, t) => start.map((x, axis) => x * Math.exp(-restRate(gamma, axis ? kappa : 1) * t));

/** @type {(setting: Setting) => number[][]} */
export function bestPath(setting) {
  const end = 9 / restRate(setting.gamma, 1);
  return Array.from({ length: 121 }, (_, i) => placeOfBest(setting, end * (i / 120) ** 3));
}

/**
 * What the picture shows: paths, and the regrets, the least first.
 * @param {Setting} setting
 */
export function billed(setting) {
  const paths = pathsOf(setting);
  const rules = /** @type {Rule[]} */ (Object.keys(paths));
  const regrets = /** @type {Record<Rule, Regret>} */ (Object.fromEntries(rules.map((rule) => [rule, regretOf(paths[rule], setting)])));
  const total = (/** @type {Rule} */ rule) => regrets[rule].speed + regrets[rule].direction;
  return { paths, regrets, order: rules.sort((a, b) => total(a) - total(b)), total };
}
