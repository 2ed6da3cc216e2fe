"""How Newton's method is brought to an extremal whose time scales nobody knows: a coarse mesh that moves to the path.

A mesh of few nodes is solved, and its nodes are spread again where the path is fast: half of them evenly over the way
that it goes, in the units of the metric, half as the law of the end asks for, or evenly in time (de Boor's
equidistribution). However short a stage is, the interval that holds it gets its share of the nodes: each round resolves
scales some thirty times finer.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes, newton
from lossnav.trajectory.mesh import most_steps, spread
from lossnav.trajectory.riccati import LocalValue
from lossnav.trajectory.transcription import Transcription, switches

_FIRST_STEPS = 64  # with polynomials of degree ten that is what most paths need
_A_SCALE = 5  # nodes on a time scale of the law
_SOONER = 0.25  # the first step's scale, in units of the fastest one: at the start polynomials look ahead only
_LATER = 5.0  # the last steps' scale, in units of the slowest one, along which almost nothing happens
_EVEN = 2.0  # the most that an interval may hold of what there is, relative to the mean
_ROUNDS = 12  # each thirty times finer: beyond the digits of a float
ROUGH = 1e-6  # of a Newton step on a mesh that may move again: corrections follow
_SAMPLES = 400  # intervals on which the law's density is summed, in each stretch


def first(
    objective: Objective, loss: Loss, theta0: Array, horizon: float, *, terminal: LocalValue | None = None,
    endpoint: Array | None = None, level: float = 0.0, steps: int | None = None, convex: bool = False,
) -> Transcription:  # fmt: skip
    """Return J on a coarse mesh that ``settle`` may move: of equal steps, or as the law of the end asks for.

    The sum's error is γrΔt² where a rate is r. A ``convex`` problem has one minimum, however wrong that is on the first
    mesh, and polynomials do not feel the discount.
    """
    if not math.isfinite(objective.gamma * horizon):
        raise OverflowError(f"gamma = {objective.gamma:g} for a time of {horizon:g}")
    joints, most = switches(loss, horizon), most_steps(loss.dim) // 4
    given = partial(Transcription, objective, loss, horizon, terminal=terminal, endpoint=endpoint, level=level)
    if terminal is None and not joints:
        return given(steps or min(_FIRST_STEPS, most))
    rates = _rates(objective, loss, theta0, terminal)
    times, wanted = _log_times(joints, horizon, rates[0]), 0.0
    weight = _calm(joints, times, rates, 0.0 if convex else objective.gamma)
    if terminal is not None:
        wanted = _A_SCALE * float(weight @ np.diff(times))
    count = steps or (most if wanted > most else 2 ** math.ceil(math.log2(max(_FIRST_STEPS, wanted))))
    return given(count, mesh=spread(times, weight, joints, count, rates))


def _rates(objective: Objective, loss: Loss, theta0: Array, end: LocalValue | None) -> tuple[float, float]:
    """Return the rate for which the first steps are made, and the one for the last: of start and law; 0 without law."""
    if end is None:
        return 0.0, 1.0
    rates = np.linalg.eigvals(end.closed)
    curvature = modes.decompose(loss.hessian(theta0), objective.metric_at(theta0)).curvature
    start = modes.slow_rate(np.abs(curvature), objective.eta * objective.k, objective.gamma)
    falls = -float(np.max(rates.real, initial=-math.inf, where=rates.real < 0)) / _LATER
    steady = float(np.max(rates.real)) if end.growth > 0 or not math.isfinite(falls) else falls
    fastest = float(max(np.max(np.abs(rates)), np.max(start)))
    return fastest / _SOONER, float(np.max(np.abs(rates.imag))) + (steady or fastest)


def _log_times(joints: list[float], horizon: float, fastest: float) -> Array:
    """Return times from the fastest scale on, after the start and after each joint, shape (M+1,)."""
    parts = []
    for low, high in itertools.pairwise([0.0, *joints, horizon]):
        scaled = fastest * (high - low)
        u = np.linspace(0.0, 1.0, (_SAMPLES if scaled > 0 else 1) + 1)[:-1]
        parts.append(low + (high - low) * (np.expm1(u * math.log1p(scaled)) / scaled if scaled > 0 else u))
    return np.append(np.concatenate(parts), horizon)


def _calm(joints: list[float], times: Array, rates: tuple[float, float], gamma: float) -> Array:
    """Return how many time scales of law and discount there are in a unit of time, in each interval, shape (N,).

    At a time t after the start, or after a joint, modes faster than 1/t have come to rest, and the slowest one goes on.
    """
    fastest, slowest = rates
    middle = (times[1:] + times[:-1]) / 2
    marks = np.array([0.0, *joints])
    since = middle - marks[np.searchsorted(marks, middle, side="right") - 1]
    rate = (1 / (since + 1 / fastest) if fastest > 0 else 0 * since) + slowest
    return np.asarray(np.sqrt(rate) * np.sqrt(rate + gamma))


def settle(problem: Transcription, found: newton.Minimum) -> tuple[Transcription, newton.Minimum]:
    """Return the problem on a mesh that has moved to the path, and the path on it."""
    rates = (0.0, 1.0) if problem.mesh is None else problem.mesh.rates
    for _ in range(_ROUNDS):
        if budget.spent():
            break
        weight = _density(problem, found.path, rates)
        share = weight * problem.dt[:, 0]
        if not np.all(np.isfinite(share)) or np.max(share) <= _EVEN * np.mean(share):
            break
        moved = replace(problem, mesh=spread(problem.times, weight, problem.joints, problem.steps, rates))
        found = newton.minimise(moved, on(problem.times, found.path, moved.times), tolerance=ROUGH)
        problem = moved
    return problem, found


def on(times: Array, path: Array, other: Array) -> Array:
    """Return a path at other times, shape (T, D), by straight lines between its nodes."""
    return np.stack([np.interp(other, times, column) for column in path.T], axis=1)


def _density(problem: Transcription, path: Array, rates: tuple[float, float]) -> Array:
    """Return the speed of a path as a share of its length, and what its end asks for, in each interval, shape (N,).

    To the length counts what Newton's method leaves of it at each node: the mesh of a path that goes nowhere is not to
    follow rounding.
    """
    velocity = np.diff(path, axis=0) / problem.dt
    metric = problem.objective.metric_on(path.shape[1]).matrix((path[1:] + path[:-1]) / 2)
    left = ROUGH * newton.sizes(path, ROUGH)[1:]
    speed, blur = (np.sqrt(np.maximum(np.einsum("ni,nij,nj->n", x, metric, x), 0.0)) for x in (velocity, left))
    length = float(speed @ problem.dt[:, 0] + blur.sum())
    calm = _calm(problem.joints, problem.times, rates, problem.objective.gamma)
    return calm / float(calm @ problem.dt[:, 0]) + speed / length
