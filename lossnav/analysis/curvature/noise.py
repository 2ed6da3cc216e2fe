"""How long a step's noise is remembered: measured, by the curvature that the noise itself sees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from lossnav._checks import nonnegatives, whole
from lossnav._checks import seed as check_seed
from lossnav.analysis.curvature.covariance import GradientCovariance
from lossnav.analysis.curvature.hessian import Hessian
from lossnav.analysis.curvature.model import Batch, Batches, Loss
from lossnav.analysis.curvature.quadrature import quadrature

_ROUNDING = 16  # roundings of a gradient that a sum of equal ones may be off by


@dataclass(frozen=True, eq=False)
class NoiseKernel:
    r"""κ(u) = Σ_k weights·e^{−2·nodes·u}: the noise of a step that is left after rates that add up to u.

    Attributes:
        nodes: curvatures that the noise sees, shape (K,), rising, > 0; those ≤ 0 are left out.
        weights: σ²h of each, shape (K,).
        dropped: the share of the noise in directions of curvature ≤ 0, where it is never forgotten.
    """

    nodes: NDArray[np.float64]
    weights: NDArray[np.float64]
    dropped: float

    def __call__(self, u: ArrayLike) -> NDArray[np.float64]:
        """Return κ(u), of the shape of ``u`` ≥ 0 (unit of a rate: 1/curvature)."""
        rate_sums = nonnegatives("u", u)
        return np.exp(-2 * np.multiply.outer(rate_sums, self.nodes)) @ self.weights


def noise_kernel(
    model: nn.Module,
    loss: Loss,
    batches: Batch | Batches,
    *,
    batch: int = 1,
    probes: int = 4,
    steps: int = 25,
    parameters: Iterable[str] | None = None,
    seed: int = 0,
) -> NoiseKernel:
    r"""Measure :math:`\kappa(u)=\mathrm E\,\xi^\top He^{-2Hu}\xi`, ξ a minibatch's gradient minus the full one.

    Lanczos' method started from ξ is Gauss's quadrature of exactly this; no eigenvector is formed (book: L9). Where κ
    falls as 1/u, linear decay of the rate is the best answer to the noise (``rules.cooling``). Values beyond 1/(the
    smallest node) are the method's resolution, no evidence.

    Args:
        model, loss, batches, parameters: as for ``Hessian``.
        batch: size of a minibatch: the noise falls as its inverse.
        probes: how many ξ, at least 1.
        steps: products for each.
        seed: of the probes.

    Raises:
        ValueError: as ``Hessian``; also if all examples have the same gradient, or no curvature > 0 is seen.
    """
    size = whole("batch", batch, low=1)
    count, reach = whole("probes", probes, low=1), whole("steps", steps, low=1)
    check_seed("seed", seed, low=0)
    hessian = Hessian(model, loss, batches, parameters=parameters)
    covariance = GradientCovariance(model, loss, batches, parameters=parameters)
    vectors = covariance.sample(count, seed=seed)
    # Equal gradients less their mean leave its rounding error.
    rounding = _ROUNDING * torch.finfo(covariance.dtype).eps * covariance.mean.norm()
    if (vectors.norm(dim=-1) <= rounding).any():
        raise ValueError("batches hold examples that all have the same gradient, so that there is no noise to forget")
    measure = quadrature(hessian, vectors, steps=reach)
    nodes, weights = measure.nodes.ravel(), measure.weights.ravel() / (count * size)
    sees = (nodes > 0) & (weights > 0)
    if not np.any(sees):
        raise ValueError("model has no direction of curvature > 0 in its noise, where it would be forgotten")
    order = np.argsort(nodes[sees])
    dropped = 1 - float(weights[sees].sum() / weights.sum())
    return NoiseKernel(nodes[sees][order], (nodes * weights)[sees][order], dropped)
