r"""Closed forms with drift: weight decay for any Hessian and metric, rotation for an isotropic one (App. G).

Scalar drift f = aθ (decay: a = −j), per mode of G⁻¹H:
:math:`r=\sqrt{(\gamma/2-a)^2+\eta kh}-\gamma/2`, resting place :math:`b\,z^*`, :math:`b=\eta kh/(\eta kh+a(a-\gamma))`
(Eqs. 122–128). Rotation f = Qθ with H = hI, G = I, in any dimension (Eqs. 115–121):
:math:`\theta-\theta_\infty=e^{-\lambda t}e^{Qt}(\theta_0-\theta_\infty)`,
:math:`\theta_\infty=\eta kh(\eta khI-Q^2-\gamma Q)^{-1}\theta^*`.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav._checks import Array, NoMinimiser
from lossnav.drifts import Linear
from lossnav.losses import Quadratic
from lossnav.objective import Objective
from lossnav.trajectory import modes
from lossnav.trajectory.riccati import LocalValue


def law(objective: Objective, loss: Quadratic) -> LocalValue | None:
    """Return the exact value function and feedback, or None if the drift has no closed form here.

    Raises:
        NoMinimiser: if the law does not come to rest.
    """
    drift, minimum = objective.drift, loss.minimum
    if not isinstance(drift, Linear) or minimum is None or np.any(drift.offset(loss.dim)):
        return None
    jacobian, hessian = drift.matrix(loss.dim), loss.hessian(minimum)
    identity = np.eye(loss.dim)
    if np.array_equal(jacobian, jacobian[0, 0] * identity):
        return _scalar(objective, loss, float(jacobian[0, 0]), minimum, hessian)
    isotropic = np.allclose(hessian, hessian[0, 0] * identity, rtol=1e-14, atol=0.0) and hessian[0, 0] > 0
    euclidean = np.array_equal(objective.metric_matrix(loss.dim), identity)
    if np.array_equal(jacobian, -jacobian.T) and isotropic and euclidean:
        return _rotation(objective, loss, jacobian, minimum, float(hessian[0, 0]))
    return None


def _scalar(objective: Objective, loss: Quadratic, rate: float, minimum: Array, hessian: Array) -> LocalValue:
    gamma, stiffness = objective.gamma, objective.eta * objective.k
    metric = objective.metric_matrix(loss.dim)
    basis = modes.decompose(hessian, metric)
    h, directions = basis.curvature, basis.directions
    square = (gamma / 2 - rate) ** 2 + stiffness * h
    pull = stiffness * h + rate * (rate - gamma)
    if np.any(square <= 0) or np.any(pull <= 0):
        raise NoMinimiser(
            f"no minimiser that comes to rest: with the drift {rate:g}·θ the Hessian's eigenvalue {h.min():.6g} gives "
            f"eta·k·h + a(a − gamma) = {pull.min():.6g}, which must be > 0"
        )
    decay = pull / (np.sqrt(square) + gamma / 2)  # √(…) − γ/2 without cancellation
    inverse = directions.T @ metric  # X⁻¹
    closed = -(directions * decay) @ inverse
    fixed = directions @ (stiffness * h / pull * (inverse @ minimum))
    return _value(objective, loss, fixed, closed, rate * np.eye(loss.dim))


def _rotation(objective: Objective, loss: Quadratic, skew: Array, minimum: Array, h: float) -> LocalValue:
    gamma, stiffness = objective.gamma, objective.eta * objective.k
    identity = np.eye(loss.dim)
    decay = float(modes.slow_rate(np.array([h]), stiffness, gamma)[0])
    fixed = stiffness * h * scipy.linalg.solve(stiffness * h * identity - skew @ skew - gamma * skew, minimum)
    return _value(objective, loss, fixed, skew - decay * identity, skew)


def _value(objective: Objective, loss: Quadratic, fixed: Array, closed: Array, jacobian: Array) -> LocalValue:
    """Read V off the policy: ηG⁻¹∇V = f − θ̇ with θ̇ = closed @ (θ − fixed)."""
    metric = objective.metric_matrix(loss.dim) / objective.eta
    matrix = metric @ (jacobian - closed)
    drift = jacobian @ fixed
    rest = float(drift @ metric @ drift) / 2 + objective.k * float(loss.value(fixed))
    return LocalValue(fixed, (matrix + matrix.T) / 2, metric @ drift, 0.0, rest, closed, np.zeros(loss.dim), fixed)
