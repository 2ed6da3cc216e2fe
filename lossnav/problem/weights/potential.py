r"""What it costs a distribution of weights to stay as it is: the loss of Sec. 6 in the coordinates (μ, ln v).

.. math:: L(\mu,\ell) = \bar L(\mu,e^\ell) - \tfrac T2\sum_i\ell_i + \tfrac T{2v_p}\sum_i(\mu_i^2+e^{\ell_i}),
    \qquad T=\lambda_S/k
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import differences
from lossnav.problem.functions.roots import exp_bounded
from lossnav.problem.losses.base import Loss, scalar
from lossnav.problem.weights.averages import Average, Quadratic

_SPREADS = (-4.0, 0.0, 4.0)  # ln v of places to search from, around that of the start


class Potential(Loss):
    """Averaged loss, entropy and prior of n Gaussian weights as one loss of θ = (μ_1 … μ_n, ln v_1 … ln v_n), D = 2n.

    ``uncertainty.Problem.loss`` makes it; with ``Problem.objective`` it is the problem of Sec. 6 as any other.

    Args:
        average: the averaged loss.
        temperature: T = λ_S/k ≥ 0, the unit of the loss.
        prior_variance: v_p in (0, inf], unit u².

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> import lossnav as ln
        >>> setting = ln.uncertainty.Problem(gamma=0.5, entropy=0.8)
        >>> stay = setting.loss(ln.losses.Quadratic([[2.0]], minimum=[1.0]))
        >>> stay.stationary_points().round(4)  # (μ*, ln v*) with v* = λ_S/kH
        array([[ 1.    , -0.9163]])
    """

    average: Average
    temperature: float
    prior_variance: float
    dim: int

    def __init__(self, average: Average, temperature: float = 0.0, prior_variance: float = math.inf):
        self.average = _checks.instance("average", average, Average, "an averaged loss: uncertainty.average(loss)")
        self.temperature = _checks.finite("temperature", temperature, low=0.0)
        self.prior_variance = _checks.duration("prior_variance", prior_variance)
        self.dim = 2 * average.dim
        self._pull = self.temperature / self.prior_variance

    def _split(self, theta: ArrayLike) -> tuple[Array, Array, Array]:
        """Return μ, ln v and v, which is no more than the largest float."""
        mu, ell = np.split(self._points(theta), 2, axis=-1)
        return mu, ell, exp_bounded(ell)

    def value(self, theta: ArrayLike) -> Any:
        mu, ell, v = self._split(theta)
        parsimony = np.sum(self._pull * (mu**2 + v) - self.temperature * ell, axis=-1)
        return scalar(np.asarray(self.average.value(mu, v) + parsimony / 2))

    def gradient(self, theta: ArrayLike) -> Array:
        mu, _, v = self._split(theta)
        by_mean = self.average.mean_gradient(mu, v) + self._pull * mu
        by_spread = v * (self.average.variance_gradient(mu, v) + self._pull / 2) - self.temperature / 2
        return np.concatenate([by_mean, by_spread], axis=-1)

    def hessian(self, theta: ArrayLike) -> Array:
        """Return ∇²L, shape (..., D, D): by differences of the gradient where the average has no better way."""
        theta = self._points(theta)
        _, _, v = self._split(theta)
        hessian = differences.in_parts(self.average._stiffness, theta, 4 * self.dim)
        rows = np.arange(self.dim)
        hessian[..., rows, rows] += self._pull * np.concatenate([np.ones_like(v), v / 2], axis=-1)
        return hessian

    def stationary_points(self) -> Array | None:
        """Return the place of rest of a quadratic loss, ridge solution and v* of Eq. 149, shape (M, D), M ≤ 1."""
        if not isinstance(self.average, Quadratic):
            return None
        count = self.average.dim
        stiffness = self.average.hessian + self._pull * np.eye(count)
        gradient = self.average.mean_gradient(np.zeros(count), np.zeros(count))
        if self.temperature == 0 or np.min(np.diag(stiffness)) <= 0 or np.linalg.eigvalsh(stiffness)[0] <= 0:
            return np.empty((0, self.dim))
        place = [-np.linalg.solve(stiffness, gradient), np.log(self.temperature / np.diag(stiffness))]
        return np.concatenate(place)[None, :]

    def starts(self, theta0: Array) -> Array:
        """Return where to search for places of rest: θ₀ and the centres of the loss, each narrower and wider.

        First comes θ₀ with the variances that would rest at the curvature seen there.
        """
        mean, ell, v = self._split(theta0)
        curvature = 2 * self.average.variance_gradient(mean, v) + self._pull
        with np.errstate(divide="ignore", invalid="ignore"):
            resting = np.where((curvature > 0) & (self.temperature > 0), np.log(self.temperature / curvature), ell)
        means = np.concatenate([mean[None, :], self.average.centres()])
        around = [np.concatenate([mu, ell + shift]) for mu in means for shift in _SPREADS]
        return np.array([np.concatenate([mean, resting]), *around])

    def summed(self, theta: Array) -> float:
        """Return the size of what the value at one θ is a sum of: its rounding error is in proportion."""
        mu, ell, v = self._split(theta)
        parsimony = self._pull * (mu**2 + v) + self.temperature * (1 + np.abs(ell))
        return float(np.abs(self.average.value(mu, v)) + np.sum(parsimony) / 2)

    def __repr__(self) -> str:
        prior = f", prior_variance={self.prior_variance:g}" if math.isfinite(self.prior_variance) else ""
        return f"Potential({type(self.average).__name__}, temperature={self.temperature:g}{prior})"
