"""Optimal plans of mean and variance, also when the task switches: ``lossnav.solve`` in the coordinates (μ, ℓ = ln v).

Tasks that the learner knows beforehand are one problem with several phases: the state and its momentum are continuous
where the loss jumps. Tasks that come as a surprise are planned one after another, each as if it lasted for ever: the
state is continuous and the velocity jumps. Only the second is a causal rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem import losses
from lossnav.problem.objective import Objective
from lossnav.problem.task import Phases
from lossnav.problem.weights.averages import Average, Quadratic, average, checked_switches
from lossnav.problem.weights.potential import Potential
from lossnav.problem.weights.problem import Problem, check_problem
from lossnav.trajectory.result import Trajectory, resting_action
from lossnav.trajectory.solve import solve

_FAR, _FAR_LOG = 1e5, 60.0  # beyond these Newton's method does not find its way


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Trajectory):
    """An optimal path of means and variances; its methods take times of shape (T,) and return shape (T, D).

    It is a ``Trajectory`` in θ = (μ, ln v). At a switch the values are those just after it. J is that of the path which
    is really taken; of a myopic learner ``is_minimum`` is None, for who foresees does better.

    Attributes:
        problem: the assumptions.
    """

    problem: Problem = field(kw_only=True)

    @property
    def dim(self) -> int:
        """D, the number of weights."""
        return self.loss.dim // 2

    @property
    def rest(self) -> Array:
        """The state (μ*, v*) in which the plan ends, shape (2, D); NaN with a deadline."""
        mean, ell = np.split(self.asymptote, 2)
        return np.stack([mean, np.exp(ell)]) * (1.0 if math.isinf(self.end) else math.nan)

    def mean(self, t: ArrayLike) -> Array:
        """Return μ(t)."""
        return self._half(self, t, 0)

    def log_variance(self, t: ArrayLike) -> Array:
        """Return ℓ(t) = ln v(t)."""
        return self._half(self, t, 1)

    def variance(self, t: ArrayLike) -> Array:
        """Return v(t)."""
        return np.exp(self.log_variance(t))

    def mean_rate(self, t: ArrayLike) -> Array:
        """Return μ̇(t)."""
        return self._half(self.velocity, t, 0)

    def log_rate(self, t: ArrayLike) -> Array:
        """Return ℓ̇(t) = v̇/v."""
        return self._half(self.velocity, t, 1)

    def discount(self, t: ArrayLike) -> Array:
        """Return the effective discount rate γ + v̇/v of the mean's equation (Eq. 15)."""
        return self.problem.gamma + self.log_rate(t)

    def _half(self, read: Callable[[ArrayLike], Array], t: ArrayLike, which: int) -> Array:
        return np.split(np.atleast_2d(read(t)), 2, axis=1)[which]


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
        NoMinimiser: if γ = 0, horizon is inf and no plan comes to rest (no entropy, or nothing that bounds the
            variance), or if negative curvature leaves J without a lower bound.
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
    first, deadline = average(loss), _checks.duration("horizon", horizon)
    dim = first.dim
    moments, later = checked_switches(switches, dim, deadline)
    tasks = [first, *later]
    centre, spread = _checks.array("mean", mean, shape=(dim,)), _checks.positives("variance", variance, shape=(dim,))
    start = np.concatenate([centre, np.log(spread)])
    for name, value in (("foreseen", foreseen), ("throw", throw)):
        _checks.flag(name, value)
    _checks.finite("tol", tol, low=0.0, high=1.0, open_low=True)
    for task in tasks:
        _require_bounded(problem, task)
    stays = [problem.loss(task) for task in tasks]
    if foreseen or len(stays) == 1:
        path = _solve(problem.objective(dim, deadline), stays, moments, start, tol)
    else:
        path = _myopic(problem, stays, moments, start, deadline, tol)
    planned = Plan(**{member.name: getattr(path, member.name) for member in fields(Trajectory)}, problem=problem)
    if throw and not planned.converged:
        raise NotConverged(f"{planned.reason} (residual {planned.residual:.3g}); loosen tol = {tol:g}")
    return planned


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


def _solve(
    objective: Objective, stays: Sequence[Potential], moments: Sequence[float], start: Array, tol: float
) -> Trajectory:
    """Return the path of ``lossnav.solve``, all phases as one problem."""
    if math.isinf(objective.horizon):
        _require_near(stays[-1], start)
    task = stays[0] if len(stays) == 1 else Phases(list(zip(moments, stays, strict=True)))
    try:
        return solve(objective, task, start, rtol=tol, throw=False)
    except NoMinimiser as error:
        raise NoMinimiser(
            f"{error}: no plan comes to rest, for without entropy a variance shrinks, and on flat ground it grows for "
            "ever; set entropy, a finite prior_variance, or a finite horizon"
        ) from None


def _require_near(stay: Potential, start: Array) -> None:
    """Raise NotConverged where Newton's method has no chance, instead of letting it try for a minute."""
    for place in [] if (known := stay.stationary_points()) is None else known:
        (mean, ell), (goal, rest) = np.split(start, 2), np.split(place, 2)
        away = float(np.max(np.abs(mean - goal) * np.exp(-np.maximum(ell, rest) / 2)))
        apart = float(np.max(np.abs(ell - rest)))
        if away > _FAR or apart > _FAR_LOG:
            raise NotConverged(
                f"the plan starts too far from where it rests: {away:.3g} standard deviations in the mean (at most "
                f"{_FAR:g}), a factor e^{apart:.3g} in a variance (at most e^{_FAR_LOG:g})"
            )


def _myopic(
    problem: Problem, stays: list[Potential], moments: list[float], start: Array, deadline: float, tol: float
) -> Trajectory:
    """Plan each task as if it lasted for ever (or to the deadline), and drop the plan when the task switches."""
    dim, pieces, paid, state = len(start) // 2, [], 0.0, start
    for stay, begin, stop in zip(stays, moments, [*moments[1:], math.inf], strict=True):
        pieces.append(_solve(problem.objective(dim, deadline - begin), [stay], [0.0], state, tol))
        if math.isfinite(stop):
            paid += math.exp(-problem.gamma * begin) * _spent(pieces[-1], stop - begin)
            state = pieces[-1](stop - begin)
    # J is what was paid up to each switch, and the whole of the last plan, seen from the start.
    last, faded = pieces[-1], math.exp(-problem.gamma * moments[-1])
    excess = paid + faded * last.excess
    if math.isinf(deadline):  # resting at the end costs something before the last switch, too
        level = problem.k * float(stays[-1].value(last.asymptote))
        excess -= resting_action(level, problem.gamma, 0.0, moments[-1])
    worst = next((piece for piece in pieces if not piece.converged), last)
    meshes = [piece.times[piece.times < stop - begin] + begin
              for piece, begin, stop in zip(pieces, moments, [*moments[1:], math.inf], strict=True)]  # fmt: skip
    return replace(
        last,
        objective=problem.objective(dim, deadline),
        loss=Phases(list(zip(moments, stays, strict=True))),
        times=np.concatenate(meshes),
        action=paid + faded * last.action,
        excess=excess,
        position=partial(_joined, [piece.position for piece in pieces], moments),
        rate=partial(_joined, [piece.rate for piece in pieces], moments),
        end=deadline,
        status=worst.status,
        detail=worst.detail,
        residual=max(piece.residual for piece in pieces),
        is_minimum=None,
        others=(),
    )


def _joined(pieces: Sequence[Callable[[Array], Array]], moments: Sequence[float], t: Array) -> Array:
    """Return what each of some paths says of the times from its moment to the next one's, shape (T, 2D)."""
    which = np.searchsorted(moments[1:], t, side="right")
    parts = [piece(t[which == i] - moments[i]) for i, piece in enumerate(pieces)]
    return np.concatenate(parts)[np.argsort(np.argsort(which, kind="stable"))]


def _spent(piece: Trajectory, span: float) -> float:
    """Return the discounted cost of the first ``span`` of a path, by Gauss–Legendre sums on 64 stretches."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = span * np.linspace(0.0, 1.0, 65) ** 2
    half = np.diff(edges)[:, None] / 2
    t = (edges[:-1, None] + half * (1 + nodes)).ravel()
    rate = piece.kinetic(t) + piece.potential(t)
    return float((half * weights).ravel() @ (np.exp(-piece.objective.gamma * t) * rate))
