"""A user's function as one of arrays, be it written for them or for torch's tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lossnav.problem.functions import budget


class OfArrays:
    """A function that is called with arrays: one that takes tensors instead is given those.

    Its first call decides. Nobody has a function of tensors without having imported torch: where that is not loaded,
    nothing is tried.

    Attributes:
        shape: of what it returns for one θ.
        tensors: whether it takes tensors; False as long as it has not been called.
    """

    tensors: bool
    shape: tuple[int, ...]

    def __init__(self, function: Callable[[Any], Any], shape: tuple[int, ...] = ()):
        self.tensors, self.shape = False, shape
        self._called = function
        self._given = function
        self._tried = False

    def __call__(self, theta: Any) -> Any:
        """Return what the function says of θ."""
        if self._tried or "torch" not in sys.modules:
            return self._called(theta)
        try:
            result = self._called(theta)
        except budget.OutOfBudget:  # of a loss that this function asks
            raise
        except Exception as error:  # whatever a function of tensors makes of an array
            result = self._of_tensors(theta, error)
        if type(result).__module__ == "torch":
            result = self._of_tensors(theta, TypeError("a tensor was returned, but tensors are not taken"))
        self._tried = True
        return result

    def derivative(self, order: int) -> Callable[[Any], Any]:
        """Return a derivative of a function of tensors, as a function of arrays."""
        from lossnav.problem.functions.tensors import Derivative

        return Derivative(self._given, order, self.shape)

    def _of_tensors(self, theta: Any, error: Exception) -> Any:
        """Return what the function says of a tensor, and go on with tensors; raise ``error`` if it takes none."""
        called = self.derivative(0)
        try:
            result = called(theta)
        except Exception as other:
            error.add_note(f"A tensor of float64 was tried, too: {type(other).__name__}: {other}")
            raise error from None
        self.tensors, self._called = True, called
        return result
