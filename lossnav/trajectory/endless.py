"""Optimal paths that need not come to rest: late deadlines with a free end, and what the time after can change.

A loss may only sink towards a value that it never takes, be tilted for ever, or be too flat around its lowest place
for a rate of approach. With a discount what happens late counts for little: standing still from a deadline on is a
path, its cost an upper bound, and what a later deadline saves estimates by how much it is too high. Without one the
rest of the way costs at most its length in the metric 2k(L − L_low)G/η, and at least nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import approach, newton
from lossnav.trajectory.refinement import Settings, refine
from lossnav.trajectory.result import Trajectory, resting_action, standing
from lossnav.trajectory.stationary import Rests
from lossnav.trajectory.status import Status

_LONGER = 1.5  # a second deadline, in units of the first
_LATER = 8  # deadlines that are tried, each this many times as late, where nothing fades
_SPARE = 1e-2  # of the tolerance: what a deadline's discount may be
_LINE = 2000  # points on the rest of a way

UNBOUNDED = "no minimiser: J falls without bound as the deadline grows; raise gamma, or set a horizon"


def path(objective: Objective, loss: Loss, theta0: Array, rests: Rests, settings: Settings) -> Trajectory:
    """Return the path of a late deadline, standing still after it; ``error`` estimates what that and the mesh change.

    Raises:
        NoMinimiser: if later deadlines lower J without bound, or at γ = 0 the loss has no lowest value near by.
    """
    if objective.gamma == 0:
        return _undiscounted(objective, loss, theta0, rests, settings)
    span = math.log(1 / (_SPARE * max(settings.rtol, 1e-12))) / objective.gamma
    early, late = (_dated(objective, loss, theta0, time, rests.points, settings) for time in (span, _LONGER * span))
    costs = []
    for one in (early, late):
        held = objective.k * float(loss.value(one.position(one.times[-1:])[0])) / objective.gamma
        costs.append(one.action + math.exp(-objective.gamma * one.times[-1]) * held)
    change = abs(costs[1] - costs[0])
    if not math.isfinite(change) or change > abs(costs[0]) + abs(costs[1]) * 0.5:
        raise NoMinimiser(UNBOUNDED)
    error = change + late.error
    accurate = error <= max(10 * settings.rtol, 1e-12) * max(abs(costs[1]), 1e-300)
    return _standing(late, costs[1], error, accurate, _end(loss, rests, late.asymptote))


def _undiscounted(objective: Objective, loss: Loss, theta0: Array, rests: Rests, settings: Settings) -> Trajectory:
    places = [*rests.points, *rests.lost, *([] if rests.lowest is None else [rests.lowest])]
    if not places:
        raise NoMinimiser("no minimiser: gamma = 0, and no place was found towards which the loss falls; set a horizon")
    heights = np.asarray(loss.value(np.array(places)))
    goal, low = places[int(np.argmin(heights))], float(np.min(heights))
    span = 16 / math.sqrt(objective.eta * objective.k)
    for _ in range(_LATER):
        found = _dated(objective, loss, theta0, span, rests.points, settings, low)
        left = _length(objective, loss, found.asymptote, goal, low)
        if left <= settings.rtol * found.action:
            break
        span *= _LATER
    excess, error = found.action + left / 2, left / 2 + found.error
    scale = objective.k * (abs(float(loss.value(theta0))) + abs(low))
    action = excess + resting_action(objective.k * low, 0.0, scale)
    accurate = left <= max(10 * settings.rtol, 1e-12) * found.action
    return replace(_standing(found, action, error, accurate, _end(loss, rests, found.asymptote)), excess=excess)


def _dated(
    objective: Objective, loss: Loss, theta0: Array, span: float, places: Array, settings: Settings, level: float = 0.0
) -> Trajectory:
    """Return the best path of a deadline, from standing still and by way of stationary points."""
    problem = approach.first(objective, loss, span, level=level)
    u = (problem.times / span)[:, None]
    starts = [theta0 + np.minimum(4 * u, 1.0) * (place - theta0) for place in (theta0, *places)]
    with np.errstate(all="ignore"):
        found = newton.minimise_all(problem, np.array(starts))
        found = [one for one in found if one.converged and math.isfinite(one.action)]
        if not found:
            raise NoMinimiser(UNBOUNDED)
        best = min(found, key=lambda one: one.action)
        path = refine(*approach.settle(problem, best), replace(settings, steps=None))
    if level:
        path = replace(path, action=path.action - resting_action(objective.k * level, objective.gamma, 1.0, span))
    return path


def _length(objective: Objective, loss: Loss, start: Array, goal: Array, low: float) -> float:
    """Return ∫√(2k(L − L_low)/η)|dθ|_G along the straight line: what the rest of a way costs at most, at γ = 0."""
    u = np.linspace(0.0, 1.0, _LINE + 1) ** 2
    excess = np.maximum(np.asarray(loss.value(goal + (1 - u)[:, None] * (start - goal))) - low, 0.0)
    way = float(np.sqrt((start - goal) @ objective.metric_at(start) @ (start - goal)))
    return math.sqrt(2 * objective.k / objective.eta) * way * float(np.trapezoid(np.sqrt(excess), u))


def _end(loss: Loss, rests: Rests, place: Array) -> Array:
    """Return the stationary point to which it is only downhill from a place, NaN if there is none."""
    line = np.linspace(0.0, 1.0, 65)[:, None]
    for point in rests.points:
        heights = np.asarray(loss.value(place + line * (point - place)))
        if np.all(np.diff(heights) <= 0) and np.max(np.abs(point - place)) < 1:
            return point
    return np.full(loss.dim, np.nan)


def _standing(path: Trajectory, action: float, error: float, accurate: bool, place: Array) -> Trajectory:
    span = float(path.times[-1])
    status, detail = path.status, path.detail
    if path.converged and not accurate:
        status = Status.DEADLINE_TOO_EARLY
        detail = f"J is {action:.9g} to within {error:.3g}, from a deadline at {span:.3g}"
    return replace(
        standing(path, span), action=action, excess=math.nan, asymptote=place, status=status, detail=detail,
        error=error, growth=0.0,
    )  # fmt: skip
