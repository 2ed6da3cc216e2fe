"""Optimal plans of mean and variance as boundary-value problems, also when the task switches.

The state is x = (μ, ℓ = ln v). Tasks that the learner knows beforehand are one problem with several phases: the state
and its momentum are continuous where the loss jumps. Tasks that come as a surprise are planned one after another, each
as if it lasted for ever: the state is continuous and the velocity jumps. Only the second is a causal rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.integrate
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem import losses
from lossnav.problem.weights.averages import Average, Quadratic, average, checked_switches
from lossnav.problem.weights.problem import Problem, check_problem
from lossnav.trajectory.result import resting_action
from lossnav.trajectory.weights import units
from lossnav.trajectory.weights.approach import approach
from lossnav.trajectory.weights.equations import log_motion
from lossnav.trajectory.weights.rests import Rest, rests, summed

_LIFETIMES = 12.0  # of the slowest mode, until a plan is handed over to the linear law
_MAX_NODES = 60_000
_FAR, _FAR_LOG = 1e5, 60.0  # beyond these a start is too far away for collocation


@dataclass(frozen=True, eq=False)
class Phase:
    """A stretch [start, end) of a plan: states (T, 2D) and velocities (T, 2D) at times given from its own start."""

    start: float
    end: float
    state: Callable[[Array], Array]
    rate: Callable[[Array], Array]


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """An optimal path of means and variances; all methods take times of shape (T,) and return shape (T, D).

    At a switch the values are those just after it.

    Attributes:
        problem: the assumptions.
        phases: stretches between switches.
        dim: D.
        action: J along the path that is really taken; ±inf at γ = 0, where resting is not free of charge.
        excess: J less the cost of resting at the end.
        rest: the state (μ*, v*) in which it ends, shape (2, D); NaN for a finite horizon.
        end: inf, or the deadline.
        converged: whether the collocation met its tolerance; ``reason`` says why not.
        residual: largest relative residual of the collocation.
    """

    problem: Problem
    phases: tuple[Phase, ...]
    dim: int
    action: float
    excess: float
    rest: Array
    end: float
    converged: bool
    reason: str
    residual: float

    def mean(self, t: ArrayLike) -> Array:
        """Return μ(t)."""
        return self._at(t, lambda phase, s: phase.state(s)[:, : self.dim])

    def log_variance(self, t: ArrayLike) -> Array:
        """Return ℓ(t) = ln v(t)."""
        return self._at(t, lambda phase, s: phase.state(s)[:, self.dim :])

    def variance(self, t: ArrayLike) -> Array:
        """Return v(t)."""
        return np.exp(self.log_variance(t))

    def mean_rate(self, t: ArrayLike) -> Array:
        """Return μ̇(t)."""
        return self._at(t, lambda phase, s: phase.rate(s)[:, : self.dim])

    def log_rate(self, t: ArrayLike) -> Array:
        """Return ℓ̇(t) = v̇/v."""
        return self._at(t, lambda phase, s: phase.rate(s)[:, self.dim :])

    def discount(self, t: ArrayLike) -> Array:
        """Return the effective discount rate γ + v̇/v of the mean's equation (Eq. 15)."""
        return self.problem.gamma + self.log_rate(t)

    def _at(self, t: ArrayLike, read: Callable[[Phase, Array], Array]) -> Array:
        times = np.atleast_1d(_checks.array("t", t))
        if times.ndim > 1 or np.any(times < 0) or np.any(times > self.end * (1 + 1e-12)):
            top = f"{self.end:g}]" if math.isfinite(self.end) else "inf)"
            raise ValueError(f"t = {_checks.shown(t)}, but it must be a number or a 1-D array of times in [0, {top}")
        result = np.empty((len(times), self.dim))
        for phase in self.phases:
            last = phase is self.phases[-1]
            inside = (times >= phase.start) & ((times < phase.end) | last)
            if np.any(inside):
                result[inside] = read(phase, times[inside] - phase.start)
        return result

    def __repr__(self) -> str:
        flag = "" if self.converged else f", converged=False ({self.reason})"
        place = np.array2string(self.rest, precision=6)
        return f"Plan(phases={len(self.phases)}, action={self.action:.9g}, rest={place}{flag})"


def plan(
    problem: Problem,
    loss: Average | losses.Loss,
    mean: ArrayLike,
    variance: ArrayLike,
    *,
    switches: Sequence[tuple[float, Average | losses.Loss]] = (),
    foreseen: bool = False,
    horizon: float = math.inf,
    throw: bool = True,
    tol: float = 1e-8,
) -> Plan:
    """Return the optimal path of the weight distribution; of several resting places, that of least J.

    Args:
        problem: the assumptions.
        loss: from ``lossnav.losses`` or an ``Average``, of D weights.
        mean: μ(0), shape (D,), unit u.
        variance: v(0) > 0, shape (D,), unit u².
        switches: (time, new loss), in order of time.
        foreseen: whether the learner knows the switches from the start. If not, it replans at each.
        horizon: a deadline with a free end; by default the plan is for ever and comes to rest.
        throw: raise ``NotConverged`` if collocation fails; else return what there is, ``converged`` False.
        tol: relative tolerance of the collocation.

    Returns:
        The plan.

    Raises:
        ValueError: naming the argument that does not fit.
        NoMinimiser: if horizon is inf and no plan comes to rest (no entropy, or nothing that bounds the variance), or
            if negative curvature leaves J without a lower bound.
        NotConverged: with the residual.

    Example:
        >>> import lossnav as ln
        >>> problem = Problem(gamma=0.5, entropy=0.8)
        >>> bowl = ln.losses.Quadratic([[2.0]], minimum=[0.0])
        >>> path = plan(problem, bowl, mean=[1.0], variance=[0.4])
        >>> float(path.variance(1.0)[0, 0].round(2)), float(path.rest[1, 0])  # a moving mean raises the variance
        (0.47, 0.4)

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 15, 16, 144–147.
    """
    check_problem(problem)
    moments, later = checked_switches(switches)
    tasks = [average(loss), *later]
    dim = tasks[0].dim
    if any(task.dim != dim for task in tasks):
        raise ValueError(f"switches: the losses have {[task.dim for task in tasks]} weights, but all must have {dim}")
    start = np.concatenate(
        [
            _checks.array("mean", mean, shape=(dim,)),
            np.log(_checks.positives("variance", _checks.array("variance", variance, shape=(dim,)))),
        ]
    )
    for name, value in (("foreseen", foreseen), ("throw", throw)):
        _checks.flag(name, value)
    _checks.finite("tol", tol, low=0.0, high=1.0, open_low=True)
    deadline = _checks.duration("horizon", horizon)
    if np.any(np.diff(moments) <= 0) or moments[-1] >= deadline:
        raise ValueError(f"switches happen at {moments[1:]}, but their times must increase and lie before {deadline:g}")
    for task in tasks:
        _require_bounded(problem, task)
    path = _foreseen if foreseen or len(tasks) == 1 else _surprised
    scales = units.natural(problem, tasks, start, deadline)
    if scales is None:
        found = path(problem, tasks, start, moments, deadline, tol)
    else:
        inner = scales.problem(problem), [scales.task(task) for task in tasks], scales.state(start)
        try:
            found = path(*inner, [when / scales.time for when in moments], deadline / scales.time, tol)
        except NoMinimiser as error:
            raise NoMinimiser(f"{error} {scales}") from None
        found = scales.restore(found, problem, tasks[-1])
    if throw and not found.converged:
        raise NotConverged(f"{found.reason} (residual {found.residual:.3g}); loosen tol = {tol:g}")
    return found


def _require_bounded(problem: Problem, task: Average) -> None:
    """Raise if J has no lower bound: Fisher distances grow like logarithms, and a parabola repays any of them."""
    if not isinstance(task, Quadratic):
        return
    lowest = float(np.linalg.eigvalsh(problem.k * task.hessian)[0]) + problem.pull
    if lowest < 0:
        raise NoMinimiser(
            f"the lowest eigenvalue of k·H + entropy/prior_variance is {lowest:.3g} < 0: J is unbounded below, for any "
            "horizon, since a distribution wide enough or far enough repays its cost; give a smaller prior_variance"
        )


def _foreseen(
    problem: Problem, tasks: list[Average], start: Array, moments: list[float], deadline: float, tol: float
) -> Plan:
    """Solve all phases as one problem, for each place in which the last may end, and keep the cheapest."""
    ends: list[Rest | None] = [None]
    if math.isinf(deadline):
        ends = list(rests(problem, tasks[-1], start))
        if problem.gamma == 0:  # J diverges unless the rests are equal: the lowest overtakes the others
            ends = ends[:1]
    found = [_collocate(problem, tasks, start, moments, deadline, end, tol) for end in ends]
    return min(found, key=lambda plan: (not plan.converged, plan.action, plan.excess))


def _surprised(
    problem: Problem, tasks: list[Average], start: Array, moments: list[float], deadline: float, tol: float
) -> Plan:
    """Plan each task as if it lasted for ever (or to the deadline), and drop the plan when the task switches."""
    phases: list[Phase] = []
    paid, good, reason, residual = 0.0, True, "", 0.0
    for task, begin, stop in zip(tasks, moments, [*moments[1:], math.inf], strict=True):
        piece = _foreseen(problem, [task], start, [0.0], deadline - begin, tol)
        only = piece.phases[0]
        phases.append(Phase(begin, min(stop, deadline), only.state, only.rate))
        good, reason = good and piece.converged, reason or piece.reason
        residual = max(residual, piece.residual)
        if math.isfinite(stop):
            faded = math.exp(-problem.gamma * begin)
            paid += faded * _spent(problem, task, only, stop - begin)
            start = only.state(np.array([stop - begin]))[0]
    faded = math.exp(-problem.gamma * moments[-1])
    action = paid + faded * piece.action
    excess = paid + faded * piece.excess
    if math.isinf(deadline) and moments[-1] > 0:  # resting at the end costs something before the last switch, too
        level = float(problem.potential(tasks[-1], *piece.rest))
        excess -= resting_action(level, problem.gamma, 0.0, moments[-1])
    return Plan(problem, tuple(phases), piece.dim, action, excess, piece.rest, deadline, good, reason, residual)


def _spent(problem: Problem, task: Average, phase: Phase, span: float) -> float:
    """Return the discounted cost of the first ``span`` of a phase, by Gauss–Legendre sums on 64 stretches."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = span * np.linspace(0.0, 1.0, 65) ** 2
    half = np.diff(edges)[:, None] / 2
    t = (edges[:-1, None] + half * (1 + nodes)).ravel()
    rate = _cost(problem, task, phase.state(t), phase.rate(t))
    return float(np.sum((half * weights).ravel() * np.exp(-problem.gamma * t) * rate))


def _cost(problem: Problem, task: Average, x: Array, velocity: Array) -> Array:
    """Return the undiscounted integrand in x = (μ, ℓ), shape (...)."""
    dim = task.dim
    v = np.exp(x[..., dim:])
    return np.asarray(problem._integrand(task, x[..., :dim], v, velocity[..., :dim], v * velocity[..., dim:]))


def _collocate(
    problem: Problem,
    tasks: list[Average],
    start: Array,
    moments: list[float],
    deadline: float,
    end: Rest | None,
    tol: float,
) -> Plan:
    """Solve the stacked boundary-value problem: all phases side by side, each on s ∈ [0, 1]."""
    dim, count, size = tasks[0].dim, len(tasks), 4 * tasks[0].dim
    _require_near(problem, start, deadline, end)
    last = deadline - moments[-1] if end is None else _LIFETIMES / end.slowest
    spans = [*np.diff(moments), last]
    level = 0.0 if end is None else end.potential

    def equations(s: Array, y: Array) -> Array:
        rows, cost = [], np.zeros(y.shape[1])
        for i, (task, span, begin) in enumerate(zip(tasks, spans, moments, strict=True)):
            x, velocity = (part.T for part in np.split(y[i * size : (i + 1) * size], 2))
            move = log_motion(problem, task, x[:, :dim], x[:, dim:], velocity[:, :dim], velocity[:, dim:])
            rows += [span * velocity.T, span * np.concatenate(move, axis=1).T]
            faded = np.exp(-problem.gamma * (begin + span * s))
            cost += span * faded * (_cost(problem, task, x, velocity) - level)
        return np.vstack([*rows, cost[None, :]])

    def boundary(begin: Array, left: Array, right: Array) -> Array:
        joints = [right[i * size : (i + 1) * size] - left[(i + 1) * size : (i + 2) * size] for i in range(count - 1)]
        x, velocity = np.split(right[(count - 1) * size : count * size], 2)
        final = velocity if end is None else velocity - end.velocity(x)
        return np.concatenate([left[: size // 2] - begin, *joints, final, left[-1:]])

    def attempt(begin: Array, mesh: Array, guess: Array, tol: float, nodes: int) -> Any:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return scipy.integrate.solve_bvp(equations, partial(boundary, begin), mesh, guess, tol=tol, max_nodes=nodes)

    u = np.linspace(0.0, 1.0, 161)
    s = u**2 if count == 1 else np.sin(np.pi / 2 * u) ** 2  # finer where a plan is fast: after and around switches
    found = approach(attempt, count, start, last, end, s, tol, _MAX_NODES)
    phases = tuple(
        _phase(found.sol, i * size, size, span, begin, end if i == count - 1 else None)
        for i, (span, begin) in enumerate(zip(spans, moments, strict=True))
    )
    excess = float(found.y[-1, -1])
    if end is None:
        action, excess, rest = excess, math.nan, np.full((2, dim), math.nan)
    else:
        rest = np.stack([end.place[:dim], np.exp(end.place[dim:])])
        action = excess + resting_action(level, problem.gamma, summed(problem, tasks[-1], *rest))
    return Plan(
        problem,
        phases,
        dim,
        action,
        excess,
        rest,
        deadline,
        bool(found.success),
        "" if found.success else found.message,
        float(np.max(found.rms_residuals)),
    )


def _require_near(problem: Problem, start: Array, deadline: float, end: Rest | None) -> None:
    """Raise NotConverged where collocation has no chance, instead of letting it try for minutes."""
    if end is None:
        if problem.gamma * deadline > _FAR:
            away = problem.gamma * deadline
            raise NotConverged(f"the deadline {deadline:g} is {away:.3g}/gamma away; use horizon=inf")
        return
    dim = len(start) // 2
    wide = np.max([start[dim:], end.place[dim:]], axis=0)
    away = float(np.max(np.abs(start[:dim] - end.place[:dim]) * np.exp(-wide / 2)))
    apart = float(np.max(np.abs(start[dim:] - end.place[dim:])))
    if away > _FAR or apart > _FAR_LOG:
        raise NotConverged(
            f"the plan starts too far from where it rests: {away:.3g} standard deviations in the mean (at most "
            f"{_FAR:g}), a factor e^{apart:.3g} in a variance (at most e^{_FAR_LOG:g})"
        )
    if problem.gamma > _FAR * end.slowest:
        raise NotConverged(
            f"gamma = {problem.gamma:.3g}, but the rate of return is {end.slowest:.3g}: beyond a ratio of {_FAR:g} use "
            "overdamped_path"
        )


def _phase(
    solution: Callable[[Array], Array], first: int, size: int, span: float, begin: float, end: Rest | None
) -> Phase:
    """Return one stretch of the solution; the last of a plan without a deadline goes on with the linear law."""
    half = size // 2

    def state(t: Array) -> Array:
        inside = solution(np.minimum(t / span, 1.0))[first : first + half].T
        if end is None or not np.any(t > span):
            return inside
        final = solution(np.array([1.0]))[first : first + half, 0]
        return np.where((t > span)[:, None], end.follow(final, np.maximum(t - span, 0.0)), inside)

    def rate(t: Array) -> Array:
        inside = solution(np.minimum(t / span, 1.0))[first + half : first + size].T
        if end is None or not np.any(t > span):
            return inside
        return np.where((t > span)[:, None], end.velocity(state(t)), inside)

    return Phase(begin, begin + span if end is None else math.inf, state, rate)
