"""Landscapes with a formula: quadratic, the tilted double well, Rosenbrock's valley."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.losses.base import Loss, scalar


class Quadratic(Loss):
    r"""The quadratic :math:`\tfrac12(\theta-\theta^*)^\top H(\theta-\theta^*) + \text{offset}` or
    :math:`g^\top\theta + \tfrac12\theta^\top H\theta + \text{offset}` (Eqs. 5, 38).

    Args:
        hessian: H, shape (D, D), symmetric, of any signature; a scalar is taken as D = 1.
        minimum: θ*, shape (D,), the stationary point (a minimum if H ≻ 0).
        gradient: g, shape (D,), the gradient at the origin; allows singular H. Exactly one of the two is given.
        offset: L(θ*) with ``minimum``, L(0) with ``gradient``.

    Raises:
        ValueError: if H is not symmetric, a shape is wrong, or not exactly one of ``minimum``, ``gradient`` is given.

    Example:
        >>> Quadratic([[2.0]], minimum=[1.0]).value([3.0])
        4.0
    """

    calls: int = 0
    dim: int
    offset: float

    def __init__(
        self,
        hessian: ArrayLike,
        minimum: ArrayLike | None = None,
        gradient: ArrayLike | None = None,
        offset: float = 0.0,
    ):
        matrix = _checks.array("hessian", hessian)
        self._hessian = _checks.symmetric("hessian", matrix.reshape(1, 1) if matrix.ndim == 0 else matrix)
        self.dim = len(self._hessian)
        if (minimum is None) == (gradient is None):
            given = "both" if minimum is not None else "neither"
            raise ValueError(f"exactly one of minimum and gradient must be given, but {given} was")
        self.offset = _checks.finite("offset", offset)
        name, vector = ("minimum", minimum) if minimum is not None else ("gradient", gradient)
        point = np.atleast_1d(_checks.array(name, vector))
        self.minimum: Array | None = None
        self.tilt: Array | None = None  # the gradient at the origin, if it was given
        if name == "minimum":
            self.minimum = _checks.array(name, point, shape=(self.dim,))
        else:
            self.tilt = _checks.array(name, point, shape=(self.dim,))
            if np.linalg.matrix_rank(self._hessian, hermitian=True) == self.dim:
                self.minimum = -np.linalg.solve(self._hessian, self.tilt)
        _checks.frozen(*(array for array in (self.minimum, self.tilt) if array is not None))

    def value(self, theta: ArrayLike) -> Any:
        theta = self._points(theta)
        if self.tilt is not None:  # seen from a minimum far away, no digits would be left
            return scalar(theta @ self.tilt + _form(self._hessian, theta) / 2 + self.offset)
        assert self.minimum is not None  # one of the two was given
        return scalar(_form(self._hessian, theta - self.minimum) / 2 + self.offset)

    def gradient(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        if self.tilt is not None:
            return self.tilt + theta @ self._hessian
        assert self.minimum is not None
        return (theta - self.minimum) @ self._hessian

    def hessian(self, theta: ArrayLike) -> Array:
        return np.broadcast_to(self._hessian, (*self._points(theta).shape, self.dim))

    def stationary_points(self) -> Array | None:
        return None if self.minimum is None else self.minimum[None, :]

    def expression(self, symbols: Any) -> Any:
        centre = np.zeros(self.dim) if self.minimum is None or self.tilt is not None else self.minimum
        x = [s - float(c) if c else s for s, c in zip(symbols, centre, strict=True)]
        total: Any = self.offset
        for i in range(self.dim):
            total += float(self._hessian[i, i]) / 2 * x[i] ** 2
            total += sum(float(self._hessian[i, j]) * x[i] * x[j] for j in range(i) if self._hessian[i, j])
            if self.tilt is not None:
                total += float(self.tilt[i]) * x[i]
        return total

    def __repr__(self) -> str:
        return f"Quadratic(dim={self.dim})"


def _columns(theta: Array) -> tuple[Array, Array]:
    """Return θ₁ and θ₂ of points of shape (..., 2)."""
    return theta[..., 0], theta[..., 1]


def _form(matrix: Array, x: Array) -> Array:
    return np.einsum("...i,ij,...j->...", x, matrix, x)


@lru_cache(maxsize=64)
def _rests(a: float, b: float, d: float) -> Array:
    """Return the double well's stationary points: asked for several times in each solve, and the same each time."""
    roots = np.roots([4 * a, 0.0, -4 * a * b, d])
    real = np.sort(roots[np.abs(roots.imag) < 1e-7 * np.sqrt(b)].real)
    for _ in range(3):  # companion-matrix roots are good to about 1e-15·condition: polish
        derivative = 4 * a * (3 * real**2 - b)
        step = (4 * a * real * (real**2 - b) + d) / np.where(derivative == 0, np.inf, derivative)
        real = real - step
    return np.stack([real, np.zeros_like(real)], axis=-1)


class DoubleWell(Loss):
    r"""The tilted double well :math:`a(\theta_1^2-b)^2 + c\,\theta_2^2 + d\,\theta_1` (Eq. 28); D = 2.

    Args:
        a: barrier height factor, > 0.
        b: square of the untilted minima's position, > 0.
        c: curvature across, > 0.
        d: tilt.

    Raises:
        ValueError: for a, b or c that is not positive, or a non-finite d.
    """

    dim: int = 2
    calls: int = 0
    a: float
    b: float
    c: float
    d: float

    def __init__(self, a: float = 1.0, b: float = 1.0, c: float = 1.0, d: float = -0.5):
        self.a, self.b, self.c = _checks.positive("a", a), _checks.positive("b", b), _checks.positive("c", c)
        self.d = _checks.finite("d", d)

    def value(self, theta: ArrayLike) -> Any:
        x, y = _columns(self._points(theta))
        return scalar(self.a * (x**2 - self.b) ** 2 + self.c * y**2 + self.d * x)

    def gradient(self, theta: ArrayLike) -> Array:
        x, y = _columns(self._points(theta))
        gradient = np.empty((*x.shape, 2))
        gradient[..., 0] = 4 * self.a * x * (x**2 - self.b) + self.d
        gradient[..., 1] = 2 * self.c * y
        return gradient

    def hessian(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        hessian = np.zeros((*theta.shape, 2))
        hessian[..., 0, 0] = 4 * self.a * (3 * theta[..., 0] ** 2 - self.b)
        hessian[..., 1, 1] = 2 * self.c
        return hessian

    def stationary_points(self) -> Array:
        """Return the real roots of 4aθ₁(θ₁²−b)+d = 0 with θ₂ = 0, left to right, shape (1, 2) or (3, 2)."""
        return _rests(self.a, self.b, self.d).copy()

    def expression(self, symbols: Any) -> Any:
        x, y = symbols
        return self.a * (x**2 - self.b) ** 2 + self.c * y**2 + self.d * x

    def __repr__(self) -> str:
        return f"DoubleWell(a={self.a}, b={self.b}, c={self.c}, d={self.d})"


class Rosenbrock(Loss):
    r"""The curved valley :math:`(a-\theta_1)^2 + b(\theta_2-\theta_1^2)^2`, minimum 0 at (a, a²); D = 2.

    Args:
        a: position of the minimum.
        b: steepness of the valley's walls, > 0.

    Raises:
        ValueError: for b ≤ 0 or a non-finite a.
    """

    dim: int = 2
    calls: int = 0
    a: float
    b: float

    def __init__(self, a: float = 1.0, b: float = 100.0):
        self.a, self.b = _checks.finite("a", a), _checks.positive("b", b)

    def value(self, theta: ArrayLike) -> Any:
        x, y = _columns(self._points(theta))
        return scalar((self.a - x) ** 2 + self.b * (y - x**2) ** 2)

    def gradient(self, theta: ArrayLike) -> Array:
        x, y = _columns(self._points(theta))
        wall, gradient = y - x**2, np.empty((*x.shape, 2))
        gradient[..., 0] = -2 * (self.a - x) - 4 * self.b * x * wall
        gradient[..., 1] = 2 * self.b * wall
        return gradient

    def hessian(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        x, y = theta[..., 0], theta[..., 1]
        hessian = np.empty((*theta.shape, 2))
        hessian[..., 0, 0] = 2 - 4 * self.b * (y - 3 * x**2)
        hessian[..., 0, 1] = hessian[..., 1, 0] = -4 * self.b * x
        hessian[..., 1, 1] = 2 * self.b
        return hessian

    def stationary_points(self) -> Array:
        return np.array([[self.a, self.a**2]])

    def expression(self, symbols: Any) -> Any:
        x, y = symbols
        return (self.a - x) ** 2 + self.b * (y - x**2) ** 2

    def __repr__(self) -> str:
        return f"Rosenbrock(a={self.a}, b={self.b})"
