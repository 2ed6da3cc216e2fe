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
