"""A metric given as a function, with the derivative that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import differences
from lossnav.problem.functions.nested import Nested
from lossnav.problem.metrics.base import Metric


class Function(Metric):
    """A metric given as a function, of arrays or of torch's tensors of float64; a missing derivative is differenced.

    **Batches.** As with ``losses.Function`` the function is tried once on several points together. Ways of writing
    that pass: for arrays of shape (..., D), and for one θ with ``x[0]``, ``x[1]``, if that also works on an array of
    shape (D, N); both may return lists of lists with arrays and numbers in them, and a constant passes, too. A function
    that builds its matrix of single entries (``np.array([[1 / x[1], 0], [0, 1]])``, ``np.diag``) is given entries that
    hold all points. Anything else (``math.exp``, a branch) is called point by point. ``batches`` says which was found.

    Args:
        matrix: maps θ to G(θ), shape (D, D); sympy symbols are tried too, for the symbolic equations.
        derivative: maps θ to ∂G_ij/∂θ_k, shape (D, D, D).
        dim: D, the number of parameters.

    Attributes:
        calls: how often these functions were called so far, by anyone: with a whole batch or with one point. Budgets
            (``max_calls``) do not count them.
        batches: how each takes several points: "(..., D)", "(D, N)", "entry by entry", "one by one", or None
            where it is not known yet.

    Raises:
        ValueError: if ``dim`` is not a positive integer, a function is not callable, or a result has a wrong shape.

    Example:
        >>> half_plane = Function(lambda x: [[1 / x[1] ** 2, 0], [0, 1 / x[1] ** 2]], dim=2)
        >>> half_plane.derivative([0.0, 2.0])[0, 0].round(9)
        array([ 0.  , -0.25])
    """

    dim: int

    def __init__(self, matrix: Callable[[Any], Any], derivative: Callable[[Any], Any] | None = None, *, dim: int):
        _checks.function("matrix", matrix)
        if derivative is not None:
            _checks.function("derivative", derivative)
        self.dim = _checks.whole("dim", dim, low=1)
        self._given = matrix
        self._matrix = Nested("metric", matrix, (self.dim,) * 2, "an Objective")
        self._derivative = derivative and Nested("derivative", derivative, (self.dim,) * 3, "an Objective")

    @property
    def calls(self) -> int:
        """How often the functions were called so far."""
        return self._matrix.calls + (self._derivative.calls if self._derivative else 0)

    @property
    def batches(self) -> dict[str, str | None]:
        """How each function takes several points; None where it is not known yet."""
        named = {"matrix": self._matrix, "derivative": self._derivative}
        return {name: part.layout for name, part in named.items() if part is not None}

    def matrix(self, theta: ArrayLike) -> Array:
        return self._matrix(self._points(theta))

    def derivative(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        if self._derivative is not None:
            return self._derivative(theta)
        return differences.in_parts(lambda x: differences.first(self._matrix, x), theta, 4 * self.dim)

    def second_derivative(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        if self._derivative is not None:
            return super().second_derivative(theta)
        points = self.dim**2 + self.dim + 1
        return differences.in_parts(lambda x: differences.second(self._matrix, x, differences.STEP), theta, points)

    def expression(self, symbols: Any, functions: Any) -> Any:
        try:
            return self._given(symbols)
        except (TypeError, AttributeError, ValueError):
            return None  # numeric code that cannot take symbols

    def __repr__(self) -> str:
        known = "; ".join(f"{name}: {layout or 'not called with a batch yet'}" for name, layout in self.batches.items())
        return f"Function(dim={self.dim}, {known})"
