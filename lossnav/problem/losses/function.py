"""A landscape given as a function, with the derivatives that it lacks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import budget, differences
from lossnav.problem.functions.batched import Batched
from lossnav.problem.losses.base import Loss, scalar


class Formula(Protocol):
    """An expression of sympy, which is not loaded to say so."""

    @property
    def free_symbols(self) -> Any:
        """Its symbols."""
        ...


class Function(Loss):
    """A loss given as a function, of arrays or of torch's tensors, or as a formula of sympy.

    Missing derivatives of a function of arrays come from central differences. A function of tensors (of one θ, float64,
    shape (D,)) is one that takes no array, or returns a tensor for it: what it lacks comes from torch, and so do its
    batches. Derivatives of a formula are formulas, of real symbols; those of a kink have to be given.

    Differenced gradients are good to about 1e-12, derived Hessians to about 1e-11 with a given gradient and 1e-8
    without, relative to the size of L and its next derivatives over a step relative to max(1, |θ|): where L bends over
    much less, give them (``solve`` chooses units first). Newton's method needs no more of a Hessian. A gradient that is
    given is compared with differences once, along one direction: a warning says that it is another function's where
    they tell, which is not everywhere.

    **Batches.** A solver needs thousands of points. Each function is tried once on several points together and
    compared with its own values one by one; if they agree it is called with all points from then on. Three ways of
    writing pass: for arrays of shape (..., D), ``x[..., 0]``; for one θ with ``x[0]``, ``x[1]``, if that also works on
    an array of shape (D, N); and for one θ with numpy's arithmetic and elementwise functions, ``np.exp(x @ A @ x)``,
    ``np.array([x[0], 0])``: its entries then hold all points. ``batches`` and the repr say which was found. Anything
    else (an ``if`` on a coordinate, ``math.exp``, a sum over many data for one θ) is called point by point, and after
    20,000 such calls a warning says so. The agreement is tested again on later batches, wherever they leave the region
    tested so far or grow.

    Args:
        value: maps θ to L(θ); sympy symbols are tried too, for the symbolic equations. Or a sympy expression.
        gradient: maps θ to ∇L(θ), shape (D,).
        hessian: maps θ to ∇²L(θ), shape (D, D).
        dim: D; may be left out with an expression.
        symbols: with an expression, the symbols of θ in its order; None takes all by name, x_2 before x_10.

    Attributes:
        calls: how often these functions were called so far, by anyone: with a whole batch or with one point.
        batches: how each takes several points: "(..., D)", "(D, N)", "entry by entry", "one by one", or None
            where it is not known yet.

    Raises:
        ValueError: if ``dim`` is not a positive integer, a function is not callable, or a result has a wrong shape; if
            an expression has other symbols, or another number of them, than ``symbols`` and ``dim`` say.

    Example:
        >>> bowl = Function(lambda theta: (theta**2).sum(-1), dim=3)
        >>> bowl.gradient([1.0, 2.0, 3.0]).round(9)
        array([2., 4., 6.])
        >>> bowl
        Function(dim=3, value: (..., D))
        >>> import sympy
        >>> a, b = sympy.symbols("a b")
        >>> Function((a * b - 1) ** 2).hessian([1.0, 2.0])
        array([[8., 6.],
               [6., 2.]])
    """

    dim: int

    def __init__(
        self,
        value: Any,
        gradient: Callable[[Any], Any] | None = None,
        hessian: Callable[[Any], Any] | None = None,
        *,
        dim: int | None = None,
        symbols: Sequence[Any] | None = None,
    ):
        self._compared = gradient is None
        if is_expression(value):
            from lossnav.problem.functions.written import formula

            value = formula(value, symbols)
            if dim not in (None, len(value.symbols)):
                raise ValueError(f"dim = {_checks.shown(dim)}, but value has the symbols {value.symbols}")
            dim, symbolic_gradient = len(value.symbols), value.gradient()
            gradient, hessian = gradient or symbolic_gradient, hessian or symbolic_gradient.gradient()
        elif symbols is not None:
            raise ValueError(f"symbols = {_checks.shown(symbols)}, but value is no sympy expression")
        _checks.function("value", value)
        for name, function in (("gradient", gradient), ("hessian", hessian)):
            if function is not None:
                _checks.function(name, function)
        self.dim = _checks.whole("dim", dim, low=1)
        self._given = value
        self._value = Batched("value", value, ())
        self._gradient = None if gradient is None else Batched("gradient", gradient, (self.dim,))
        self._hessian = None if hessian is None else Batched("hessian", hessian, (self.dim, self.dim))

    @property
    def calls(self) -> int:  # type: ignore[override]
        return sum(part.calls for part in self._parts())

    @property
    def batches(self) -> dict[str, str | None]:
        """How each function takes several points; None where it is not known yet."""
        return {part.name: part.layout for part in self._parts()}

    def value(self, theta: ArrayLike) -> Any:
        theta = self._points(theta)
        values = self._value(theta)
        self._complete(theta)
        return scalar(values)

    def gradient(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        self._complete(theta)
        if self._gradient:
            self._compare(theta.reshape(-1, self.dim))
            return self._gradient(theta)
        return differences.in_parts(lambda x: differences.first(self._value, x), theta, 4 * self.dim)

    def hessian(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        self._complete(theta)
        if self._hessian:
            return self._hessian(theta)
        if self._gradient:
            gradient = self._gradient
            hessian = differences.in_parts(lambda x: differences.first(gradient, x), theta, 4 * self.dim)
            return (hessian + np.swapaxes(hessian, -1, -2)) / 2
        # The step balances rounding, eps/step², against truncation, step²/12 of the fourth derivatives.
        points = self.dim**2 + self.dim + 1
        return differences.in_parts(lambda x: differences.second(self._value, x, 3e-4), theta, points)

    def _complete(self, theta: Array) -> None:
        """Take from torch the derivatives that a function of tensors lacks; its first value says whether it is one."""
        if (self._gradient and self._hessian) or not theta.size:
            return
        if not self._value.calls:
            self._value(theta.reshape(-1, self.dim)[0])
        given = self._value.function
        if given.tensors:
            self._gradient = self._gradient or Batched("gradient", given.derivative(1), (self.dim,))
            self._hessian = self._hessian or Batched("hessian", given.derivative(2), (self.dim, self.dim))

    def _compare(self, points: Array) -> None:
        """Warn unless the given gradient is that of the value, along one direction at the first of the points.

        It is, if at one of several steps it lies between what differences to both sides say: no single step is good
        for every scale on which a loss may bend, and at a kink every slope between them is one.
        """
        if self._compared or not len(points) or self._gradient is None:
            return
        self._compared = True
        theta, direction = points[0], np.cos(np.arange(1, self.dim + 1))
        given = float(self._gradient(theta) @ direction)
        for step in max(1.0, float(np.max(np.abs(theta)))) * np.array([1e-5, 1e-3, 1e-7]):
            try:
                with np.errstate(all="ignore"):
                    values = self._value(theta + step * np.array([-1.0, 0.0, 1.0])[:, None] * direction)
            except budget.OutOfBudget:
                raise
            except Exception:  # beyond where the loss means something: nothing is said
                return
            slopes = np.diff(values) / step
            slack = 1e-2 * max(np.max(np.abs(slopes)), abs(given)) + np.spacing(8 * np.max(np.abs(values))) / step
            if not (given < np.min(slopes) - slack or given > np.max(slopes) + slack):  # nor where values are NaN
                return
        warnings.warn(
            f"gradient is not that of value: at theta = {_checks.shown(theta)} along {_checks.shown(direction)} it is "
            f"{given:.6g}, and differences of value say otherwise",
            UserWarning,
            stacklevel=3,
        )

    def expression(self, symbols: Any) -> Any:
        try:
            return self._given(np.array(symbols, dtype=object))
        except (TypeError, AttributeError, ValueError):
            return None  # numeric code that cannot take symbols

    def _parts(self) -> list[Batched]:
        return [part for part in (self._value, self._gradient, self._hessian) if part is not None]

    def __repr__(self) -> str:
        known = "; ".join(f"{name}: {layout or 'not called with a batch yet'}" for name, layout in self.batches.items())
        return f"Function(dim={self.dim}, {known})"


def as_loss(loss: Any, dim: int) -> Any:
    """Return a function or a formula of ``dim`` parameters as a loss; anything else, a loss too, as it is.

    Raises:
        ValueError: if the formula has another number of symbols.
    """
    if is_expression(loss):
        function = Function(loss)
        if function.dim != dim:
            shown = _checks.shown(loss)
            raise ValueError(f"loss = {shown} has {function.dim} symbols, but the problem has {dim} parameters")
        return function
    return Function(loss, dim=dim) if callable(loss) and not isinstance(loss, type | Loss) else loss


def is_expression(value: Any) -> bool:
    """Return whether this is an expression of sympy, which nobody has without having imported it."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(value, sympy.Expr)
