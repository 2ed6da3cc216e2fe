"""Drift fields f(θ): where the parameters go by themselves when nobody steers them (Sec. 4, App. G)."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import differences
from lossnav.problem.functions.nested import Nested

__all__ = ["Drift", "Function", "Linear", "rotation", "weight_decay"]
__dir__ = __all__.copy


class Drift(_checks.Shaped, abc.ABC):
    """A drift field: calling it gives f(θ); all methods accept leading batch axes."""

    _axes: ClassVar = {"__call__": 1, "jacobian": 2}
    dim: int | None = None  # None: the field is defined in every dimension

    @abc.abstractmethod
    def __call__(self, theta: ArrayLike) -> Array:
        """Return f(θ), shape (..., D)."""

    @abc.abstractmethod
    def jacobian(self, theta: ArrayLike) -> Array:
        """Return ∂f_i/∂θ_j, shape (..., D, D) (Eq. 97)."""

    def expression(self, symbols: Any) -> list[Any] | None:
        """Return f in terms of the given symbols, or None when no formula is known."""
        return None


class Linear(Drift):
    r"""The affine drift :math:`f(\theta) = A\theta + c` (Eq. 100).

    Args:
        jacobian: A, shape (D, D), unit 1/time; a scalar means that multiple of the identity in any dimension.
        offset: c, shape (D,), unit u/time; None is zero.

    Raises:
        ValueError: for a wrong shape or a non-finite entry.
    """

    def __init__(self, jacobian: ArrayLike, offset: ArrayLike | None = None):
        matrix = _checks.array("jacobian", jacobian)
        if matrix.ndim == 0:
            self.dim = None
        elif matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0:
            self.dim = matrix.shape[0]
        else:
            raise ValueError(f"jacobian has shape {matrix.shape}, but it must be a scalar or have shape (D, D)")
        self._jacobian = matrix
        self._offset: Array | None = None
        if offset is not None:
            self._offset = _checks.array("offset", offset, shape=(self.dim,))
            self.dim = _checks.whole("length of offset", len(self._offset), low=1)
            _checks.frozen(self._offset)
        _checks.frozen(matrix)

    def matrix(self, dim: int) -> Array:
        """Return A as a (dim, dim) array."""
        self._check_dim(dim)
        return self._jacobian * np.eye(dim) if self._jacobian.ndim == 0 else self._jacobian

    def offset(self, dim: int) -> Array:
        """Return c as a (dim,) array."""
        self._check_dim(dim)
        return np.zeros(dim) if self._offset is None else self._offset

    def _check_dim(self, dim: int) -> None:
        _checks.whole("dim", dim, low=1)
        if self.dim not in (None, dim):
            raise ValueError(f"dim = {dim}, but the drift acts on {self.dim} parameters")

    def __call__(self, theta: ArrayLike) -> Array:
        theta = _checks.points("theta", theta, self.dim)
        dim = theta.shape[-1]
        return theta @ self.matrix(dim).T + self.offset(dim)

    def jacobian(self, theta: ArrayLike) -> Array:
        theta = _checks.points("theta", theta, self.dim)
        return np.broadcast_to(self.matrix(theta.shape[-1]), (*theta.shape, theta.shape[-1]))

    def expression(self, symbols: Any) -> list[Any]:
        dim = len(symbols)
        matrix, offset = self.matrix(dim), self.offset(dim)
        return [
            sum((float(a) * s for a, s in zip(row, symbols, strict=True) if a), 0) + float(c)
            for row, c in zip(matrix, offset, strict=True)
        ]

    def __repr__(self) -> str:
        offset = None if self._offset is None else self._offset.tolist()
        return f"Linear(jacobian={self._jacobian.tolist()}, offset={offset})"


class Function(Drift):
    """A drift given as a function, of arrays or of torch's tensors of float64.

    **Batches.** Both functions are tried once on several points together, as those of a ``metrics.Function``, and are
    called point by point if that does not work.

    Args:
        value: maps θ, shape (D,), to f(θ), shape (D,); sympy symbols are tried too, for the symbolic equations.
        jacobian: maps θ to ∂f_i/∂θ_j, shape (D, D); None takes central differences, of a step relative to max(1, |θ|):
            give it where f bends over much less (``solve`` chooses units first).
        dim: D; None for a function of any number of parameters.

    Raises:
        ValueError: if ``dim`` is not a positive integer, a function is not callable, or a result has a wrong shape.

    Example:
        >>> swirl = Function(lambda x: [-x[1], x[0] ** 3])
        >>> swirl.jacobian([2.0, 1.0]).round(9) + 0.0
        array([[ 0., -1.],
               [12.,  0.]])
    """

    dim: int | None

    def __init__(
        self, value: Callable[[Any], Any], jacobian: Callable[[Any], Any] | None = None, *, dim: int | None = None
    ):
        self.dim = None if dim is None else _checks.whole("dim", dim, low=1)
        self._given = _checks.function("value", value)
        self._slope = None if jacobian is None else _checks.function("jacobian", jacobian)
        self._parts: dict[int, tuple[Nested, Nested | None]] = {}  # by D, which a point says

    def _on(self, dim: int) -> tuple[Nested, Nested | None]:
        """Return both functions on ``dim`` parameters."""
        if dim not in self._parts:
            value = Nested("value", self._given, (dim,), "a drift")
            jacobian = None if self._slope is None else Nested("jacobian", self._slope, (dim, dim), "a drift")
            self._parts[dim] = value, jacobian
        return self._parts[dim]

    def __call__(self, theta: ArrayLike) -> Array:
        theta = _checks.points("theta", theta, self.dim)
        return self._on(theta.shape[-1])[0](theta)

    def jacobian(self, theta: ArrayLike) -> Array:
        theta = _checks.points("theta", theta, self.dim)
        dim = theta.shape[-1]
        value, jacobian = self._on(dim)
        if jacobian is not None:
            return jacobian(theta)
        return differences.in_parts(lambda x: differences.first(value, x), theta, 4 * dim)

    def expression(self, symbols: Any) -> list[Any] | None:
        try:
            return list(self._given(symbols))
        except (TypeError, AttributeError, ValueError):
            return None  # numeric code that cannot take symbols

    def __repr__(self) -> str:
        return f"Function(dim={self.dim})"


def rotation(rate: float) -> Linear:
    """Return the plane rotation f = Qθ with Q = rate·[[0, −1], [1, 0]] (Eq. 119).

    Args:
        rate: radians per unit of time, counter-clockwise if > 0.

    Raises:
        ValueError: it is not a finite number.

    Example:
        >>> rotation(0.5)([1.0, 0.0])
        array([0. , 0.5])
    """
    rate = _checks.finite("rate", rate)
    return Linear(rate * np.array([[0.0, -1.0], [1.0, 0.0]]))


def weight_decay(rate: float) -> Linear:
    """Return the decay f = −rate·θ, in any dimension (Eq. 122).

    Args:
        rate: > 0, unit 1/T.

    Raises:
        ValueError: it is not a finite number > 0.

    Example:
        >>> weight_decay(0.1)([1.0, -2.0])
        array([-0.1,  0.2])
    """
    return Linear(-_checks.positive("rate", rate))
