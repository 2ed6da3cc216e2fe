"""Nonuniform meshes: where a path has its nodes, and how many.

A first mesh follows the law of the end, or time. Once there is a path, half of the nodes lie evenly over the way that
it goes, in the units of the metric: however short a stage is, the interval that holds it gets its share of the nodes,
and each round resolves scales some thirty times finer (``refinement.settle``). Then every interval is halved: the error
of a scheme that is symmetric in an interval's ends is a series in (1/N)². Where the loss jumps there is a node.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective

if TYPE_CHECKING:
    from lossnav.trajectory.riccati import LocalValue

MOST_TURN = 600.0  # γΔt where e^{γΔt} is still a number: a mesh with longer steps resolves nothing
_MOST_STEPS = 2**20
_MOST_ENTRIES = 2**28  # of a Hessian: 2 GB
_FIRST_STEPS = 64
_LONGEST = 2.0  # the longest step of a first mesh, in units of the law's scale: beyond it a path cannot move
_CALM = 4.0  # the longest step at the end, in units of its slowest time: little is left to move there
_SAMPLES = 400  # intervals on which the law's density is summed, in each stretch


def even(loss: Loss, horizon: float, steps: int) -> Array:
    """Return equal steps, in each stretch between the switches of a loss, shape (N+1,)."""
    return spread(np.array([0.0, horizon]), np.ones(1), loss, steps)


def first(
    objective: Objective, loss: Loss, horizon: float, end: LocalValue | None = None, fastest: float = 0.0
) -> Array:
    """Return a coarse mesh, shape (N+1,): of equal steps, or as the law of the end asks for, which it resolves.

    ``fastest`` is a rate that equal steps are to resolve, too.
    """
    times: Array = np.array([0.0, horizon])
    weight: Array = np.ones(1)
    wanted = max(float(_FIRST_STEPS), 4 * fastest * horizon, 2 * objective.gamma * horizon / MOST_TURN)
    if end is not None and end.growth < 0:
        times = _log_times(loss, horizon, end)
        weight = lawful(objective, loss, times, end)
        turning = float(np.max(np.abs(np.linalg.eigvals(end.closed).imag)))
        wanted = max(wanted, 4 * turning * horizon, float(weight @ np.diff(times)) / _LONGEST)
    return spread(times, weight, loss, min(2 ** math.ceil(math.log2(wanted)), most_steps(loss.dim) // 4))


def lawful(objective: Objective, loss: Loss, times: Array, end: LocalValue | None) -> Array:
    """Return how many steps a unit of time needs on the way to a rest, in each interval, shape (N,); without one 1.

    What moves at a rate ρ is discretised with an error of ρ(ρ + γ)·Δt². At a time t after the start, or after a switch,
    modes faster than 1/t have come to rest, and the slowest one goes on.
    """
    if end is None or end.growth >= 0:
        return np.ones(len(times) - 1)
    middle = (times[1:] + times[:-1]) / 2
    marks = np.array([0.0, *_joints(loss, times[-1])])
    since = middle - marks[np.searchsorted(marks, middle, side="right") - 1]
    rate = 1 / (since + 1 / np.max(np.abs(np.linalg.eigvals(end.closed)))) - end.growth / _CALM
    return np.sqrt(rate * (rate + objective.gamma))


def spread(times: Array, weight: Array, loss: Loss, steps: int) -> Array:
    """Return nodes of a mesh on which a piecewise constant density has equal shares between nodes, shape (N+1,).

    de Boor's equidistribution, in each stretch between the switches of the loss by itself: these are nodes, too, and a
    stretch has as many intervals as are its share, but no less than an eighth of an equal share.

    Args:
        times: nodes at which the density is known, shape (M+1,).
        weight: the density between them, > 0, shape (M,).
        loss: the landscape; it may depend on time.
        steps: N, at least the number of stretches.
    """
    total = np.concatenate([[0.0], np.cumsum(weight * np.diff(times))])
    ends = np.array([times[0], *_joints(loss, times[-1]), times[-1]])
    marks = np.interp(ends, times, total)
    counts = np.maximum(np.diff(marks) / total[-1], 1 / (8 * (len(ends) - 1)))
    counts = np.maximum(np.floor(counts / counts.sum() * steps), 1).astype(int)
    counts[np.argmax(counts)] += steps - counts.sum()
    parts = [np.linspace(low, high, n + 1)[:-1] for low, high, n in zip(marks[:-1], marks[1:], counts, strict=True)]
    found = np.interp(np.append(np.concatenate(parts), total[-1]), total, times)
    found[np.append(0, np.cumsum(counts))] = ends
    return found


def _joints(loss: Loss, horizon: float) -> list[float]:
    """Return the switches of a loss inside: there must be nodes."""
    return [switch for switch in getattr(loss, "switches", ()) if switch < horizon]


def _log_times(loss: Loss, horizon: float, end: LocalValue) -> Array:
    """Return times from the law's fastest scale on, after the start and after each switch, shape (M+1,)."""
    fastest = float(np.max(np.abs(np.linalg.eigvals(end.closed))))
    parts = []
    for low, high in itertools.pairwise([0.0, *_joints(loss, horizon), horizon]):
        part = low + np.expm1(np.linspace(0.0, math.log1p(fastest * (high - low)), _SAMPLES + 1)) / fastest
        parts.append(part[:-1])
    return np.unique(np.append(np.concatenate(parts), horizon))


def most_steps(dim: int) -> int:
    """Return the largest grid, a power of two: its Hessian has 2D²N entries."""
    return min(_MOST_STEPS, 2 ** int(math.log2(_MOST_ENTRIES / (2 * dim * dim))))


def on(times: Array, path: Array, other: Array) -> Array:
    """Return a path at other times, shape (T, D), by straight lines between its nodes."""
    return np.stack([np.interp(other, times, column) for column in path.T], axis=1)


def halved(times: Array) -> Array:
    """Return the mesh with every interval halved, shape (2N+1,)."""
    fine = np.empty(2 * len(times) - 1)
    fine[::2], fine[1::2] = times, (times[1:] + times[:-1]) / 2
    return fine


def double(path: Array) -> Array:
    """Return what is along the first axis on twice as many intervals, by cubic midpoints."""
    fine = np.empty((2 * len(path) - 1, *path.shape[1:]))
    fine[::2] = path
    fine[1::2] = (path[1:] + path[:-1]) / 2
    if len(path) > 3:
        fine[3:-3:2] = (9 * (path[1:-2] + path[2:-1]) - path[:-3] - path[3:]) / 16
    return fine
