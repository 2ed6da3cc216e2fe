"""Bases in which the curvature of a weight matrix is believed to be diagonal: made, followed, and moved between."""

from __future__ import annotations

import torch
from torch import Tensor

_RIDGE = 1e-7  # of the mean eigenvalue; spread out, because LAPACK fails on equal eigenvalues, not on small ones


def turn(matrix: Tensor, left: Tensor | None, right: Tensor | None) -> Tensor:
    """Return Q_Lᵀ X Q_R; a basis that is None is the identity."""
    if left is not None:
        matrix = left.mT @ matrix
    return matrix if right is None else matrix @ right


def turn_back(matrix: Tensor, left: Tensor | None, right: Tensor | None) -> Tensor:
    """Return Q_L X Q_Rᵀ."""
    if left is not None:
        matrix = left @ matrix
    return matrix if right is None else matrix @ right.mT


def eigenbasis(factor: Tensor) -> Tensor:
    """Return the eigenvectors of a positive semi-definite matrix, that of the largest eigenvalue first.

    In float32 LAPACK may fail where eigenvalues are exactly equal, as those of a batch that spans few directions are:
    a small ridge parts them, as the same directions wherever it is run,, and what still fails is done in float64.
    """
    spread = torch.linspace(0.5, 1.5, len(factor), dtype=factor.dtype, device=factor.device)
    ridged = factor + torch.diag(_RIDGE * factor.diagonal().mean() * spread)
    try:
        vectors = torch.linalg.eigh(ridged)[1]
    except torch.linalg.LinAlgError:
        vectors = torch.linalg.eigh(ridged.double())[1].to(factor.dtype)
    return vectors.flip(1)


def followed(factor: Tensor, basis: Tensor) -> Tensor:
    """Return a basis nearer to the eigenvectors of a factor that has moved: one step of orthogonal iteration."""
    return torch.linalg.qr(factor @ basis)[0]


def transport(variance: Tensor, left: Tensor | None, right: Tensor | None) -> Tensor:
    r"""Return the diagonal, in a new basis, of a belief that was diagonal in the old one: (T∘T)ᵀ V (T′∘T′).

    Args:
        variance: V, a matrix, or a column or row of one.
        left: T = Q_oldᵀ Q_new of the rows, or None where they stay.
        right: T′ of the columns.
    """
    return turn(variance, None if left is None else left.square(), None if right is None else right.square())
