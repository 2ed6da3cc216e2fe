"""The Hessian of a model's loss on given data, as an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lossnav._checks import finite, flag
from lossnav.analysis.curvature.model import Batch, Batches, Loss, ModelOperator


@dataclass(frozen=True)
class _WithGraph:
    """Gradient of the mean loss of n examples, with the graph that differentiates it again."""

    examples: int
    inputs: list[Tensor]
    gradients: list[Tensor | None]

    def products(self, vectors: list[Tensor], retain: bool, batched: bool) -> list[Tensor]:
        """Return Hv, parameter by parameter; ``batched``: every tensor has a first axis of several vectors."""
        curved = [i for i, g in enumerate(self.gradients) if g is not None and g.requires_grad]
        if not curved:  # the loss is linear in the parameters
            return [torch.zeros_like(v) for v in vectors]
        products = torch.autograd.grad(
            [g for i in curved if (g := self.gradients[i]) is not None], self.inputs, [vectors[i] for i in curved],
            retain_graph=retain, allow_unused=True, is_grads_batched=batched,
        )  # fmt: skip
        return [torch.zeros_like(v) if h is None else h for h, v in zip(products, vectors, strict=True)]


class Hessian(ModelOperator):
    r"""The Hessian of the mean loss of all examples, at the weights that the model has now.

    .. math:: H = \nabla^2_\theta\,\frac1N\sum_{n=1}^N \ell\bigl(m(x_n;\theta), y_n\bigr)

    Vectors are flat: the chosen parameters one after the other, in the order of ``model.named_parameters()``.

    A product differentiates the gradient once more. The gradient's graph is kept for as many batches as ``memory``
    allows: each product then costs one backward pass through it, and no forward pass; with the paper's perceptron that
    is less than half the time of ``torch.func.jvp`` of a gradient. The other batches' graphs are made anew for every
    block of vectors.

    The model is copied: later training does not change the operator.

    Args:
        model: a module whose output for an example depends on this example alone; it is not changed.
        loss: function (outputs, targets) → scalar, the *mean* over the examples.
        batches: one pair (inputs, targets) of tensors, or an iterable of such pairs that can be passed through again
            and again with the same examples, such as a list or a DataLoader. Batches may differ in length: every
            example counts alike. They are moved to the model's device, and floats to ``dtype``.
        parameters: names of the parameters to differentiate by; the others are constants. By default those that
            require gradients.
        dtype: of the arithmetic: torch.float32 or torch.float64; by default the parameters' own (float32 for half
            precision). float64 asks for the exact curvature of a float32 model.
        memory: bytes to keep graphs in. 0 keeps none.
        vmap: multiply the vectors of a block at the same time by ``torch.vmap``, where all operations of the model
            allow it: for small models on a GPU. By default one after the other, which is faster on a CPU.

    Attributes:
        names: names of the parameters.
        examples: N, how many there are.
        kept: number of batches whose graphs are kept.

    Raises:
        ValueError: naming the argument: unknown parameters, no examples, a loss that is no finite scalar, a model or
            loss that is random (dropout in training mode), or batches whose losses are not means over their examples
            (batch normalisation in training mode, a loss that sums): H would not be what it says.

    Example:
        >>> line = torch.nn.Linear(1, 1, bias=False)
        >>> x = torch.tensor([[1.0], [3.0]])
        >>> hessian = Hessian(line, torch.nn.functional.mse_loss, (x, 2 * x))
        >>> hessian.matvec(torch.ones(1))  # 2 mean(x²)
        tensor([10.])

    References:
        Pearlmutter (1994), for products without the matrix.
    """

    kept: int

    @torch.inference_mode(mode=False)  # there no graph is kept, and every loss would seem to be linear
    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        batches: Batch | Batches,
        *,
        parameters: Iterable[str] | None = None,
        dtype: torch.dtype | None = None,
        memory: float = 2**30,
        vmap: bool = False,
    ) -> None:
        finite("memory", memory, low=0.0)
        flag("vmap", vmap)
        super().__init__(model, loss, batches, parameters, dtype)
        self._vmap = vmap
        self._gradients = self._keep(memory)
        self.kept = len(self._gradients)

    @torch.inference_mode(mode=False)
    def _products(self, block: Tensor) -> Tensor:
        total = torch.zeros_like(block)
        for gradient, is_kept in self._all_gradients():
            if self._vmap and len(block) > 1:
                self._add(total, gradient, block, is_kept)
            else:
                for k, (row, vector) in enumerate(zip(total, block, strict=True)):
                    self._add(row, gradient, vector, is_kept or k + 1 < len(block))
        return total

    def _add(self, total: Tensor, gradient: _WithGraph, vectors: Tensor, retain: bool) -> None:
        products = gradient.products(self._split(vectors), retain, batched=vectors.ndim == 2)
        weight = gradient.examples / self.examples
        for part, product in zip(self._split(total), products, strict=True):
            part.add_(product, alpha=weight)

    def _gradient(self, batch: Batch) -> _WithGraph:
        inputs = [p.requires_grad_() for p in self._leaves()]
        with torch.enable_grad():
            value = self._mean_loss(inputs, batch)
            if not value.requires_grad:
                return _WithGraph(len(batch[0]), inputs, [None] * len(inputs))
            gradients = torch.autograd.grad(value, inputs, create_graph=True, allow_unused=True)
        return _WithGraph(len(batch[0]), inputs, list(gradients))

    def _all_gradients(self) -> Iterator[tuple[_WithGraph, bool]]:
        for gradient in self._gradients:
            yield gradient, True
        for k, batch in enumerate(self._batches):
            if k >= self.kept:
                yield self._gradient(batch), False

    def _keep(self, memory: float) -> list[_WithGraph]:
        """Return the first batches' gradients, as many as fit.

        A collection without an order, such as a DataLoader that shuffles, is kept whole or not at all.
        """
        gradients: list[_WithGraph] = []
        bytes_left, bytes_each = memory, 0.0
        for batch in self._batches:
            if not gradients and memory > 0:
                bytes_each = self._size(batch) / len(batch[0])
            bytes_left -= bytes_each * len(batch[0])
            if bytes_left <= 0:
                return gradients if isinstance(self._batches, Sequence) else []
            gradients.append(self._gradient(batch))
        return gradients

    def _size(self, batch: Batch) -> int:
        """Return the bytes that the graph of a batch holds on to, apart from the parameters."""
        own = {p.untyped_storage().data_ptr() for p in self._values.values()}
        held: dict[int, int] = {}

        def note(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                held[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            gradient = self._gradient(batch)
        total = sum(held.values())
        del gradient  # not earlier: no address may be used, and counted, a second time
        return total
