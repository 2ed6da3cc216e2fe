"""The Euler–Lagrange equations as a boundary-value problem for scipy's collocation: an independent oracle.

It shares with the other solvers only the list of resting places; the equations, the mesh and the cost are its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import stationary, wandering
from lossnav.trajectory.candidates import cheapest
from lossnav.trajectory.case import Case, Settings, plain
from lossnav.trajectory.motion import acceleration
from lossnav.trajectory.result import Method, Trajectory, final_charge
from lossnav.trajectory.riccati import LocalValue, continued
from lossnav.trajectory.status import Status

Motion = Callable[[Array, Array], Array]
_NODES, _MOST = 401, 200_000  # to start from, and at most
_TOLERANCE = 1e-9


class Collocation:
    """scipy's collocation, an independent check; ``settings`` do not concern it. Rests are checked as in ``Action``."""

    name: Method = "bvp"

    def accepts(self, case: Case) -> str:
        """Return why not: a metric that depends on θ, a loss that depends on time."""
        return plain(case)

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal."""
        return wandering.checked(case, solve)


def solve(case: Case) -> Trajectory:
    """Return the best extremal that collocation finds; ``is_minimum`` is None, for stationarity is all it knows."""
    objective, loss, theta0 = case.objective, case.loss, case.theta0

    def paths() -> Iterator[Trajectory]:
        if not case.rests:
            yield collocate(objective, loss, theta0, case.deadline, None, case.endpoint, _TOLERANCE)
            return
        for end in stationary.targets(objective, loss, theta0):
            span = 12.0 / -end.growth if end.growth < 0 else 10.0 / max(objective.gamma, 2 * end.growth)
            yield collocate(objective, loss, theta0, case.span or span, end, None, _TOLERANCE)

    return cheapest(case, paths(), Collocation.name)


def collocate(
    objective: Objective,
    loss: Loss,
    theta0: Array,
    span: float,
    end: LocalValue | None,
    endpoint: Array | None,
    tol: float,
    motion: Motion | None = None,
    near: Trajectory | None = None,
) -> Trajectory:
    """Return the extremal from ``theta0`` to one end: a resting place, a fixed ``endpoint``, or a free end at ``span``.

    ``motion`` maps θ and θ̇, shape (N, D) each, to θ̈ in place of the Euler–Lagrange equations. ``near`` is a path to
    start from, else it is the law of the rest, or a straight line.
    """
    dim = loss.dim
    rests = end is not None and bool(np.all(np.isfinite(end.fixed)))
    # The state is θ, θ̇ and J so far, of the loss in excess of its level at the rest.
    place = theta0 if end is None else (end.fixed if rests else end.centre)
    level = 0.0 if end is None else float(loss.value(place))

    def equations(t: Array, y: Array) -> Array:
        budget.check()
        theta, velocity = y[:dim].T, y[dim:-1].T
        second = motion(theta, velocity) if motion else acceleration(objective, theta, velocity, loss.gradient(theta))
        rate = np.exp(-objective.gamma * t) * (objective.cost_rate(loss, theta, velocity) - objective.k * level)
        return np.vstack([y[dim:-1], second.T, rate[None, :]])

    def boundary(left: Array, right: Array) -> Array:
        theta, velocity = right[:dim], right[dim:-1]
        end_residual: Array
        if endpoint is not None:
            end_residual = theta - endpoint
        elif end is not None:
            end_residual = velocity - end.velocity(theta)
        else:  # transversality: the conjugate momentum is what the deadline charges
            end_residual = velocity if objective.drift is None else velocity - objective.drift(theta)
            if objective.charge:
                gradient = objective.eta * objective.charge * loss.gradient(theta)
                end_residual = end_residual + np.linalg.solve(objective.metric_at(theta), gradient)
        return np.concatenate([left[:dim] - theta0, end_residual, left[-1:]])

    # Start from the law of the end; what SciPy makes nothing of has failed, whatever it says.
    if near is None:
        t: Array = span * np.linspace(0.0, 1.0, _NODES) ** 2  # finer after the start, where paths are fast
        places, speeds = _law(theta0, span, end, endpoint, t)
    else:
        t, places, speeds = near.times, near.position(near.times), near.rate(near.times)
    start = np.vstack([places.T, speeds.T, 0 * t[None, :]])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            solution = scipy.integrate.solve_bvp(equations, boundary, t, start, tol=tol, max_nodes=_MOST)
        except np.linalg.LinAlgError:
            solution = _lost(t, start)
    if not np.all(np.isfinite(solution.rms_residuals)):  # NaN passes for a success
        solution = _lost(t, start)

    position, rate = (scipy.interpolate.PPoly(solution.sol.c[..., part], solution.sol.x)
                      for part in (slice(dim), slice(dim, -1)))  # fmt: skip
    # J up to the end, and what comes after it.
    stop = position(span)
    total = float(solution.y[-1, -1])
    excess, growth, asymptote = math.nan, math.nan, stop.copy()
    if end is None:
        total += final_charge(objective, float(loss.value(stop)))
    else:
        total += math.exp(-objective.gamma * span) * end.cost_to_go(stop)
        total, excess = end.total(objective, loss, theta0, total, level, span)
        growth, asymptote = end.ending(theta0)
    return Trajectory(
        objective, loss, solution.x, total, excess, asymptote, Collocation.name,
        *continued(end, span, stop, position, rate),
        end=span if end is None else math.inf,
        status=Status.CONVERGED if solution.success else Status.COLLOCATION_STOPPED,
        detail="" if solution.success else solution.message, residual=float(np.max(solution.rms_residuals)),
        is_minimum=None, growth=growth,
    )  # fmt: skip


def _lost(t: Array, state: Array) -> scipy.optimize.OptimizeResult:
    """Return what scipy would of a collocation that had to stop, with straight lines through where it began."""
    lines = np.stack([(np.diff(state) / np.diff(t)).T, state[:, :-1].T])
    return scipy.optimize.OptimizeResult(
        success=False, message="Newton's method left the domain of the problem.", rms_residuals=np.array([np.nan]),
        x=t, y=state, sol=scipy.interpolate.PPoly(lines, t),
    )  # fmt: skip


def _law(theta0: Array, span: float, end: LocalValue | None, endpoint: Array | None, t: Array) -> tuple[Array, Array]:
    """Return θ and θ̇ of the law of a rest, or of a straight line to a fixed end, shape (N, D) each."""
    if end is not None:
        path = end.follow(theta0, t)
        return path, end.velocity(path)
    pace = np.zeros_like(theta0) if endpoint is None else (endpoint - theta0) / span
    return theta0 + t[:, None] * pace, np.broadcast_to(pace, (len(t), len(pace)))
