// The rates of one mode where speed is charged: the roots −r and s₊ of λ² = γλ + c, where c = ηkh is its curvature.

/**
 * s₊ = √(γ²/4 + c) + γ/2, the costate's rate; what a planner divides a gradient by.
 * @type {(gamma: number, curvature: number) => number}
 */
export const fastRate = (gamma, curvature) => Math.sqrt((gamma * gamma) / 4 + curvature) + gamma / 2;

/**
 * r = √(γ²/4 + c) − γ/2, at which the optimal path comes to rest (Eq. 75), without cancellation; c > 0.
 * @type {(gamma: number, curvature: number) => number}
 */
export const restRate = (gamma, curvature) => curvature / fastRate(gamma, curvature);

/**
 * What a time leaves where ẍ = −2gẋ − w²x: of a place 1, at rest, and of a push ẋ = 1, its place and its speed.
 * @type {(g: number, square: number, time: number) => [number, number, number]}
 */
export function damped(g, square, time) {
  const pace = Math.sqrt(Math.abs(g * g - square));
  const turn = pace * time;
  if (g * g < square) {
    const fall = Math.exp(-g * time);
    const pushed = time * fall * (turn === 0 ? 1 : Math.sin(turn) / turn);
    return [fall * Math.cos(turn) + g * pushed, pushed, fall * Math.cos(turn) - g * pushed];
  }
  const slow = square / (g + pace);
  const pushed = time * Math.exp(-slow * time) * meanDecay(2 * turn);
  return [Math.exp(-slow * time) + slow * pushed, pushed, Math.exp(-(g + pace) * time) - slow * pushed];
}

/**
 * The mean of e^{−y} from 0 to x.
 * @type {(x: number) => number}
 */
export const meanDecay = (x) => (x === 0 ? 1 : -Math.expm1(-x) / x);

/**
 * The optimal displacement per unit of −gradient, (1 − e^{−rΔt})/h (Eq. 6), with nothing subtracted; Δt may be infinite.
 * @type {(h: number, gamma: number, dt: number) => number}
 */
export const gain = (h, gamma, dt) => (dt === Infinity ? 1 / h : (dt / fastRate(gamma, h)) * meanDecay(restRate(gamma, h) * dt));
