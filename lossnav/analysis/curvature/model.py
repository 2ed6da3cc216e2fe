"""What operators of a model's loss on given data have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from lossnav.analysis.curvature.operator import Operator
from lossnav.analysis.curvature.snapshot import Batch, Batches, Loss, Snapshot, pairs_of


class ModelOperator(Operator):
    """A matrix of the mean loss of all examples, at the weights that the model has now.

    Vectors are flat: the chosen parameters one after the other, in the order of ``model.named_parameters()``. The
    arguments are those of ``Hessian``.

    Attributes:
        names: names of the parameters.
        examples: N, how many there are.
    """

    names: list[str]
    dim: int
    dtype: torch.dtype
    device: torch.device
    examples: int

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        batches: Batch | Batches,
        parameters: Iterable[str] | None,
        dtype: torch.dtype | None,
    ) -> None:
        self._point = Snapshot(model, loss, parameters, dtype)
        self._batches = pairs_of(batches)
        self.names, self.dim = self._point.names, self._point.dim
        self.dtype, self.device = self._point.dtype, self._point.device
        self.examples = self._point.check(self._batches)

    def flatten(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return the flat vector (D,) of tensors that are named and shaped like the parameters."""
        return self._point.flatten(tensors)

    def unflatten(self, vector: Tensor) -> dict[str, Tensor]:
        """Return the parts of a flat vector (D,) or of a block (B, D), by parameter, as views."""
        self._check_shape("vector", vector)
        return dict(zip(self.names, self._point.split(vector), strict=True))
