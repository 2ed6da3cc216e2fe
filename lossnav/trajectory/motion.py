"""The equation of motion under a constant metric, in numbers; ``connection`` has that under G(θ)."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.problem.objective import Objective


def acceleration(objective: Objective, theta: Array, velocity: Array, slope: Array, strength: float = 1.0) -> Array:
    r"""Return θ̈ of an extremal with the drift s·f, shape (..., D) (Eq. 99, and the equation after 95).

    .. math:: G(\ddot\theta-J\dot\theta) = \gamma G(\dot\theta-f) - J^\top G(\dot\theta-f) + \eta k\,\nabla L

    Args:
        objective: with a constant metric G.
        theta, velocity: θ and θ̇, shape (..., D) each.
        slope: ∇L(θ), shape (..., D).
        strength: s.
    """
    pull, carried = objective.eta * objective.k * slope, objective.gamma * velocity
    if objective.drift is None and objective.metric is None:
        return carried + pull
    metric = objective.metric_matrix(theta.shape[-1])
    if objective.drift is not None:
        jacobian, slip = strength * objective.drift.jacobian(theta), velocity - strength * objective.drift(theta)
        pull = pull - np.einsum("...ji,...j->...i", jacobian, slip @ metric)
        carried = objective.gamma * slip + np.einsum("...ij,...j->...i", jacobian, velocity)
    return carried + np.linalg.solve(metric, pull.reshape(-1, len(metric)).T).T.reshape(pull.shape)
