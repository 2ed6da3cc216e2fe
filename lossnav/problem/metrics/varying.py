"""Metrics that depend on θ by a formula; both are diagonal."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.metrics.base import Metric
from lossnav.problem.metrics.geodesics import geodesic


class _Diagonal(Metric):
    """G = diag(g(θ)); a subclass says what the prices g and their derivatives are."""

    @abc.abstractmethod
    def _prices(self, theta: Array) -> Array:
        """Return g_i, shape (..., D)."""

    @abc.abstractmethod
    def _changes(self, theta: Array) -> Array:
        """Return ∂g_i/∂θ_k, shape (..., D, D)."""

    def matrix(self, theta: ArrayLike) -> Array:
        prices = self._prices(self._points(theta))
        return np.where(np.eye(self.dim, dtype=bool), prices[..., None], 0.0)

    def derivative(self, theta: ArrayLike) -> Array:
        changes = self._changes(self._points(theta))
        return np.where(np.eye(self.dim, dtype=bool)[:, :, None], changes[..., :, None, :], 0.0)

    def norm_squared(self, theta: ArrayLike, velocity: ArrayLike) -> Any:
        points, speeds = _checks.moving(theta, velocity, self.dim)
        return np.sum(self._prices(points) * speeds**2, axis=-1)


class Fisher(_Diagonal):
    r"""The Fisher information of independent Gaussians N(μ_i, v_i), in coordinates for mean and spread.

    .. math:: |\dot\theta|_G^2 = \sum_i\Big[\frac{\dot\mu_i^2}{v_i} + \frac{\dot v_i^2}{2v_i^2}\Big]

    The coordinates are θ = (μ_1 … μ_n, s_1 … s_n), D = 2n, and ``spread`` says what s is:

    ================  ==============  =========================
    ``spread``        s               G for one weight
    ================  ==============  =========================
    "variance"        v               diag(1/s, 1/2s²)
    "log_variance"    ln v            diag(e^{−s}, ½)
    "deviation"       σ = √v          diag(1/s², 2/s²)
    "log_deviation"   ln σ            diag(e^{−2s}, 2)
    "precision"       1/v             diag(s, 1/2s²)
    ================  ==============  =========================

    ``lossnav.problem.weights`` states its problem in (μ, v) and is solved in (μ, ln v).

    Args:
        weights: n, the number of weights.
        spread: the coordinate of the spread.

    Raises:
        ValueError: naming the argument that is wrong.

    Example:
        >>> Fisher(spread="deviation").matrix([0.0, 2.0])
        array([[0.25, 0.  ],
               [0.  , 0.5 ]])

    References:
        Vastola, Gershman, Rajan (2025), Sec. 6 and Eq. 144; Amari (1998).
    """

    weights: int
    spread: str
    dim: int

    # The prices of mean and spread are aᵢ·s^p, or aᵢ·e^{ps}: (whether exponential, (a, p) of μ, (a, p) of s).
    _FORMS: ClassVar[dict[str, tuple[bool, tuple[float, int], tuple[float, int]]]] = {
        "variance": (False, (1.0, -1), (0.5, -2)),
        "log_variance": (True, (1.0, -1), (0.5, 0)),
        "deviation": (False, (1.0, -2), (2.0, -2)),
        "log_deviation": (True, (1.0, -2), (2.0, 0)),
        "precision": (False, (1.0, 1), (0.5, -2)),
    }

    def __init__(self, weights: int = 1, spread: str = "variance"):
        self.weights = _checks.whole("weights", weights, low=1)
        self.spread = _checks.one_of("spread", spread, tuple(self._FORMS))
        self.dim = 2 * self.weights
        self._exponential, self._mean, self._own = self._FORMS[spread]

    def _power(self, s: Any, power: int, functions: Any) -> Any:
        """Return s^p, or e^{ps}."""
        return functions.exp(power * s) if self._exponential else s**power

    def _prices(self, theta: Array) -> Array:
        s = theta[..., self.weights :]
        with np.errstate(divide="ignore"):  # at s = 0 the price is infinite: no metric, and told so by who uses it
            parts = [scale * self._power(s, power, np) for scale, power in (self._mean, self._own)]
        return np.concatenate(parts, axis=-1)

    def _changes(self, theta: Array) -> Array:
        s = theta[..., self.weights :]
        changes = np.zeros((*theta.shape, self.dim))
        rows = np.arange(self.weights)
        for first, (scale, power) in ((0, self._mean), (self.weights, self._own)):
            with np.errstate(divide="ignore"):
                derivative = scale * power * self._power(s, power if self._exponential else power - 1, np)
            changes[..., first + rows, self.weights + rows] = derivative
        return changes

    def _variance(self, s: Array) -> Array:
        return self._power(s, -self._mean[1], np)

    def _spread(self, variance: Array) -> Array:
        power = -1 / self._mean[1]
        return power * np.log(variance) if self._exponential else variance**power

    def units_at(self, theta: Array) -> tuple[Array, Array] | None:
        """Return the standard deviations as units of the means, rounded to powers of two: the metric has none."""
        with np.errstate(all="ignore"):
            unit = 2.0 ** np.round(np.log2(self._variance(self._points(theta)[self.weights :])) / 2)
            own = self._spread(unit**2)
        if not np.all(np.isfinite(unit) & (unit > 0) & np.isfinite(own)):
            return None
        zeros, ones = np.zeros_like(unit), np.ones_like(unit)
        spread = (ones, own) if self._exponential else (own, zeros)
        return np.concatenate([unit, spread[0]]), np.concatenate([zeros, spread[1]])

    def geodesic(self, fraction: Array, start: Array, end: Array) -> Array | None:
        """Return the points on semicircles of the half-plane, one for each weight."""
        (mean, s), (end_mean, end_s) = (np.split(self._points(x), 2) for x in (start, end))
        ends = zip(mean, self._variance(s), end_mean, self._variance(end_s), strict=True)
        paths = [geodesic(fraction, *pair) for pair in ends]
        return np.stack([*(mu for mu, _ in paths), *(self._spread(v) for _, v in paths)], axis=-1)

    def expression(self, symbols: Any, functions: Any) -> Any:
        entries = [
            scale * self._power(s, power, functions)
            for scale, power in (self._mean, self._own)
            for s in symbols[self.weights :]
        ]
        return _on_diagonal(entries)

    def __repr__(self) -> str:
        return f"Fisher(weights={self.weights}, spread={self.spread!r})"


class Relative(_Diagonal):
    r"""The metric in which a step costs by its relative length: :math:`|\dot\theta|_G^2 = |\dot\theta|^2/|\theta|^2`.

    In polar coordinates it is :math:`(d\ln|\theta|)^2 + d\Omega^2`: scale and direction have each their own price, so
    that under a loss of the direction alone, without drift and with a free end, the best path keeps |θ|. With ``each``,
    every parameter is measured by its own size, :math:`\sum_i\dot\theta_i^2/\theta_i^2`: the metric is flat in
    ln|θ_i|, where paths without loss are straight at γ = 0.

    Args:
        dim: D, the number of parameters.
        each: G = diag(1/θ_i²) instead of I/|θ|².

    Raises:
        ValueError: naming the argument that is wrong. Where a size vanishes G is infinite; an ``Objective`` says so.

    Example:
        >>> float(Relative(2).norm_squared([3.0, 4.0], [0.0, 1.0]))
        0.04
    """

    dim: int
    each: bool

    def __init__(self, dim: int, *, each: bool = False):
        self.dim, self.each = _checks.whole("dim", dim, low=1), _checks.flag("each", each)

    def _prices(self, theta: Array) -> Array:
        square = theta**2 if self.each else np.sum(theta**2, axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            return np.broadcast_to(1 / square, theta.shape)

    def _changes(self, theta: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.each:
                return (-2 / theta**3)[..., None] * np.eye(self.dim)
            derivative = -2 * theta / np.sum(theta**2, axis=-1, keepdims=True) ** 2
        return np.broadcast_to(derivative[..., None, :], (*theta.shape, self.dim))

    def units_at(self, theta: Array) -> tuple[Array, Array] | None:
        """Return the sizes of the parameters, or the norm of all: the metric is one of ratios."""
        size = np.abs(self._points(theta))
        size = size if self.each else np.full_like(size, np.max(size))
        if not np.all(np.isfinite(size) & (size > 0)):
            return None
        return 2.0 ** np.round(np.log2(size)), np.zeros_like(size)

    def expression(self, symbols: Any, functions: Any) -> Any:
        squares = [s**2 for s in symbols] if self.each else [sum(s**2 for s in symbols)] * self.dim
        return _on_diagonal([1 / square for square in squares])

    def __repr__(self) -> str:
        return f"Relative(dim={self.dim}, each={self.each})"


def _on_diagonal(entries: list[Any]) -> list[list[Any]]:
    return [[entry if i == j else 0 for j in range(len(entries))] for i, entry in enumerate(entries)]
