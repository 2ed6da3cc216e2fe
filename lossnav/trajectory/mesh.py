"""Nonuniform meshes: times at which a path has its nodes, of which twice as many halve every interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lossnav._checks import Array

_MOST_STEPS = 2**20  # beyond it rounding of sums is what a finer mesh would show
_MOST_ENTRIES = 2**28  # of a Hessian: 2 GB


@dataclass(frozen=True, eq=False)
class Mesh:
    """The intervals of a mesh, each in as many equal parts; where the loss jumps in time there is always a node.

    Attributes:
        base: nodes, shape (M+1,), from 0 to the horizon.
        joints: those of them that stay nodes whatever the number of intervals.
        rates: of the law that it was made for, the fastest and the slowest one; (0, 1): of equal steps.
    """

    base: Array
    joints: Sequence[float] = ()
    rates: tuple[float, float] = (0.0, 1.0)

    def times(self, steps: int) -> Array:
        """Return the nodes of any number of intervals, shape (N+1,)."""
        index = np.arange(len(self.base))
        times = np.interp(np.linspace(0.0, index[-1], steps + 1), index, self.base)
        times[np.rint(np.searchsorted(self.base, self.joints) * (steps / index[-1])).astype(int)] = self.joints
        return times


def spread(
    times: Array, weight: Array, joints: Sequence[float], steps: int, rates: tuple[float, float] = (0.0, 1.0)
) -> Mesh:
    """Return a mesh of N intervals on which a piecewise constant density has equal shares between nodes.

    de Boor's equidistribution, in each stretch between ``joints`` by itself: these are nodes, too, and a stretch has
    as many intervals as are its share, but no less than an eighth of an equal share.

    Args:
        times: nodes at which the density is known, shape (M+1,).
        weight: the density between them, > 0, shape (M,).
        joints: times inside that must be nodes.
        steps: N, at least the number of stretches.
        rates: as in ``Mesh``.
    """
    total = np.concatenate([[0.0], np.cumsum(weight * np.diff(times))])
    ends = np.array([times[0], *joints, times[-1]])
    marks = np.interp(ends, times, total)
    counts = np.maximum(np.diff(marks) / total[-1], 1 / (8 * (len(ends) - 1)))
    counts = np.maximum(np.floor(counts / counts.sum() * steps), 1).astype(int)
    counts[np.argmax(counts)] += steps - counts.sum()
    parts = [np.linspace(low, high, n + 1)[:-1] for low, high, n in zip(marks[:-1], marks[1:], counts, strict=True)]
    found = np.interp(np.append(np.concatenate(parts), total[-1]), total, times)
    found[np.append(0, np.cumsum(counts))] = ends
    return Mesh(found, joints, rates)


def most_steps(dim: int) -> int:
    """Return the largest mesh, a power of two: its Hessian has 2D²N entries."""
    return min(_MOST_STEPS, 2 ** int(np.log2(_MOST_ENTRIES / (2 * dim * dim))))
