"""From a discretised minimum to a Trajectory: values at the nodes, the curve between them, and what J is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.trajectory import newton
from lossnav.trajectory.motion import acceleration
from lossnav.trajectory.result import Trajectory, compared, final_charge, resting_action
from lossnav.trajectory.riccati import Motion, continued
from lossnav.trajectory.status import Status
from lossnav.trajectory.transcription import Transcription, switch_nodes


@dataclass(frozen=True, eq=False)
class Nodes:
    """A path at the nodes of a grid with what interpolation needs; sums of such, as extrapolation makes them.

    ``velocity`` is what the transcription says is ``carried``.
    """

    times: Array
    action: float
    path: Array
    velocity: Array
    loss_gradient: Array

    def map(self, function: Callable[..., Array], *others: Nodes) -> Nodes:
        """Return what ``function`` makes of what is along the first axis, of this path's and of some others'."""
        paths = (self, *others)
        parts = zip(*((nodes.path, nodes.velocity, nodes.loss_gradient) for nodes in paths), strict=True)
        return Nodes(self.times, self.action, *(function(*part) for part in parts))

    def beyond(self, coarse: Nodes, order: int) -> Nodes:
        """Return the limit of two grids, one with twice the steps, whose error falls with this order."""
        factor = 1 / (2**order - 1)

        def limit(fine: Any, rough: Any) -> Any:
            return fine + (fine - rough) * factor

        return replace(self.map(limit, coarse), action=limit(self.action, coarse.action))


def nodes_of(problem: Transcription, minimum: newton.Minimum) -> Nodes:
    """Return what Newton's method found, with its velocities."""
    path, action = minimum.path, minimum.action
    carried = problem.carried(path, minimum.loss_gradient)
    if problem.halfway:
        # Where γ is far above all rates, θ̇ = (θ̈ − …)/γ is a contraction: it leaves r/γ of an error.
        after, before = _slopes(problem, problem.times, *_sides(problem, problem.times, path, carried))
        gradient = np.vstack(problem.sides(path, minimum.loss_gradient))
        lawful = acceleration(problem.objective, path, carried, gradient)
        carried = carried + (np.vstack([after, before[-1:]]) - lawful) / problem.objective.gamma
        action = problem.smoothed(path, *_sides(problem, problem.times, path, carried))
    return Nodes(problem.times, action, path, carried, minimum.loss_gradient)


def _sides(problem: Transcription, times: Array, path: Array, velocity: Array) -> tuple[Array, Array]:
    """Return velocities just after the nodes but the last, and just before those but the first, shape (N, D).

    Before a switch a path turns from one flow to the next within 1/γ: what no interval shows is left out.
    """
    objective, loss = problem.objective, problem.loss
    begin, end = velocity[:-1], np.array(velocity[1:])
    for i in switch_nodes(loss, times):
        forces = (loss.at(t).gradient(path[i]) for t in (times[i], np.nextafter(times[i], 0.0)))
        later, earlier = (acceleration(objective, path[i], velocity[i], force) for force in forces)
        end[i - 1] += (later - earlier) / objective.gamma
    return begin, end


def _slopes(problem: Transcription, times: Array, begin: Array, end: Array) -> tuple[Array, Array]:
    """Return the accelerations at the same sides of a flow that is smooth between the switches of the loss."""
    slopes = []
    for low, high in itertools.pairwise([0, *switch_nodes(problem.loss, times), len(times) - 1]):
        moving = np.vstack([begin[low:high], end[high - 1]])
        slopes.append(scipy.interpolate.CubicSpline(times[low : high + 1], moving)(times[low : high + 1], 1))
    return np.vstack([slope[:-1] for slope in slopes]), np.vstack([slope[1:] for slope in slopes])


def curve(problem: Transcription, nodes: Nodes) -> scipy.interpolate.PPoly:
    """Return the path between the nodes, of which it keeps θ, θ̇ and θ̈ (which jumps with the loss)."""
    objective, loss, times = problem.objective, problem.loss, nodes.times
    if objective.price is not None:
        return scipy.interpolate.CubicHermiteSpline(times, nodes.path, problem.rates(nodes.velocity))
    if problem.halfway:  # under a strong discount θ̈ = γθ̇ + … has no digits
        flow = _sides(problem, times, nodes.path, nodes.velocity)
        return quintic(times, nodes.path, *flow, *_slopes(problem, times, *flow))
    sides = nodes.velocity[:-1], nodes.velocity[1:]
    if not loss.timed:
        accelerations = acceleration(objective, nodes.path, nodes.velocity, nodes.loss_gradient)
        return quintic(times, nodes.path, *sides, accelerations[:-1], accelerations[1:])
    first, last = (nodes.path[:-1], nodes.velocity[:-1]), (nodes.path[1:], nodes.velocity[1:])
    after = acceleration(objective, *first, loss.at(times[:-1]).gradient(first[0]))
    before = acceleration(objective, *last, loss.at(np.nextafter(times[1:], 0.0)).gradient(last[0]))
    return quintic(times, nodes.path, *sides, after, before)


def quintic(
    times: Array, position: Array, begin: Array, end: Array, after: Array, before: Array
) -> scipy.interpolate.PPoly:
    """Return the piecewise quintic with these values at the nodes; error O(Δt⁶).

    Args:
        times: shape (N+1,).
        position: shape (N+1, D).
        begin, end: velocities just after the nodes but the last, and just before those but the first, (N, D).
        after, before: accelerations likewise.
    """
    h = np.diff(times)[:, None]
    a0, a1, a2 = position[:-1], begin, after / 2
    # What the quadratic start misses at the right node, in position, velocity and acceleration:
    miss = position[1:] - (a0 + h * a1 + h**2 * a2)
    miss_v = (end - (a1 + 2 * h * a2)) * h
    miss_a = (before - 2 * a2) * h**2
    a3 = (10 * miss - 4 * miss_v + miss_a / 2) / h**3
    a4 = (-15 * miss + 7 * miss_v - miss_a) / h**4
    a5 = (6 * miss - 3 * miss_v + miss_a / 2) / h**5
    return scipy.interpolate.PPoly(np.stack([a5, a4, a3, a2, a1, a0]), times)


def trajectory_of(
    problem: Transcription,
    minimum: newton.Minimum,
    nodes: Nodes,
    change: float = 0.0,
    rtol: float = math.inf,
    error: float = math.nan,
) -> Trajectory:
    """Make a Trajectory: quintic between the nodes, the linear law of the end beyond them."""
    objective, end, horizon = problem.objective, problem.terminal, problem.horizon

    between = _Between(problem, nodes)
    status, detail = _outcome(problem, minimum, change, rtol)
    action, excess, asymptote = account(problem, nodes.action + problem.bias(minimum.path), nodes.path)
    growth = math.nan
    if end is not None:
        growth, asymptote = end.ending(nodes.path[0])
    path = Trajectory(
        objective, problem.loss, nodes.times, action, excess, asymptote, "action",
        *continued(end, horizon, nodes.path[-1], between.position, between.rate),
        end=horizon if end is None else math.inf, status=status, detail=detail, residual=minimum.residual,
        is_minimum=minimum.definite, error=error + problem.gap(minimum.path), growth=growth,
    )  # fmt: skip
    return problem.seen(path)


class _Between:
    """The curve between nodes, made when it is first asked for: many candidates never are.

    What is stored of it is the curve: the problem has a loss in the units of the numerics, which may be a function.
    """

    def __init__(self, problem: Transcription, nodes: Nodes):
        self._problem, self._nodes = problem, nodes

    @cached_property
    def _place(self) -> scipy.interpolate.PPoly:
        return curve(self._problem, self._nodes)

    @cached_property
    def _pace(self) -> Motion:
        return self._problem.pace(self._place, self._nodes.velocity, self._nodes.loss_gradient)

    def position(self, t: Array) -> Array:
        return self._place(t)

    def rate(self, t: Array) -> Array:
        return self._pace(t)

    def __getstate__(self) -> dict[str, Any]:
        return {"_place": self._place, "_pace": self._pace}


def account(problem: Transcription, cost_to_go: float, path: Array) -> tuple[float, float, Array]:
    """Return J, its excess over resting, and where the path ends, from the discretised sum ``cost_to_go``.

    The sum was taken with L − level up to the horizon; the terminal value counts from the resting cost.
    """
    objective, end = problem.objective, problem.terminal
    if end is None:
        level = resting_action(objective.k * problem.level, objective.gamma, 1.0, problem.horizon)
        return cost_to_go + level + final_charge(objective, problem.level), math.nan, path[-1].copy()
    return *end.total(objective, problem.loss, path[0], cost_to_go, problem.level, problem.horizon), end.fixed


def cost(problem: Transcription, cost_to_go: float, path: Array) -> float:
    """Return what paths are ``compared`` by, of such a sum."""
    return compared(*account(problem, cost_to_go, path)[:2])


def _outcome(problem: Transcription, fine: newton.Minimum, change: float, rtol: float) -> tuple[Status, str]:
    if not fine.converged:
        return Status.NEWTON_STOPPED, (
            f"{fine.iterations} steps left the residual {fine.gradient:.3g}; "
            "try another horizon (an earlier one where J and theta run away, as beyond a conjugate point: there is no "
            "minimum then), more steps, another of lossnav.trajectory.methods, or, if the loss has kinks or jumps, a "
            "smooth one"
        )
    if change > rtol:
        return Status.GRID_TOO_COARSE, (
            f"{problem.steps} steps change it by {change:.3g} (relative); give steps= or a larger rtol="
        )
    return Status.CONVERGED, ""
