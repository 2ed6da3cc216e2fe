// The closed form of the optimal step on a quadratic, one eigendirection at a time; η = k = 1 unless given.

export const BOWL = [1 / 9, 1]; // curvatures of Fig. 2c, d; the minimum is the origin
export const TOLERANCE = 0.1; // how close a limit must be to count as holding

/** The decay rate r = S − γ/2, S = √(γ²/4 + ηkh) (Eq. 75), without cancellation. */
export function rate(h, gamma, scale = 1) {
  return (scale * h) / (Math.sqrt(gamma ** 2 / 4 + scale * h) + gamma / 2);
}

/** The optimal displacement per unit of −gradient, (1 − e^{−rΔt})/h (Eq. 6); Δt may be infinite. */
export function gain(h, gamma, dt, scale = 1) {
  if (dt === Infinity) return 1 / h;
  const x = rate(h, gamma, scale) * dt;
  const shape = x === 0 ? 1 : -Math.expm1(-x) / x;
  return ((scale * dt) / (Math.sqrt(gamma ** 2 / 4 + scale * h) + gamma / 2)) * shape;
}

/** The displacement of Eq. 6 from gradient components g in eigendirections of curvature h. */
export const optimalStep = (h, g, gamma, dt, scale = 1) => h.map((hi, i) => -gain(hi, gamma, dt, scale) * g[i]);

/** The three rows of Eq. 7. */
export const newtonStep = (h, g) => h.map((hi, i) => -g[i] / hi);
export const descentStep = (h, g, gamma, dt, scale = 1) => g.map((gi) => times(-gi, (scale * dt) / gamma));
export const ballisticStep = (h, g, gamma, dt, scale = 1) => h.map((hi, i) => times(-g[i], Math.sqrt(scale / hi) * dt));

const times = (a, b) => (a === 0 ? 0 : a * b); // 0·∞ = 0: a direction without slope does not move

/** The two groups that decide the regime of one eigendirection: γ²/(4ηkh) and rΔt. */
export const groups = (h, gamma, dt, scale = 1) => ({
  damping: gamma ** 2 / (4 * scale * h),
  progress: rate(h, gamma, scale) * dt,
});

/** |limit − optimal| / |optimal|; infinite where the limit is. */
export function error(limit, optimal) {
  const size = Math.hypot(...optimal);
  const gap = Math.hypot(...limit.map((v, i) => v - optimal[i]));
  return size === 0 ? (gap === 0 ? 0 : Infinity) : gap / size;
}

/**
 * Where each limit is within `tolerance` of the optimum in one eigendirection, as progress rΔt in terms of
 * q = γ²/(4ηkh): at least for Newton, at most for the two first-order limits (0 where never).
 */
export function validity(q, tolerance) {
  const ratio = Math.sqrt(1 + q) + Math.sqrt(q); // √(ηkh)/r
  return {
    newton: Math.log(1 + 1 / tolerance),
    descent: largestProgress(((1 + tolerance) * 2 * Math.sqrt(q)) / ratio),
    ballistic: largestProgress((1 + tolerance) / ratio),
  };
}

/** The largest x with x/(1 − e^{−x}) ≤ bound. */
function largestProgress(bound) {
  if (bound <= 1) return 0;
  let x = bound;
  for (let i = 0; i < 40; i++) x -= (x + bound * Math.expm1(-x)) / (1 - bound * Math.exp(-x));
  return x;
}
