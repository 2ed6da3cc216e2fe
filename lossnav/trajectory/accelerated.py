r"""Where acceleration is charged: the law of a mode, its exact step, the optimum on a bowl (book: W1–W4, W9, W10).

.. math:: \ddot\theta=-K_1x-K_2\dot\theta,\qquad
    K_1=r_+r_-,\; K_2=r_++r_-,\quad r_\pm=\sqrt{\gamma^2/4+P_\pm}-\gamma/2,\quad mP^2-cP+kh=0

With :math:`\Pi=\sqrt{\gamma^4/16+\gamma^2c/4m+kh/m}` and :math:`\Sigma=\sqrt{\gamma^2/2+c/m+2\Pi}` no complex number is
needed, and for h ≥ 0 nothing cancels. A swing (complex roots) begins at 4mkh = c², whatever γ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.problem.prices import Acceleration
from lossnav.trajectory import modes

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_SHORT = 20.0  # time constants of a step over which those nodes integrate to the last digit


def charged(objective: Objective) -> Acceleration:
    """Return the price of acceleration, or raise ValueError."""
    price = objective.price
    if not isinstance(price, Acceleration):
        raise ValueError(f"objective.price = {price!r}, but it must be a prices.Acceleration")
    if math.isfinite(objective.horizon):
        raise ValueError(
            f"objective.horizon = {objective.horizon:g}, but it must be inf where acceleration is charged: gains that "
            "depend on the time left are not there yet"
        )
    return price


def gains(objective: Objective, h: Array) -> tuple[Array, Array]:
    """Return K₁/h and K₂ of modes of curvature h; K₁/h is 0 where γ = h = 0, and NaN where there is no minimiser."""
    price, k, gamma = charged(objective), objective.k, objective.gamma
    base, pull, half = gamma**2 * price.speed / (4 * price.m), k * h / price.m, gamma**2 / 4
    with np.errstate(invalid="ignore"):
        root = np.sqrt(half**2 + base + pull)
        sigma = np.sqrt(2 * half + price.speed / price.m + 2 * root)
    below, beside = root + gamma * sigma / 2 + half, root + half
    kappa = np.where(below == 0, 0.0, k / price.m / np.where(below == 0, 1.0, below))
    swing = np.where(beside == 0, 0.0, 2 * (base + pull) / np.where(beside == 0, 1.0, beside))
    total = sigma + gamma
    return kappa, np.where(total == 0, 0.0, (price.speed / price.m + swing) / np.where(total == 0, 1.0, total))


def require(objective: Objective, h: Array, moved: NDArray[np.bool_] | bool = True) -> None:
    """Raise NoMinimiser unless J has one, for modes of these curvatures; ``moved``: whose gradient is not zero."""
    price, gamma = charged(objective), objective.gamma
    slack = gamma**2 * (price.speed / 4 + price.m * gamma**2 / 16)
    low = (h < 0) & (objective.k * h <= -slack)
    if np.any(low):
        raise NoMinimiser(
            f"no minimiser: the curvature {float(np.min(h)):.6g} must be > −γ²(c/4 + mγ²/16)/k = "
            f"{-slack / objective.k:.6g}; raise gamma"
        )
    if gamma == 0 and np.any((h == 0) & moved):
        raise NoMinimiser("no minimiser: gamma = 0 and a gradient along a flat direction (h = 0); set gamma > 0")


class Held(NamedTuple):
    """The exact step of one mode: v⁺ = βv − κ·s·g and Δθ = sv − ψg, with κ = K₁/h.

    Attributes:
        beta: β, what is left of the velocity.
        slide: s, unit T.
        psi: ψ, unit u²/ℓ: the displacement of a learner at rest per gradient.
        kappa: K₁/h.
    """

    beta: Array
    slide: Array
    psi: Array
    kappa: Array


@np.errstate(over="ignore", invalid="ignore")  # below h = 0 a path may leave every range
def held(objective: Objective, h: Array, dt: Any) -> Held:
    """Return the exact step over a finite Δt ≥ 0 on modes of curvature h (W9); the two broadcast."""
    kappa, friction = gains(objective, h)
    # The rates of e^{−λt}, λ² − K₂λ + K₁ = 0, the slower one as a quotient: as a difference it would cancel.
    h, t, kappa, half = np.broadcast_arrays(h, np.asarray(dt, np.float64), kappa, friction / 2)
    stiff = kappa * h
    gap = half**2 - stiff
    wave, turn = np.sqrt(np.maximum(gap, 0.0)), np.sqrt(np.maximum(-gap, 0.0))
    fast = half + wave
    slow = np.where(fast == 0, 0.0, stiff / np.where(fast == 0, 1.0, fast))
    swings = gap < 0

    def slid(u: Array) -> Array:
        """Return s after a time u, shape (..., N)."""
        parts = [part[..., None] for part in (half, turn, slow, wave, swings)]
        decay = np.exp(-np.where(parts[4], parts[0], parts[2]) * u)
        return decay * u * np.where(parts[4], np.sinc(parts[1] * u / np.pi), modes.exp_mean(2 * parts[3] * u))

    slide = slid(t[..., None])[..., 0]
    fades = np.exp(-half * t) * np.cos(turn * t)
    beta = np.where(swings, fades - half * slide, np.exp(-fast * t) - slow * slide)
    # ψ = κ∫s: of two rates that differ as a difference of means, elsewhere by quadrature or, where a step is long, as
    # what is left of the way to the minimum
    wide = 2 * wave * t > 1
    apart = np.where(wide, 2 * wave, 1.0)
    way = t * (modes.exp_mean(slow * t) - modes.exp_mean(fast * t)) / apart
    brief = ~wide & (np.maximum(np.abs(half), np.sqrt(np.abs(stiff))) * t < _SHORT)
    left = np.where(swings, fades + half * slide, np.exp(-slow * t) + slow * slide)
    far = (1 - left) / np.where(h == 0, 1.0, h)
    short = np.where(brief, t, 0.0)
    near = short / 2 * (slid(short[..., None] * (1 + _NODES) / 2) @ _WEIGHTS)
    return Held(beta, slide, np.where(wide, kappa * way, np.where(brief, kappa * near, far)), kappa)


@dataclass(frozen=True, eq=False)
class Path:
    """The optimum in the modes of a bowl, as functions of times of shape (T,), each (T, D).

    Attributes:
        objective, loss: the problem.
        basis: curvatures, and directions in the metric.
        theta0: θ(0), shape (D,).
        gradient, speed: ∇L and θ̇ at the start along the modes.
    """

    objective: Objective
    loss: Quadratic
    basis: modes.Modes
    theta0: Array
    gradient: Array
    speed: Array

    @property
    def directions(self) -> Array:
        """X, G-orthonormal, one a column."""
        return self.basis.directions

    @property
    def curvature(self) -> Array:
        """Curvatures h."""
        return self.basis.curvature

    def _step(self, t: Array) -> Held:
        return held(self.objective, self.curvature, t[:, None])

    def position(self, t: Array) -> Array:
        """Return θ."""
        step = self._step(t)
        return self.theta0 + (step.slide * self.speed - step.psi * self.gradient) @ self.directions.T

    def rate(self, t: Array) -> Array:
        """Return θ̇."""
        step = self._step(t)
        return (step.beta * self.speed - step.kappa * step.slide * self.gradient) @ self.directions.T

    def second(self, t: Array) -> Array:
        """Return θ̈, by the feedback law (W3)."""
        kappa, friction = gains(self.objective, self.curvature)
        gradient = self.loss.gradient(self.position(t)) @ self.directions
        speed = self.rate(t) @ self.objective.metric_matrix(self.loss.dim) @ self.directions
        return -(kappa * gradient + friction * speed) @ self.directions.T


def start(objective: Objective, loss: Quadratic, theta0: Array, velocity0: Any) -> Path:
    """Return the optimum from a place and a velocity: an array, None (at rest) or "free" (the best one, W10).

    Raises:
        NoMinimiser: where J has none.
    """
    metric = objective.metric_matrix(loss.dim)
    basis = modes.decompose(loss.hessian(theta0), metric)
    h, directions = basis.curvature, basis.directions
    gradient = directions.T @ loss.gradient(theta0)
    require(objective, h, modes.tilted(gradient))
    if isinstance(velocity0, str):
        _checks.one_of("velocity0", velocity0, ("free",))
        kappa, friction = gains(objective, h)
        speed = -kappa * gradient / np.where(friction == 0, 1.0, friction)
    elif velocity0 is None:
        speed = np.zeros(loss.dim)
    else:
        speed = directions.T @ metric @ _checks.array("velocity0", velocity0, shape=(loss.dim,))
    return Path(objective, loss, basis, theta0, gradient, speed)
