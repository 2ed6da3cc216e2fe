"""The cheapest of several paths, and what a solver hands back when its budget is spent before it has one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.trajectory.case import Case
from lossnav.trajectory.result import Method, Trajectory, final_charge, resting_action
from lossnav.trajectory.status import Status


def cheapest(case: Case, paths: Iterable[Trajectory], method: Method) -> Trajectory:
    """Return the best of some paths, with all as candidates; not converged if the budget ends while they are made."""
    found: list[Trajectory] = []
    try:
        for path in paths:
            found.append(path)
    except budget.OutOfBudget:
        found = found or [standstill(case, method)]
    found.sort(key=lambda path: (not path.converged, path.is_minimum is False, path.action, path.excess))
    best = found[0]
    if budget.spent():
        best = replace(best, status=Status.BUDGET_SPENT, detail=budget.spent())
    return replace(best, others=(best, *found[1:]))


def standstill(case: Case, method: Method) -> Trajectory:
    """Return what there is before any path was solved for: resting at θ₀, or the straight line to a fixed end."""
    objective, loss, theta0, endpoint = case.objective, case.loss, case.theta0, case.endpoint
    end = objective.horizon if endpoint is None or case.span is None else case.span
    span = end if math.isfinite(end) else 10.0
    pace = np.zeros_like(theta0) if endpoint is None else (endpoint - theta0) / span
    rate = float(objective.kinetic(theta0, pace)) + objective.k * float(loss.value(theta0))
    action = math.nan
    if endpoint is None:
        action = resting_action(rate, objective.gamma, 1.0, end) + final_charge(objective, float(loss.value(theta0)))
    return Trajectory(
        objective, loss, np.linspace(0.0, span, 2), action, math.nan, theta0 if endpoint is None else endpoint, method,
        partial(_straight, theta0, pace), partial(_steady, pace), end=end,
        status=Status.BUDGET_SPENT, residual=math.nan, is_minimum=None, error=math.nan,
    )  # fmt: skip


def _straight(start: Array, pace: Array, t: Array) -> Array:
    return start + t[:, None] * pace


def _steady(pace: Array, t: Array) -> Array:
    return np.broadcast_to(pace, (len(t), len(pace)))
