"""The trace of a symmetric operator from a few random products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lossnav import _random
from lossnav._checks import instance, whole
from lossnav._checks import seed as check_seed
from lossnav.analysis.curvature.eigen import Eigenpairs
from lossnav.analysis.curvature.operator import Operator


@dataclass(frozen=True, eq=False)
class Trace:
    """An estimate of a trace.

    Attributes:
        value: unbiased estimate of tr H.
        error: standard error of ``value``, itself estimated from the probes.
        samples: what each probe says, float64 on the CPU, (P,); ``value`` is their mean.
        products: number of vectors that were multiplied.
    """

    value: float
    error: float
    samples: Tensor
    products: int


def trace(operator: Operator, probes: int, *, seed: int = 0, pairs: Eigenpairs | None = None, block: int = 1) -> Trace:
    r"""Estimate tr H with random signs z (Hutchinson), and the standard error of the estimate.

    .. math:: \mathrm{tr}\,H \approx \sum_k \lambda_k + \frac1P\sum_p (\Pi z_p)^\top H\,\Pi z_p,\qquad
              \Pi = I - \sum_k q_kq_k^\top

    Without ``pairs``, Π = I and there is no first sum: the variance of one probe is then 2Σ_{i≠j}H_ij² ≤ 2|H|². A few
    large eigenvalues make most of |H|² in a network, and those that are known need not be sampled. The estimate is
    unbiased whatever orthonormal vectors q are taken out, if λ_k = q_kᵀHq_k, as for all pairs of ``eigenpairs``,
    converged or not.

    Args:
        operator: the operator H.
        probes: number P >= 2 of sign vectors.
        seed: of the signs.
        pairs: what ``eigenpairs`` found for the same operator, to be taken out exactly.
        block: number of vectors that are multiplied at a time.

    Returns:
        The estimate; two estimates agree within a few of their errors.

    Raises:
        ValueError: fewer than two probes, vectors of another length, or products that are not finite.

    Example:
        >>> from lossnav.analysis.curvature import Matrix
        >>> trace(Matrix(torch.diag(torch.tensor([1.0, 2.0, 4.0]))), 2).value  # exact for diagonal matrices
        7.0

    References:
        Hutchinson (1990); Meyer, Musco, Musco, Woodruff (2021), for taking the largest part out.
    """
    instance("operator", operator, Operator, "an Operator, such as Hessian or Matrix")
    whole("probes", probes, low=2)
    whole("block", block, low=1)
    check_seed("seed", seed, low=0)
    if pairs is not None:
        length = instance("pairs", pairs, Eigenpairs, "what eigenpairs returns").vectors.shape[1]
        if length != operator.dim:
            raise ValueError(f"pairs has vectors of length {length}, but it must be D = {operator.dim}")
    samples = []
    like = torch.empty(operator.dim, dtype=operator.dtype, device=operator.device)
    for first in range(0, probes, block):
        signs = [_random.signs(like, seed, p) for p in range(first, min(first + block, probes))]
        z = torch.stack(signs)
        if pairs is not None:
            z -= (z @ pairs.vectors.T) @ pairs.vectors
        samples.append((z * operator.matvec(z)).sum(1).cpu().double())
    each = torch.cat(samples)
    if pairs is not None:
        each += pairs.values.sum()
    if not torch.isfinite(each).all():
        raise ValueError("operator gives products that are not finite, but all their entries must be")
    return Trace(each.mean().item(), each.std().item() / math.sqrt(probes), each, probes)
