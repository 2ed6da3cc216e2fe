"""From a discretised minimum to a Trajectory: values at the nodes, the curve between them, and what J is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.interpolate import PPoly

from lossnav._checks import Array
from lossnav.problem.objective import Objective
from lossnav.trajectory import interpolate, newton, stationary
from lossnav.trajectory.discrete import Problem
from lossnav.trajectory.result import Trajectory, final_charge, resting_action


@dataclass(frozen=True, eq=False)
class Nodes:
    """A path at the nodes of a grid with what interpolation needs; sums of such, as extrapolation makes them."""

    times: Array
    action: float
    path: Array
    velocity: Array
    slope: Array

    def map(self, function: Callable[[Array], Array]) -> Nodes:
        """Return the same path on other nodes: ``function`` maps what is along the first axis."""
        parts = (function(part) for part in (self.path, self.velocity, self.slope))
        return Nodes(self.times, self.action, *parts)

    def beyond(self, coarse: Nodes, order: int) -> Nodes:
        """Return the limit of two grids, one with twice the steps, whose error falls with this order."""
        factor = 1 / (2**order - 1)

        def limit(fine: Any, rough: Any) -> Any:
            return fine + (fine - rough) * factor

        return Nodes(
            self.times,
            limit(self.action, coarse.action),
            limit(self.path, coarse.path),
            limit(self.velocity, coarse.velocity),
            limit(self.slope, coarse.slope),
        )


def nodes_of(problem: Problem, found: newton.Minimum) -> Nodes:
    """Return what Newton's method found, with its velocities."""
    velocity = problem.velocities(found.path, found.slope)
    return Nodes(problem.times, found.action, found.path, velocity, found.slope)


def curve(problem: Problem, nodes: Nodes) -> PPoly:
    """Return the path between the nodes, of which it keeps θ, θ̇ and θ̈."""
    acceleration = _acceleration(problem.objective, nodes.path, nodes.velocity, nodes.slope)
    return interpolate.quintic(nodes.times, nodes.path, nodes.velocity, acceleration)


def trajectory_of(
    problem: Problem,
    found: newton.Minimum,
    nodes: Nodes,
    change: float = 0.0,
    rtol: float = math.inf,
    error: float = math.nan,
) -> Trajectory:
    """Make a Trajectory: quintic between the nodes, the linear law of the end beyond them."""
    objective, end, horizon = problem.objective, problem.terminal, problem.horizon
    last = nodes.path[-1]

    @cache  # made when it is first asked for: many candidates never are
    def curves() -> tuple[PPoly, PPoly]:
        place = curve(problem, nodes)
        return place, place.derivative()

    def position(t: Array) -> Array:
        inside = curves()[0](np.minimum(t, horizon))
        if end is None or not np.any(t > horizon):
            return inside
        return np.where((t > horizon)[:, None], end.follow(last, np.maximum(t - horizon, 0.0)), inside)

    def rate(t: Array) -> Array:
        inside = curves()[1](np.minimum(t, horizon))
        return inside if end is None else np.where((t > horizon)[:, None], end.velocity(position(t)), inside)

    converged = found.converged and change <= rtol
    action, excess, asymptote = account(problem, nodes.action, nodes.path)
    growth = math.nan
    if end is not None:
        growth, asymptote = end.ending(nodes.path[0])
    return Trajectory(
        objective,
        problem.loss,
        nodes.times,
        action,
        excess,
        asymptote,
        "action",
        position,
        rate,
        end=horizon if end is None else math.inf,
        converged=converged,
        reason="" if converged else _why(problem, found, change),
        residual=found.residual,
        is_minimum=found.definite,
        error=error,
        growth=growth,
    )


def account(problem: Problem, climb: float, path: Array) -> tuple[float, float, Array]:
    """Return J, its excess over resting, and where the path ends, from the discretised sum ``climb``.

    The sum was taken with L − level up to the horizon; the terminal value counts from the resting cost.
    """
    objective, end = problem.objective, problem.terminal
    level = resting_action(objective.k * problem.level, objective.gamma, 1.0, problem.horizon)
    if end is None:
        return climb + level + final_charge(objective, problem.level), math.nan, path[-1].copy()
    if not np.all(np.isfinite(end.fixed)):
        beyond = math.exp(-objective.gamma * problem.horizon) * end.rest / objective.gamma
        return climb + level + beyond, math.nan, end.fixed
    slip = float(objective.kinetic(end.fixed, np.zeros_like(end.fixed)))
    excess = climb - resting_action(slip, objective.gamma, 1.0, problem.horizon)
    scale = objective.k * (abs(float(problem.loss.value(path[0]))) + abs(problem.level)) + abs(excess)
    return excess + resting_action(end.rest, objective.gamma, scale), excess, end.fixed


def _why(problem: Problem, fine: newton.Minimum, change: float) -> str:
    if not fine.converged:
        return (
            f"Newton's method stopped after {fine.iterations} steps with residual {fine.gradient:.3g}; "
            "try another horizon, more steps, or method='bvp'"
        )
    return (
        f"doubling the grid to {problem.steps} steps still changes the result by {change:.3g} (relative); "
        "give steps= or a larger rtol="
    )


def _acceleration(objective: Objective, path: Array, velocity: Array, slope: Array) -> Array:
    """Return θ̈ from the Euler–Lagrange equation for constant G (theory: the unnumbered equation after 95)."""
    force = objective.gamma * velocity + stationary.rest_force(objective, slope, path)
    if objective.drift is None:
        return force
    metric = objective.metric_matrix(path.shape[1])
    jacobian = objective.drift.jacobian(path)
    transported = np.einsum("nji,nj->ni", jacobian, velocity @ metric)
    return force + np.einsum("nij,nj->ni", jacobian, velocity) - np.linalg.solve(metric, transported.T).T
