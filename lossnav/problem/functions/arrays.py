"""A user's function as one of arrays, be it written for them or for torch's tensors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lossnav.problem.functions import budget

if TYPE_CHECKING:
    from lossnav.problem.functions.tensors import Derivative


class OfArrays:
    """A function that is called with arrays: one that takes tensors instead is given those.

    Its first call decides. Nobody has a function of tensors without having imported torch: where that is not loaded,
    nothing is tried.

    Attributes:
        shape: of what it returns for one θ.
        tensors: whether torch derives it; False as long as it has not been called, and where its result hangs on θ by
            nothing that torch follows (``torch.tensor(theta)``, ``detach``).
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
            with warnings.catch_warnings():  # that numpy will not go through tensors in this way: nor need it
                warnings.filterwarnings("ignore", "__array_wrap__", DeprecationWarning)
                result = self._called(theta)
        except budget.OutOfBudget:  # of a loss that this function asks
            raise
        except Exception as error:  # whatever a function of tensors makes of an array
            result = self._of_tensors(theta, error)
        if type(result).__module__ == "torch":
            try:
                result = self._of_tensors(theta, TypeError("a function of an array has returned a tensor"))
            except TypeError:
                if str(result.dtype) != "torch.float64":
                    raise  # of float64 it is as good as an array
        self._tried = True
        return result

    def derivative(self, order: int) -> Derivative:
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
            if "dtype" in str(other):
                error.add_note("What the function has of its own, weights or data, must be of float64: .double()")
            raise error from None
        self.tensors, self._called = called.derived(theta), called
        return result
