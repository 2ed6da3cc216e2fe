"""A user's torch function on arrays: its values, gradients and Hessians by ``torch.func``, of whole batches.

Only who has given a torch function comes here: the rest of the problem needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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

        derived = (self._shaped, torch.func.grad(self._shaped), torch.func.hessian(self._shaped))[self.order]
        points = torch.from_numpy(np.ascontiguousarray(theta))
        for _ in range(points.ndim - 1):
            derived = torch.func.vmap(derived)
        return derived(points).detach().numpy()

    def _shaped(self, theta: Any) -> Any:
        return self.function(theta).reshape(self.shape)
