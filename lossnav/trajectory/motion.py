r"""The Euler–Lagrange equations in numbers, under any metric and drift.

With the slip σ = θ̇ − f and J = ∂f/∂θ,

.. math::
    G(\ddot\theta-J\dot\theta) = \gamma G\sigma - \dot G\sigma - J^\top G\sigma
        + \tfrac12\sum_{jk}\partial_iG_{jk}\sigma_j\sigma_k + \eta k\,\nabla L,\qquad
    \dot G = \sum_k\partial_kG\,\dot\theta_k .

``lossnav.euler_lagrange`` derives the same from the Lagrangian; tests compare the two.
"""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.problem.drifts import Drift, Linear
from lossnav.problem.functions import differences
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective


def acceleration(objective: Objective, theta: Array, velocity: Array, gradient: Array, strength: float = 1.0) -> Array:
    """Return θ̈ of an extremal with the drift s·f, shape (..., D) (Eqs. 90, 99, and the equation after 95).

    Args:
        objective: of any metric G and drift.
        theta, velocity: θ and θ̇, shape (..., D) each.
        gradient: ∇L(θ), shape (..., D).
        strength: the number s.
    """
    force, turn = objective.eta * objective.k * gradient, np.zeros_like(velocity)
    if objective.drift is None and objective.metric is None:
        return objective.gamma * velocity + force
    metric = objective.metric_on(theta.shape[-1])
    matrix = metric.matrix(theta)  # not checked: Newton's method may pass through places where it is no metric
    slip = velocity
    if objective.drift is not None:
        jacobian, slip = strength * objective.drift.jacobian(theta), velocity - strength * objective.drift(theta)
        turn = np.einsum("...ij,...j->...i", jacobian, velocity)
        force = force - np.einsum("...ji,...j->...i", jacobian, np.einsum("...ij,...j->...i", matrix, slip))
    if objective.curved:
        change = metric.derivative(theta)
        force = force - np.einsum("...ijk,...j,...k->...i", change, slip, velocity)
        force += np.einsum("...jki,...j,...k->...i", change, slip, slip) / 2
    return turn + objective.gamma * slip + np.linalg.solve(matrix, force[..., None])[..., 0]


def bent_hessian(objective: Objective, loss: Loss, theta: Array) -> Array:
    """Return ∇²L of a learner at rest, shape (..., D, D), under a constant metric.

    Where a drift bends, that adds Σ_i(Gf)_i∇²f_i/ηk: what |f|²_G/2ηk, the price of rest, bends by beside JᵀGJ/ηk.
    """
    hessian, drift = loss.hessian(theta), objective.drift
    if drift is None:
        return hessian
    lowered_drift = drift(theta) @ objective.metric_matrix(loss.dim)
    return hessian + bent(drift, theta, lowered_drift) / (objective.eta * objective.k)


def bent(drift: Drift, theta: Array, weight: Array) -> Array:
    """Return Σ_i weight_i ∇²f_i at each point, shape (..., D, D), from central differences of the Jacobian."""
    if isinstance(drift, Linear):
        return np.zeros((*theta.shape, theta.shape[-1]))
    second = differences.first(drift.jacobian, theta)
    result = np.einsum("...ijk,...i->...jk", second, weight)
    return (result + np.swapaxes(result, -1, -2)) / 2
