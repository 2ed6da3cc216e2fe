"""A growing orthonormal basis, the matrix of an operator in it, and its shrinking to the best directions."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lossnav import _random
from lossnav.analysis.curvature.operator import Operator

_WIDTH = 1 << 16  # of the columns that are rotated at a time: the copy stays in the cache


class Krylov:
    r"""A block Krylov space with full reorthogonalisation and thick restarts.

    The rows of ``basis`` are orthonormal vectors v; the products with the first ``applied`` of them are known in terms
    of all ``size`` of them, the newest ones included:

    .. math:: Hv_j = \sum_{i<\text{size}} M_{ij} v_i, \qquad j < \text{applied}

    up to rounding. M is kept as it was measured, v_i·Hv_j, and not made symmetric or banded: residuals computed from it
    then contain the rounding errors of the products, at no cost.

    A *run* is what grows from one random block. What is new in a product and *faint*, shorter than ε^⅔|H|, may be
    nothing but rounding errors, which grow a little on the way; the block goes on without it. Where all is faint the
    run is exhausted: its span is invariant under H and has, for each eigenvalue, at most as many directions as the
    block has vectors. Another run looks for what this one cannot see; it keeps what was faint in its block.

    Args:
        operator: the operator H.
        capacity: largest number of vectors, at most D.
        block: number of vectors that are multiplied at a time.
        seed: of the random blocks.
    """

    operator: Operator
    capacity: int
    block: int
    seed: int
    basis: Tensor
    matrix: Tensor
    lost: Tensor
    size: int
    applied: int
    is_exhausted: bool
    was_exhausted: bool
    scale: float

    def __init__(self, operator: Operator, capacity: int, block: int, seed: int) -> None:
        self.operator, self.capacity, self.block, self.seed = operator, capacity, block, seed
        self.basis = torch.empty(capacity, operator.dim, dtype=operator.dtype, device=operator.device)
        # The small matrices are torch's, too: numpy's BLAS has threads of its own, and those of the two would wait for
        # each other's cores at every turn (a search took three times as long on two cores).
        self.matrix = torch.zeros(capacity, capacity, dtype=torch.float64)
        self.lost = torch.zeros(capacity, dtype=torch.float64)  # squared length of what is missing in the equation
        self.size = self.applied = 0  # rows of the basis that hold vectors; those whose products are known
        self.is_exhausted = self.was_exhausted = False  # whether this run is; whether any was, in part
        self.scale = 0.0  # largest |Hv| so far: a lower bound of |H|
        self._runs = 0
        self._before = 0  # rows before these are not coupled to the newest block, apart from rounding
        self.begin()

    @property
    def eps(self) -> float:
        """Rounding error of one operation."""
        return torch.finfo(self.operator.dtype).eps

    @property
    def active(self) -> int:
        """Number of vectors that are multiplied next."""
        return self.size - self.applied

    def has_room(self, new: int) -> bool:
        """Whether that many vectors can be appended; a basis of the whole space has room for all there are."""
        return self.size + new <= self.capacity or self.capacity == self.operator.dim

    def begin(self) -> None:
        """Start a run: add a random block, orthogonal to all there is, to what is left of the block."""
        self._before = self.size
        for k in range(min(self.block, self.capacity - self.size)):
            start = _random.normal(self.basis[0], self.operator.dtype, self.seed, self._runs, k)
            length = torch.linalg.vector_norm(start).item()
            self._project(start.unsqueeze(0), slice(0, self.size), None)
            self._append(start, length, 0.0, None)
        self._runs += 1

    def expand(self) -> None:
        """Multiply the block and append what is new in the products.

        Raises:
            ValueError: a product has entries that are not finite.
        """
        first, last = self.applied, self.size
        products = self.operator.matvec(self.basis[first:last])
        lengths = torch.linalg.vector_norm(products, dim=1).tolist()
        if not all(map(math.isfinite, lengths)):
            raise ValueError("operator gives products that are not finite, but all their entries must be")
        self.scale = max(self.scale, *lengths)
        # What is large goes first, so that the pass over all rows removes little more than rounding errors.
        self._project(products, slice(self._before, last), slice(first, last))
        lengths = torch.linalg.vector_norm(products, dim=1).tolist()
        self._project(products, slice(0, last), slice(first, last))
        self._before, self.applied = first, last
        faint = self.eps ** (2 / 3) * self.scale
        rest = [(first + k, w, lengths[k]) for k, w in enumerate(products)]
        rest = [(column, w, before) for column, w, before in rest if not self._append(w, before, faint, column)]
        self.was_exhausted |= bool(rest)
        self.is_exhausted = self.size == last
        for column, w, before in rest:
            is_kept = self.is_exhausted and self.active < self.block
            if not (is_kept and self._append(w, before, 4 * self.eps * self.scale, column)):
                self.lost[column] += torch.linalg.vector_norm(w).item() ** 2

    def ritz(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return Ritz values (A,), their vectors in the basis as columns (A, A), and residual norms (A,), ascending."""
        matrix = self.matrix[: self.size, : self.applied]
        square = matrix[: self.applied]
        values, vectors = torch.linalg.eigh((square + square.T) / 2)
        gaps = matrix @ vectors
        gaps[: self.applied] -= vectors * values
        return values, vectors, (gaps.square().sum(0) + self.lost[: self.applied] @ vectors.square()).sqrt()

    def skewness(self) -> float:
        """Return the largest difference between M and its transpose."""
        square = self.matrix[: self.applied, : self.applied]
        return (square - square.T).abs().max().item()

    def rotated(self, vectors: Tensor) -> Tensor:
        """Return the vectors (P, D) whose coordinates in the basis are the columns of ``vectors``, (A, P)."""
        return self._small(vectors.T) @ self.basis[: len(vectors)]

    def shrink(self, vectors: Tensor) -> None:
        """Keep the span of the given columns (A, P), P <= A, and the block (a thick restart)."""
        keep = vectors.shape[1]
        self._drop((self.capacity - keep) // 2)
        new = self.active
        rotation = self._small(vectors.T)
        for columns in self.basis[: self.applied].split(_WIDTH, dim=1):
            columns[:keep] = rotation @ columns
        self.basis[keep : keep + new] = self.basis[self.applied : self.size].clone()
        matrix = self.matrix[: self.size, : self.applied] @ vectors
        lost = self.lost[: self.applied] @ vectors.square()
        self.matrix.zero_()
        self.lost.zero_()
        self.matrix[:keep, :keep] = vectors.T @ matrix[: self.applied]
        self.matrix[keep : keep + new, :keep] = matrix[self.applied :]
        self.lost[:keep] = lost
        self.applied, self.size = keep, keep + new
        self._before = 0

    def _drop(self, most: int) -> None:
        """Forget all of the block but its first ``most`` vectors."""
        rest = slice(self.applied + most, self.size)
        if rest.start < rest.stop:
            self.lost[: self.applied] += self.matrix[rest, : self.applied].square().sum(0)
            self.matrix[rest] = 0.0
            self.size = rest.start

    def _project(self, rows: Tensor, over: slice, into: slice | None) -> None:
        """Remove from ``rows`` their parts along the basis vectors ``over``; add the parts to M's columns ``into``."""
        parts = self.basis[over] @ rows.T
        rows.addmm_(parts.T, self.basis[over], alpha=-1.0)
        if into is not None:
            self.matrix[over, into] += parts.cpu()

    def _append(self, w: Tensor, before: float, least: float, column: int | None) -> bool:
        """Append the direction of w, unless what is left of w is ``least`` or shorter; return whether it was appended.

        w is free of the rows that are multiplied and of the block, up to rounding errors of a vector of length
        ``before``. Where much of w went, what is left has errors along the basis: it is cleaned again. ``column``, if
        any, is that of the product which w is the rest of.
        """
        into = None if column is None else slice(column, column + 1)
        if self.active:
            self._project(w.unsqueeze(0), slice(self.applied, self.size), into)
        norm = torch.linalg.vector_norm(w).item()
        while least < norm < 0.7 * before:
            before = norm
            self._project(w.unsqueeze(0), slice(0, self.size), into)
            norm = torch.linalg.vector_norm(w).item()
        if norm <= least or self.size == self.capacity:
            return False
        self.basis[self.size] = w / norm
        if column is not None:
            self.matrix[self.size, column] = norm
        self.size += 1
        return True

    def _small(self, matrix: Tensor) -> Tensor:
        return matrix.to(self.operator.device, self.operator.dtype)


def order_of(values: Tensor, which: str) -> Tensor:
    """Return the order in which Ritz values are wanted, the first ahead."""
    key = {"largest": -values, "magnitude": -values.abs(), "smallest": values}
    return key[which].argsort(stable=True)
