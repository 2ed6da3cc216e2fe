"""Finer grids: the one that is asked for, or doubling with Romberg's extrapolation until the result stands still."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.trajectory import approach, newton
from lossnav.trajectory.case import Settings
from lossnav.trajectory.mesh import double, most_steps
from lossnav.trajectory.nodal import Nodes, cost, curve, nodes_of, trajectory_of
from lossnav.trajectory.result import Trajectory, compared
from lossnav.trajectory.transcription import Transcription

_ROUGH = 1e-4  # how well J of what is not the best is known, as a share of it
_CLEARLY = 10  # times what is left of an error: on paths with a corner it shrinks unevenly


def _every_second(nodes: Nodes) -> Nodes:
    return replace(nodes.map(lambda part: part[::2]), times=nodes.times[::2])


def lowered(best: float, path: Trajectory) -> float:
    """Return the least J of the minima so far, with a path more."""
    optimal = path.converged and path.is_minimum is not False
    return min(best, compared(path.action, path.excess)) if optimal else best


def refine(problem: Transcription, minimum: newton.Minimum, settings: Settings, best: float = math.inf) -> Trajectory:
    """Make a Trajectory of a coarse solution: on the grid that is asked for, or doubled until it stands still.

    What clearly costs more than ``best``, the least J of others, is doubled until its J is known to ``_ROUGH`` only.
    """
    if settings.steps is None:
        return _romberg(problem, minimum, settings, best)
    while settings.steps != problem.steps and not budget.spent():
        steps = settings.steps if settings.steps <= 16 * problem.steps else 8 * problem.steps
        finer = replace(problem, steps=steps)
        problem, minimum = finer, newton.minimise(finer, *_resample(problem, minimum, finer))
    grids, coarse, found = [nodes_of(problem, minimum)], problem, minimum
    while len(grids) < 3 and coarse.steps % 2 == 0 and found.converged and not budget.spent():
        coarse = replace(coarse, steps=coarse.steps // 2)
        found = newton.minimise(coarse, found.path[::2], found.curvature[::2])
        grids += [nodes_of(coarse, found)] * found.converged
    limit = grids[0] if len(grids) == 1 else _every_second(grids[0]).beyond(grids[1], problem.order)
    if len(grids) < 3:
        return trajectory_of(problem, minimum, limit)
    # What grids change falls as a geometric series at least, or else says nothing of what is still to come.
    before, last = (abs(fine.action - half.action) for fine, half in ((grids[1], grids[2]), (grids[0], grids[1])))
    error = last * max(1.0, last / (before - last)) if last < before else last
    change = 0.0 if last < before else last / _size(problem, limit)
    return trajectory_of(problem, minimum, limit, change, settings.rtol, error)


def _size(problem: Transcription, nodes: Nodes) -> float:
    """Return what changes of J are relative to."""
    return max(abs(nodes.action), abs(problem.objective.k * problem.level), 1e-12)


def _romberg(problem: Transcription, minimum: newton.Minimum, settings: Settings, best: float) -> Trajectory:
    """Double the grid until Romberg's extrapolation stands still.

    The scheme's error is a series in Δt². Two grids remove its first term; what a third then changes, divided by 15, is
    the error that is left, if three grids in a row differ as Δt² says; else it counts whole. It is removed, too.
    (While a scheme is of first order: a series in Δt, divided by 3.)
    """
    dim, rtol = minimum.path.shape[1], settings.rtol
    lenient = rtol / max(rtol, settings.blur)
    coarse = older = nodes_of(problem, minimum)
    before: Nodes | None = None
    size = math.inf
    good, last, order = minimum.converged, math.inf, problem.order
    while True:
        finer = replace(problem, steps=2 * problem.steps)
        # Twice as many steps, from the path to which the last two grids point.
        path = coarse.path if before is None else coarse.path + double(coarse.path[::2] - before.path) / 2**order
        budget.stage(f"{finer.steps:,} steps")
        next_minimum = newton.minimise(finer, double(path), double(minimum.curvature) if minimum.converged else None)
        if budget.spent() and not next_minimum.converged:
            return trajectory_of(problem, minimum, coarse)
        fine = nodes_of(finer, next_minimum)
        shift = float(np.max(np.abs(fine.path[::2] - coarse.path)))
        ratio = size / max(shift, 1e-300)
        order = problem.order if before is None or ratio < 2**1.5 else 2
        # What Δt → 0 gives: without the first term of the series.
        limit = _every_second(fine).beyond(coarse, order)
        if before is None:
            change, error = math.inf, math.nan
        else:
            # How much that has changed, and what is still to come if errors fall as a series in Δt².
            jump = abs(limit.action - older.action)
            change = max(
                jump / _size(problem, limit),
                lenient * float(np.max(np.abs(limit.path[::2] - older.path) / newton.sizes(older.path, rtol))),
            )
            series = 0.825 < ratio / 2**order < 1.2
            left = 2 ** (2 * order) - 1 if series else 1
            change, error = change / left, jump / left
            if change <= rtol and series:
                correction = _every_second(limit).beyond(older, 2 * order)
                smooth = limit.map(lambda part, better: part + double(better - part[::2]), correction)
                limit = replace(smooth, action=correction.action)
        lost = not next_minimum.converged and (before is not None or not good)
        rounding = change < 1e-10 and change > last / 2  # no grid will do better
        if lost:  # what grids that failed would tend to is no path's cost
            limit = fine
        if change <= rtol or lost or rounding or finer.steps >= most_steps(dim) or budget.spent():
            return trajectory_of(finer, next_minimum, limit, change, rtol, error)
        if best < math.inf and error <= _ROUGH * _size(problem, limit):
            reached = cost(finer, limit.action + finer.bias(next_minimum.path), limit.path)
            if reached - _CLEARLY * error > best:
                return trajectory_of(finer, next_minimum, limit, error=error)
        # A grid on which Newton's method failed says nothing of how the next ones differ.
        before, older, size, last = coarse if good else None, limit, shift, change
        problem, minimum, coarse, good = finer, next_minimum, fine, next_minimum.converged


def _resample(problem: Transcription, coarse: newton.Minimum, grid: Transcription) -> tuple[Array, Array | None]:
    """Return path and curvature on another grid of the same span: a start for Newton."""
    if coarse.converged and problem.steps >= 8:
        smooth = scipy.interpolate.CubicSpline(problem.times, coarse.curvature.reshape(problem.steps + 1, -1))
        curvature = smooth(grid.times)
        return curve(problem, nodes_of(problem, coarse))(grid.times), curvature.reshape(-1, *coarse.curvature.shape[1:])
    return approach.on(problem.times, coarse.path, grid.times), None
