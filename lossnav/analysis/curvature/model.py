"""What operators of a model's loss on given data have in common: the loss at copies of the model's weights."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

from lossnav import _random
from lossnav._checks import function, instance, shown
from lossnav._tensors import examples, module, tensor
from lossnav.analysis.curvature.operator import Operator, check_dtype

Loss = Callable[[Tensor, Tensor], Tensor]
Batch = tuple[Tensor, Tensor]
Batches = Iterable[Batch]


class ModelOperator(Operator):
    """A matrix of the mean loss of all examples, at the weights that the model has now.

    Vectors are flat: the chosen parameters one after the other, in the order of ``model.named_parameters()``. The
    arguments are those of ``Hessian``. The model is copied as it is, its mode (train or eval) included.

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
        module("model", model)
        function("loss", loss)
        every = dict(model.named_parameters())
        self.names = _chosen(every, parameters)
        first = every[self.names[0]]
        self.device = first.device
        half = (torch.float16, torch.bfloat16)
        self.dtype = check_dtype("parameters", torch.float32 if first.dtype in half else first.dtype)
        if dtype is not None:
            instance("dtype", dtype, torch.dtype, "torch.float32 or torch.float64")
            self.dtype = check_dtype("dtype", dtype)
        for name in self.names:
            if every[name].device != self.device:
                raise ValueError(
                    f"the parameters {self.names[0]!r} and {name!r} are on {self.device} and {every[name].device}, "
                    "but all must be on one device"
                )
        self._model, self._loss = copy.deepcopy(model).requires_grad_(False).to(self.dtype), loss
        self._model.zero_grad(set_to_none=True)  # gradients were copied too
        self._values = dict(self._model.named_parameters())
        self._shapes = [every[name].shape for name in self.names]
        self._sizes = [every[name].numel() for name in self.names]
        self.dim = sum(self._sizes)
        self._batches = _pairs_of(batches)
        self.examples = self._counted()

    def _leaves(self) -> list[Tensor]:
        """Return the chosen parameters, detached; they share memory with the copy of the model."""
        return [self._values[name].detach() for name in self.names]

    def _mean_loss(self, leaves: Iterable[Tensor], batch: Batch) -> Tensor:
        """Return the mean loss of a batch at the given values of the chosen parameters."""
        x, y = batch
        state = dict(zip(self.names, leaves, strict=True))
        state.update((name, buffer.clone()) for name, buffer in self._model.named_buffers())  # a layer may write there
        with sdpa_kernel(SDPBackend.MATH):  # the fast kernels of attention have no second derivative
            value = self._loss(functional_call(self._model, state, (self._put(x),)), self._put(y))
        if not torch.is_tensor(value) or value.ndim != 0:
            what = f"a tensor of shape {tuple(value.shape)}" if torch.is_tensor(value) else shown(value)
            raise ValueError(f"loss returned {what}, but it must return a scalar tensor, the mean over the examples")
        return value

    def _put(self, tensor: Tensor) -> Tensor:
        """Return data on the device, floats in the dtype of the arithmetic."""
        tensor = tensor.to(self.device)
        tensor = tensor.clone() if tensor.is_inference() else tensor  # what was made in that mode is in no graph
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def _split(self, vector: Tensor) -> list[Tensor]:
        """Return the parts of flat vectors (..., D) as views, shaped like the parameters."""
        parts = vector.split(self._sizes, dim=-1)
        return [part.view(*vector.shape[:-1], *shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def flatten(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Return the flat vector (D,) of tensors that are named and shaped like the parameters."""
        instance("tensors", tensors, Mapping, "a mapping from names to tensors")
        if set(tensors) != set(self.names):
            raise ValueError(f"tensors has the names {shown([*tensors])}, but they must be {shown(self.names)}")
        for name, shape in zip(self.names, self._shapes, strict=True):
            actual = tensor(f"tensors[{name!r}]", tensors[name], "a tensor").shape
            if actual != shape:
                raise ValueError(f"tensors[{name!r}] has shape {tuple(actual)}, but it must be {tuple(shape)}")
        return torch.cat([self._put(tensors[name].detach()).reshape(-1) for name in self.names])

    def unflatten(self, vector: Tensor) -> dict[str, Tensor]:
        """Return the parts of a flat vector (D,) or of a block (B, D), by parameter, as views."""
        self._check_shape("vector", vector)
        return dict(zip(self.names, self._split(vector), strict=True))

    @torch.no_grad()
    def _counted(self) -> int:
        """Return the number of examples, or raise unless a batch's loss is a fixed mean over its examples."""
        examples = 0
        for batch in self._batches:
            check_pair("batches", batch)
            if examples == 0:
                self._probe(batch)
            examples += len(batch[0])
        if examples == 0:
            raise ValueError("batches holds no examples, but it must hold at least one")
        return examples

    def _probe(self, batch: Batch) -> None:
        leaves = self._leaves()
        first = self._mean_loss(leaves, batch).item()
        if not math.isfinite(first):
            raise ValueError(f"the loss of the first batch is {first}, but it must be finite")
        # Beside the weights: at a minimum a loss may be nothing but rounding, of which no two ways need agree.
        beside = [p + 0.1 * (p.abs() + p.abs().mean()) * _random.normal(p, self.dtype, i) for i, p in enumerate(leaves)]
        if math.isfinite(self._mean_loss(beside, batch).item()):
            leaves = beside
        first, second = (self._mean_loss(leaves, batch).item() for _ in range(2))
        near = 1e3 * torch.finfo(self.dtype).eps * max(abs(first), abs(second))
        if abs(first - second) > near:
            raise ValueError(
                f"the same batch has the losses {first:.6g} and {second:.6g}, but a Hessian needs a loss that is not "
                "random: call model.eval() if it has dropout"
            )
        (x, y), half = batch, len(batch[0]) // 2
        if half == 0:
            return
        parts = [(x[:half], y[:half]), (x[half:], y[half:])]
        mean = sum(len(part[0]) * self._mean_loss(leaves, part).item() for part in parts) / len(x)
        if abs(mean - first) > near:
            raise ValueError(
                f"a batch has the loss {first:.6g}, its two halves have {mean:.6g} on average, but loss must be the "
                "mean over examples that do not see each other: take reduction='mean', and model.eval() if the model "
                "has batch normalisation"
            )


def _pairs_of(batches: Any) -> Batches:
    """Return the collection of batches; one pair of tensors is a collection of one."""
    if isinstance(batches, Sequence) and len(batches) == 2 and all(torch.is_tensor(part) for part in batches):
        return [(batches[0], batches[1])]
    if not isinstance(batches, Iterable) or isinstance(batches, Tensor | np.ndarray):
        raise ValueError(f"batches = {shown(batches)}, but it must be a pair of tensors or an iterable of such pairs")
    if isinstance(batches, Iterator):
        raise ValueError("batches can be passed through only once, but every product passes through: give a list")
    return batches


def _chosen(every: Mapping[str, Tensor], parameters: Iterable[str] | None) -> list[str]:
    if parameters is None:
        names = [name for name, p in every.items() if p.requires_grad]
        if not names:
            raise ValueError("no parameter of the model requires gradients: name those that you mean in parameters")
        return names
    instance("parameters", parameters, Iterable, "None or names")
    wanted = [parameters] if isinstance(parameters, str) else list(parameters)
    unknown = [name for name in wanted if name not in every]
    if unknown or not wanted:
        content = shown(unknown[0]) if unknown else "no names"
        raise ValueError(f"parameters has {content}, but it must have names among {', '.join(every)}")
    return [name for name in every if name in wanted]


def check_pair(name: str, batch: Any) -> None:
    """Raise unless a batch is a pair of tensors of the same examples."""
    if not isinstance(batch, Sequence) or len(batch) != 2 or not all(torch.is_tensor(part) for part in batch):
        raise ValueError(f"{name} has the batch {shown(batch)}, but each must be a pair (inputs, targets) of tensors")
    examples(name, *batch)
