"""Optimal paths that come to rest at no place known beforehand: late deadlines, and what the time after can change.

A loss may only sink towards a value that it never takes, be tilted for ever, be too flat around its lowest place for a
rate of approach, or have a valley: a continuum of minima, along whose floor nothing draws a learner anywhere. With a
discount what happens late counts for little: standing still from a deadline on is a path, its cost an upper bound, and
what a later deadline saves estimates by how much it is too high. Without one the rest of the way costs at most its
length in the metric 2k(L − L_low)G/η, and at least nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import approach, deadline, itineraries, modes, multi_start, newton, stationary
from lossnav.trajectory.case import Settings
from lossnav.trajectory.refinement import refine
from lossnav.trajectory.result import Trajectory, resting_action
from lossnav.trajectory.riccati import LocalValue, continued
from lossnav.trajectory.stationary import DEGENERATE, Rests
from lossnav.trajectory.status import Status

_LATER = 8  # deadlines that are tried, each this many times as late, where nothing fades
_FOLLOWED = 40  # ways that are followed, those that cost least
_DIRECTIONS, _ALIKE = 8, 0.9  # ways out that are tried, and the cosine of two that are one
_MANY = 8  # distinct rests with a floor: isolated ones are not found by the dozen

UNBOUNDED = "no minimiser: J falls without bound as the deadline grows; raise gamma, or set a horizon"


def split(objective: Objective, loss: Loss, theta0: Array, rests: Rests) -> tuple[Rests, Array]:
    """Return the rests that have a rate of approach, and the others, shape (M, D): degenerate ones, and valleys.

    At γ = 0 only what is lowest counts, as in ``stationary.targets``. Under a drift all have one.
    """
    points = rests.points
    if objective.drift is not None or not len(points):
        return rests, points[:0]
    flat = stationary.degenerate(loss, theta0, points) if rests.starts else np.zeros(len(points), bool)
    if len(points) >= _MANY:
        valley = np.array([_floor(objective, loss, point)[0] for point in points])
        flat |= valley & (valley.sum() >= _MANY)
    if objective.gamma == 0:
        heights = np.asarray(loss.value(points))
        lowest = heights <= np.min(heights) + 1e-9 * (1 + abs(np.min(heights)))
        if not np.any(flat & lowest):
            return rests, points[:0]
        return replace(rests, points=points[lowest & ~flat]), points[lowest & flat]
    return replace(rests, points=points[~flat]), points[flat]


def _floor(objective: Objective, loss: Loss, point: Array) -> tuple[bool, Array]:
    """Say whether a point is on the floor of a valley; and the curvatures of its modes that are not along it."""
    curvature = modes.decompose(loss.hessian(point), objective.metric_at(point)).curvature
    flat = np.abs(curvature) <= DEGENERATE * np.max(np.abs(curvature))
    return bool(np.any(flat) and not np.all(flat) and np.all(curvature[~flat] > 0)), curvature[~flat]


def descent(objective: Objective, loss: Loss, floor: Array) -> float:
    """Return how long the way down to a valley with these points takes, to the digits of its slowest wall.

    Zero where there is no wall: nobody knows how soon a degenerate rest is come near to.
    """
    walls = [curvature for valley, curvature in (_floor(objective, loss, point) for point in floor) if valley]
    if not walls:
        return 0.0
    slowest = np.min(np.concatenate(walls))
    return 18.0 / float(modes.slow_rate(slowest, objective.eta * objective.k, objective.gamma))


def path(
    objective: Objective, loss: Loss, theta0: Array, rests: Rests, settings: Settings, least: float = 0.0
) -> Trajectory:
    """Return the path of a late deadline, standing still after it; ``error`` estimates what that and the mesh change.

    Args:
        objective, loss, theta0: the problem.
        rests: places that the path may go by, or end at.
        settings: the accuracy; the mesh is refined until it is met.
        least: the earliest deadline.

    Raises:
        NoMinimiser: if later deadlines lower J without bound, or at γ = 0 the loss has no lowest value near by.
    """
    if objective.gamma == 0:
        return _undiscounted(objective, loss, theta0, rests, settings, least)
    span = max(math.log(100 / max(settings.rtol, 1e-12)) / objective.gamma, least)  # what is left is .01 rtol
    early, late = (dated(objective, loss, theta0, time, rests.points, settings) for time in (span, 1.5 * span))
    costs = [held(objective, loss, trajectory) for trajectory in (early, late)]
    change = abs(costs[1] - costs[0])
    # A search that was cut short proves nothing.
    if not (budget.spent() or change <= abs(costs[0]) + abs(costs[1]) / 2):
        raise NoMinimiser(UNBOUNDED)
    (place, height), error = _bottom(objective, loss.at(math.inf), rests, late.asymptote), change + late.error
    known = change <= max(10 * settings.rtol, 1e-12) * max(abs(costs[1]), 1e-300)
    return standing(late, costs[1], costs[1] - objective.k * height / objective.gamma, place, error, known)


def _undiscounted(
    objective: Objective, loss: Loss, theta0: Array, rests: Rests, settings: Settings, span: float
) -> Trajectory:
    """Return the path of the earliest deadline after which the rest of the way to the lowest place costs nothing."""
    final, places = loss.at(math.inf), [*rests.points, *rests.lost, *([] if rests.lowest is None else [rests.lowest])]
    if not places:
        raise NoMinimiser("no minimiser: gamma = 0, and no place was found towards which the loss falls; set a horizon")
    heights = np.asarray(final.value(np.array(places)))
    lowest, low = places[int(np.argmin(heights))], float(np.min(heights))
    span = max(16 / math.sqrt(objective.eta * objective.k), span)
    for _ in range(_LATER):
        path = dated(objective, loss, theta0, span, rests.points, settings, low)
        place, height = _bottom(objective, final, rests, path.asymptote, low + 1e-9 * (1 + abs(low)))
        left = _length(objective, final, path.asymptote, lowest if math.isnan(height) else place, low)
        if left <= settings.rtol * path.action:
            break
        span *= _LATER
    excess, error = path.action + left / 2, left / 2 + path.error
    scale = objective.k * (abs(float(loss.value(theta0))) + abs(low))
    action = excess + resting_action(objective.k * low, 0.0, scale)
    return standing(path, action, excess, place, error, left <= max(10 * settings.rtol, 1e-12) * path.action)


def escape(
    objective: Objective, loss: Loss, theta0: Array, rests: Rests, lowest: float, least: float = 0.0
) -> Trajectory | None:
    """Return the best path towards points from which the loss only falls farther, of status ``RUNS_AWAY``.

    Its ``action`` is a bound from above for γ > 0: it stands still where it has got by a late deadline. For γ = 0 it is
    one if the loss there is ``lowest``, that of the rests, up to rounding; else there is no path, for J is infinite,
    or not known under a metric that depends on θ, or of a task. ``least`` is the earliest deadline.
    """
    heights = np.asarray(loss.at(math.inf).value(rests.lost))
    far, low = rests.lost[int(np.argmin(heights))], float(np.min(heights))
    if objective.gamma > 0:
        span, level = max(12 / objective.gamma, least), 0.0
    else:
        span, level = 16 / math.sqrt(objective.eta * objective.k), min(lowest, low)
        if loss.timed or objective.curved or low - lowest > 1e-9 * max(abs(lowest), float(loss.value(theta0)) - lowest):
            return None
    try:
        away = dated(objective, loss, theta0, span, towards(loss, theta0, rests), Settings(rtol=1e-4), level)
    except NoMinimiser:
        return None
    cost = held(objective, loss, away) if objective.gamma > 0 else _length(objective, loss, theta0, far, level)
    return replace(away, action=cost, asymptote=np.full(loss.dim, np.nan), status=Status.RUNS_AWAY, is_minimum=None)


def towards(loss: Loss, theta0: Array, rests: Rests) -> Array:
    """Return places on the ways to points from which the loss only falls farther, shape (K, D): one in each decade.

    Where the best path gets to is not known beforehand, nor which way it goes: the points are some of the lowest that
    lie in directions of their own.
    """
    offsets = rests.lost - theta0
    reach = np.maximum(np.linalg.norm(offsets, axis=1), 1.0)
    directions, places = np.empty((0, loss.dim)), []
    for i in np.argsort(loss.at(math.inf).value(rests.lost)):
        direction = offsets[i] / reach[i]
        if len(directions) == _DIRECTIONS or np.any(directions @ direction > _ALIKE):
            continue
        directions = np.vstack([directions, direction])
        decades = np.arange(math.ceil(math.log10(reach[i])) + 1)
        places.append(theta0 + 10.0 ** -decades[:, None] * offsets[i])
    return np.concatenate(places)


def dated(
    objective: Objective, loss: Loss, theta0: Array, span: float, places: Array, settings: Settings, level: float = 0.0
) -> Trajectory:
    """Return the best path of a deadline, from standing still, by way of some places, and with a drift; J counts from
    ``level``.
    """
    problem = approach.first(objective, loss, span, level=level)
    ways = np.array([approach.straight(problem, theta0, place)[-1] for place in (theta0, *places)])
    ways = ways[np.argsort(itineraries.costs(problem, ways))[:_FOLLOWED]]
    starts = [*ways, *deadline.carried(problem, theta0)]
    minima = [m for m in newton.minimise_all(problem, np.array(starts)) if math.isfinite(m.action)]
    if not minima:
        raise NoMinimiser(UNBOUNDED)
    settled = [minimum for minimum in minima if minimum.converged] or minima  # of a kinked loss none may be
    best = min(settled, key=lambda minimum: minimum.action)
    path = refine(*approach.settle(problem, best), replace(settings, steps=None))
    return replace(path, action=path.action - resting_action(objective.k * level, objective.gamma, 1.0, span))


def held(objective: Objective, loss: Loss, path: Trajectory) -> float:
    """Return J with γ > 0 of a path that stands still where its deadline finds it."""
    rate = float(objective.cost_rate(loss.at(math.inf), path.asymptote, np.zeros_like(path.asymptote)))
    return path.action + math.exp(-objective.gamma * path.end) * rate / objective.gamma


def _length(objective: Objective, loss: Loss, start: Array, goal: Array, low: float) -> float:
    """Return ∫√(2k(L − L_low)/η)|dθ|_G along the straight line: what the rest of a way costs at most, at γ = 0."""
    u = np.linspace(0.0, 1.0, 2001) ** 2
    excess = np.maximum(np.asarray(loss.value(goal + (1 - u)[:, None] * (start - goal))) - low, 0.0)
    way = float(np.sqrt((start - goal) @ objective.metric_at(start) @ (start - goal)))
    return math.sqrt(2 * objective.k / objective.eta) * way * float(np.trapezoid(np.sqrt(excess), u))


def _bottom(
    objective: Objective, loss: Loss, rests: Rests, place: Array, most: float = math.inf
) -> tuple[Array, float]:
    """Return the rest to which a descent leads that has nearly got there, and L in it; NaN if there is none.

    None either if L at the place is more than ``most``, and under a drift, where no descent says where a path ends.
    """
    if objective.drift is None and len(rests.points) and float(loss.value(place)) <= most:
        ends = multi_start.minima(loss, place[None]).ends
        if len(ends) and float(np.max(np.abs(ends[0] - place))) < 1:
            return ends[0], float(loss.value(ends[0]))
    return np.full(loss.dim, np.nan), math.nan


def standing(path: Trajectory, action: float, excess: float, place: Array, error: float, known: bool) -> Trajectory:
    """Return the path that stands still after its deadline, not converged if ``error`` leaves J unknown."""
    status, detail = path.status, path.detail
    if path.converged and not known:
        status = Status.DEADLINE_TOO_EARLY
        detail = f"J is {action:.9g} to within {error:.3g}, from a deadline at {path.end:.3g}"
    stop, zero = path.asymptote, np.zeros_like(path.asymptote)
    local_value = LocalValue(stop, np.diag(zero), zero, 0.0, 0.0, np.diag(zero), zero, stop)
    position, rate = continued(local_value, path.end, stop, path.position, path.rate)
    second = None if path.second is None else continued(local_value, path.end, stop, path.position, path.second)[1]
    return replace(
        path, action=action, excess=excess, asymptote=place, position=position, rate=rate, second=second, end=math.inf,
        status=status, detail=detail, error=error, growth=0.0 if path.objective.drift is None else math.nan,
    )  # fmt: skip
