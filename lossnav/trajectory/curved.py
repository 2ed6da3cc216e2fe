r"""Optimal paths under a metric that depends on θ: the Euler–Lagrange equations with their connection terms, Eq. 90.

.. math:: \ddot\theta^i + \Gamma^i_{jk}\dot\theta^j\dot\theta^k - \gamma\dot\theta^i = \eta k\,G^{ij}\partial_jL

They are those that ``lossnav.euler_lagrange`` derives from the Lagrangian, in numbers (``connection``), and are
solved by scipy's collocation. Near a resting place velocities are small and the connection terms, quadratic in them,
vanish: there the metric may be frozen, and the constant-metric theory gives the boundary condition at infinity.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.drifts import Linear
from lossnav.problem.functions import budget
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective, check_problem
from lossnav.trajectory import approach, riccati, stationary, variation
from lossnav.trajectory.approach import Search
from lossnav.trajectory.boundary_value import Equations, Motion
from lossnav.trajectory.case import TIMED, Case
from lossnav.trajectory.connection import Terms
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.stretches import stretches

if TYPE_CHECKING:
    from lossnav.trajectory.refinement import Settings

__all__ = ["solve"]

_FINEST = 1e-12  # what collocation can reach
_LIFETIMES = 12.0  # of the slowest mode, until the path is handed over to the frozen metric


def solve(
    objective: Objective,
    loss: Loss,
    theta0: ArrayLike,
    *,
    horizon: float | None = None,
    endpoint: ArrayLike | None = None,
    motion: Motion | None = None,
    throw: bool = True,
    tol: float = 1e-8,
) -> Trajectory:
    r"""Return the extremal of J from ``theta0`` under G(θ); of several, the cheapest.

    Args:
        objective: η, k, γ and a metric that may be a function of θ. A finite ``objective.horizon`` is a deadline with a
            free end. A drift needs that, or an endpoint.
        loss: the landscape, of D parameters.
        theta0: start, shape (D,).
        horizon: with ``endpoint``, the time T at which θ(T) = endpoint.
        endpoint: fixes the end, shape (D,).
        motion: maps θ and θ̇, shape (N, D) each, to θ̈, in place of the Euler–Lagrange equations: what a path looks
            like that leaves a term out. Its J is still the objective's.
        throw: raise ``NotConverged`` if collocation fails; else return what it has, ``converged`` False.
        tol: relative tolerance of the collocation.

    Returns:
        The trajectory; ``is_minimum`` says whether the second variation on its mesh is positive, and is None for a
        ``motion`` of one's own.

    Raises:
        ValueError: naming the argument that does not fit.
        NoMinimiser: if the loss has no stationary point in which an optimal path can end.
        NotConverged: with the residual.

    Example:
        >>> import lossnav as ln
        >>> half_plane = ln.Objective(metric=lambda x: [[1 / x[1] ** 2, 0], [0, 1 / x[1] ** 2]])
        >>> flat = ln.losses.Function(lambda x: 0 * x.sum(-1), dim=2)
        >>> path = solve(half_plane, flat, [-1.0, 1.0], horizon=1.0, endpoint=[1.0, 1.0])
        >>> bool(abs(path(0.5)[1] - 2**0.5) < 1e-6)  # without a loss: a geodesic, here a circle about the origin
        True

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 8, 88–91.
    """
    check_problem(objective, loss, dim=False)
    if motion is not None:
        _checks.function("motion", motion)
    _checks.flag("throw", throw)
    _checks.finite("tol", tol, high=1.0, low=0.0, open_low=True)
    best = _best(_case(objective, loss, theta0, horizon, endpoint), tol, motion)
    if throw and not best.converged:
        raise NotConverged(
            f"{best.reason} (residual {best.residual:.3g}); start nearer to the end, or loosen tol = {tol:g}"
        )
    return best


class Curved:
    """This module as a solver: of the ``settings`` it takes the tolerance."""

    name = "curved"

    def accepts(self, case: Case) -> str:
        """Return why not: a drift without a deadline, a loss that depends on time."""
        if case.loss.timed:
            return TIMED
        if case.rests and case.objective.drift is not None:
            return "needs drift = None where a path comes to rest, or a finite objective.horizon, or an endpoint"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the cheapest extremal found."""
        return _best(case, max(settings.rtol, _FINEST), None)


def _best(case: Case, tol: float, motion: Motion | None) -> Trajectory:
    objective, loss, theta = case.objective, case.loss, case.theta0
    terms = Terms(objective, loss)
    tangent = terms.tangent if motion is None and objective.drift is None else None
    given = Equations(motion or terms.acceleration, terms.cost_rate, tangent)

    def extremal(span: float, end: riccati.LocalValue | None) -> Trajectory:
        search = Search(objective, loss, theta, span, end, case.endpoint, tol, lambda _: given, case.span is not None)
        guesses = [None, *([] if end is None else [approach.straight(objective.metric_on(loss.dim), theta, end, 0.0)])]
        path = replace(search.path(guess for guess in dict.fromkeys(guesses)), method=Curved.name)
        if not path.converged or motion is not None or not isinstance(objective.drift, Linear | None):
            return path
        tail = None if end is None else end.matrix
        sure = variation.definite(path, stretches(loss, float(path.times[-1])), tail, case.endpoint is not None)
        return replace(path, is_minimum=sure)

    if not case.rests:
        span = objective.horizon if case.endpoint is None else case.span
        assert span is not None  # a fixed end has its time
        return extremal(span, None)
    found: list[Trajectory] = []
    try:
        for end in ends(objective, loss, theta):
            found.append(extremal(case.span or _LIFETIMES / -end.growth, end))
    except budget.OutOfBudget:
        if not found:
            raise
    found.sort(key=lambda path: (not path.converged, path.is_minimum is False, path.action, path.excess))
    best = found[0] if not budget.spent() else replace(found[0], converged=False, reason=budget.spent())
    return replace(best, others=(best, *found[1:]))


def _case(
    objective: Objective, loss: Loss, theta0: ArrayLike, horizon: float | None, endpoint: ArrayLike | None
) -> Case:
    """Return the checked problem."""
    objective.check_dim(loss.dim)
    theta = _checks.array("theta0", theta0, shape=(loss.dim,))
    objective.metric_at(theta)
    stop, span = None, None
    if endpoint is None:
        if horizon is not None:
            raise ValueError(
                f"horizon = {horizon:g} is given, but endpoint is not; set objective.horizon for a free end"
            )
    else:
        if horizon is None:
            raise ValueError("endpoint is given, but horizon is not: the time at which it is reached must be fixed too")
        stop = _checks.array("endpoint", endpoint, shape=(loss.dim,))
        objective.metric_at(stop)
        span = _checks.positive("horizon", horizon)
    case = Case(objective, loss, theta, stop, span)
    declined = Curved().accepts(case)
    if declined:
        raise ValueError(f"objective.drift is set, but this {declined}")
    return case


def ends(objective: Objective, loss: Loss, theta: Array) -> list[riccati.LocalValue]:
    """Return the value function near each place where an optimal path can rest, with the metric frozen there."""
    models = []
    for point in stationary.points(replace(objective, metric=None), loss, theta):
        try:
            frozen = replace(objective, metric=objective.metric_at(point))
            models.append(riccati.local_value(frozen, loss, point))
        except (NoMinimiser, ValueError):
            continue  # a saddle too sharp for this γ, or a point outside the metric's domain
    found = [model for model in models if model.growth < 0 and np.all(np.isfinite(model.fixed))]
    if objective.gamma == 0 and found:
        lowest = min(end.rest for end in found)
        found = [end for end in found if end.rest <= lowest + 1e-9 * (1 + abs(lowest))]
    if not found:
        raise NoMinimiser(
            "no minimiser was found: the loss has no stationary point near theta0 in which a path could end; "
            "set objective.horizon, or horizon and endpoint"
        )
    return found
