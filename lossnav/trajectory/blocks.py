"""Block-tridiagonal systems by banded Cholesky, or LU where the scaling forbids it: O(N·D³) time, O(N·D²) memory."""

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


def solve_general(diagonal: Array, below: Array, above: Array, right: Array) -> Array:
    """Return the solution, shape (M, D), of a system that is not symmetric, by banded LU with pivoting.

    Args:
        diagonal: shape (M, D, D).
        below: blocks coupling row n+1 to column n, shape (M−1, D, D).
        above: blocks coupling row n to column n+1, shape (M−1, D, D).
        right: shape (M, D).
    """
    count, dim, _ = diagonal.shape
    width = 2 * dim - 1
    bands = np.zeros((2 * width + 1, count * dim))
    for j in range(dim):
        for i in range(dim):
            bands[width + i - j, j::dim] = diagonal[:, i, j]
            bands[width + dim + i - j, j : (count - 1) * dim : dim] = below[:, i, j]
            bands[width - dim + i - j, dim + j :: dim] = above[:, i, j]
    flat = scipy.linalg.solve_banded((width, width), bands, right.ravel(), overwrite_ab=True, check_finite=False)
    return flat.reshape(right.shape)
