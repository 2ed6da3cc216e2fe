"""How Newton's method is brought to an extremal whose time scales nobody knows: a coarse mesh that moves to the path.

A mesh of few nodes is solved, and its nodes are spread again where the path is fast: half of them evenly over the way
that it goes, in the units of the metric, half as the law of the end asks for, or evenly in time (de Boor's
equidistribution). However short a stage is, the interval that holds it gets its share of the nodes: each round resolves
scales some thirty times finer.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import newton
from lossnav.trajectory.mesh import Mesh, Split, first_steps, most_steps, spread
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.transcription import Transcription

_EVEN = 2.0  # the most that an interval may hold of what there is, relative to the mean
_ROUNDS = 12  # each thirty times finer: beyond the digits of a float
_LONGEST = 2.0  # the longest step of a first mesh, in units of the law's scale: beyond it a path cannot move
_SAMPLES = 400  # intervals on which the law's density is summed, in each stretch


def graded(objective: Objective, loss: Loss) -> bool:
    """Return whether the mesh follows the path: where metric or loss change with scales of their own."""
    return objective.curved or loss.timed


def mesh_of(loss: Loss, horizon: float, steps: int) -> Mesh:
    """Return equal steps, in each stretch between the switches of a loss."""
    return Split(spread(np.array([0.0, horizon]), np.ones(1), _joints(loss, horizon), steps))


def first(
    objective: Objective, loss: Loss, horizon: float, terminal: LocalValue | None = None, **parts: object
) -> Transcription:
    """Return J on a coarse mesh that ``settle`` may move: of equal steps, or as the law of the end asks for."""
    still = replace(objective, gamma=0.0)  # the rule has the discount exact
    times: Array = np.array([0.0, horizon])
    weight: Array = np.ones(1)
    turning = 0.0
    if terminal is not None and terminal.growth < 0:
        times = _log_times(loss, horizon, terminal)
        weight = _lawful(objective, loss, times, terminal)
        turning = float(np.max(np.abs(np.linalg.eigvals(terminal.closed).imag)))
    steps = first_steps(still, loss.dim, horizon, turning)
    needed = float(weight @ np.diff(times)) / _LONGEST if len(weight) > 1 else 1.0
    steps = max(steps, min(2 ** math.ceil(math.log2(needed)), most_steps(loss.dim) // 4))
    mesh = Split(spread(times, weight, _joints(loss, horizon), steps))
    return Transcription(
        objective, loss, horizon, steps, rule="exact", mesh=mesh, terminal=terminal, **parts  # type: ignore[arg-type]
    )  # fmt: skip


def _joints(loss: Loss, horizon: float) -> list[float]:
    """Return the switches of a loss inside: there must be nodes."""
    return [switch for switch in getattr(loss, "switches", ()) if switch < horizon]


def _log_times(loss: Loss, horizon: float, end: LocalValue) -> Array:
    """Return times from the law's fastest scale on, after the start and after each switch, shape (M+1,)."""
    fastest = float(np.max(np.abs(np.linalg.eigvals(end.closed))))
    parts = []
    marks = [0.0, *_joints(loss, horizon), horizon]
    for low, high in itertools.pairwise(marks):
        part = low + np.expm1(np.linspace(0.0, math.log1p(fastest * (high - low)), _SAMPLES + 1)) / fastest
        parts.append(part[:-1])
    return np.unique(np.append(np.concatenate(parts), horizon))


def _lawful(objective: Objective, loss: Loss, times: Array, end: LocalValue) -> Array:
    """Return how many steps a unit of time needs on the way to a rest, in each interval, shape (N,).

    What moves at a rate ρ is discretised with an error of ρ(ρ + γ)·Δt². At a time t after the start, or after a switch,
    modes faster than 1/t have come to rest, and the slowest one goes on.
    """
    middle = (times[1:] + times[:-1]) / 2
    marks = np.array([0.0, *_joints(loss, times[-1])])
    since = middle - marks[np.searchsorted(marks, middle, side="right") - 1]
    rate = 1 / (since + 1 / np.max(np.abs(np.linalg.eigvals(end.closed)))) - end.growth
    return np.sqrt(rate * (rate + objective.gamma))


def settle(problem: Transcription, found: newton.Minimum) -> tuple[Transcription, newton.Minimum]:
    """Return the problem on a mesh that has moved to the path, and the path on it."""
    for _ in range(_ROUNDS):
        weight = _density(problem, found.path)
        share = weight * problem.dt[:, 0]
        if not np.all(np.isfinite(share)) or np.max(share) <= _EVEN * np.mean(share):
            break
        joints = _joints(problem.loss, problem.horizon)
        moved = replace(problem, mesh=Split(spread(problem.times, weight, joints, problem.steps)))
        found = newton.minimise(moved, on(problem.times, found.path, moved.times))
        problem = moved
    return problem, found


def on(times: Array, path: Array, other: Array) -> Array:
    """Return a path at other times, shape (T, D), by straight lines between its nodes."""
    return np.stack([np.interp(other, times, column) for column in path.T], axis=1)


def _density(problem: Transcription, path: Array) -> Array:
    """Return the speed of a path as a share of its length, and what its end asks for, in each interval, shape (N,)."""
    velocity = np.diff(path, axis=0) / problem.dt
    metric = problem.objective.metric_on(path.shape[1]).matrix((path[1:] + path[:-1]) / 2)
    speed = np.sqrt(np.maximum(np.einsum("ni,nij,nj->n", velocity, metric, velocity), 0.0))
    length = float(speed @ problem.dt[:, 0])
    calm: Array = np.ones(problem.steps)
    end = problem.terminal
    if end is not None and end.growth < 0:
        calm = _lawful(problem.objective, problem.loss, problem.times, end)
    return calm / float(calm @ problem.dt[:, 0]) + (speed / length if length > 0 else 0 * speed)
