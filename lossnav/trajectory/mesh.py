r"""Nonuniform meshes: times at which a path has its nodes, of which twice as many halve every interval.

A scheme that is symmetric in an interval's ends keeps an error series in (Δs)² where time is a fixed smooth function of
s, and the nodes are at equal steps of s; where the path has a kink, as at a switch of the loss, there must be a node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lossnav._checks import Array
from lossnav.problem.objective import Objective

_MOST_STEPS = 2**20  # beyond it rounding of sums is what doubling would show
_MOST_ENTRIES = 2**28  # of a Hessian: 2 GB
_FIRST_STEPS = 64  # three times doubled it has 512, which is what most paths end with


class Mesh(Protocol):
    """How the nodes of any number of steps lie."""

    def times(self, horizon: float, steps: int) -> Array:
        """Return the nodes of so many intervals on [0, horizon], shape (N+1,)."""
        ...


@dataclass(frozen=True)
class Even:
    """Equal steps."""

    def times(self, horizon: float, steps: int) -> Array:
        """Return equal steps, shape (N+1,)."""
        return np.linspace(0.0, horizon, steps + 1)


@dataclass(frozen=True)
class Clock:
    r"""Steps that grow in proportion to time, for paths that start fast and come to rest slowly.

    .. math:: \frac{dt}{ds} = \Bigl(\frac1{t+c} + \frac1m\Bigr)^{-1},\qquad s(t) = \ln(1 + t/c) + t/m:

    from c·Δs at the start to at most m·Δs. A mode that still moves at time t has a rate of about 1/t, so that each is
    resolved equally well while it lasts.

    Attributes:
        start: c, the fastest time scale at the start.
        longest: m, the time scale that is never exceeded; inf if there is none.
    """

    start: float
    longest: float = math.inf

    def length(self, horizon: float) -> float:
        """Return s at ``horizon``: how many steps of size one there are up to then."""
        return math.log1p(horizon / self.start) + horizon / self.longest

    def times(self, horizon: float, steps: int) -> Array:
        """Return the nodes of equal steps in s up to ``horizon``, shape (N+1,)."""
        s = np.linspace(0.0, self.length(horizon), steps + 1)
        if math.isinf(self.longest):
            times = self.start * np.expm1(s)
        else:
            # u = (t + c)/m solves u + ln u = s + c/m + ln(c/m): the Wright omega function
            from scipy.special import wrightomega

            ratio = self.start / self.longest
            times = self.longest * np.real(wrightomega(s + (ratio + math.log(ratio)))) - self.start
        times[0], times[-1] = 0.0, horizon
        return times


@dataclass(frozen=True, eq=False)
class Split:
    """The intervals of a mesh, each in as many equal parts: between its nodes time is linear in s, there it may kink.

    Attributes:
        base: its nodes, shape (M+1,).
    """

    base: Array

    def times(self, horizon: float, steps: int) -> Array:
        """Return the nodes, shape (N+1,), those of the base among them if N is a multiple of M."""
        parts = len(self.base) - 1
        times = np.interp(np.arange(steps + 1) * parts / steps, np.arange(parts + 1), self.base)
        times[-1] = horizon
        return times


def spread(times: Array, weight: Array, joints: Sequence[float], steps: int) -> Array:
    """Return nodes of a mesh on which a piecewise constant density has equal shares between nodes, shape (N+1,).

    de Boor's equidistribution, in each stretch between ``joints`` by itself: these are nodes, too, and a stretch has
    as many intervals as are its share, but no less than an eighth of an equal share.

    Args:
        times: nodes at which the density is known, shape (M+1,).
        weight: the density between them, > 0, shape (M,).
        joints: times inside that must be nodes.
        steps: N, at least the number of stretches.
    """
    total = np.concatenate([[0.0], np.cumsum(weight * np.diff(times))])
    ends = np.array([times[0], *joints, times[-1]])
    marks = np.interp(ends, times, total)
    counts = np.maximum(np.diff(marks) / total[-1], 1 / (8 * (len(ends) - 1)))
    counts = np.maximum(np.floor(counts / counts.sum() * steps), 1).astype(int)
    counts[np.argmax(counts)] += steps - counts.sum()
    parts = [np.linspace(low, high, n + 1)[:-1] for low, high, n in zip(marks[:-1], marks[1:], counts, strict=True)]
    nodes = np.interp(np.append(np.concatenate(parts), total[-1]), total, times)
    nodes[np.append(0, np.cumsum(counts))] = ends
    return nodes


def first_steps(objective: Objective, dim: int, span: float, fastest: float = 0.0) -> int:
    """Return a power of two that resolves discount and law, γΔt ≤ ¼: else the scheme is not in its asymptotic range."""
    fastest = fastest if objective.price is None else max(fastest, objective.price.hurry)
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
