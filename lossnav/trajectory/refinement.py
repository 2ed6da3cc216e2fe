"""Finer meshes: they move to the path, and are halved with Romberg's extrapolation until the result stands still."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.trajectory import mesh, newton
from lossnav.trajectory.mesh import double, halved, most_steps
from lossnav.trajectory.nodal import Nodes, curve, nodes_of, trajectory_of
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.transcription import Transcription

_MOST_WAY = 1 / 16  # the share of the whole way that one interval may hold
_ROUNDS = 12  # each thirty times finer: beyond the digits of a float


@dataclass(frozen=True)
class Settings:
    """Accuracy: ``steps`` equal ones, or the mesh is halved until J and path change by less than ``rtol``."""

    steps: int | None = None
    rtol: float = 1e-8


def settle(problem: Transcription, found: newton.Minimum) -> tuple[Transcription, newton.Minimum]:
    """Return the problem on a mesh that has moved to the path, where the first one misses it, and the path on it."""
    for _ in range(_ROUNDS):
        speed = _speed(problem, found.path)
        length = float(speed @ problem.dt[:, 0])
        if not np.max(speed * problem.dt[:, 0]) > _MOST_WAY * length or not math.isfinite(length):
            break
        calm = mesh.lawful(problem.objective, problem.loss, problem.times, problem.terminal)
        weight = calm / float(calm @ problem.dt[:, 0]) + speed / length
        moved = replace(problem, times=mesh.spread(problem.times, weight, problem.loss, problem.steps))
        found = newton.minimise(moved, mesh.on(problem.times, found.path, moved.times))
        problem = moved
    return problem, found


def _speed(problem: Transcription, path: Array) -> Array:
    """Return the speed of a path in the units of the metric, in each interval, shape (N,)."""
    velocity = np.diff(path, axis=0) / problem.dt
    metric = problem.objective.metric_on(path.shape[1]).matrix((path[1:] + path[:-1]) / 2)
    squares = (velocity * (metric @ velocity[..., None])[..., 0]).sum(axis=1)
    return np.sqrt(np.maximum(squares, 0.0))


def _every_second(nodes: Nodes) -> Nodes:
    return replace(nodes.map(lambda part: part[::2]), times=nodes.times[::2])


def refine(problem: Transcription, found: newton.Minimum, settings: Settings) -> Trajectory:
    """Make a Trajectory of a coarse solution: on the steps that are asked for, or halved until it stands still."""
    if settings.steps is None:
        return _romberg(problem, found, settings.rtol)
    asked = replace(problem, times=mesh.even(problem.loss, problem.horizon, settings.steps))
    if not np.array_equal(asked.times, problem.times) and not budget.spent():
        found = newton.minimise(asked, *_resample(problem, found, asked))
        problem = asked
    nodes = nodes_of(problem, found)
    if problem.steps % 2 or budget.spent():
        return trajectory_of(problem, found, nodes)
    half = replace(problem, times=problem.times[::2])
    coarse = newton.minimise(half, found.path[::2], found.curvature[::2] if found.converged else None)
    if not coarse.converged:
        return trajectory_of(problem, found, nodes)
    limit = _every_second(nodes).beyond(nodes_of(half, coarse), 2)
    return trajectory_of(problem, found, limit, error=abs(limit.action - found.action))


def _romberg(problem: Transcription, found: newton.Minimum, rtol: float) -> Trajectory:
    """Halve the intervals until Romberg's extrapolation stands still.

    The scheme's error is a series in Δt². Two meshes remove its first term; what a third then changes, divided by 15,
    is the error that is left, if three in a row differ as Δt² says; else it counts whole. It is removed, too.
    """
    dim = found.path.shape[1]
    coarse = older = nodes_of(problem, found)
    before: Nodes | None = None
    size = math.inf
    good, last = found.converged, math.inf
    while True:
        finer = replace(problem, times=halved(problem.times))
        path = coarse.path if before is None else coarse.path + double(coarse.path[::2] - before.path) / 4
        budget.stage(f"{finer.steps:,} steps")
        now = newton.minimise(finer, double(path), double(found.curvature) if found.converged else None)
        if budget.spent() and not now.converged:
            return trajectory_of(problem, found, coarse)
        fine = nodes_of(finer, now)
        limit = _every_second(fine).beyond(coarse, 2)
        shift = float(np.max(np.abs(fine.path[::2] - coarse.path)))
        if before is None:
            change, error = math.inf, math.nan
        else:
            jump = abs(limit.action - older.action)
            change = max(
                jump / max(abs(limit.action), abs(problem.objective.k * problem.level), finer.size(now.path)),
                float(np.max(np.abs(limit.path[::2] - older.path) / newton.sizes(older.path, rtol))),
            )
            series = 3.3 < size / max(shift, 1e-300) < 4.8
            change, error = (change / 15, jump / 15) if series else (change, jump)
            if change <= rtol and series:
                correction = _every_second(limit).beyond(older, 4)
                limit = Nodes(
                    limit.times,
                    correction.action,
                    *(
                        whole + double(better - whole[::2])
                        for whole, better in (
                            (limit.path, correction.path),
                            (limit.velocity, correction.velocity),
                            (limit.slope, correction.slope),
                        )
                    ),
                )
        lost = before is not None and not (good and now.converged)
        rounding = change < 1e-10 and change > last / 2  # no grid will do better
        if lost:  # what grids that failed would tend to is no path's cost
            limit = fine
        if change <= rtol or lost or rounding or finer.steps >= most_steps(dim) or budget.spent():
            return trajectory_of(finer, now, limit, change, rtol, error)
        before, older, size, last = coarse, limit, shift, change
        problem, found, coarse, good = finer, now, fine, now.converged


def _resample(problem: Transcription, found: newton.Minimum, other: Transcription) -> tuple[Array, Array | None]:
    """Return path and curvature on another grid of the same span: a start for Newton."""
    if found.converged and problem.steps >= 8:
        smooth = scipy.interpolate.CubicSpline(problem.times, found.curvature.reshape(problem.steps + 1, -1))
        curvature = smooth(other.times)
        return curve(problem, nodes_of(problem, found))(other.times), curvature.reshape(-1, *found.curvature.shape[1:])
    return mesh.on(problem.times, found.path, other.times), None
