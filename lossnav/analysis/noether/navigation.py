r"""Noether's theorem for the navigation objective (ours; the paper's Discussion asks for it).

With u = θ̇ − f the momentum of the objective's integrand is e^{−γt}Gu/η, and the charge of a vector field ξ is
Q = e^{−γt}uᵀGξ/η. Along every extremal

.. math:: \dot Q = e^{-\gamma t}\Big\{\tfrac1{2\eta}(\mathcal L_\xi G)(u,u) - \tfrac1\eta u^\top G[\xi,f]
    + k\,\xi\cdot\nabla L\Big\},\qquad [\xi,f] = Df\,\xi - D\xi\,f .

Q is conserved if the loss is invariant under ξ, ξ is a Killing field of the metric, and the drift is equivariant. On
a *minimiser* with a free end it is then zero: the value is invariant, and Q = −e^{−γt} ξ·∇V.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.drifts import Drift
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective, check_problem
from lossnav.trajectory.result import Trajectory

_FIELD = "a vector field: a symmetry of ln.noether, or a drift such as ln.drifts.rotation(1.0)"


@dataclass(frozen=True, eq=False)
class Breaking:
    """What moves the charge of a vector field, and what would have to vanish for it to be conserved.

    Attributes:
        metric: (𝓛_ξG)(u,u)/2η, shape (T,): ξ is no Killing field.
        drift: −uᵀG[ξ,f]/η, shape (T,): the drift is not equivariant.
        loss: kξ·∇L, shape (T,): the loss is not invariant.
        total: their sum, which is e^{γt}dQ/dt.
    """

    metric: Array
    drift: Array
    loss: Array

    @property
    def total(self) -> Array:
        """Return the sum of the three."""
        return self.metric + self.drift + self.loss


def navigation_charge(path: Trajectory, field: Drift, t: ArrayLike) -> Any:
    """Return Q = e^{−γt}uᵀGξ/η along a path, u = θ̇ − f.

    Args:
        path: an optimal path, from ``ln.solve``.
        field: ξ, a symmetry of ``ln.noether`` or any drift.
        t: times, one number or an array (T,).

    Returns:
        Q, shape (T,), or one number.

    Raises:
        ValueError: an argument is of no such kind, the field has another number of parameters, or the path paid another
            price than |θ̇ − f|²/2η, under which the charge is not this.
    """
    points, slip = _along(path, field, t)
    objective = path.objective
    charge = np.einsum("ti,tij,tj->t", slip, objective.metric_on(points.shape[1]).matrix(points), field(points))
    charge = np.exp(-objective.gamma * np.atleast_1d(np.asarray(t, dtype=float))) * charge / objective.eta
    return float(charge[0]) if np.ndim(t) == 0 else charge


def navigation_breaking(path: Trajectory, field: Drift, t: ArrayLike) -> Breaking:
    """Return what changes the charge of a vector field along a path, undiscounted: dQ/dt = e^{−γt}·total.

    Args:
        path: an optimal path, from ``ln.solve``.
        field: ξ, a symmetry of ``ln.noether`` or any drift.
        t: times, one number or an array (T,).

    Returns:
        The parts of the metric, the drift and the loss, each (T,); of a task at a switch, with what comes after it.

    Raises:
        ValueError: as ``navigation_charge``.
    """
    points, slip = _along(path, field, t)
    objective = path.objective
    metric = objective.metric_on(points.shape[1]).matrix(points)
    metric_part = np.einsum("ti,tij,tj->t", slip, _lie(objective, field, points), slip) / (2 * objective.eta)
    drift_part = -np.einsum("ti,tij,tj->t", slip, metric, _bracket(objective, field, points)) / objective.eta
    loss = path.loss.at(np.atleast_1d(np.asarray(t, dtype=float)))
    return Breaking(metric_part, drift_part, objective.k * _climb(loss, field, points))


def defects(objective: Objective, loss: Loss, field: Drift, theta: ArrayLike) -> dict[str, float]:
    """Return by how much the three hypotheses of the theorem fail at some points: all 0 for a symmetry.

    Args:
        objective: with its metric and drift.
        loss: the landscape.
        field: ξ, a symmetry of ``ln.noether`` or any drift.
        theta: points, shape (N, D) or (D,).

    Returns:
        "loss": the largest |ξ·∇L|; "metric": the largest entry of 𝓛_ξG; "drift": the largest entry of [ξ, f].

    Raises:
        ValueError: an argument is of no such kind, or sizes differ.
    """
    check_problem(objective, loss)
    _check_field(field, loss.dim)
    points = _checks.array("theta", np.atleast_2d(_checks.array("theta", theta)), shape=(None, loss.dim))
    _checks.at_least_one("theta", points)
    return {
        "loss": float(np.max(np.abs(_climb(loss, field, points)))),
        "metric": float(np.max(np.abs(_lie(objective, field, points)))),
        "drift": float(np.max(np.abs(_bracket(objective, field, points)))),
    }


def _climb(loss: Loss, field: Drift, points: Array) -> Array:
    """Return ξ·∇L, shape (T,)."""
    return np.einsum("ti,ti->t", field(points), loss.gradient(points))


def _lie(objective: Objective, field: Drift, points: Array) -> Array:
    """Return 𝓛_ξG, shape (T, D, D): ξ^k ∂_kG_ij + G_kj ∂_iξ^k + G_ik ∂_jξ^k."""
    metric = objective.metric_on(points.shape[1])
    stretched = metric.matrix(points) @ field.jacobian(points)
    moved = np.einsum("tijk,tk->tij", metric.derivative(points), field(points))
    return moved + stretched + np.swapaxes(stretched, -1, -2)


def _bracket(objective: Objective, field: Drift, points: Array) -> Array:
    """Return [ξ, f] = Df ξ − Dξ f, shape (T, D)."""
    drift = objective.drift
    if drift is None:
        return np.zeros_like(points)
    carried = np.einsum("tij,tj->ti", drift.jacobian(points), field(points))
    return carried - np.einsum("tij,tj->ti", field.jacobian(points), drift(points))


def _along(path: Trajectory, field: Drift, t: ArrayLike) -> tuple[Array, Array]:
    """Return θ and u = θ̇ − f along a path, each (T, D)."""
    _checks.instance("path", path, Trajectory, "a Trajectory, which ln.solve returns")
    check_problem(path.objective, path.loss, timed=True)
    _check_field(field, path.loss.dim)
    points, speeds = np.atleast_2d(path(t)), np.atleast_2d(path.velocity(t))
    drift = path.objective.drift
    return points, speeds if drift is None else speeds - drift(points)


def _check_field(field: Any, dim: int) -> None:
    """Raise unless ``field`` is a vector field on D parameters."""
    _checks.instance("field", field, Drift, _FIELD)
    if field.dim not in (None, dim):
        raise ValueError(f"field = {_checks.shown(field)} acts on {field.dim} parameters, but the problem has {dim}")
