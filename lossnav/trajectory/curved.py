r"""Paths under a metric that depends on θ, and what they would be if their equations were others, Eq. 90.

.. math:: \ddot\theta^i + \Gamma^i_{jk}\dot\theta^j\dot\theta^k - \gamma\dot\theta^i = \eta k\,G^{ij}\partial_jL
"""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import boundary_value, riccati, stationary
from lossnav.trajectory.boundary_value import Motion
from lossnav.trajectory.case import checked
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve as solved

__all__ = ["solve"]


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
    r"""Return what ``lossnav.solve`` does with ``method="curved"``, or a path of other equations between its ends.

    Args:
        objective, loss, theta0, horizon, endpoint, throw: as for ``lossnav.solve``.
        motion: maps θ and θ̇, shape (N, D) each, to θ̈, in place of the Euler–Lagrange equations: what a path looks
            like that leaves a term out, by scipy's collocation. Its J is still the objective's, and ``is_minimum`` is
            None: it minimises nothing.
        tol: relative tolerance of J and path, in (0, 1].

    Raises:
        ValueError, NoMinimiser, NotConverged: as ``lossnav.solve``.

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
    _checks.finite("tol", tol, high=1.0, low=0.0, open_low=True)
    if endpoint is None and horizon is not None:
        raise ValueError(f"horizon = {horizon:g} is given, but endpoint is not; set objective.horizon for a free end")
    if motion is not None:
        _checks.function("motion", motion)
    path = solved(objective, loss, theta0, method="curved", horizon=horizon, endpoint=endpoint, throw=throw, rtol=tol)
    if motion is None:
        return path
    case, end = checked(objective, loss, theta0, horizon, endpoint), None
    if case.rests:
        end = riccati.local_value(stationary.frozen(objective, path.asymptote), case.loss, path.asymptote)

    def guess(t: Array) -> tuple[Array, Array]:
        return path(t), path.velocity(t)

    found = boundary_value.collocate(
        objective, case.loss, case.theta0, float(path.times[-1]), end, case.endpoint, tol, motion, guess, path.times
    )
    if throw and not found.converged:
        raise NotConverged(f"{found.reason} (residual {found.residual:.3g}); start nearer to the end, or loosen tol")
    return replace(found, method="curved")
