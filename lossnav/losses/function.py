"""A landscape given as a function, with the derivatives that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.losses.base import Loss, scalar


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
        return scalar(self._value(self._points(theta)))

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
