"""Paths that do nothing but relax to the only rest of a convex loss: a first solution on a graded grid.

Steps that grow with time suit a path that is fast first and slow later. Where there are several rests, or the loss is
not convex, a path may wait and then move fast: for those, this says nothing and the grid of equal steps is taken.
"""

from __future__ import annotations

import math

import numpy as np

from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes, newton
from lossnav.trajectory.mesh import Clock, graded_steps, most_steps
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.transcription import Transcription

_LONGEST = 4.0  # of the steps' scale, in units of that of the slowest mode
_LENGTHENED = 3  # times, if the path has not arrived
_ITERATIONS = 20  # of Newton's method; from the linear law it takes a handful
_JUMP = 0.25  # the largest share of the whole way that one interval may hold


def probe(
    objective: Objective, loss: Loss, theta0: Array, end: LocalValue, span: float, arrived: float
) -> tuple[Transcription, newton.Minimum] | None:
    """Return the path to the only rest on a coarse graded grid; None if there is a doubt that it only relaxes.

    If the budget ends on the way, the path is as far as it came.

    Args:
        objective, loss, theta0: the problem.
        end: the value function at the rest.
        span: how long the path may take.
        arrived: how near to the rest it must come by then.
    """
    clock = _clock(objective, loss, theta0, end)
    if clock is None or objective.gamma * clock.longest * clock.length(span) > most_steps(len(theta0)):
        return None  # at γΔt > 1 the scheme is of first order: the largest grid must do better
    level = float(loss.value(end.fixed))
    for _ in range(_LENGTHENED):
        steps = graded_steps(len(theta0), clock.length(span))
        problem = Transcription(objective, loss, span, steps, terminal=end, level=level, rule="exact", mesh=clock)
        start = end.follow(theta0, problem.times)
        if not _convex(loss.hessian(start[:: steps // 16])):
            return None
        found = newton.minimise(problem, start, limit=_ITERATIONS)
        if budget.spent():
            return problem, found
        if not (found.converged and found.definite and _relaxes(found)):
            return None
        if float(np.max(np.abs(found.path[-1] - end.fixed))) <= arrived:
            return problem, found
        span *= 2
    return None


def _clock(objective: Objective, loss: Loss, theta0: Array, end: LocalValue) -> Clock | None:
    """Return a clock that is as fast as the start and the rest, and slow enough for turns and the slowest mode.

    None unless the loss is convex at the start, and if a drift bends the problem.
    """
    if end.growth >= 0 or not np.all(np.isfinite(end.fixed)):
        return None
    if objective.drift is not None and not (isinstance(objective.drift, Linear) and isinstance(loss, Quadratic)):
        return None
    stiffness, gamma = objective.eta * objective.k, objective.gamma
    curvature = modes.decompose(loss.hessian(theta0), objective.metric_matrix(len(theta0))).curvature
    if np.min(curvature) < 0:
        return None
    rates = np.linalg.eigvals(end.closed)
    fastest = max(float(np.max(np.abs(rates))), float(np.max(modes.slow_rate(curvature, stiffness, gamma))))
    slowest = -end.growth
    turning = float(np.max(np.abs(np.imag(rates))))
    # A mode of rate r is discretised with an error of r(r + γ)·Δt².
    return Clock(1 / fastest, 1 / (turning + math.sqrt(slowest * (slowest + gamma)) / _LONGEST))


def _relaxes(found: newton.Minimum) -> bool:
    """Return whether the loss is convex all along, and no interval holds a large part of the way."""
    way = float(np.max(np.abs(found.path - found.path[0])))
    if float(np.max(np.abs(np.diff(found.path, axis=0)))) > _JUMP * way:
        return False
    return _convex(found.curvature)


def _convex(curvature: Array) -> bool:
    """Return whether matrices of shape (N, D, D) are positive semidefinite but for rounding."""
    if not np.all(np.isfinite(curvature)):
        return False
    sizes = np.abs(curvature).max(axis=(1, 2))
    lowest = np.linalg.eigvalsh(curvature)[:, 0]
    return bool(np.all(lowest >= -1e-9 * sizes))
