r"""Optimal paths under a metric that depends on θ: the Euler–Lagrange equations with their connection terms, Eq. 90.

.. math:: \ddot\theta^i + \Gamma^i_{jk}\dot\theta^j\dot\theta^k - \gamma\dot\theta^i = \eta k\,G^{ij}\partial_jL

Paths minimise the one transcription of J, with G at the middles of its intervals, on a mesh that follows them.
"""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import action, boundary_value, riccati, stationary
from lossnav.trajectory.boundary_value import Motion
from lossnav.trajectory.case import TIMED, Case, checked
from lossnav.trajectory.refinement import Settings
from lossnav.trajectory.result import Method, Trajectory

__all__ = ["solve"]

_FINEST = 1e-12  # what rounding leaves of a path


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
            like that leaves a term out, by scipy's collocation. Its J is still the objective's.
        throw: raise ``NotConverged`` if Newton's method fails; else return what it has, ``converged`` False.
        tol: relative tolerance of J and path.

    Returns:
        The trajectory; ``is_minimum`` says whether the second variation on its mesh is positive, and is None for a
        ``motion`` of one's own, which minimises nothing.

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
    best = Curved().solve(case, Settings(rtol=tol))
    if motion is not None:
        best = _moving(case, best, motion, tol)
    if throw and not best.converged:
        raise NotConverged(
            f"{best.reason} (residual {best.residual:.3g}); start nearer to the end, or loosen tol = {tol:g}"
        )
    return best


class Curved:
    """Newton's method as in ``Action``; of the ``settings`` it takes the tolerance."""

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
        accuracy = Settings(rtol=max(settings.rtol, _FINEST))
        return action.named(self.name, action.solve(case, accuracy))


def _moving(case: Case, path: Trajectory, motion: Motion, tol: float) -> Trajectory:
    """Return what other equations of motion make of the extremal, between the same ends."""
    objective, loss = case.objective, case.loss
    end = None
    if case.rests:
        end = riccati.local_value(stationary.frozen(objective, path.asymptote), loss, path.asymptote)

    def guess(t: Array) -> tuple[Array, Array]:
        return path.position(t), path.rate(t)

    found = boundary_value.collocate(
        objective, loss, case.theta0, float(path.times[-1]), end, case.endpoint, tol, motion, guess, path.times
    )
    return replace(found, method=Curved.name)
