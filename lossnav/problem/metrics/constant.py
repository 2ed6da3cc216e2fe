"""Metrics that are the same everywhere: a matrix, its diagonal, a Kronecker product."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.metrics.base import Metric


class Steady(Metric):
    """A metric that is the same everywhere; a subclass says what its matrix is."""

    constant = True

    @abc.abstractmethod
    def _dense(self) -> Array:
        """Return G, shape (D, D)."""

    def matrix(self, theta: ArrayLike) -> Array:
        points = self._points(theta)
        return np.broadcast_to(self._dense(), (*points.shape, self.dim))

    def derivative(self, theta: ArrayLike) -> Array:
        points = self._points(theta)
        return np.zeros((*points.shape, self.dim, self.dim))

    def second_derivative(self, theta: ArrayLike) -> Array:
        points = self._points(theta)
        return np.zeros((*points.shape, self.dim, self.dim, self.dim))

    def expression(self, symbols: Any, functions: Any) -> Any:
        return self._dense().tolist()


class Constant(Steady):
    """The metric of one matrix.

    Args:
        matrix: G, shape (D, D), symmetric positive definite.

    Raises:
        ValueError: if it is not.

    Example:
        >>> float(Constant([[2.0, 0.0], [0.0, 1.0]]).norm_squared([0.0, 0.0], [1.0, 3.0]))
        11.0
    """

    dim: int

    def __init__(self, matrix: ArrayLike):
        self._matrix = _checks.symmetric("matrix", matrix, definite=True)
        _checks.frozen(self._matrix)
        self.dim = len(self._matrix)

    def _dense(self) -> Array:
        return self._matrix

    def __repr__(self) -> str:
        return f"Constant(matrix={self._matrix.tolist()})"


class Diagonal(Steady):
    """The metric of one price for each parameter, G = diag(values).

    Args:
        values: shape (D,), all > 0.

    Raises:
        ValueError: if they are not.
    """

    values: Array
    dim: int

    def __init__(self, values: ArrayLike):
        self.values = _checks.positives("values", values, shape=(None,))
        if not self.values.size:
            raise ValueError("values has shape (0,), but there must be at least one")
        _checks.frozen(self.values)
        self.dim = len(self.values)

    def _dense(self) -> Array:
        return np.diag(self.values)

    def norm_squared(self, theta: ArrayLike, velocity: ArrayLike) -> Any:
        _, speeds = _checks.moving(theta, velocity, self.dim)
        return _as_broad(np.einsum("...i,i,...i->...", speeds, self.values, speeds), theta)

    def __repr__(self) -> str:
        return f"Diagonal(values={self.values.tolist()})"


class Kronecker(Steady):
    r"""The metric :math:`G = A\otimes B` of a weight matrix W with m rows and n columns.

    θ holds W row by row, D = mn. Then :math:`G\,\mathrm{vec}\,\dot W = \mathrm{vec}(A\dot WB)`: A is the price between
    rows (outputs), B that between columns (inputs).

    Args:
        a: A, shape (m, m), symmetric positive definite.
        b: B, shape (n, n), the same.

    Raises:
        ValueError: naming the factor that is not.

    Example:
        >>> Kronecker([[2.0]], [[1.0, 0.0], [0.0, 3.0]]).matrix([0.0, 0.0])
        array([[2., 0.],
               [0., 6.]])
    """

    a: Array
    b: Array
    dim: int

    def __init__(self, a: ArrayLike, b: ArrayLike):
        self.a, self.b = (_checks.symmetric(name, x, definite=True) for name, x in (("a", a), ("b", b)))
        _checks.frozen(self.a, self.b)
        self.dim = len(self.a) * len(self.b)

    def _dense(self) -> Array:
        return np.kron(self.a, self.b)

    def norm_squared(self, theta: ArrayLike, velocity: ArrayLike) -> Any:
        _, speeds = _checks.moving(theta, velocity, self.dim)
        weights = speeds.reshape(*speeds.shape[:-1], len(self.a), len(self.b))
        return _as_broad(np.sum(weights * (self.a @ weights @ self.b), axis=(-2, -1)), theta)

    def __repr__(self) -> str:
        return f"Kronecker(a={self.a.tolist()}, b={self.b.tolist()})"


def _as_broad(values: Array, theta: ArrayLike) -> Array:
    """Return values, shape (...), broadcast to the batch axes of θ too, on which they do not depend."""
    return np.broadcast_to(values, np.broadcast_shapes(np.shape(values), np.shape(theta)[:-1]))
