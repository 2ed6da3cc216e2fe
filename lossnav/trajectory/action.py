"""Optimal trajectories by direct minimisation of the discretised J, for any loss, drift and constant metric.

Newton's method on a grid, refined by doubling with Richardson extrapolation; one start for each place where a path
can come to rest, the lowest J wins. Linear cost in the number of time points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lossnav._checks import Array
from lossnav.losses import Loss
from lossnav.objective import Objective
from lossnav.trajectory import interpolate, newton, stationary
from lossnav.trajectory.discrete import Problem
from lossnav.trajectory.result import Trajectory, resting_action
from lossnav.trajectory.riccati import LocalValue

_MOST_STEPS = 2**20
_FIRST_STEPS = 128
NO_EXTREMAL = "no extremal from theta0 comes to rest at "


@dataclass(frozen=True)
class Settings:
    """Accuracy: ``steps`` fixes the finest grid, else it is doubled until J and path change by less than ``rtol``."""

    steps: int | None = None
    rtol: float = 1e-8


def solve(
    objective: Objective,
    loss: Loss,
    theta0: Array,
    *,
    horizon: float | None,
    endpoint: Array | None,
    settings: Settings,
) -> Trajectory:
    """Return the best extremal from ``theta0``, with all that were compared as ``candidates``.

    ``endpoint`` with ``horizon`` fixes θ(horizon). A finite ``objective.horizon`` leaves the end free. Otherwise the
    time is infinite and ``horizon``, if given, is where the numerics hand over to the quadratic model of the end.
    """
    if endpoint is not None:
        assert horizon is not None
        found = _from_starts(Problem(objective, loss, horizon, 2, endpoint=endpoint), theta0, settings)
    elif math.isfinite(objective.horizon):
        found = _from_starts(Problem(objective, loss, objective.horizon, 2), theta0, settings)
    else:
        ends = stationary.targets(objective, loss, theta0)
        found = [_towards(objective, loss, theta0, end, horizon, settings) for end in ends]
        if all(traj.reason.startswith(NO_EXTREMAL) for traj in found):
            saddles = stationary.saddles(objective, loss, theta0)
            found += [_onto_saddle(objective, loss, theta0, saddle, horizon, settings) for saddle in saddles]
    return _best(found)


def _best(found: list[Trajectory]) -> Trajectory:
    def rank(traj: Trajectory) -> tuple[bool, float, float]:
        return (not (traj.converged and traj.is_minimum is not False), traj.action, traj.excess)

    ordered = _distinct(sorted(found, key=rank))  # sorted first: of two equal paths the one that arrived stays
    return replace(ordered[0], others=tuple(ordered))


def _distinct(found: list[Trajectory]) -> list[Trajectory]:
    kept: list[Trajectory] = []
    for traj in found:
        probe = traj.times[:: max(1, len(traj.times) // 16)]
        if all(np.max(np.abs(traj(probe) - other(np.minimum(probe, other.times[-1])))) > 1e-5 for other in kept):
            kept.append(traj)
    return kept


# ---------------------------------------------------------------------------------------------- infinite horizon


def _towards(
    objective: Objective, loss: Loss, theta0: Array, end: LocalValue, cut: float | None, settings: Settings
) -> Trajectory:
    """Solve for the extremal that comes to rest at ``end``; lengthen the grid until it gets there."""
    place = end.fixed if end.growth < 0 else end.centre
    distance = max(float(np.max(np.abs(theta0 - place))), 1e-300)
    arrived = 1e-4 * max(1.0, float(np.max(np.abs(place))), distance)
    if end.growth < 0:
        span = max(math.log(max(distance / arrived, 1.0)) + 6.0, 6.0) / -end.growth
    else:
        span = 10 / objective.gamma  # the model is exact: any handover will do
    span = cut if cut is not None else span
    fastest = float(np.max(np.abs(np.linalg.eigvals(end.closed))))
    lengthened = False
    while True:
        coarse = Problem(
            objective, loss, span, _first_steps(objective, span, fastest), terminal=end, level=float(loss.value(place))
        )
        probe = newton.minimise(coarse, end.follow(theta0, coarse.times))
        near = float(np.max(np.abs(probe.path[-1] - place))) <= 500 * arrived  # a coarse grid's own error
        given_up = span * -end.growth > 200
        if cut is not None or end.growth >= 0:
            return _polish(coarse, probe, settings)
        if near and (probe.converged or not lengthened):
            traj = _polish(coarse, probe, settings)
            if given_up or float(np.max(np.abs(traj(span) - place))) <= arrived:
                return traj
        elif near or given_up:
            # A path that only arrives because the grid ends, however long the grid, follows no extremal.
            return _none(coarse, probe, place)
        span, lengthened = 2 * span, True


def _onto_saddle(
    objective: Objective, loss: Loss, theta0: Array, saddle: LocalValue, cut: float | None, settings: Settings
) -> Trajectory:
    """Solve for the extremal that comes to rest at a saddle: only starts on its stable manifold have one."""
    place = saddle.centre
    rates = np.linalg.eigvals(saddle.closed).real
    distance = float(np.max(np.abs(theta0 - place)))
    arrived = 1e-5 * max(1.0, float(np.max(np.abs(place))))
    slowest = -float(np.max(rates, initial=-objective.gamma, where=rates < 0))
    span = cut if cut is not None else (math.log(max(distance / arrived, 1.0)) + 6.0) / slowest
    steps = _first_steps(objective, span, float(np.max(np.abs(rates))))
    coarse = Problem(objective, loss, span, steps, terminal=saddle, level=float(loss.value(place)))
    probe = newton.minimise(coarse, saddle.follow(theta0, coarse.times))
    if not probe.converged or float(np.max(np.abs(probe.path[-1] - place))) > arrived:
        return _none(coarse, probe, place)
    return _polish(coarse, probe, settings)


def _none(problem: Problem, probe: newton.Minimum, place: Array) -> Trajectory:
    """Return the attempt with what it shows: that no extremal leads there, or only that the grid was too coarse."""
    step = problem.objective.gamma * problem.dt
    reason = NO_EXTREMAL + np.array2string(place, precision=6)
    if step > 1:  # the largest grid does not resolve the discount: its failure says nothing about the problem
        reason = (
            f"strongly overdamped: {problem.steps} steps up to t = {problem.horizon:.3g} leave gamma·dt = {step:.3g}, "
            "which must be < 1; give a shorter horizon (the optimum is gradient flow to within about eta·k·|h|/gamma²)"
        )
    return replace(_wrap(problem, probe, None), converged=False, reason=reason, is_minimum=False)


def _polish(coarse: Problem, probe: newton.Minimum, settings: Settings) -> Trajectory:
    if settings.steps is None:
        return _refine(coarse, probe.path, settings)
    return _refine(replace(coarse, steps=settings.steps), _resample(probe.path, settings.steps), settings)


def _resample(path: Array, steps: int) -> Array:
    """Return the path on another uniform grid by linear interpolation: a start for Newton."""
    old, new = np.linspace(0.0, 1.0, len(path)), np.linspace(0.0, 1.0, steps + 1)
    return np.stack([np.interp(new, old, column) for column in path.T], axis=1)


def _first_steps(objective: Objective, span: float, fastest: float = 0.0) -> int:
    """Return a power of two that resolves discount and law, γΔt ≤ ¼: else the scheme is not in its asymptotic range."""
    wanted = max(_FIRST_STEPS, 4 * objective.gamma * span, 4 * fastest * span)
    return min(2 ** math.ceil(math.log2(wanted)), _MOST_STEPS // 4)


# ------------------------------------------------------------------------------------ finite horizon, free or fixed end


def _from_starts(problem: Problem, theta0: Array, settings: Settings) -> list[Trajectory]:
    """Solve from one start for each place that the path may pass or end at."""
    objective, loss = problem.objective, problem.loss
    problem = replace(problem, steps=settings.steps or _first_steps(objective, problem.horizon))
    free = replace(objective, horizon=math.inf)
    via = list(stationary.points(free, loss, theta0))
    u = np.linspace(0.0, 1.0, problem.steps + 1)[:, None]
    if problem.endpoint is not None:
        starts: list[Array] = [theta0 + u * (problem.endpoint - theta0)]
        starts += [_through(theta0, point, problem.endpoint, u) for point in via]
    else:
        starts = [np.broadcast_to(theta0, (problem.steps + 1, len(theta0)))]
        starts += [theta0 + np.minimum(4 * u, 1.0) * (point - theta0) for point in via]
    return [_refine(problem, start, settings) for start in starts]


def _through(theta0: Array, middle: Array, stop: Array, u: Array) -> Array:
    return np.where(u < 0.5, theta0 + 2 * u * (middle - theta0), middle + (2 * u - 1) * (stop - middle))


# ------------------------------------------------------------------------------------------------------- refinement


def _refine(problem: Problem, path: Array, settings: Settings) -> Trajectory:
    """Double the grid from a coarse solution until Richardson's extrapolation stands still."""
    if settings.steps is not None:
        fine = newton.minimise(problem, _coarse_start(problem, path))
        half = None
        if problem.steps % 2 == 0:
            coarse = replace(problem, steps=problem.steps // 2)
            half = newton.minimise(coarse, fine.path[::2])
        return _wrap(problem, fine, half)
    previous, extrapolated = newton.minimise(problem, path), None
    while True:
        finer = replace(problem, steps=2 * problem.steps)
        current = newton.minimise(finer, _double(previous.path))
        richardson = _extrapolate(previous, current)
        change = math.inf
        if extrapolated is not None:
            action, nodes = richardson[0], richardson[1][::2]
            change = max(
                abs(action - extrapolated[0]) / max(abs(action), abs(problem.objective.k * problem.level), 1e-12),
                float(np.max(np.abs(nodes - extrapolated[1]))) / max(1.0, float(np.max(np.abs(nodes)))),
            )
        good = previous.converged and current.converged
        if change <= settings.rtol or finer.steps >= _MOST_STEPS or (extrapolated is not None and not good):
            return _wrap(
                finer, current, previous, change, settings.rtol, abs(richardson[0] - (extrapolated or richardson)[0])
            )
        problem, previous, extrapolated = finer, current, richardson


def _coarse_start(problem: Problem, path: Array) -> Array:
    """Return a good start on a fine grid, from the solution on a coarse one that divides it."""
    stride = 1
    while problem.steps % (2 * stride) == 0 and problem.steps // stride > 2048:
        stride *= 2
    if stride == 1:
        return path
    coarse = newton.minimise(replace(problem, steps=problem.steps // stride), path[::stride]).path
    return _resample(coarse, problem.steps)


def _double(path: Array) -> Array:
    """Return the path on twice as many intervals, by cubic midpoints."""
    fine = np.empty((2 * len(path) - 1, path.shape[1]))
    fine[::2] = path
    fine[1::2] = (path[1:] + path[:-1]) / 2
    if len(path) > 3:
        fine[3:-3:2] = (9 * (path[1:-2] + path[2:-1]) - path[:-3] - path[3:]) / 16
    return fine


def _extrapolate(coarse: newton.Minimum, fine: newton.Minimum) -> tuple[float, Array]:
    action = (4 * fine.action - coarse.action) / 3
    return action, (4 * fine.path[::2] - coarse.path) / 3


def _wrap(
    problem: Problem,
    fine: newton.Minimum,
    coarse: newton.Minimum | None,
    change: float = 0.0,
    rtol: float = math.inf,
    error: float | None = None,
) -> Trajectory:
    """Make a Trajectory: extrapolated nodes where two grids are there, quintic between, the linear law beyond."""
    objective, loss, end, horizon = problem.objective, problem.loss, problem.terminal, problem.horizon
    times, path, velocity, climb = problem.times, fine.path, problem.velocities(fine.path), fine.action
    if coarse is not None and coarse.converged:
        velocity = (4 * velocity[::2] - replace(problem, steps=problem.steps // 2).velocities(coarse.path)) / 3
        climb, path = _extrapolate(coarse, fine)
        times, error = times[::2], abs(climb - fine.action) if error is None else error
    curve = interpolate.quintic(times, path, velocity, _acceleration(objective, loss, path, velocity))
    slope = curve.derivative()

    def position(t: Array) -> Array:
        inside = curve(np.minimum(t, horizon))
        if end is None or not np.any(t > horizon):
            return inside
        return np.where((t > horizon)[:, None], end.follow(path[-1], np.maximum(t - horizon, 0.0)), inside)

    def rate(t: Array) -> Array:
        inside = slope(np.minimum(t, horizon))
        return inside if end is None else np.where((t > horizon)[:, None], end.velocity(position(t)), inside)

    converged = fine.converged and change <= rtol
    action, excess, asymptote = _account(problem, climb, path)
    return Trajectory(
        objective,
        loss,
        times,
        action,
        excess,
        asymptote,
        "action",
        position,
        rate,
        end=horizon if end is None else math.inf,
        converged=converged,
        reason="" if converged else _why(problem, fine, change),
        residual=fine.gradient * objective.eta / problem.dt,
        is_minimum=fine.definite,
        error=math.nan if error is None else error,
    )


def _account(problem: Problem, climb: float, path: Array) -> tuple[float, float, Array]:
    """Return J, its excess over resting, and where the path ends, from the discretised sum ``climb``.

    The sum was taken with L − level up to the horizon; the terminal value counts from the resting cost.
    """
    objective, end = problem.objective, problem.terminal
    level = resting_action(objective.k * problem.level, objective.gamma, 1.0, problem.horizon)
    if end is None:
        return climb + level, math.nan, path[-1].copy()
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


def _acceleration(objective: Objective, loss: Loss, path: Array, velocity: Array) -> Array:
    """Return θ̈ from the Euler–Lagrange equation for constant G (theory: the unnumbered equation after 95)."""
    metric = objective.metric_matrix(path.shape[1])
    force = objective.gamma * velocity + stationary.rest_force(objective, loss, path)
    if objective.drift is None:
        return force
    jacobian = objective.drift.jacobian(path)
    transported = np.einsum("nji,nj->ni", jacobian, velocity @ metric)
    return force + np.einsum("nij,nj->ni", jacobian, velocity) - np.linalg.solve(metric, transported.T).T
