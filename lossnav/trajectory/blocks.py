"""Block-tridiagonal systems by banded Cholesky, or LU where the scaling forbids it: O(N·D³) time, O(N·D²) memory."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav._checks import Array


def banded(diagonal: Array, below: Array) -> Array:
    """Return LAPACK's lower banded form, shape (2D, M·D).

    Args:
        diagonal: symmetric blocks, shape (M, D, D).
        below: blocks coupling row n+1 to column n, shape (M−1, D, D).
    """
    count, dim, _ = diagonal.shape
    bands = np.zeros((2 * dim, count * dim))
    for j in range(dim):
        for i in range(j, dim):
            bands[i - j, j::dim] = diagonal[:, i, j]
        for i in range(dim):
            bands[dim + i - j, j : (count - 1) * dim : dim] = below[:, i, j]
    return bands


def factor(bands: Array) -> Array | None:
    """Return the banded Cholesky factor, or None if the matrix is not positive definite."""
    try:
        return scipy.linalg.cholesky_banded(bands, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None


def solve(factored: Array, right: Array) -> Array:
    """Return the solution, shape (M, D), for a right-hand side of shape (M, D)."""
    flat = scipy.linalg.cho_solve_banded((factored, True), right.ravel(), check_finite=False)
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
