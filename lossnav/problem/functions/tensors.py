"""A user's torch function on arrays: its values, gradients and Hessians, of whole batches.

Only who has given a torch function comes here: the rest of the problem needs no torch. A batch goes through the
function once; since each point has a value of its own, the gradient of their sum holds all gradients, and that of an
entry's sum a row of all Hessians.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lossnav._checks import Array


@dataclass(frozen=True)
class Derivative:
    """A derivative of a torch function, called with arrays.

    Attributes:
        function: maps a float64 tensor of shape (D,) to one of ``shape``.
        order: 0 for the function itself, 1 for the gradient of a number, 2 for its Hessian.
        shape: of what the function returns, S.
    """

    function: Callable[[Any], Any]
    order: int
    shape: tuple[int, ...] = ()

    def __call__(self, theta: Array) -> Array:
        """Return the derivative at points of shape (..., D), shape (..., *S), (..., D) or (..., D, D)."""
        import torch  # here: this room is also for those who have none

        points = torch.tensor(theta, requires_grad=self.order > 0)
        function = self._shaped
        for _ in range(points.ndim - 1):
            function = torch.func.vmap(function)
        with torch.enable_grad():
            result = function(points.clone())  # the function may write on its argument
            if self.order > 0:
                result = _gradient(result, points, twice=self.order > 1)
            if self.order > 1:
                result = torch.stack([_gradient(entry, points, twice=False) for entry in result.unbind(-1)], dim=-2)
        return result.detach().numpy()

    def derived(self, theta: Array) -> bool:
        """Return whether torch knows how the function's result at one θ, shape (D,), hangs on θ."""
        import torch

        try:
            with torch.enable_grad():
                return bool(self.function(torch.tensor(theta, requires_grad=True).clone()).requires_grad)
        except Exception:  # numpy, inside, takes no tensor that is derived
            return False

    def _shaped(self, theta: Any) -> Any:
        return self.function(theta).reshape(self.shape)


def _gradient(values: Any, points: Any, twice: bool) -> Any:
    """Return the gradients of values, each of its own point; ``twice``: to be derived again."""
    import torch

    if not values.requires_grad:
        return torch.zeros_like(points)
    (gradient,) = torch.autograd.grad(
        values.sum(), points, retain_graph=True, create_graph=twice, materialize_grads=True
    )
    return gradient
