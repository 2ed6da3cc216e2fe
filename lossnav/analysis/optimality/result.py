"""What a law is optimal for, and a basis of eigenvectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.objective import Objective


@dataclass(frozen=True, eq=False)
class OptimalFor:
    """What a law is optimal for.

    Attributes:
        exists: whether such assumptions are.
        why: the theorem that decides, and the number that it decides by.
        objective, hessian: one set of assumptions, k = 1, and the curvature H of the loss, shape (D, D); None if there
            are none.
        gamma: all discounts that will do, lowest and highest; (inf, 0) if none. Of a law of any shape as far as a
            grid of seven decades tells them.
        free: what the law leaves open, by name: how many numbers.
        nearest: K of a law that is optimal, shape (D, D): the nearest where the metric or the loss is given; for free
            ones that of the same real parts, in the same basis. None where the law is, or none is known.
        residual: how far the law that a Riccati solver returns is from the one asked about, relative; of a law of any
            shape, by how much its equations are missed.
    """

    exists: bool
    why: str
    objective: Objective | None = None
    hessian: Array | None = None
    gamma: tuple[float, float] = (math.inf, 0.0)
    free: tuple[tuple[str, int], ...] = ()
    nearest: Array | None = None
    residual: float = math.nan


def basis(law: Array) -> tuple[Any, Array | None]:
    """Return eigenvalues, equal ones to the digit, and a basis of eigenvectors; None if there is no basis.

    Parameters may have units that differ much: what is small beside a law is told where rows are as large as columns.
    """
    balanced, (units, _) = scipy.linalg.matrix_balance(law, permute=False, separate=True)
    values = np.linalg.eigvals(balanced)
    scale = float(np.linalg.norm(balanced))
    if np.any(np.abs(values.imag) > 1e-7 * scale):
        return values, None
    values, means, parts = np.sort(values.real), [], []
    for group in np.split(values, np.nonzero(np.diff(values) > 1e-7 * scale)[0] + 1):
        _, spread, rows = np.linalg.svd(balanced - group.mean() * np.eye(len(law)))
        if spread[-len(group)] > 1e-6 * scale:
            return values, None
        means.append(np.full(len(group), group.mean()))
        parts.append(rows[-len(group) :].T)
    return np.concatenate(means), units[:, None] * np.concatenate(parts, axis=1)
