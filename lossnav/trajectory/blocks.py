"""Symmetric block-tridiagonal systems by banded Cholesky: O(N·D³) time, O(N·D²) memory."""

from __future__ import annotations

import math

import numpy as np
import scipy

from lossnav._checks import Array


def banded(diagonal: Array, below: Array) -> Array:
    """Return LAPACK's lower banded form, shape (..., 2D, M·D), each system in Fortran's order.

    Args:
        diagonal: symmetric blocks, shape (..., M, D, D).
        below: blocks coupling row n+1 to column n, shape (..., M−1, D, D), or without the leading axes.
    """
    *lead, count, dim, _ = diagonal.shape
    columns = np.zeros((*lead, count, dim, 2 * dim))
    for j in range(dim):
        columns[..., j, : dim - j] = diagonal[..., j:, j]
        columns[..., :-1, j, dim - j : 2 * dim - j] = below[..., :, j]
    return np.swapaxes(columns.reshape(*lead, count * dim, 2 * dim), -1, -2)


def factor(bands: Array) -> Array | None:
    """Return the banded Cholesky factor of one system, or None if its matrix is not positive definite (or finite)."""
    factored, info = scipy.linalg.lapack.dpbtrf(bands, lower=1)
    return factored if info == 0 and math.isfinite(factored[0, -1]) else None


def solve(factored: Array, right: Array) -> Array:
    """Return the solution, shape (M, D), for a right-hand side of shape (M, D)."""
    flat, _ = scipy.linalg.lapack.dpbtrs(factored, right.ravel(), lower=1)
    return flat.reshape(right.shape)


def solve_discounted(factored: Array, half: Array, right: Array) -> Array:
    """Return x, shape (M, D), with W⁻¹ A W x = right for a factored A = LLᵀ and W = √w, w one number a node.

    The substitutions are those of W⁻¹LW and W⁻¹LᵀW, which hold ratios of neighbours only: √w itself may underflow.

    Args:
        factored: from ``factor``.
        half: √(w_n/w_{n+1}), shape (M−1, 1, 1).
        right: shape (M, D).
    """
    count, dim = right.shape
    columns = factored.T.reshape(count, dim, 2 * dim)
    into_next = np.add.outer(np.arange(dim), np.arange(2 * dim)) >= dim
    shares = np.where(into_next, np.concatenate([half, np.ones((1, 1, 1))]), 1.0)
    flat = right.ravel()
    for scaled, transposed in ((columns * shares, 0), (columns / shares, 1)):
        bands = scaled.reshape(count * dim, 2 * dim).T
        flat = scipy.linalg.blas.dtbsv(2 * dim - 1, bands, flat, lower=1, trans=transposed)
    return flat.reshape(right.shape)
