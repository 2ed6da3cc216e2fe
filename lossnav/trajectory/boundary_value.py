"""The Euler–Lagrange equations as a boundary-value problem for scipy's collocation: an independent oracle.

It shares with the other solvers only the list of resting places; the equations, the mesh and the cost are its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.integrate

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import stationary
from lossnav.trajectory.result import Trajectory, resting_action
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.still import standstill

Motion = Callable[[Array, Array], Array]
_ROUGH = 1e-4  # tolerance of the first pass, where there are two
_FEW, _MANY = 51, 401  # nodes to start from, with two passes and with one


@dataclass(frozen=True)
class Equations:
    """Equations of motion other than those of a constant metric; all map θ and θ̇, shape (N, D) each.

    Attributes:
        acceleration: to θ̈, shape (N, D).
        cost_rate: to |θ̇−f|²_G/2η + kL, shape (N,).
        tangent: to the derivatives of θ̈ by θ and θ̇, shape (N, D, D), and of the cost by both, shape (N, D); None lets
            scipy take differences.
    """

    acceleration: Motion
    cost_rate: Motion
    tangent: Callable[[Array, Array], tuple[Array, Array, Array, Array]] | None = None


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
    given: Equations | None = None,
) -> Trajectory:
    """Return the extremal from ``theta0`` to one end: a resting place, a fixed ``endpoint``, or a free end at ``span``.

    ``given`` are other equations than those of a constant metric. They may be dear: then a rough solution comes first,
    and says where the mesh must be fine.
    """
    dim = loss.dim
    law = given or Equations(
        lambda theta, velocity: _acceleration(objective, loss, theta, velocity),
        lambda theta, velocity: np.asarray(objective.cost_rate(loss, theta, velocity)),
    )
    rests = end is not None and bool(np.all(np.isfinite(end.fixed)))
    place = theta0 if end is None else (end.fixed if rests else end.centre)
    level = 0.0 if end is None else float(loss.value(place))

    def equations(t: Array, y: Array) -> Array:
        theta, velocity = y[:dim].T, y[dim : 2 * dim].T
        budget.check()
        cost = np.exp(-objective.gamma * t) * (law.cost_rate(theta, velocity) - objective.k * level)
        return np.vstack([velocity.T, law.acceleration(theta, velocity).T, cost[None, :]])

    def derivatives(t: Array, y: Array) -> Array:
        """Return ∂equations/∂y, shape (2D + 1, 2D + 1, N)."""
        assert law.tangent is not None
        budget.check()
        parts = [np.moveaxis(part, 0, -1) for part in law.tangent(y[:dim].T, y[dim : 2 * dim].T)]
        found, faded = np.zeros((2 * dim + 1, 2 * dim + 1, len(t))), np.exp(-objective.gamma * t)
        found[:dim, dim : 2 * dim] = np.eye(dim)[..., None]
        found[dim : 2 * dim, :dim], found[dim : 2 * dim, dim : 2 * dim] = parts[:2]
        found[-1, :dim], found[-1, dim : 2 * dim] = faded * parts[2], faded * parts[3]
        return found

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

    def attempt(t: Array, state: Array, tol: float) -> Any:
        jacobian = None if law.tangent is None else derivatives
        with np.errstate(over="ignore", invalid="ignore"):
            return scipy.integrate.solve_bvp(
                equations, boundary, t, state, tol=tol, max_nodes=200_000, fun_jac=jacobian
            )

    t, state = _first_guess(theta0, span, end, endpoint, _MANY if given is None else _FEW)
    if given is not None and tol < _ROUGH:
        rough = attempt(t, state, _ROUGH)
        t, state = _finer(rough, tol) if rough.success else _first_guess(theta0, span, end, endpoint, _MANY)
    found = attempt(t, state, tol)

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


def _first_guess(
    theta0: Array, span: float, end: LocalValue | None, endpoint: Array | None, nodes: int
) -> tuple[Array, Array]:
    """Return a mesh, finer where a path is fast, and on it the law's own path or a straight line, no cost."""
    t = span * np.linspace(0.0, 1.0, nodes) ** 2
    if end is not None:
        path: Array = end.follow(theta0, t)
        pace: Array = end.velocity(path)
    else:
        goal = theta0 if endpoint is None else endpoint
        path = theta0 + np.outer(t / span, goal - theta0)
        pace = np.broadcast_to((goal - theta0) / span, path.shape)
    return t, np.vstack([path.T, pace.T, 0 * t[None, :]])


def _finer(rough: Any, tol: float) -> tuple[Array, Array]:
    """Return the mesh that a rough solution asks for, and the solution on it.

    Residuals fall as the fourth power of the spacing; those of a rough mesh are up to 20 times too small for that law.
    """
    parts = np.ceil((24 * rough.rms_residuals / tol) ** 0.25).astype(int).clip(1, 64)
    first = np.repeat(np.cumsum(parts) - parts, parts)
    share = (np.arange(parts.sum()) - first) / np.repeat(parts, parts)
    t = np.append(np.repeat(rough.x[:-1], parts) + share * np.repeat(np.diff(rough.x), parts), rough.x[-1])
    return t, rough.sol(t)


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
