"""The Euler–Lagrange equations as a boundary-value problem for scipy's collocation: an independent oracle.

It shares with the other solvers only the list of resting places; the equations, the mesh and the cost are its own.
Where the loss jumps in time, position and momentum go on: metric and drift are the same on both sides, and so is θ̇.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import stationary, wandering
from lossnav.trajectory.candidates import cheapest
from lossnav.trajectory.case import Case, plain
from lossnav.trajectory.logarithms import Chart
from lossnav.trajectory.motion import acceleration
from lossnav.trajectory.result import Trajectory, final_charge
from lossnav.trajectory.riccati import LocalValue, continued
from lossnav.trajectory.status import Status
from lossnav.trajectory.stretches import Stretches, stretches

if TYPE_CHECKING:
    from lossnav.trajectory.refinement import Settings

Motion = Callable[[Array, Array], Array]
Guess = Callable[[Array], tuple[Array, Array]]  # times to θ and θ̇
Law = Callable[[Loss], "Equations"]  # of a landscape that stands still
_ROUGH = 1e-4  # tolerance of the first pass, where there are two
_GAUSS = np.polynomial.legendre.leggauss(5)
_FADED = 50.0  # γt beyond which a cost counts for nothing
_FEW, _MANY = 51, 401  # nodes to start from, with two passes and with one
_MOST = 200_000


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


class Collocation:
    """scipy's collocation, an independent check; ``settings`` do not concern it. Rests are checked as in ``Action``."""

    name = "bvp"

    def accepts(self, case: Case) -> str:
        """Return why not: a metric that depends on θ, a loss that depends on time."""
        return plain(case)

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the best extremal."""
        return wandering.checked(case, lambda: solve(case))


def solve(case: Case, tol: float = 1e-9) -> Trajectory:
    """Return the best extremal that collocation finds; ``is_minimum`` is None, for stationarity is all it knows."""
    objective, loss, theta0 = case.objective, case.loss, case.theta0

    def paths() -> Iterator[Trajectory]:
        if not case.rests:
            yield collocate(objective, loss, theta0, case.deadline, None, case.endpoint, tol)
            return
        for end in stationary.targets(objective, loss, theta0):
            span = 12.0 / -end.growth if end.growth < 0 else 10.0 / max(objective.gamma, 2 * end.growth)
            yield collocate(objective, loss, theta0, case.span or span, end, None, tol)

    return cheapest(case, paths(), Collocation.name)


def collocate(
    objective: Objective,
    loss: Loss,
    theta0: Array,
    span: float,
    end: LocalValue | None,
    endpoint: Array | None,
    tol: float,
    given: Law | None = None,
    guess: Guess | None = None,
    nodes: int = _MOST,
    mesh: Array | None = None,
) -> Trajectory:
    """Return the extremal from ``theta0`` to one end: a resting place, a fixed ``endpoint``, or a free end at ``span``.

    ``given`` are other equations than those of a constant metric, for the landscape at the times of a mesh. They may be
    dear: then a rough solution comes first, and says where the mesh must be fine. ``guess`` is a path to start from;
    ``nodes`` is how many the mesh may have, ``mesh`` one to start with, in the time of the last stretch.
    """
    dim, size = loss.dim, 2 * loss.dim
    parts = stretches(loss, span)
    chart = Chart(loss.positive, theta0)
    first = chart.inner(theta0, np.zeros(dim))[0]

    def own(still: Loss) -> Equations:
        push = partial(objective.cost_rate, still)
        return Equations(lambda x, v: acceleration(objective, x, v, still.gradient(x)), push)

    laws = _laws(parts, lambda still: chart.equations((given or own)(still)))
    rests = end is not None and bool(np.all(np.isfinite(end.fixed)))
    place = theta0 if end is None else (end.fixed if rests else end.centre)
    level = 0.0 if end is None else float(loss.at(math.inf).value(place))
    final = loss.at(np.nextafter(span, 0.0)) if loss.timed else loss  # before a switch at the deadline itself

    def split(y: Array) -> list[tuple[Array, Array]]:
        rows = (y[i * size : (i + 1) * size].T for i in range(parts.count))
        return [(row[:, :dim], row[:, dim:]) for row in rows]

    def equations(s: Array, y: Array) -> Array:
        budget.check()
        found, cost = [], np.zeros_like(s)
        for i, (theta, velocity) in enumerate(split(y)):
            t, pace = parts.times(i, s), parts.paces[i]
            law = laws(i, t)
            found += [pace * velocity.T, pace * law.acceleration(theta, velocity).T]
            faded = pace * np.exp(-objective.gamma * t)
            cost = cost + faded * (law.cost_rate(theta, velocity) - objective.k * level)
        return np.vstack([*found, cost[None, :]])

    def derivatives(s: Array, y: Array) -> Array:
        """Return ∂equations/∂y, shape (2MD + 1, 2MD + 1, N)."""
        budget.check()
        found = np.zeros((len(y), len(y), len(s)))
        for i, (theta, velocity) in enumerate(split(y)):
            t, pace, at, to = parts.times(i, s), parts.paces[i], i * size, i * size + dim
            tangent = laws(i, t).tangent
            assert tangent is not None
            by_place, by_speed, cost, momentum = (pace * np.moveaxis(x, 0, -1) for x in tangent(theta, velocity))
            faded = np.exp(-objective.gamma * t)
            found[at:to, to : to + dim] = pace * np.eye(dim)[..., None]
            found[to : to + dim, at:to], found[to : to + dim, to : to + dim] = by_place, by_speed
            found[-1, at:to], found[-1, to : to + dim] = faded * cost, faded * momentum
        return found

    def boundary(left: Array, right: Array) -> Array:
        theta, velocity = (row[0] for row in chart.outer(*split(right[:, None])[-1]))
        last: Array
        if endpoint is not None:
            last = theta - endpoint
        elif end is not None:
            last = velocity - end.velocity(theta)
        else:  # transversality: the conjugate momentum is what the deadline charges
            last = velocity if objective.drift is None else velocity - objective.drift(theta)
            if objective.charge:
                slope = objective.eta * objective.charge * final.gradient(theta)
                last = last + np.linalg.solve(objective.metric_at(theta), slope)
        joints = right[: -1 - size] - left[size:-1]
        return np.concatenate([left[:dim] - first, joints, last, left[-1:]])

    tangent, fastest = laws(0, np.zeros(1)).tangent, 0.0
    smooth = tangent is not None
    if loss.timed and tangent is not None:
        stiffness = tangent(first[None, :], np.zeros((1, dim)))[0][0]
        if np.all(np.isfinite(stiffness)):
            fastest = math.sqrt(float(np.max(np.abs(np.linalg.eigvals(stiffness)))))

    def attempt(s: Array, state: Array, tol: float) -> Any:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                found = scipy.integrate.solve_bvp(
                    equations, boundary, s, state, tol=tol, max_nodes=nodes, fun_jac=derivatives if smooth else None
                )
            except np.linalg.LinAlgError:
                return _Lost(s, state)
        return found if np.all(np.isfinite(found.rms_residuals)) else _Lost(s, state)  # NaN passes for a success

    def start(s: Array) -> tuple[Array, Array]:
        return _first_guess(chart, parts, end, endpoint, parts.resolving(s, fastest), guess)

    two = given is not None and mesh is None and tol < _ROUGH
    points, state = start(parts.mesh(_FEW if two else _MANY) if mesh is None else mesh)
    if two:
        rough = attempt(points, state, _ROUGH)
        points, state = _finer(rough, tol) if rough.success else start(parts.mesh(_MANY))
    found = rough if two and nodes < _MOST and not rough.success else attempt(points, state, tol)
    times = parts.on(found.x)

    inside = _Inside(parts, chart, found.sol)
    stop = inside.position(np.array([span]))[0]
    total = float(found.y[-1, -1])
    if loss.timed and found.success:
        total = _summed(parts, found, laws, size, objective.gamma, objective.k * level)
    excess, growth, asymptote = math.nan, math.nan, stop.copy()
    if end is None:
        total += final_charge(objective, float(final.value(stop)))
    else:
        total += math.exp(-objective.gamma * span) * end.climb(stop)
        summed = loss.at(math.inf).summed(place)  # at least |level|
        scale = objective.k * (abs(float(loss.value(theta0))) + summed)
        total, excess = end.total(objective, total, level, span, scale)
        growth, asymptote = end.ending(theta0)
    return Trajectory(
        objective, loss, times, total, excess, asymptote, Collocation.name,
        *continued(end, span, stop, inside.position, inside.rate),
        end=span if end is None else math.inf,
        status=Status.CONVERGED if found.success else Status.COLLOCATION_STOPPED,
        detail="" if found.success else found.message, residual=float(np.max(found.rms_residuals)), is_minimum=None,
        growth=growth,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Inside:
    """What a collocation in s says of θ and θ̇ at times within the span."""

    parts: Stretches
    chart: Chart
    solution: Callable[[Array], Array]

    def position(self, t: Array) -> Array:
        return self._both(t)[0]

    def rate(self, t: Array) -> Array:
        return self._both(t)[1]

    def _both(self, t: Array) -> tuple[Array, Array]:
        dim = len(self.chart.start)
        both = self.parts.read(self.solution, lambda i: slice(2 * dim * i, 2 * dim * (i + 1)), t)
        return self.chart.outer(both[:, :dim], both[:, dim:])


class _Lost:
    """What scipy would return of a collocation that had to stop: Newton's method left the domain of the problem."""

    success, message, rms_residuals = False, "Newton's method left the domain of the problem.", (np.nan,)

    def __init__(self, s: Array, state: Array):
        self.x, self.y = s, state

    def sol(self, s: Array) -> Array:
        return np.array([np.interp(s, self.x, row) for row in self.y])


def _laws(parts: Stretches, given: Law) -> Callable[[int, Array], Equations]:
    """Return what gives the equations of stretch i at its times t, made anew only where another landscape holds."""
    last: list[tuple[Loss, Equations] | None] = [None] * parts.count

    def law(i: int, t: Array) -> Equations:
        still, known = parts.loss.at(t), last[i]
        if known is None or known[0] is not still:
            last[i] = known = still, given(still)
        return known[1]

    return law


def _summed(
    parts: Stretches, found: Any, laws: Callable[[int, Array], Equations], size: int, gamma: float, level: float
) -> float:
    """Return the discounted cost above ``level`` up to the span, by Gauss sums between the nodes.

    As one of the unknowns it would have their tolerance in each unit of time, and a path may be slow beside 1/γ.
    """
    total, nodes = 0.0, (1 + _GAUSS[0]) / 2
    for i, (begin, pace) in enumerate(zip(parts.begins, parts.paces, strict=True)):
        with np.errstate(under="ignore"):
            alive = gamma * (begin + pace * found.x[:-1]) < _FADED
        split = np.where(alive, np.ceil(2 * gamma * pace * np.diff(found.x)), 1).clip(1, 64).astype(int)
        length = np.repeat(np.diff(found.x) / split, split)
        place = np.arange(split.sum()) - np.repeat(np.cumsum(split) - split, split)
        s = ((np.repeat(found.x[:-1], split) + place * length)[:, None] + length[:, None] * nodes).ravel()
        t, y = parts.times(i, s), found.sol(s)[i * size : (i + 1) * size].T
        rate = laws(i, t).cost_rate(y[:, : size // 2], y[:, size // 2 :]) - level
        weights = (length[:, None] * (_GAUSS[1] / 2)).ravel() * pace
        total += float(np.sum(weights * np.exp(-gamma * t) * rate))
    return total


def _first_guess(
    chart: Chart, parts: Stretches, end: LocalValue | None, endpoint: Array | None, s: Array, guess: Guess | None
) -> tuple[Array, Array]:
    """Return on a mesh in s the guess that there is; else wait for the last switch, and then take the law's own path or
    a straight line; no cost.
    """
    theta0 = chart.start
    still = np.broadcast_to(theta0, (len(s), len(theta0)))
    states = [(still, 0 * still)] * (parts.count - 1)
    if guess is not None:
        states = [guess(parts.times(i, s)) for i in range(parts.count)]
    elif end is not None:
        path = end.follow(theta0, s)
        states.append((path, end.velocity(path)))
    else:
        goal = theta0 if endpoint is None else endpoint
        path = theta0 + np.outer(s / parts.unit, goal - theta0)
        states.append((path, np.broadcast_to((goal - theta0) / parts.unit, path.shape)))
    rows = [row.T for state in states for row in chart.inner(*state)]
    return s, np.vstack([*rows, 0 * s[None, :]])


def _finer(rough: Any, tol: float) -> tuple[Array, Array]:
    """Return the mesh that a rough solution asks for, and the solution on it.

    Residuals fall as the fourth power of the spacing; those of a rough mesh are up to 20 times too small for that law.
    """
    parts = np.ceil((24 * rough.rms_residuals / tol) ** 0.25).astype(int).clip(1, 64)
    first = np.repeat(np.cumsum(parts) - parts, parts)
    share = (np.arange(parts.sum()) - first) / np.repeat(parts, parts)
    t = np.append(np.repeat(rough.x[:-1], parts) + share * np.repeat(np.diff(rough.x), parts), rough.x[-1])
    return t, rough.sol(t)
