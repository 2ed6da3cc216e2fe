r"""Steps of a tensor whose price is relative: |θ̇|²/|θ|², one number for the whole tensor.

Frozen over a step the metric is G = I/|θ|². On a loss that knows directions only, the best path keeps |θ| exactly, and
rotates; a step along the tangent leaves the sphere in second order, and ``keep_norm`` takes it back.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import fast_rate
from lossnav.problem.objective import Objective, check_objective


def relative_step(objective: Objective, mean: ArrayLike, theta: ArrayLike, curvature: ArrayLike, dt: float) -> Array:
    r"""Return :math:`-\Delta t\,\eta k|\theta|^2m/(\sqrt{\gamma^2/4+\eta kh|\theta|^2}+\gamma/2)`.

    With γ = 0 and h = c|m|² it is LARS, :math:`-\sqrt{\eta k/c}\,\Delta t\,|\theta|\,m/|m|`, without its momentum and
    weight decay.

    Args:
        objective: η, k, γ; no metric, no drift, no deadline: the metric is the relative one.
        mean: m of one tensor, any shape.
        theta: its parameters, the same shape, not all 0.
        curvature: h >= 0, a number or shaped like m.
        dt: Δt > 0.

    Raises:
        ValueError: naming the argument that is wrong, also where γ and a curvature are both 0.
    """
    check_objective(objective)
    for name, wrong in (
        ("metric", objective.metric is not None),
        ("drift", objective.drift is not None),
        ("horizon", np.isfinite(objective.horizon)),
    ):
        if wrong:
            raise ValueError(f"objective.{name} is set, but it must not be for a step with the relative metric alone")
    weights = _checks.array("theta", theta)
    m = _checks.array("mean", mean, shape=weights.shape)
    h = _checks.array("curvature", curvature)
    if h.shape not in ((), weights.shape) or np.any(h < 0):
        raise ValueError(f"curvature = {_checks.shown(curvature)}, but it must be >= 0, a number or shaped like mean")
    length = _length(weights)
    if length == 0:
        raise ValueError("theta = 0, but it must have a length: there a relative step has no size")
    control_gain = objective.eta * objective.k
    reach = fast_rate(h, control_gain, objective.gamma / length)  # over |θ|, whose square may be no number
    if np.any((reach == 0) & (m != 0)):
        raise ValueError("curvature = 0 and gamma = 0, but one of them must be > 0: nothing limits the step")
    step: Array = -_checks.positive("dt", dt) * control_gain * length * m / np.where(reach == 0, 1.0, reach)
    return step


def keep_norm(theta: ArrayLike, displacement: ArrayLike) -> Array:
    """Return the displacement that goes the tangent's part of a given one and keeps |θ|: θ ← |θ|(θ+Δ⊥)/|θ+Δ⊥|.

    Args:
        theta: θ of one tensor, any shape, not all 0.
        displacement: Δ, the same shape; its part along θ is left out.

    Raises:
        ValueError: the shapes differ, or θ = 0.
    """
    weights = _checks.array("theta", theta)
    step = _checks.array("displacement", displacement, shape=weights.shape)
    length = _length(weights)
    if length == 0:
        raise ValueError("theta = 0, but it must have a length to keep")
    unit = weights / length
    tangent = step - float(np.sum(unit * step)) * unit
    result: Array = length / math.hypot(length, _length(tangent)) * (weights + tangent) - weights
    return result


def _length(x: Array) -> float:
    return float(scipy.linalg.norm(x.ravel()))  # BLAS's, which squares no entry that is not near 1
