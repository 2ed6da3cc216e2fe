"""Extremals of a finite time, free or fixed at the end: starts through every rest and along the drift, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import approach, itineraries, newton
from lossnav.trajectory.case import Case, Settings
from lossnav.trajectory.mesh import first_steps
from lossnav.trajectory.priced import transcription
from lossnav.trajectory.refinement import lowered, refine
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.transcription import Transcription

_CHEAPEST = 8  # stationary points by way of which paths are tried, where a mesh has to follow each of them
# How fast the drift carries a start, and the share of the pull downhill: in natural units the loss acts within a time
# of order one. Newton's method does not change how often a path winds around what it avoids: so several speeds.
_FLOWS = ((0.0, 1.0), (0.7, 0.0), (0.8, 0.0), (0.9, 0.0), (1.0, 0.0), (1.0, 1.0))


def from_case(case: Case, settings: Settings) -> Iterator[Trajectory]:
    """Solve a case that has a deadline or a fixed end."""
    return from_starts(case.objective, case.loss, case.theta0, case.deadline, settings, case.endpoint)


def from_starts(
    objective: Objective, loss: Loss, theta0: Array, horizon: float, settings: Settings, endpoint: Array | None = None
) -> Iterator[Trajectory]:
    """Solve from one start for each stationary point, which the path may pass or end at; side by side at first."""
    graded = approach.graded(objective, loss)
    if graded:
        problem = approach.first(objective, loss, horizon, endpoint=endpoint)
    else:
        first = first_steps(objective, len(theta0), horizon)
        problem = transcription(objective, loss, horizon, min(settings.steps or first, first), endpoint=endpoint)
    between = itineraries.stretches(objective, loss, theta0[: loss.dim], horizon)
    via = [problem.lift(place) for place in between[-1].places if all(place[i] > 0 for i in loss.positive)]
    budget.stage(f"paths from {1 + len(via)} starts")
    # Straight ways: by each stationary point to a fixed end, or to each point and there to stay; those by the rests of
    # what a loss is on its way; and flows with the drift.
    u = np.linspace(0.0, 1.0, problem.steps + 1)[:, None]
    by_place: list[list[Array]]
    if endpoint is not None:
        by_place = [[by + (2 * u - 1) * np.where(u < 0.5, by - theta0, endpoint - by)] for by in via]
    else:
        by_place = [approach.straight(problem, theta0, point) for point in via]
    if graded and len(by_place) > _CHEAPEST:
        costs = itineraries.costs(problem, np.array([ways[-1] for ways in by_place]))
        by_place = [by_place[i] for i in np.argsort(costs)[:_CHEAPEST]]
    starts: list[Array] = [way for ways in by_place for way in ways]
    for way in itineraries.ways(problem, theta0, between):
        path = itineraries.walked(way, problem.times)
        starts.append(path if endpoint is None else path + u * (endpoint - path[-1]))
    if endpoint is None:
        starts += [np.broadcast_to(theta0, (problem.steps + 1, len(theta0))), *carried(problem, theta0)]
    else:
        starts.append(theta0 + u * (endpoint - theta0))
    minima = newton.unlike(newton.minimise_all(problem, np.array(starts)))
    minima = [m for m in minima if m.converged or not graded] or minima  # others may have left the metric's domain
    best = math.inf
    for i in np.argsort([minimum.action for minimum in minima]):  # the cheapest first, for a budget may end
        settled, minimum = approach.settle(problem, minima[i]) if graded else (problem, minima[i])
        extremal = refine(settled, minimum, settings, best)
        best = lowered(best, extremal)
        yield extremal


def carried(problem: Transcription, theta0: Array) -> list[Array]:
    """Return where the drift alone carries the learner, and the drift with a pull downhill: paths that need not rest.

    A drift that is no gradient may carry it round for ever, and no straight line comes near such a path; and a current
    carries it away. Flows that leave the neighbourhood are none to start from, and none is of a drift that only draws
    towards the origin or apart from it. They begin a hair beside θ₀, shape (D,), where they might stand still.
    """
    objective, drift = problem.objective, problem.objective.drift
    if drift is None:
        return []
    dim = len(theta0)
    if (
        isinstance(drift, Linear)
        and np.array_equal(drift.matrix(dim), drift.matrix(dim).T)
        and not drift.offset(dim).any()
    ):
        return []
    aside = theta0 + 1e-3 * (1 + np.abs(theta0)) * np.random.default_rng(0).uniform(-2, 2, size=dim)
    pull = objective.eta * objective.k * np.linalg.inv(objective.metric_at(theta0))
    size = 1e3 * (1 + float(np.max(np.abs(theta0))))

    def left(_: float, x: Array) -> float:
        return size - float(np.max(np.abs(x)))

    left.terminal = True  # type: ignore[attr-defined]
    paths = []
    for speed, share in _FLOWS:

        def flow(_: float, x: Array, speed: float = speed, share: float = share) -> Array:
            return speed * drift(x) - (share * (pull @ problem.loss.gradient(x)) if share else 0.0)

        solution = scipy.integrate.solve_ivp(
            flow, (0.0, problem.horizon), aside, "LSODA", problem.times, events=left, rtol=1e-4, atol=1e-7
        )
        if solution.status == 0 and np.all(np.isfinite(solution.y)):
            paths.append(np.concatenate([theta0[None], solution.y.T[1:]]))
    return paths
