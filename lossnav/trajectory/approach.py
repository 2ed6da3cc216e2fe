"""How Newton's method is brought to an extremal whose time scales nobody knows: a coarse mesh that moves to the path.

A mesh of few nodes is solved, and its nodes are spread again where the path is fast: half of them evenly over the way
that it goes, in the units of the metric, half evenly in time (de Boor's equidistribution). However short a stage is,
the interval that holds it gets its share of the nodes: each round resolves scales some thirty times finer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import newton
from lossnav.trajectory.mesh import Mesh, Split, first_steps, spread
from lossnav.trajectory.transcription import Transcription

_EVEN = 2.0  # the most that an interval may hold of what there is, relative to the mean
_ROUNDS = 12  # each thirty times finer: beyond the digits of a float


def graded(objective: Objective, loss: Loss) -> bool:
    """Return whether the mesh follows the path: where metric or loss change with scales of their own."""
    return objective.curved or loss.timed


def mesh_of(loss: Loss, horizon: float, steps: int) -> Mesh:
    """Return equal steps, in each stretch between the switches of a loss."""
    joints = [switch for switch in getattr(loss, "switches", ()) if switch < horizon]
    return Split(spread(np.array([0.0, horizon]), np.ones(1), joints, steps))


def first(objective: Objective, loss: Loss, horizon: float, turning: float = 0.0, **parts: object) -> Transcription:
    """Return J on a coarse mesh that ``settle`` may move; ``turning`` is the fastest rate at which a path turns."""
    still = replace(objective, gamma=0.0)  # the rule has the discount exact
    steps = first_steps(still, loss.dim, horizon, turning)
    mesh = mesh_of(loss, horizon, steps)
    return Transcription(objective, loss, horizon, steps, rule="exact", mesh=mesh, **parts)  # type: ignore[arg-type]


def settle(problem: Transcription, found: newton.Minimum) -> tuple[Transcription, newton.Minimum]:
    """Return the problem on a mesh that has moved to the path, and the path on it."""
    for _ in range(_ROUNDS):
        weight = _density(problem, found.path)
        share = weight * problem.dt[:, 0]
        if not np.all(np.isfinite(share)) or np.max(share) <= _EVEN * np.mean(share):
            break
        joints = [switch for switch in getattr(problem.loss, "switches", ()) if switch < problem.horizon]
        moved = replace(problem, mesh=Split(spread(problem.times, weight, joints, problem.steps)))
        found = newton.minimise(moved, on(problem.times, found.path, moved.times))
        problem = moved
    return problem, found


def on(times: Array, path: Array, other: Array) -> Array:
    """Return a path at other times, shape (T, D), by straight lines between its nodes."""
    return np.stack([np.interp(other, times, column) for column in path.T], axis=1)


def _density(problem: Transcription, path: Array) -> Array:
    """Return the speed of a path as a share of its length, and one over the time, in each interval, shape (N,)."""
    velocity = np.diff(path, axis=0) / problem.dt
    metric = problem.objective.metric_on(path.shape[1]).matrix((path[1:] + path[:-1]) / 2)
    speed = np.sqrt(np.maximum(np.einsum("ni,nij,nj->n", velocity, metric, velocity), 0.0))
    length = float(speed @ problem.dt[:, 0])
    return 1 / problem.horizon + (speed / length if length > 0 else 0 * speed)
