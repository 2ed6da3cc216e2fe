"""Bases of rows and columns of weight matrices, in which what is believed of them is diagonal: made, followed, left.

Arrays of numpy and tensors of torch go through the same lines. Matrices stand in stacks, (…, m, n). A basis of s
directions is a matrix, (…, s, s), or the blocks of one that is block-diagonal, (…, k, b, b): its directions are cut as
``numpy.array_split`` cuts them, so that some blocks may have b − 1 of them; their last row and column are no part of
them, and zero. A basis that is None is the identity.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Matrix = Any  # a numpy array or a tensor of torch

_RIDGE = 1e-7  # of the mean eigenvalue; spread out, because LAPACK fails on equal eigenvalues, not on small ones
_FLOOR = 1e-3  # of the mean eigenvalue, where a likelihood divides by the other side's: one never seen is zero


def library(x: Matrix) -> Any:
    """Return numpy or torch, whose array it is."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def blocks(size: int, block: int | None) -> int:
    """Return into how many blocks a side is cut, of at most ``block`` directions."""
    return 1 if block is None else -(-size // block)


def largest(size: int, block: int | None) -> int:
    """Return how many directions the largest block of a side has."""
    return -(-size // max(blocks(size, block), 1))


def form(size: int, block: int | None) -> tuple[int, ...]:
    """Return the shape of a basis of ``size`` directions."""
    count = blocks(size, block)
    return (size, size) if count == 1 else (count, *[largest(size, block)] * 2)


def turn(x: Matrix, left: Matrix | None, right: Matrix | None, memory: Sequence[Matrix] | None = None) -> Matrix:
    """Return Q_Lᵀ X Q_R; ``memory`` are two matrices like X to compute in, one of which may be X."""
    return _times(x, None if left is None else left.mT, right, memory)


def turn_back(x: Matrix, left: Matrix | None, right: Matrix | None, memory: Sequence[Matrix] | None = None) -> Matrix:
    """Return Q_L X Q_Rᵀ."""
    return _times(x, left, None if right is None else right.mT, memory)


def transport(variance: Matrix, left: Matrix | None, right: Matrix | None) -> Matrix:
    r"""Return the diagonal, in a new basis, of a belief that was diagonal in the old one: (T∘T)ᵀ V (T′∘T′).

    Args:
        variance: V, a matrix, or a column or row of one.
        left: T = Q_oldᵀ Q_new of the rows, or None where they stay.
        right: T′ of the columns.
    """
    return turn(variance, None if left is None else left**2, None if right is None else right**2)


def eigenbasis(factor: Matrix) -> Matrix:
    """Return the eigenvectors of a positive semi-definite matrix, that of the largest eigenvalue first.

    In float32 LAPACK may fail where eigenvalues are exactly equal, as those of a batch that spans few directions are:
    a small ridge parts them, as the same directions wherever it is run, and what still fails is done in float64.
    """
    xp, ridged = library(factor), _ridged(factor)
    try:
        vectors = xp.linalg.eigh(ridged)[1]
    except xp.linalg.LinAlgError:
        vectors = xp.linalg.eigh(ridged.double())[1].to(factor.dtype)
    return xp.flip(vectors, (-1,))


def followed(factor: Matrix, basis: Matrix) -> Matrix:
    """Return a basis nearer to the eigenvectors of a factor that has moved: one step of orthogonal iteration.

    Directions that no gradient had are those of the same ridge, not of rounding.
    """
    return library(factor).linalg.qr(_ridged(factor) @ basis)[0]


def _ridged(factor: Matrix) -> Matrix:
    xp, each = library(factor), list(range(factor.shape[-1]))
    diagonal = factor.diagonal(0, -2, -1)
    spread = 0.5 + (xp.ones_like(diagonal).cumsum(-1) - 1) / max(len(each) - 1, 1)
    ridged = factor + 0.0  # a copy
    ridged[..., each, each] += _RIDGE * diagonal.mean(-1, keepdims=True) * spread
    return ridged


def squares(x: Matrix, like: Matrix) -> Matrix:
    """Return X Xᵀ, of which the entries outside of the blocks of a basis are left out."""
    return _joined([part @ part.mT for part in _rows(x, like)], like, x.shape[-2])


def refreshed(kept: Mapping[str, Matrix], shape: tuple[int, ...], afresh: bool) -> dict[str, Matrix]:
    """Return the bases of the averages ``left`` of ggᵀ and ``right`` of gᵀg, and all that stands in them moved there.

    Args:
        kept: what is remembered: bases ``ql`` and ``qr``, ``m`` and its slope ``w``, and squares of entries ``v``, of
            rows ``rows`` and of columns ``columns``.
        shape: of the matrix, (m, n).
        afresh: compute the eigenvectors; otherwise one step of orthogonal iteration from the bases that there are.
    """
    changed: dict[str, Matrix] = {}
    turns: list[Matrix | None] = [None, None]
    for side, (factor, name) in enumerate((("left", "ql"), ("right", "qr"))):
        if name in kept:
            old, size = kept[name], shape[side]
            pairs = zip(_stacks(kept[factor], size), _stacks(old, size), strict=True)
            changed[name] = _joined([eigenbasis(f) if afresh else followed(f, q) for f, q in pairs], old, size)
            turns[side] = old.mT @ changed[name]
    left, right = turns
    changed |= {name: turn(kept[name], left, right) for name in ("m", "w") if name in kept}
    for name, sides in (("v", (left, right)), ("rows", (left, None)), ("columns", (None, right))):
        if name in kept:
            changed[name] = transport(kept[name], *sides)
    return changed


def blended(old: Matrix, new: Matrix, share: float) -> Matrix:
    """Return old + share·(new − old)."""
    return old.lerp(new, share) if hasattr(old, "lerp") else old + share * (new - old)


def positive(x: Matrix) -> Matrix:
    """Return x >= 0 with the smallest normal number of its precision in the place of 0, for what is divided by it."""
    return x.clip(min=float(library(x).finfo(x.dtype).tiny))


def level(means: Matrix, past: float, otherwise: Any) -> Matrix:
    """Return eigenvalues one may divide by: corrected, with a floor, and ``otherwise`` where nothing was seen yet."""
    mean = average(means)
    return library(means).where(mean > 0, means.clip(min=_FLOOR * mean) / (past or 1.0), otherwise)


def average(x: Matrix) -> Matrix:
    """Return the mean over a matrix, (…, 1, 1)."""
    return x.reshape(*x.shape[:-2], -1).mean(-1)[..., None, None]  # along one axis, which is several times as fast


def _times(x: Matrix, left: Matrix | None, right: Matrix | None, memory: Sequence[Matrix] | None) -> Matrix:
    """Return A X B, whose factors may be blocks."""
    xp = library(x)
    for basis, cut in ((left, _rows), (right, _columns)):
        if basis is None:
            continue
        buffer = None if memory is None else memory[x is memory[0]]
        if basis.ndim == x.ndim:
            x = xp.matmul(*((basis, x) if cut is _rows else (x, basis)), out=buffer)
            continue
        buffer = xp.empty_like(x) if buffer is None else buffer
        for stack, part, place in zip(
            _stacks(basis, x.shape[-2 if cut is _rows else -1]), cut(x, basis), cut(buffer, basis), strict=True
        ):
            pair = (stack, part) if cut is _rows else (part, stack)
            if part.ndim == 3:
                xp.matmul(*pair, out=place)
            else:
                place[...] = xp.matmul(*pair)
        x = buffer
    return x


def _stacks(basis: Matrix, size: int) -> list[Matrix]:
    """Return views of the blocks of a basis of ``size`` directions, the first ones and, if they are smaller, the rest.

    Each is a stack of blocks of one size, or the matrix itself, of which there may be a stack.
    """
    if basis.shape[-1] == size or size % basis.shape[-3] == 0:
        return [basis]
    small, more = divmod(size, basis.shape[-3])
    return [basis[..., :more, :, :], basis[..., more:, :small, :small]]


def _rows(x: Matrix, basis: Matrix) -> list[Matrix]:
    """Return views of the rows of a matrix, cut as the stacks of a basis of them."""
    if basis.ndim == x.ndim:
        return [x]
    parts, first = [], 0
    for stack in _stacks(basis, x.shape[-2]):
        count, size = stack.shape[-3], stack.shape[-1]
        part = x[..., first : first + count * size, :]
        parts.append(part.reshape(*x.shape[:-2], count, size, x.shape[-1]))
        first += count * size
    return parts


def _columns(x: Matrix, basis: Matrix) -> list[Matrix]:
    """Return views of the columns of a matrix, cut as the stacks of a basis of them."""
    return [part.mT for part in _rows(x.mT, basis)]


def _joined(parts: list[Matrix], like: Matrix, size: int) -> Matrix:
    """Return blocks in the form of a basis of ``size`` directions."""
    if len(parts) == 1:
        return parts[0]
    joined = library(like).zeros_like(like)
    for into, part in zip(_stacks(joined, size), parts, strict=True):
        into[...] = part
    return joined
