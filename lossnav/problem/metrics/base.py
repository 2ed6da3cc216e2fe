"""What every metric offers, and what is asked of its matrices."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import differences


class Metric(_checks.Shaped, abc.ABC):
    r"""A metric on D parameters: the price of speed is :math:`|\dot\theta|_G^2/2\eta`.

    Attributes:
        dim: D, the number of parameters.
        constant: whether G is the same for every θ.
    """

    _axes: ClassVar = {"matrix": 2, "derivative": 3, "second_derivative": 4}
    dim: int
    constant: bool = False

    @abc.abstractmethod
    def matrix(self, theta: ArrayLike) -> Array:
        """Return G(θ), shape (..., D, D). An ``Objective`` checks that it is symmetric positive definite."""

    @abc.abstractmethod
    def derivative(self, theta: ArrayLike) -> Array:
        """Return ∂G_ij/∂θ_k, shape (..., D, D, D)."""

    def second_derivative(self, theta: ArrayLike) -> Array:
        """Return ∂²G_ij/∂θ_k∂θ_l, shape (..., D, D, D, D), to about six digits: Newton's method needs no more.

        NaN where G is not finite.
        """
        theta = self._points(theta)
        return differences.in_parts(lambda x: differences.first(self.derivative, x), theta, 4 * self.dim)

    def norm_squared(self, theta: ArrayLike, velocity: ArrayLike) -> Any:
        """Return |θ̇|²_G, shape (...), at θ and θ̇ of shape (..., D) that broadcast; inf or NaN where G is not finite."""
        points, speeds = _checks.moving(theta, velocity, self.dim)
        return np.einsum("...i,...ij,...j->...", speeds, self.matrix(points), speeds)

    def units_at(self, theta: Array) -> tuple[Array, Array] | None:
        """Return units in which the metric has the same formula, and is of order one at θ, shape (D,); None: unknown.

        They are a scale (powers of two) and a shift, shape (D,): θ = scale·θ′ + shift.
        """
        return None

    def geodesic(self, fraction: Array, start: Array, end: Array) -> Array | None:
        """Return the points at fractions, shape (S,), of the shortest way between two: (S, D), or None: no formula."""
        return None

    def expression(self, symbols: Any, functions: Any) -> Any:
        """Return G in terms of symbols, as lists of lists, or None when no formula is known.

        Args:
            symbols: θ_1 … θ_D.
            functions: where ``exp`` of a symbol is found, such as the module sympy.
        """
        return None

    def __call__(self, theta: ArrayLike) -> Array:
        """Return G(θ), shape (..., D, D)."""
        return self.matrix(theta)

    def _points(self, theta: ArrayLike) -> Array:
        return _checks.points("theta", theta, self.dim)


def check_matrices(metric: Array) -> None:
    """Raise ValueError unless all matrices, shape (..., D, D), are finite, symmetric and positive definite."""
    if not np.isfinite(metric).all():
        raise ValueError(f"metric(theta) = {_checks.shown(metric)}, but all its entries must be finite")
    gap = np.max(np.abs(metric - np.swapaxes(metric, -2, -1)), axis=(-2, -1))
    if np.any(gap > 1e-8 * np.max(np.abs(metric), axis=(-2, -1))):
        raise ValueError("metric(theta) differs from its transpose, but it must be symmetric")
    try:
        np.linalg.cholesky(metric)
    except np.linalg.LinAlgError:
        lowest = float(np.min(np.linalg.eigvalsh(metric)))
        raise ValueError(f"metric(theta) has the eigenvalue {lowest:.3g}, but it must be positive definite") from None
