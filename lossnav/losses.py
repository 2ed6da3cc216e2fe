"""Loss landscapes L(θ): value, gradient, Hessian and, where there is one, the formula for sympy.

Every method accepts leading batch axes: θ of shape (..., D) gives a value of shape (...), a gradient of shape
(..., D) and a Hessian of shape (..., D, D).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array


class Loss:
    """A loss landscape over D parameters."""

    dim: int

    def value(self, theta: ArrayLike) -> Any:
        """Return L(θ): a float for one θ, an array of shape (...) for a batch."""
        raise NotImplementedError

    def gradient(self, theta: ArrayLike) -> Array:
        """Return ∇L(θ), shape (..., D)."""
        raise NotImplementedError

    def hessian(self, theta: ArrayLike) -> Array:
        """Return ∇²L(θ), shape (..., D, D)."""
        raise NotImplementedError

    def stationary_points(self) -> Array | None:
        """Return all points with ∇L = 0, shape (M, D), or None when no formula for them is known."""
        return None

    def expression(self, symbols: Any) -> Any:
        """Return L in terms of the given symbols, or None when no formula is known."""
        return None

    def _points(self, theta: ArrayLike) -> Array:
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim == 0 or theta.shape[-1] != self.dim:
            raise ValueError(f"theta has shape {theta.shape}, but its last axis must have length {self.dim}")
        return theta


def _scalar(value: Array) -> Any:
    return float(value) if np.ndim(value) == 0 else value


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

    def __init__(
        self,
        hessian: ArrayLike,
        minimum: ArrayLike | None = None,
        gradient: ArrayLike | None = None,
        offset: float = 0.0,
    ):
        matrix = np.asarray(hessian)
        self._hessian = _checks.symmetric("hessian", matrix.reshape(1, 1) if matrix.ndim == 0 else matrix)
        self.dim = len(self._hessian)
        if (minimum is None) == (gradient is None):
            given = "both" if minimum is not None else "neither"
            raise ValueError(f"exactly one of minimum and gradient must be given, but {given} was")
        self.offset = _checks.finite("offset", offset)
        name, vector = ("minimum", minimum) if minimum is not None else ("gradient", gradient)
        point = np.atleast_1d(np.asarray(vector))
        self.minimum: Array | None = None
        if name == "minimum":
            self.minimum = _checks.array(name, point, shape=(self.dim,))
        else:
            self._gradient = _checks.array(name, point, shape=(self.dim,))
            if np.linalg.matrix_rank(self._hessian, hermitian=True) == self.dim:
                centre = -np.linalg.solve(self._hessian, self._gradient)
                self.minimum, self.offset = centre, self.offset + float(self._gradient @ centre) / 2

    def value(self, theta: ArrayLike) -> Any:
        theta = self._points(theta)
        if self.minimum is None:
            return _scalar(theta @ self._gradient + _form(self._hessian, theta) / 2 + self.offset)
        return _scalar(_form(self._hessian, theta - self.minimum) / 2 + self.offset)

    def gradient(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        if self.minimum is None:
            return self._gradient + theta @ self._hessian
        return (theta - self.minimum) @ self._hessian

    def hessian(self, theta: ArrayLike) -> Array:
        return np.broadcast_to(self._hessian, (*self._points(theta).shape, self.dim))

    def stationary_points(self) -> Array | None:
        return None if self.minimum is None else self.minimum[None, :]

    def expression(self, symbols: Any) -> Any:
        centre = np.zeros(self.dim) if self.minimum is None else self.minimum
        x = [s - float(c) if c else s for s, c in zip(symbols, centre, strict=True)]
        total: Any = self.offset
        for i in range(self.dim):
            total += float(self._hessian[i, i]) / 2 * x[i] ** 2
            total += sum(float(self._hessian[i, j]) * x[i] * x[j] for j in range(i) if self._hessian[i, j])
            if self.minimum is None:
                total += float(self._gradient[i]) * x[i]
        return total

    def __repr__(self) -> str:
        return f"Quadratic(dim={self.dim})"


def _form(matrix: Array, x: Array) -> Array:
    return np.einsum("...i,ij,...j->...", x, matrix, x)


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

    dim = 2

    def __init__(self, a: float = 1.0, b: float = 1.0, c: float = 1.0, d: float = -0.5):
        self.a, self.b, self.c = _checks.positive("a", a), _checks.positive("b", b), _checks.positive("c", c)
        self.d = _checks.finite("d", d)

    def value(self, theta: ArrayLike) -> Any:
        x, y = np.moveaxis(self._points(theta), -1, 0)
        return _scalar(self.a * (x**2 - self.b) ** 2 + self.c * y**2 + self.d * x)

    def gradient(self, theta: ArrayLike) -> Array:
        x, y = np.moveaxis(self._points(theta), -1, 0)
        return np.stack([4 * self.a * x * (x**2 - self.b) + self.d, 2 * self.c * y], axis=-1)

    def hessian(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        hessian = np.zeros((*theta.shape, 2))
        hessian[..., 0, 0] = 4 * self.a * (3 * theta[..., 0] ** 2 - self.b)
        hessian[..., 1, 1] = 2 * self.c
        return hessian

    def stationary_points(self) -> Array:
        """Return the real roots of 4aθ₁(θ₁²−b)+d = 0 with θ₂ = 0, left to right, shape (1, 2) or (3, 2)."""
        roots = np.roots([4 * self.a, 0.0, -4 * self.a * self.b, self.d])
        real = np.sort(roots[np.abs(roots.imag) < 1e-7 * np.sqrt(self.b)].real)
        for _ in range(3):  # companion-matrix roots are good to about 1e-15·condition: polish
            slope = 4 * self.a * (3 * real**2 - self.b)
            step = (4 * self.a * real * (real**2 - self.b) + self.d) / np.where(slope == 0, np.inf, slope)
            real = real - step
        return np.stack([real, np.zeros_like(real)], axis=-1)

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

    dim = 2

    def __init__(self, a: float = 1.0, b: float = 100.0):
        self.a, self.b = _checks.finite("a", a), _checks.positive("b", b)

    def value(self, theta: ArrayLike) -> Any:
        x, y = np.moveaxis(self._points(theta), -1, 0)
        return _scalar((self.a - x) ** 2 + self.b * (y - x**2) ** 2)

    def gradient(self, theta: ArrayLike) -> Array:
        x, y = np.moveaxis(self._points(theta), -1, 0)
        wall = y - x**2
        return np.stack([-2 * (self.a - x) - 4 * self.b * x * wall, 2 * self.b * wall], axis=-1)

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


class Section(Loss):
    """A one-dimensional section of a loss: all coordinates but one are held.

    Args:
        loss: the landscape that is cut.
        axis: the free coordinate.
        point: where the others are held, shape (D,); None is the origin.

    Raises:
        ValueError: if ``axis`` is not one of the loss's, or ``point`` has a wrong shape.
    """

    dim = 1

    def __init__(self, loss: Loss, axis: int = 0, point: ArrayLike | None = None):
        if axis not in range(loss.dim):
            raise ValueError(f"axis = {axis!r}, but it must be one of 0 … {loss.dim - 1}")
        self._loss, self._axis = loss, axis
        self._point = np.zeros(loss.dim) if point is None else _checks.array("point", point, shape=(loss.dim,))

    def value(self, theta: ArrayLike) -> Any:
        return self._loss.value(self._lift(theta))

    def gradient(self, theta: ArrayLike) -> Array:
        return self._loss.gradient(self._lift(theta))[..., self._axis : self._axis + 1]

    def hessian(self, theta: ArrayLike) -> Array:
        part = slice(self._axis, self._axis + 1)
        return self._loss.hessian(self._lift(theta))[..., part, part]

    def stationary_points(self) -> Array | None:
        """Return those of the loss that lie on the line, for a landscape that separates; None if some do not."""
        points = self._loss.stationary_points()
        if points is None:
            return None
        others = np.delete(points - self._point, self._axis, axis=-1)
        return points[:, self._axis : self._axis + 1] if np.allclose(others, 0) else None

    def expression(self, symbols: Any) -> Any:
        full = [float(x) for x in self._point]
        return self._loss.expression([symbols[0] if i == self._axis else x for i, x in enumerate(full)])

    def _lift(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        full = np.broadcast_to(self._point, (*theta.shape[:-1], self._loss.dim)).copy()
        full[..., self._axis] = theta[..., 0]
        return full

    def __repr__(self) -> str:
        return f"Section({self._loss!r}, axis={self._axis})"


class Function(Loss):
    """A loss given as a function; missing derivatives come from fourth-order central differences.

    Derived gradients are good to about 1e-12, derived Hessians to about 1e-11 with a given gradient and 1e-8
    without, relative to the size of L. The functions may be written for one θ, shape (D,), or for batches.

    Args:
        value: maps θ to L(θ); sympy symbols are tried too, for the symbolic equations.
        gradient: maps θ to ∇L(θ), shape (D,).
        hessian: maps θ to ∇²L(θ), shape (D, D).
        dim: D.

    Raises:
        ValueError: if ``dim`` is not a positive integer, a function is not callable, or a result has a wrong shape.

    Example:
        >>> bowl = Function(lambda theta: (theta**2).sum(-1), dim=3)
        >>> bowl.gradient([1.0, 2.0, 3.0]).round(9)
        array([2., 4., 6.])
    """

    def __init__(
        self,
        value: Callable[[Any], Any],
        gradient: Callable[[Any], Any] | None = None,
        hessian: Callable[[Any], Any] | None = None,
        *,
        dim: int,
    ):
        for name, function in (("value", value), ("gradient", gradient), ("hessian", hessian)):
            if function is not None and not callable(function):
                raise ValueError(f"{name} = {_checks.shown(function)}, but it must be callable")
        number = _checks.finite("dim", dim, low=1)
        if number != int(number):
            raise ValueError(f"dim = {dim!r}, but it must be a positive integer")
        self.dim = int(number)
        self._given = value
        self._value = _Batched("value", value, ())
        self._gradient = None if gradient is None else _Batched("gradient", gradient, (self.dim,))
        self._hessian = None if hessian is None else _Batched("hessian", hessian, (self.dim, self.dim))

    def value(self, theta: ArrayLike) -> Any:
        return _scalar(self._value(self._points(theta)))

    def gradient(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        return self._gradient(theta) if self._gradient else _central(self._value, theta, 7e-4)

    def hessian(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        if self._hessian:
            return self._hessian(theta)
        if self._gradient:
            hessian = _central(self._gradient, theta, 7e-4)
        else:  # differences of differences: a wider step balances rounding, eps/step², against truncation, step⁴
            hessian = _central(lambda x: _central(self._value, x, 3e-3), theta, 3e-3)
        return (hessian + np.swapaxes(hessian, -1, -2)) / 2

    def expression(self, symbols: Any) -> Any:
        try:
            return self._given(np.array(symbols, dtype=object))
        except (TypeError, AttributeError, ValueError):
            return None  # numeric code that cannot take symbols


class _Batched:
    """Calls a function of one point on batches: at once if it turns out to be vectorised, else point by point."""

    def __init__(self, name: str, function: Callable[[Any], Any], shape: tuple[int, ...]):
        self._name, self._function, self._shape = name, function, shape
        self._vectorised: bool | None = None

    def __call__(self, theta: Array) -> Array:
        if theta.ndim == 1:
            return self._one(theta)
        flat = theta.reshape(-1, theta.shape[-1])
        if self._vectorised is None and len(flat) > 1:
            self._vectorised = self._takes_batches(flat)
        if self._vectorised:
            result = np.asarray(self._function(flat), dtype=np.float64)
        else:
            result = np.array([self._one(x) for x in flat]).reshape(len(flat), *self._shape)
        return result.reshape(*theta.shape[:-1], *self._shape)

    def _one(self, x: Array) -> Array:
        result = np.asarray(self._function(x), dtype=np.float64)
        if result.shape != self._shape:
            if result.size != int(np.prod(self._shape)):
                raise ValueError(f"{self._name}(theta) has shape {result.shape}, but it must have shape {self._shape}")
            result = result.reshape(self._shape)
        return result

    def _takes_batches(self, flat: Array) -> bool:
        # Three unlike points, so that a function which mixes its batch axis up with D cannot pass by accident.
        dim = flat.shape[-1]
        probe = flat[0] + np.linspace(0.0, 1e-3, dim + 2)[:, None] * np.arange(1, dim + 1)
        try:
            together = np.asarray(self._function(probe), dtype=np.float64)
            apart = np.array([self._one(x) for x in probe])
        except Exception:  # whatever the user's function raises on a batch, it is not vectorised
            return False
        return together.shape == apart.shape and bool(np.allclose(together, apart, rtol=1e-12, atol=1e-12))


def _central(function: Callable[[Array], Array], theta: Array, step: float) -> Array:
    """Return ∂function/∂θ_j on a new last axis by the five-point rule, error O(step⁴)."""
    columns = []
    for j in range(theta.shape[-1]):
        h = step * np.maximum(1.0, np.abs(theta[..., j]))
        offset = np.zeros_like(theta)
        offset[..., j] = h
        points = np.stack([theta + offset, theta - offset, theta + 2 * offset, theta - 2 * offset])
        plus, minus, plus2, minus2 = function(points)
        h = h.reshape(h.shape + (1,) * (np.ndim(plus) - h.ndim))
        columns.append((8 * (plus - minus) - (plus2 - minus2)) / (12 * h))
    return np.stack(columns, axis=-1)
