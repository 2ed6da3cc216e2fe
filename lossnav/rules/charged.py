"""The step under another price than |θ̇|²/2η: exact where the price's axes are the Hessian's, else only as γ → ∞."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import accelerated, charged


def pushed(objective: Objective, gradient: Array, hessian: Array, dt: float, velocity: Any) -> tuple[Array, Array]:
    """Return Δθ and θ̇ after a time Δt in [0, inf] where acceleration is charged (W9)."""
    accelerated.charged(objective)
    if velocity is None:
        raise ValueError(
            "velocity = None, but where acceleration is charged it must be given: zeros for a start at rest"
        )
    speed = _checks.array("velocity", velocity, shape=gradient.shape)
    path = accelerated.start(objective, Quadratic(hessian, gradient=gradient), np.zeros_like(gradient), speed)
    if math.isinf(dt):
        if np.any(path.curvature <= 0):
            raise NoMinimiser(f"dt = {dt:g}: along a direction of curvature <= 0 no path comes to rest; take dt < inf")
        return -path.directions @ (path.gradient / path.curvature), np.zeros_like(gradient)
    after = np.array([dt])
    return path.position(after)[0], path.rate(after)[0]


def moved(objective: Objective, gradient: Array, hessian: Array, dt: float, limit: str | None) -> Array:
    """Return Δθ after a time Δt under a price of speed (W13, W16–W18)."""
    price = charged.price_of(objective)
    if limit is not None:
        _checks.one_of("limit", limit, ("overdamped",))
        if objective.gamma == 0:
            raise ValueError(
                "objective.gamma = 0, but it must be > 0 for limit = 'overdamped', which is that of large gamma"
            )
        return _checks.finite("dt", dt, low=0.0) * price.velocity(-objective.k / objective.gamma * gradient)
    if math.isfinite(objective.horizon):
        raise ValueError(f"objective.horizon = {objective.horizon:g}, but it must be inf beside a price")
    axes, declined = charged.bowl(objective, hessian)
    if declined:
        raise ValueError(
            f"objective.price = {price!r} {declined}; elsewhere its rule is known only as gamma → inf: give "
            "limit='overdamped'"
        )
    return price.travel(gradient / axes.curvature, np.array([dt]), axes)[0]
