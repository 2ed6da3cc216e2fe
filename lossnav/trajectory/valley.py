"""Paths to a valley: a continuum of minima, on which no single one is where a path must come to rest.

Along its floor nothing draws a learner anywhere, so that the end is free there: with a deadline much later than the
time that it takes to get down, and a free end, a path does what the one without end does. From then on it rests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import deadline, modes
from lossnav.trajectory.refinement import Settings
from lossnav.trajectory.result import Trajectory, resting_action, standing
from lossnav.trajectory.stationary import Rests
from lossnav.trajectory.transcription import Transcription

_FLAT = 1e-5  # curvature of a floor beside that of the walls: derived Hessians know no better
_MANY = 8  # distinct rests with a floor: isolated ones are not found by the dozen
_LIFETIMES = 18.0  # of the slowest mode across the valley
_DOUBLINGS, _DOWN = 4, 1e-6  # of the time, until the slope at the end is this small beside the walls' curvature


def split(objective: Objective, loss: Loss, rests: Rests) -> tuple[Rests, Array]:
    """Return the rests without those that lie in a valley, and these, shape (M, D), M = 0 where there is none.

    At γ = 0 only what is lowest counts, as in ``stationary.targets``. Under a drift no valley is looked for.
    """
    points = rests.points
    if objective.drift is not None or len(points) < _MANY:
        return rests, points[:0]
    flat = np.array([_floor(objective, loss, point)[0] for point in points])
    if objective.gamma == 0:
        heights = np.asarray(loss.value(points))
        lowest = heights <= np.min(heights) + 1e-9 * (1 + abs(np.min(heights)))
        flat, points = flat[lowest], points[lowest]
    if flat.sum() < _MANY:
        return rests, points[:0]
    return replace(rests, points=points[~flat]), points[flat]


def paths(objective: Objective, loss: Loss, theta0: Array, floor: Array, settings: Settings) -> Iterator[Trajectory]:
    """Yield the extremals that come down to the valley with these points, shape (M, D), and rest where they get to."""
    walls = np.concatenate([_floor(objective, loss, point)[1] for point in floor])
    slowest = float(modes.slow_rate(np.min(walls), objective.eta * objective.k, objective.gamma))
    for doublings in range(_DOUBLINGS):
        span = 2**doublings * _LIFETIMES / slowest
        down = list(deadline.from_starts(Transcription(objective, loss, span, 2), theta0, settings, floor))
        if min(float(np.max(np.abs(loss.gradient(path.asymptote)))) for path in down) < _DOWN * np.max(walls):
            break
    for path in down:
        yield _resting(path, span)


def _floor(objective: Objective, loss: Loss, point: Array) -> tuple[bool, Array]:
    """Say whether a point is on the floor of a valley; and the curvatures of its modes that are not along it."""
    curvature = modes.decompose(loss.hessian(point), objective.metric_at(point)).curvature
    none = np.abs(curvature) <= _FLAT * np.max(np.abs(curvature))
    return bool(np.any(none) and not np.all(none) and np.all(curvature[~none] > 0)), curvature[~none]


def _resting(path: Trajectory, span: float) -> Trajectory:
    """Return a path that has come down by ``span``, and rests there for ever."""
    objective, place = path.objective, path.asymptote
    level = objective.k * float(path.loss.value(place))
    excess = path.action - resting_action(level, objective.gamma, 0.0, span)
    scale = objective.k * abs(float(path.loss.value(path.position(np.zeros(1))[0]))) + abs(excess)
    action = excess + resting_action(level, objective.gamma, scale)
    return replace(standing(path, span), action=action, excess=excess)
