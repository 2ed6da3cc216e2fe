"""Time grids of the action solver: how many steps to begin with, how many at most, and a path on twice as many."""

from __future__ import annotations

import math

import numpy as np

from lossnav._checks import Array
from lossnav.problem.objective import Objective

_MOST_STEPS = 2**20
_MOST_ENTRIES = 2**28  # of a Hessian: 2 GB
_FIRST_STEPS = 64


def first_steps(objective: Objective, dim: int, span: float, fastest: float = 0.0) -> int:
    """Return a power of two that resolves discount and law, γΔt ≤ ¼: else the scheme is not in its asymptotic range."""
    wanted = max(_FIRST_STEPS, 4 * objective.gamma * span, 4 * fastest * span)
    return min(2 ** math.ceil(math.log2(wanted)), most_steps(dim) // 4)


def graded_steps(dim: int, length: float) -> int:
    """Return a power of two of steps for a clock of this ``length``: each at most an eighth of the time scale."""
    return min(2 ** math.ceil(math.log2(max(_FIRST_STEPS, 8 * length))), most_steps(dim) // 4)


def most_steps(dim: int) -> int:
    """Return the largest grid, a power of two: its Hessian has 2D²N entries."""
    return min(_MOST_STEPS, 2 ** int(math.log2(_MOST_ENTRIES / (2 * dim * dim))))


def double(path: Array) -> Array:
    """Return what is along the first axis on twice as many intervals, by cubic midpoints."""
    fine = np.empty((2 * len(path) - 1, *path.shape[1:]))
    fine[::2] = path
    fine[1::2] = (path[1:] + path[:-1]) / 2
    if len(path) > 3:
        fine[3:-3:2] = (9 * (path[1:-2] + path[2:-1]) - path[:-3] - path[3:]) / 16
    return fine
