"""The cheapest of several paths, and what a solver hands back when its budget is spent before it has one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import scipy

from lossnav.problem.functions import budget
from lossnav.trajectory.case import Case
from lossnav.trajectory.result import Method, Trajectory, final_charge, resting_action
from lossnav.trajectory.status import Status


def cheapest(case: Case, paths: Iterable[Trajectory], method: Method) -> Trajectory:
    """Return the best of some paths, with all as candidates; not converged if the budget ends while they are made.

    A path that runs away is no candidate: where it costs less than the best one, that has not converged.
    """
    trajectories: list[Trajectory] = []
    try:
        for path in paths:
            trajectories.append(replace(path, method=method))
            if budget.spent():
                break
    except budget.OutOfBudget:
        pass
    bounds = [path.action for path in trajectories if path.status is Status.RUNS_AWAY]
    ordered = _distinct(sorted((path for path in trajectories if path.status is not Status.RUNS_AWAY), key=_rank))
    best = ordered[0] if ordered else standstill(case, method)
    best = replace(best, others=tuple(ordered))
    least = min(bounds, default=math.inf)
    if best.converged and least < best.action and not math.isclose(least, best.action, rel_tol=1e-3):
        best = runs_away(best, f"J <= {least:.6g} against {best.action:.6g}")
    if budget.spent():
        seen = sum(path.converged for path in ordered)
        more = f"{seen} candidate{'s' * (seen != 1)} solved and more to compare"
        best = failed(best, Status.BUDGET_SPENT, f"{budget.spent()}, with {more}")
    return best


def failed(best: Trajectory, status: Status, detail: str) -> Trajectory:
    """Return the best of several paths, and so the first of its candidates, with another status."""
    alone = replace(best, status=status, detail=detail, others=())
    return replace(alone, others=(alone, *best.candidates[1:]))


def runs_away(best: Trajectory, why: str) -> Trajectory:
    """Return a path to a rest as what it is beside a cheaper one: not converged, with the reason."""
    advice = "the optimum need not come to rest; give objective.horizon, or a loss that grows far out"
    return failed(best, Status.RUNS_AWAY, f"{why}: {advice}")


def _rank(path: Trajectory) -> tuple[bool, float, float]:
    return not (path.converged and path.is_minimum is not False), path.action, path.excess


def _distinct(paths: list[Trajectory]) -> list[Trajectory]:
    """Return one of each kind, in their order: of two equal paths the one that arrived stays."""
    distinct: list[Trajectory] = []
    for path in paths:
        probe = path.times[:: max(1, len(path.times) // 16)]
        if all(np.max(np.abs(path(probe) - other(np.minimum(probe, other.times[-1])))) > 1e-5 for other in distinct):
            distinct.append(path)
    return distinct


def standstill(case: Case, method: Method) -> Trajectory:
    """Return what there is before any path was solved for: resting at θ₀, or the straight line to a fixed end."""
    objective, loss, theta0, endpoint = case.objective, case.loss, case.theta0, case.endpoint
    end = case.deadline
    span = end if math.isfinite(end) else 10.0
    pace = np.zeros_like(theta0) if endpoint is None else (endpoint - theta0) / span
    rate = float(objective.kinetic(theta0, pace)) + objective.k * float(loss.value(theta0))
    action = math.nan
    if endpoint is None and not loss.timed:
        action = resting_action(rate, objective.gamma, 1.0, end) + final_charge(objective, float(loss.value(theta0)))
    line = scipy.interpolate.PPoly(np.stack([pace, theta0])[:, None], [0.0, span])
    return Trajectory(
        objective, loss, np.linspace(0.0, span, 2), action, math.nan, theta0 if endpoint is None else endpoint, method,
        line, line.derivative(), end=end,
        status=Status.BUDGET_SPENT, residual=math.nan, is_minimum=None, error=math.nan,
    )  # fmt: skip
