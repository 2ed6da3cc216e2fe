r"""Optimal paths under a metric that depends on θ: the Euler–Lagrange equations with their connection terms, Eq. 90.

.. math:: \ddot\theta^i + \Gamma^i_{jk}\dot\theta^j\dot\theta^k - \gamma\dot\theta^i = \eta k\,G^{ij}\partial_jL

Paths minimise the one transcription of J, with G at the middles of its intervals, on a mesh that follows them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NotConverged
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory import boundary_value, riccati, stationary
from lossnav.trajectory.boundary_value import Motion
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve as solve_any

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
    r"""Return the extremal of J from ``theta0`` under G(θ); of several, the cheapest.

    Args:
        objective, loss, theta0, endpoint, throw: as in ``lossnav.solve``; a drift needs a deadline, or an endpoint.
        horizon: with ``endpoint``, the time T at which θ(T) = endpoint.
        motion: maps θ and θ̇, shape (N, D) each, to θ̈, in place of the Euler–Lagrange equations: what a path looks
            like that leaves a term out, by scipy's collocation. Its J is still the objective's.
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
    if endpoint is None and horizon is not None:
        raise ValueError(f"horizon = {horizon:g} is given, but endpoint is not; set objective.horizon for a free end")
    if motion is not None:
        _checks.function("motion", motion)
    _checks.finite("tol", tol, high=1.0, low=0.0, open_low=True)
    options: Any = {"method": "curved", "horizon": horizon, "endpoint": endpoint, "rtol": tol}
    if motion is None:
        return solve_any(objective, loss, theta0, throw=throw, **options)
    path = solve_any(objective, loss, theta0, throw=False, **options)
    moved = _moving(path, None if endpoint is None else np.asarray(endpoint), motion, tol)
    if throw and not moved.converged:
        raise NotConverged(f"{moved.reason} (residual {moved.residual:.3g}); start nearer to the end, or loosen tol")
    return moved


def _moving(path: Trajectory, endpoint: Array | None, motion: Motion, tol: float) -> Trajectory:
    """Return what other equations of motion make of the extremal, between the same ends."""
    objective, loss, begin = path.objective, path.loss, path(0.0)
    end = None
    if math.isinf(path.end):
        end = riccati.local_value(stationary.frozen(objective, path.asymptote), loss, path.asymptote)

    span = float(path.times[-1])
    trajectory = boundary_value.collocate(objective, loss, begin, span, end, endpoint, tol, motion, path)
    return replace(trajectory, method=path.method)
