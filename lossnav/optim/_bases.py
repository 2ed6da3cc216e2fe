"""Bases in which the curvature of a weight matrix is believed to be diagonal: made, followed, and moved between.

A basis is a matrix, (s, s), or the blocks of one that is block-diagonal, (k, b, b): its s directions are cut as
``torch.tensor_split`` cuts them, so that some blocks may have b − 1 directions; their last row and column are no part
of them, and zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# p(x) = a x + b x³ + c x⁵, one after the other: of all five of this form the ones that bring [10⁻³, 1] nearest to 1
# (Amsel et al. 2025, Algorithm 1 with their margin of 1 % for what bfloat16 rounds)
_QUINTICS = tuple(
    (a / 1.01, b / 1.01**3, c / 1.01**5)
    for a, b, c in (
        (8.28721201814563, -23.595886519098837, 17.300387312530933),
        (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
        (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
        (3.3184196573706015, -2.488488024314874, 0.51004894012372),
        (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    )
)
_RIDGE = 1e-7  # of the mean eigenvalue; spread out, because LAPACK fails on equal eigenvalues, not on small ones


def blank(like: Tensor, size: int, blocks: int) -> Tensor:
    """Return zeros in the form of a basis of ``size`` directions in so many blocks."""
    if blocks == 1:
        return like.new_zeros(size, size)
    return like.new_zeros(blocks, *[-(-size // blocks)] * 2)


def stacks(basis: Tensor, size: int) -> list[Tensor]:
    """Return views of the blocks of a basis of ``size`` directions, the first ones and, if they are smaller, the rest.

    Each is a stack of blocks of one size, or the matrix itself.
    """
    if basis.ndim == 2 or size % len(basis) == 0:
        return [basis]
    small, more = divmod(size, len(basis))
    return [basis[:more], basis[more:, :small, :small]]


def rows(matrix: Tensor, basis: Tensor) -> list[Tensor]:
    """Return views of the rows of a matrix, (…, b, n), cut as the stacks of a basis of them."""
    if basis.ndim == 2:
        return [matrix]
    found = stacks(basis, len(matrix))
    parts = matrix.split([stack.shape[0] * stack.shape[1] for stack in found])
    return [part.unflatten(0, stack.shape[:2]) for part, stack in zip(parts, found, strict=True)]


def columns(matrix: Tensor, basis: Tensor) -> list[Tensor]:
    """Return views of the columns of a matrix, (…, m, b), cut as the stacks of a basis of them."""
    return [part.mT for part in rows(matrix.mT, basis)]


def by_stacks(make: Callable[..., Tensor], size: int, *bases: Tensor) -> Tensor:
    """Return what ``make`` makes of the blocks of bases of ``size`` directions, in their form."""
    if len(stacks(bases[0], size)) == 1:
        return make(*bases)
    made = torch.zeros_like(bases[0])
    for into, *blocks in zip(*(stacks(basis, size) for basis in (made, *bases)), strict=True):
        into.copy_(make(*blocks))
    return made


def turn(matrix: Tensor, left: Tensor | None, right: Tensor | None, memory: Sequence[Tensor] | None = None) -> Tensor:
    """Return Q_Lᵀ X Q_R; a basis that is None is the identity.

    Args:
        memory: two matrices like X to compute in, one of which may be X; new ones cost as much as a product of blocks.
    """
    return _times(matrix, None if left is None else left.mT, right, memory)


def turn_back(
    matrix: Tensor, left: Tensor | None, right: Tensor | None, memory: Sequence[Tensor] | None = None
) -> Tensor:
    """Return Q_L X Q_Rᵀ."""
    return _times(matrix, left, None if right is None else right.mT, memory)


def _times(matrix: Tensor, left: Tensor | None, right: Tensor | None, memory: Sequence[Tensor] | None) -> Tensor:
    """Return A X B, whose factors may be blocks."""
    for basis, cut in ((left, rows), (right, columns)):
        if basis is not None:
            made = torch.empty_like(matrix) if memory is None else memory[matrix is memory[0]]
            size = matrix.shape[cut is columns]
            for stack, part, place in zip(stacks(basis, size), cut(matrix, basis), cut(made, basis), strict=True):
                pair = (stack, part) if cut is rows else (part, stack)
                (torch.mm if basis.ndim == 2 else torch.bmm)(*pair, out=place)
            matrix = made
    return matrix


def eigenbasis(factor: Tensor) -> Tensor:
    """Return the eigenvectors of a positive semi-definite matrix, or of each of a stack, the largest eigenvalue first.

    In float32 LAPACK may fail where eigenvalues are exactly equal, as those of a batch that spans few directions are:
    a small ridge parts them, as the same directions wherever it is run, and what still fails is done in float64.
    """
    spread = torch.linspace(0.5, 1.5, factor.shape[-1], dtype=factor.dtype, device=factor.device)
    mean = factor.diagonal(dim1=-2, dim2=-1).mean(-1, keepdim=True)
    ridged = factor + torch.diag_embed(_RIDGE * mean * spread)
    try:
        vectors = torch.linalg.eigh(ridged)[1]
    except torch.linalg.LinAlgError:
        vectors = torch.linalg.eigh(ridged.double())[1].to(factor.dtype)
    return vectors.flip(-1)


def orthogonal(matrices: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """Return nearly U Vᵀ of each of several matrices U S Vᵀ of one shape, a stack in ``dtype``.

    Each step puts an odd polynomial in the place of the singular values, as products of matrices in ``dtype``. Nothing
    is read back from a device, as it is for eigenvectors.
    """
    size = torch.stack(torch._foreach_norm(list(matrices))).clamp_min(torch.finfo(torch.float32).tiny)
    x = torch.stack([matrix.to(dtype) for matrix in matrices]).div_(size.to(dtype)[:, None, None])
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    for a, b, c in _QUINTICS:
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


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
