"""What a solver hands back when its budget is spent before it has a path."""

from __future__ import annotations

import math

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory, final_charge, resting_action


def standstill(
    objective: Objective,
    loss: Loss,
    theta0: Array,
    horizon: float | None,
    endpoint: Array | None,
    method: str = "action",
) -> Trajectory:
    """Return what there is before any path was solved for: resting at θ₀, or the straight line to a fixed end."""
    end = horizon if endpoint is not None and horizon is not None else objective.horizon
    span = end if math.isfinite(end) else 10.0
    pace = np.zeros_like(theta0) if endpoint is None else (endpoint - theta0) / span
    rate = float(objective.kinetic(theta0, pace)) + objective.k * float(loss.value(theta0))
    action = math.nan
    if endpoint is None:
        action = resting_action(rate, objective.gamma, 1.0, end) + final_charge(objective, float(loss.value(theta0)))
    return Trajectory(
        objective,
        loss,
        np.linspace(0.0, span, 2),
        action,
        math.nan,
        theta0 if endpoint is None else endpoint,
        method,
        lambda t: theta0 + t[:, None] * pace,
        lambda t: np.broadcast_to(pace, (len(t), len(pace))),
        end=end,
        converged=False,
        residual=math.nan,
        is_minimum=None,
        error=math.nan,
    )
