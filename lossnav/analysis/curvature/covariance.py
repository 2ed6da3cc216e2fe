"""The covariance of a model's gradients, example by example, as an operator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import grad, jvp, vjp, vmap

from lossnav import _random
from lossnav._checks import flag, whole
from lossnav._checks import seed as check_seed
from lossnav.analysis.curvature.model import Batch, Batches, Loss, ModelOperator, check_pair


class GradientCovariance(ModelOperator):
    r"""The covariance Σ of the gradients of single examples, at the weights that the model has now.

    .. math:: \Sigma = \frac1N\sum_n (g_n-\bar g)(g_n-\bar g)^\top,\qquad g_n = \nabla_\theta\,\ell(m(x_n;\theta), y_n)

    A batch of S independent examples has a gradient of covariance Σ/S. A product costs about two forward passes and one
    backward, and stores no gradient of an example:

    .. math:: \Sigma v = \frac1N\sum_n (a_n - \bar a)\,g_n,\qquad a_n = g_n\cdot v

    Args:
        model: as for ``Hessian``; an example is shown to it as a batch of one.
        loss: as for ``Hessian``.
        batches: as for ``Hessian``.
        parameters: as for ``Hessian``.
        dtype: as for ``Hessian``.
        centred: False leaves ḡ in: the second moment, mean of g gᵀ (with the model's own log likelihood as loss, the
            empirical Fisher matrix).

    Attributes:
        names: names of the parameters.
        examples: N, how many there are.
        mean: ḡ, the gradient of the mean loss, (D,).

    Raises:
        ValueError: as ``Hessian``.

    Example:
        >>> line = torch.nn.Linear(1, 1, bias=False)
        >>> torch.nn.init.zeros_(line.weight).requires_grad
        True
        >>> x = torch.tensor([[1.0], [1.0]])
        >>> sigma = GradientCovariance(line, torch.nn.functional.mse_loss, (x, torch.tensor([[0.0], [1.0]])))
        >>> sigma.matvec(torch.ones(1))  # gradients 0 and -2
        tensor([1.])

    References:
        Kunin et al. (2023), assumption 1: the noise of a batch.
    """

    mean: Tensor

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        batches: Batch | Batches,
        *,
        parameters: Iterable[str] | None = None,
        dtype: torch.dtype | None = None,
        centred: bool = True,
    ) -> None:
        flag("centred", centred)
        super().__init__(model, loss, batches, parameters, dtype)
        self._point, self._centred = self._leaves(), centred
        self.mean = torch.zeros(self.dim, dtype=self.dtype, device=self.device)
        for batch in self._batches:
            ones = torch.ones(len(batch[0]), dtype=self.dtype, device=self.device)
            with _by_example():
                self._add_weighted(self.mean, batch, ones)
        self.mean /= self.examples

    def gradients(self, batch: Batch) -> Tensor:
        """Return the gradient of each example of a batch, (B, D): B·D numbers."""
        check_pair("batch", batch)
        gradients = vmap(grad(self._own_loss), in_dims=(None, 0, 0))(self._point, *map(self._put, batch))
        return torch.cat([g.flatten(1) for g in gradients], dim=1)

    def exact_trace(self, chunk: int = 32) -> float:
        """Return tr Σ = mean |g_n − ḡ|² (mean |g_n|² if not centred), from ``chunk`` gradients at a time."""
        whole("chunk", chunk, low=1)
        total = 0.0
        for x, y in self._batches:
            for start in range(0, len(x), chunk):
                part = slice(start, start + chunk)
                gradients = self.gradients((x[part], y[part]))
                if self._centred:
                    gradients = gradients - self.mean
                total += gradients.square().sum(1).cpu().double().sum().item()
        return total / self.examples

    def sample(self, count: int, *, seed: int = 0) -> Tensor:
        r"""Return random vectors of mean zero whose covariance is Σ exactly, (count, D).

        .. math:: \xi = N^{-1/2}\sum_n \varepsilon_n(g_n-\bar g),\qquad \varepsilon_n = \pm1

        For any function f of the Hessian the mean of ξᵀf(H)ξ is tr Σf(H). (If not ``centred``, ḡ stays in, and the
        covariance is the second moment.)

        Args:
            count: number of vectors, >= 1. Each costs a gradient of all examples.
            seed: of the signs.
        """
        whole("count", count, low=1)
        check_seed("seed", seed, low=0)
        samples = torch.zeros(count, self.dim, dtype=self.dtype, device=self.device)
        for index, row in enumerate(samples):
            sum_of_signs = 0.0
            for place, batch in enumerate(self._batches):
                like = torch.empty(len(batch[0]), dtype=self.dtype, device=self.device)
                signs = _random.signs(like, seed, index, place)
                sum_of_signs += signs.sum().item()
                self._add_weighted(row, batch, signs)
            if self._centred:
                row -= sum_of_signs * self.mean
        return samples / math.sqrt(self.examples)

    def _products(self, block: Tensor) -> Tensor:
        total = torch.zeros_like(block)
        for batch in self._batches:
            for row, vector in zip(total, block, strict=True):
                direction = self._split(vector)
                with _by_example():
                    along = jvp(lambda leaves: self._losses(leaves, batch), (self._point,), (direction,))[1]  # noqa: B023
                if self._centred:
                    along = along - self.mean @ vector
                    # Over all examples they sum to 0, but for rounding, which gradients that are alike would blow up.
                    row -= along.sum() / self.examples * self.mean
                self._add_weighted(row, batch, along / self.examples)
        return total

    def _add_weighted(self, total: Tensor, batch: Batch, weights: Tensor) -> None:
        """Add Σ w_n g_n over the examples of a batch."""
        sums = vjp(lambda leaves: self._losses(leaves, batch), self._point)[1](weights)[0]
        for part, weighted_sum in zip(self._split(total), sums, strict=True):
            part.add_(weighted_sum)

    def _losses(self, leaves: list[Tensor], batch: Batch) -> Tensor:
        """Return the loss of each example, (B,)."""
        return vmap(self._own_loss, in_dims=(None, 0, 0))(leaves, *map(self._put, batch))

    def _own_loss(self, leaves: list[Tensor], x: Tensor, y: Tensor) -> Tensor:
        """Return the loss of one example."""
        return self._mean_loss(leaves, (x.unsqueeze(0), y.unsqueeze(0)))


@contextmanager
def _by_example() -> Iterator[None]:
    """Say that it is the model, where torch has no way to take it example by example."""
    try:
        yield
    except (RuntimeError, NotImplementedError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"model: torch.func cannot take it example by example: {why}") from None
