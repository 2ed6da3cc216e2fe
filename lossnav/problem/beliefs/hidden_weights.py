r"""Noise of gradients as noise of hidden weights (Eqs. 133–137): when is the covariance of gradients ∝ the Hessian?

.. math:: dx=-\tfrac1\tau H(x-\theta)\,dt+\sqrt{2D/\tau}\,dW,\qquad \nabla L(x)=g+H(x-\theta)

At steady state x ~ N(θ, DH⁻¹), so gradients have the mean g and the covariance DH.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import exp_moment


@dataclass(frozen=True, eq=False)
class HiddenWeights:
    """A simulation of hidden weights; see ``simulate``.

    Attributes:
        hessian: H, shape (D, D).
        gradient: g at θ, shape (D,).
        positions: x − θ, shape (T, P, D): times, particles, weights.
        dt: time between two rows.
    """

    hessian: Array
    gradient: Array
    positions: Array
    dt: float

    @property
    def gradients(self) -> Array:
        """∇L(x) = g + H(x − θ), shape (T, P, D) (Eq. 135)."""
        return self.gradient + self.positions @ self.hessian

    def covariance(self) -> Array:
        """Return the covariance of gradients over all times and particles, shape (D, D)."""
        return _covariance(self.gradients)

    def increment_covariance(self) -> Array:
        """Return the covariance of (x_{n+1} − x_n)/Δt, the velocity as one would observe it, shape (D, D)."""
        return _covariance(np.diff(self.positions, axis=0) / self.dt)

    def averaged_covariance(self, window: int) -> Array:
        """Return the covariance of gradients averaged over ``window`` successive rows, shape (D, D)."""
        rows = len(self.positions)
        window = _checks.whole("window", window, low=1, high=rows)
        gradients = self.gradients[: rows // window * window]
        return _covariance(gradients.reshape(-1, window, *gradients.shape[1:]).mean(axis=1))


def _covariance(samples: Array) -> Array:
    """Return the covariance of samples of shape (..., D), (D, D) also where D = 1."""
    return np.atleast_2d(np.cov(samples.reshape(-1, samples.shape[-1]), rowvar=False))


def simulate(
    hessian: ArrayLike,
    gradient: ArrayLike,
    *,
    noise: float = 1.0,
    tau: float = 1.0,
    dt: float = 0.1,
    steps: int = 100,
    particles: int = 1000,
    seed: int,
    centre: str = "current",
) -> HiddenWeights:
    """Return hidden weights at their steady state, sampled every ``dt`` without error of discretisation.

    Args:
        hessian: H, shape (D, D), symmetric positive definite, unit 1/u².
        gradient: g at the current weights θ, shape (D,), unit 1/u.
        noise: D > 0, dimensionless.
        tau: τ > 0, unit of time over u².
        dt: time between samples, > 0.
        steps: number of samples T >= 1.
        particles: independent copies P >= 1.
        seed: of the random numbers.
        centre: "current" (Eq. 134: drift −H(x−θ)/τ, gradients are unbiased) or "minimum" (drift −∇L(x)/τ: the weights
            gather around the minimum, and the mean gradient is zero instead of g).

    Raises:
        ValueError: naming the argument.

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 134–137; that the drift is centred on θ is our reading.
    """
    matrix = _checks.symmetric("hessian", hessian, definite=True)
    g = _checks.array("gradient", gradient, shape=(len(matrix),))
    noise, tau, dt = (_checks.positive(n, v) for n, v in (("noise", noise), ("tau", tau), ("dt", dt)))
    _checks.counts(steps=steps, particles=particles)
    _checks.room(2.0 * steps * particles * len(matrix), steps=steps, particles=particles)  # modes and positions
    _checks.seed("seed", seed, low=0)
    _checks.one_of("centre", centre, ("current", "minimum"))
    h, directions = np.linalg.eigh(matrix)
    spread, decay = np.sqrt(noise / h), np.exp(-h * dt / tau)
    innovation_sd = spread * np.sqrt(-np.expm1(-2 * h * dt / tau))  # the exact transition of each mode
    rng = np.random.default_rng(seed)
    modes = np.empty((steps, particles, len(h)))
    modes[0] = spread * rng.normal(size=modes.shape[1:])
    for n in range(1, steps):
        modes[n] = decay * modes[n - 1] + innovation_sd * rng.normal(size=modes.shape[1:])
    positions = modes @ directions.T
    if centre == "minimum":
        positions = positions - np.linalg.solve(matrix, g)
    return HiddenWeights(matrix, g, positions, dt)


def averaged_variance(curvature: ArrayLike, window: float, *, noise: float = 1.0, tau: float = 1.0) -> Array:
    """Return the variance of a gradient averaged over a time, where hidden weights move as in ``simulate``.

    With x = hT/τ it is Dh·2(x − 1 + e^{−x})/x²: Dh for short windows, 2Dτ/T for long ones, whatever h.

    Args:
        curvature: h > 0, any shape, unit 1/u².
        window: T ≥ 0, the time over which the gradient is averaged.
        noise: D > 0, so that a weight's stationary variance is D/h.
        tau: τ > 0; a weight comes back at the rate h/τ.

    Returns:
        The variance, shape of ``curvature``.

    Raises:
        ValueError: naming the argument that is out of range.

    Example:
        >>> averaged_variance([1.0, 4.0], window=100.0).round(4)  # a long window no longer tells the curvatures apart
        array([0.0198, 0.02  ])
    """
    h = _checks.positives("curvature", curvature)
    noise, tau = _checks.positive("noise", noise), _checks.positive("tau", tau)
    x = h * _checks.nonnegative("window", window) / tau
    return noise * h * (2 * exp_moment(x, 1))
