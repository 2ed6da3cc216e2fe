"""The Euler–Lagrange equations as a boundary-value problem for scipy's collocation: an independent oracle.

It shares with the other solvers only the list of resting places; the equations, the mesh and the cost are its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.integrate

from lossnav._checks import Array
from lossnav.problem.losses import Loss, budget
from lossnav.problem.objective import Objective
from lossnav.trajectory import stationary
from lossnav.trajectory.result import Trajectory, resting_action
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.still import standstill

Motion = Callable[[Array, Array], Array]


def solve(
    objective: Objective, loss: Loss, theta0: Array, *, horizon: float | None, endpoint: Array | None, tol: float = 1e-9
) -> Trajectory:
    """Return the best extremal that collocation finds; ``is_minimum`` is None, for stationarity is all it knows."""
    found: list[Trajectory] = []
    try:
        if endpoint is not None or math.isfinite(objective.horizon):
            span = horizon if endpoint is not None else objective.horizon
            assert span is not None
            return collocate(objective, loss, theta0, span, None, endpoint, tol)
        for end in stationary.targets(objective, loss, theta0):
            budget.check()
            span = 12.0 / -end.growth if end.growth < 0 else 10.0 / max(objective.gamma, 2 * end.growth)
            span = horizon if horizon is not None else span
            found.append(collocate(objective, loss, theta0, span, end, None, tol))
    except budget.OutOfBudget:
        found = found or [standstill(objective, loss, theta0, horizon, endpoint, "bvp")]
    found.sort(key=lambda traj: (not traj.converged, traj.action, traj.excess))
    best = found[0] if not budget.spent() else replace(found[0], converged=False, reason=budget.spent())
    return replace(best, others=(best, *found[1:]))


def collocate(
    objective: Objective,
    loss: Loss,
    theta0: Array,
    span: float,
    end: LocalValue | None,
    endpoint: Array | None,
    tol: float,
    motion: Motion | None = None,
) -> Trajectory:
    """Return the extremal from ``theta0`` to one end: a resting place, a fixed ``endpoint``, or a free end at ``span``.

    ``motion`` maps θ and θ̇, shape (N, D) each, to θ̈; None is the equation for a constant metric.
    """
    dim = loss.dim
    accelerate = motion or (lambda theta, velocity: _acceleration(objective, loss, theta, velocity))
    rests = end is not None and bool(np.all(np.isfinite(end.fixed)))
    place = theta0 if end is None else (end.fixed if rests else end.centre)
    level = 0.0 if end is None else float(loss.value(place))

    def equations(t: Array, y: Array) -> Array:
        theta, velocity = y[:dim].T, y[dim : 2 * dim].T
        budget.check()
        cost = np.exp(-objective.gamma * t) * (
            np.asarray(objective.cost_rate(loss, theta, velocity)) - objective.k * level
        )
        return np.vstack([velocity.T, accelerate(theta, velocity).T, cost[None, :]])

    def boundary(left: Array, right: Array) -> Array:
        theta, velocity = right[:dim], right[dim : 2 * dim]
        last: Array
        if endpoint is not None:
            last = theta - endpoint
        elif end is not None:
            last = velocity - end.velocity(theta)
        else:  # transversality: the conjugate momentum vanishes
            last = velocity if objective.drift is None else velocity - objective.drift(theta)
        return np.concatenate([left[:dim] - theta0, last, left[2 * dim :]])

    t = span * np.linspace(0.0, 1.0, 401) ** 2  # finer where the path is fast
    if end is not None:
        path: Array = end.follow(theta0, t)
        pace: Array = end.velocity(path)
    else:
        goal = theta0 if endpoint is None else endpoint
        path = theta0 + np.outer(t / span, goal - theta0)
        pace = np.broadcast_to((goal - theta0) / span, path.shape)
    guess = np.vstack([path.T, pace.T, 0 * t[None, :]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = scipy.integrate.solve_bvp(equations, boundary, t, guess, tol=tol, max_nodes=200_000)

    def position(u: Array) -> Array:
        inside = found.sol(np.minimum(u, span))[:dim].T
        if end is None or not np.any(u > span):
            return inside
        return np.where((u > span)[:, None], end.follow(found.y[:dim, -1], np.maximum(u - span, 0.0)), inside)

    def rate(u: Array) -> Array:
        inside = found.sol(np.minimum(u, span))[dim : 2 * dim].T
        return inside if end is None else np.where((u > span)[:, None], end.velocity(position(u)), inside)

    running = float(found.y[-1, -1])
    if end is None:
        return Trajectory(
            objective,
            loss,
            found.x,
            running,
            math.nan,
            found.y[:dim, -1].copy(),
            "bvp",
            position,
            rate,
            end=span,
            converged=bool(found.success),
            reason="" if found.success else found.message,
            residual=float(np.max(found.rms_residuals)),
            is_minimum=None,
        )
    running += math.exp(-objective.gamma * span) * end.climb(found.y[:dim, -1])
    excess = math.nan
    if rests:
        slip = float(objective.kinetic(end.fixed, np.zeros(dim)))
        excess = running - resting_action(slip, objective.gamma, 1.0, span)
        scale = objective.k * (abs(float(loss.value(theta0))) + abs(level)) + abs(excess)
        total = excess + resting_action(end.rest, objective.gamma, scale)
    else:
        beyond = math.exp(-objective.gamma * span) * end.rest / objective.gamma
        total = running + resting_action(objective.k * level, objective.gamma, 1.0, span) + beyond
    growth, asymptote = end.ending(theta0)
    return Trajectory(
        objective,
        loss,
        found.x,
        total,
        excess,
        asymptote,
        "bvp",
        position,
        rate,
        converged=bool(found.success),
        reason="" if found.success else found.message,
        residual=float(np.max(found.rms_residuals)),
        is_minimum=None,
        growth=growth,
    )


def _acceleration(objective: Objective, loss: Loss, theta: Array, velocity: Array) -> Array:
    """Return θ̈ term by term as the equation after (95) prints it for constant G, shape (N, D)."""
    gamma, stiffness = objective.gamma, objective.eta * objective.k
    metric = objective.metric_matrix(theta.shape[1])
    inverse = np.linalg.inv(metric)
    result = gamma * velocity + stiffness * loss.gradient(theta) @ inverse.T
    if objective.drift is not None:
        jacobian, drift = objective.drift.jacobian(theta), objective.drift(theta)
        adjoint = inverse @ np.swapaxes(jacobian, 1, 2) @ metric
        result = result + np.einsum("nij,nj->ni", jacobian - adjoint, velocity)
        result = result + np.einsum("nij,nj->ni", adjoint, drift) - gamma * drift
    return result
