"""How Newton's method is brought to an extremal whose time scales nobody knows: a coarse mesh that moves to the path.

A mesh of few nodes is solved, and its nodes are spread again where the path is fast: half of them evenly over the way
that it goes, in the units of the metric, half as the law of the end asks for, or evenly in time (de Boor's
equidistribution). However short a stage is, the interval that holds it gets its share of the nodes: each round resolves
scales some thirty times finer.

Paths that do nothing but relax to the only rest of a convex loss need no such search: steps that grow with time suit a
path that is fast first and slow later. Where there are several rests, or the loss is not convex, a path may wait and
then move fast: of those ``relaxing`` says nothing.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes, newton
from lossnav.trajectory.mesh import Clock, Mesh, Split, first_steps, graded_steps, most_steps, spread
from lossnav.trajectory.priced import transcription
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.transcription import Transcription

_EVEN = 2.0  # the most that an interval may hold of what there is, relative to the mean
_ROUNDS = 12  # each thirty times finer: beyond the digits of a float
_LONGEST = 2.0  # the longest step of a first mesh, in units of the law's scale: beyond it a path cannot move
_SAMPLES = 400  # intervals on which the law's density is summed, in each stretch
_SLOWEST = 4.0  # the scale of the longest steps of a path that only relaxes, in units of that of the slowest mode
_LENGTHENED = 3  # times, if the path has not arrived
_ITERATIONS = 20  # of Newton's method; from the linear law it takes a handful
_FEWER = 32.0  # times fewer steps: γΔt is then above 1 in the shortest intervals of finer grids, too
_JUMP = 0.25  # the largest share of the whole way that one interval may hold


def graded(objective: Objective, loss: Loss) -> bool:
    """Return whether the mesh follows the path: where metric or loss change with scales of their own."""
    return objective.curved or loss.timed


def mesh_of(loss: Loss, horizon: float, steps: int) -> Mesh:
    """Return equal steps, in each stretch between the switches of a loss."""
    return Split(spread(np.array([0.0, horizon]), np.ones(1), _joints(loss, horizon), steps))


def first(
    objective: Objective, loss: Loss, horizon: float, terminal: LocalValue | None = None, **parts: object
) -> Transcription:
    """Return J on a coarse mesh that ``settle`` may move: of equal steps, or as the law of the end asks for."""
    undiscounted = replace(objective, gamma=0.0)  # which is integrated exactly
    times, weight, turning, halfway = _asked(objective, loss, horizon, terminal)
    steps = first_steps(undiscounted, loss.dim, horizon, turning)
    steps = max(steps, min(2 ** math.ceil(math.log2(_count(times, weight))), most_steps(loss.dim) // 4))
    mesh = Split(spread(times, weight, _joints(loss, horizon), steps))
    return transcription(objective, loss, horizon, steps, mesh=mesh, terminal=terminal, halfway=halfway, **parts)


def wanted(objective: Objective, loss: Loss, horizon: float, terminal: LocalValue | None) -> float:
    """Return how many steps the law of the end asks for; 1 if none does."""
    times, weight, *_ = _asked(objective, loss, horizon, terminal)
    return _count(times, weight)


def _count(times: Array, weight: Array) -> float:
    return float(weight @ np.diff(times)) / _LONGEST if len(weight) > 1 else 1.0


def _asked(
    objective: Objective, loss: Loss, horizon: float, terminal: LocalValue | None
) -> tuple[Array, Array, float, bool]:
    """Return times, how many steps a unit of time needs between them, the fastest turning, and of which scheme.

    To ask for the loss halfway between nodes, too, pays where the discount is far from resolved without.
    """
    if terminal is None or terminal.growth >= 0:
        return np.array([0.0, horizon]), np.ones(1), 0.0, False
    times = _log_times(loss, horizon, terminal)
    turning = float(np.max(np.abs(np.linalg.eigvals(terminal.closed).imag)))
    weight = _lawful(objective.gamma, loss, times, terminal)
    if objective.drift is None:
        halfway = _lawful(0.0, loss, times, terminal)
        if _FEWER * _count(times, halfway) < _count(times, weight):
            return times, halfway, turning, True
    return times, weight, turning, False


def _joints(loss: Loss, horizon: float) -> list[float]:
    """Return the switches of a loss inside: there must be nodes."""
    return [switch for switch in getattr(loss, "switches", ()) if switch < horizon]


def _log_times(loss: Loss, horizon: float, end: LocalValue) -> Array:
    """Return times from the law's fastest scale on, after the start and after each switch, shape (M+1,)."""
    fastest = float(np.max(np.abs(np.linalg.eigvals(end.closed))))
    parts = []
    marks = [0.0, *_joints(loss, horizon), horizon]
    for low, high in itertools.pairwise(marks):
        part = low + np.expm1(np.linspace(0.0, math.log1p(fastest * (high - low)), _SAMPLES + 1)) / fastest
        parts.append(part[:-1])
    return np.unique(np.append(np.concatenate(parts), horizon))


def _lawful(gamma: float, loss: Loss, times: Array, end: LocalValue) -> Array:
    """Return how many steps a unit of time needs on the way to a rest, in each interval, shape (N,).

    What moves at a rate ρ is discretised with an error of ρ(ρ + γ)·Δt², and as without a discount where the loss is
    asked halfway between nodes, too. At a time t after the start, or after a switch,
    modes faster than 1/t have come to rest, and the slowest one goes on.
    """
    middle = (times[1:] + times[:-1]) / 2
    marks = np.array([0.0, *_joints(loss, times[-1])])
    since = middle - marks[np.searchsorted(marks, middle, side="right") - 1]
    rate = 1 / (since + 1 / np.max(np.abs(np.linalg.eigvals(end.closed)))) - end.growth
    return np.sqrt(rate * (rate + gamma))


def straight(problem: Transcription, start: Array, place: Array) -> list[Array]:
    """Return straight ways to a place and a stay there, (N+1, D): a slow one, and last that whose pace costs least.

    The slow one may be another extremal's, which goes down to the nearest rest and leaves that as late as it can.
    """
    t = problem.times[:, None]
    arrivals = t[-1] / 2.0 ** np.arange(2, max(3, math.ceil(math.log2(t[-1, 0] / t[1, 0])) + 1))
    ways = start + np.minimum(t / arrivals[:, None, None], 1.0) * (place - start)
    costs = np.nan_to_num(problem.action(problem.admitted(ways)), nan=math.inf)
    return [ways[i] for i in sorted({0, int(np.argmin(costs))})]


def downhill(problem: Transcription, start: Array) -> Array:
    """Return the gradient flow from a place at the nodes, shape (N+1, D), as far as it goes."""
    objective, loss = problem.objective, problem.loss

    def velocity(t: float, place: Array) -> Array:
        pull: Array = np.linalg.solve(objective.metric_at(place), loss.at(t).gradient(place))
        return -objective.eta * objective.k / objective.gamma * pull

    flow = scipy.integrate.solve_ivp(velocity, (0.0, problem.horizon), start, method="LSODA", t_eval=problem.times)
    return on(flow.t, flow.y.T, problem.times)


def settle(problem: Transcription, minimum: newton.Minimum) -> tuple[Transcription, newton.Minimum]:
    """Return the problem on a mesh that has moved to the path, and the path on it."""
    for _ in range(_ROUNDS):
        # Enough, if no interval holds much more than its share.
        weight = _density(problem, minimum.path)
        share = weight * problem.dt[:, 0]
        if not np.all(np.isfinite(share)) or np.max(share) <= _EVEN * np.mean(share):
            break
        joints = _joints(problem.loss, problem.horizon)
        moved = replace(problem, mesh=Split(spread(problem.times, weight, joints, problem.steps)))
        minimum = newton.minimise(moved, on(problem.times, minimum.path, moved.times))
        problem = moved
        if not minimum.converged:  # a mesh made for a path that is none helps the next one to nothing
            break
    return problem, minimum


def on(times: Array, path: Array, other: Array) -> Array:
    """Return a path at other times, shape (T, D), by straight lines between its nodes."""
    return np.stack([np.interp(other, times, column) for column in path.T], axis=1)


def _density(problem: Transcription, path: Array) -> Array:
    """Return the speed of a path as a share of its length, and what its end asks for, in each interval, shape (N,)."""
    velocity = np.diff(path, axis=0) / problem.dt
    metric = problem.objective.metric_on(path.shape[1]).matrix((path[1:] + path[:-1]) / 2)
    speed = np.sqrt(np.maximum(np.einsum("ni,nij,nj->n", velocity, metric, velocity), 0.0))
    length = float(speed @ problem.dt[:, 0])
    calm: Array = np.ones(problem.steps)
    end = problem.terminal
    if end is not None and end.growth < 0:
        calm = _lawful(0.0 if problem.halfway else problem.objective.gamma, problem.loss, problem.times, end)
    return calm / float(calm @ problem.dt[:, 0]) + (speed / length if length > 0 else 0 * speed)


def relaxing(
    objective: Objective, loss: Loss, theta0: Array, end: LocalValue, span: float, arrived: float
) -> tuple[Transcription, newton.Minimum] | None:
    """Return the path to the only rest on a coarse graded grid; None if there is a doubt that it only relaxes.

    If the budget ends on the way, the path is as far as it came.

    Args:
        objective, loss, theta0: the problem.
        end: the value function at the rest.
        span: how long the path may take.
        arrived: how near to the rest it must come by then.
    """
    fastest = _fastest(objective, loss, theta0, end)
    if fastest is None:
        return None
    nodal, between = (Clock(1 / fastest, 1 / rate) for rate in _longest(objective, end))
    halfway = objective.drift is None and _FEWER * between.length(span) < nodal.length(span)
    clock = between if halfway else nodal
    if not halfway and objective.gamma * clock.longest * clock.length(span) > most_steps(len(theta0)):
        return None  # at γΔt > 1 the scheme is of first order: the largest grid must do better
    level = float(loss.value(end.fixed))
    for _ in range(_LENGTHENED):
        steps = graded_steps(len(theta0), clock.length(span))
        problem = Transcription(objective, loss, span, steps, terminal=end, level=level, mesh=clock, halfway=halfway)
        start = end.follow(theta0, problem.times)
        if not _convex(loss.hessian(start[:: steps // 16])):
            return None
        minimum = newton.minimise(problem, start, limit=_ITERATIONS)
        if budget.spent():
            return problem, minimum
        if not (minimum.converged and minimum.definite and _relaxes(minimum)):
            return None
        if float(np.max(np.abs(minimum.path[-1] - end.fixed))) <= arrived:
            return problem, minimum
        span *= 2
    return None


def _fastest(objective: Objective, loss: Loss, theta0: Array, end: LocalValue) -> float | None:
    """Return the rate of the fastest mode at the start and at the rest.

    None unless the loss is convex at the start, and if a drift bends the problem.
    """
    if end.growth >= 0 or not np.all(np.isfinite(end.fixed)):
        return None
    if objective.drift is not None and not (isinstance(objective.drift, Linear) and isinstance(loss, Quadratic)):
        return None
    curvature = modes.decompose(loss.hessian(theta0), objective.metric_matrix(len(theta0))).curvature
    if np.min(curvature) < 0:
        return None
    slow = modes.slow_rate(curvature, objective.eta * objective.k, objective.gamma)
    return max(float(np.max(np.abs(np.linalg.eigvals(end.closed)))), float(np.max(slow)))


def _longest(objective: Objective, end: LocalValue) -> tuple[float, float]:
    """Return how many steps a unit of time needs late, for turns and the slowest mode; less, if asked halfway, too.

    A mode of rate r is discretised with an error of r(r + γ)·Δt², or of r²·Δt².
    """
    turning, slowest = float(np.max(np.abs(np.linalg.eigvals(end.closed).imag))), -end.growth
    return turning + math.sqrt(slowest * (slowest + objective.gamma)) / _SLOWEST, turning + slowest / _SLOWEST


def _relaxes(minimum: newton.Minimum) -> bool:
    """Return whether the loss is convex all along, and no interval holds a large part of the way."""
    way = float(np.max(np.abs(minimum.path - minimum.path[0])))
    if float(np.max(np.abs(np.diff(minimum.path, axis=0)))) > _JUMP * way:
        return False
    return _convex(minimum.curvature)


def _convex(curvature: Array) -> bool:
    """Return whether matrices of shape (N, D, D) are positive semidefinite but for rounding."""
    if not np.all(np.isfinite(curvature)):
        return False
    sizes = np.abs(curvature).max(axis=(1, 2))
    lowest = np.linalg.eigvalsh(curvature)[:, 0]
    return bool(np.all(lowest >= -1e-9 * sizes))
