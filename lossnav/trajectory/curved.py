r"""Optimal paths under a metric that depends on θ: the Euler–Lagrange equations with their connection terms, Eq. 90.

.. math:: \ddot\theta^i + \Gamma^i_{jk}\dot\theta^j\dot\theta^k - \gamma\dot\theta^i = \eta k\,G^{ij}\partial_jL

They are those that ``lossnav.euler_lagrange`` derives from the Lagrangian, in numbers (``connection``), and are
solved by scipy's collocation. Near a resting place velocities are small and the connection terms, quadratic in them,
vanish: there the metric may be frozen, and the constant-metric theory gives the boundary condition at infinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import approach, riccati, stationary, variation
from lossnav.trajectory.approach import Search
from lossnav.trajectory.boundary_value import Equations, Motion
from lossnav.trajectory.candidates import cheapest
from lossnav.trajectory.case import TIMED, Case, checked
from lossnav.trajectory.connection import Terms
from lossnav.trajectory.result import Method, Trajectory
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
    case = checked(objective, loss, theta0, horizon, endpoint, timed=False)
    if endpoint is None and horizon is not None:
        raise ValueError(f"horizon = {horizon:g} is given, but endpoint is not; set objective.horizon for a free end")
    if declined := Curved().accepts(case):
        raise ValueError(f"objective.drift is set, but this {declined}")
    if motion is not None:
        _checks.function("motion", motion)
    _checks.flag("throw", throw)
    _checks.finite("tol", tol, high=1.0, low=0.0, open_low=True)
    best = _best(case, tol, motion)
    if throw and not best.converged:
        raise NotConverged(
            f"{best.reason} (residual {best.residual:.3g}); start nearer to the end, or loosen tol = {tol:g}"
        )
    return best


class Curved:
    """This module as a solver: of the ``settings`` it takes the tolerance."""

    name: Method = "curved"

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

    def paths() -> Iterator[Trajectory]:
        if not case.rests:
            yield extremal(case.deadline, None)
            return
        height = float(loss.value(theta))
        for end in ends(objective, loss, theta):
            # |θ̇|²_G/2 − ηkL only grows along an extremal without drift: none comes to rest above its start.
            if float(loss.value(end.fixed)) > height + 1e-9 * abs(height):
                continue
            yield extremal(case.span or _LIFETIMES / -end.growth, end)

    return cheapest(case, paths(), Curved.name)


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
