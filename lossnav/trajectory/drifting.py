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
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes
from lossnav.trajectory.riccati import LocalValue


def law(objective: Objective, loss: Quadratic) -> LocalValue | None:
    """Return the exact value function and feedback, or None if the drift has no closed form here.

    Raises:
        NoMinimiser: if negative curvature leaves J without a lower bound.
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
    r"""Per mode with the drift az: V = (p/2)z² + sz + … with ηp = a + r and s = −kh z*/(γ+r), and ż = −rz − ηs.

    A mode without curvature costs nothing if it is left to the drift: there r = −a, p = 0, whatever the sign of a. With
    h > 0, r may be negative: then the path grows, at a rate below γ/2.
    """
    gamma, eta, k = objective.gamma, objective.eta, objective.k
    metric = objective.metric_matrix(loss.dim)
    basis = modes.decompose(hessian, metric)
    h, directions = basis.curvature, basis.directions
    square = (gamma / 2 - rate) ** 2 + eta * k * h
    if np.any(h < 0) and (rate >= gamma / 2 or np.any(square <= 0)):
        raise NoMinimiser(
            f"no minimiser: with the drift {rate:g}·θ and the Hessian's eigenvalue {h.min():.6g} J falls without "
            f"bound; it needs a < gamma/2 and (gamma/2 − a)² + eta·k·h = {square.min():.6g} > 0; raise gamma, or set a "
            "horizon"
        )
    root = np.sqrt(square)
    pull = eta * k * h + rate * (rate - gamma)
    fast = root + gamma / 2
    decay = np.where(h == 0, -rate, pull / np.where(fast > 0, fast, 1.0))  # √(…) − γ/2 without cancellation
    price = np.where(h == 0, 0.0, rate + decay) / eta  # p
    inverse = directions.T @ metric  # X⁻¹
    aim = inverse @ minimum
    force = -k * h * aim / np.where(h == 0, 1.0, fast)  # s about the origin
    # Modes that come to rest are referred to where they do, the others (γ > 0, or free of cost) to the origin.
    rests = (decay > 0) & (h != 0)
    place = np.where(rests, -eta * force / np.where(rests, decay, 1.0), 0.0)
    cost = np.where(rests, (rate * place) ** 2 / (2 * eta) + k * h * (place - aim) ** 2 / 2, k * h * aim**2 / 2)
    cost = np.where(rests, cost, cost - eta * force**2 / 2)
    linear = price * place + force
    whole = bool(np.all(decay > 0))
    centre = directions @ place
    return LocalValue(
        centre, inverse.T * price @ inverse, inverse.T @ linear, 0.0, k * loss.offset + float(np.sum(cost)),
        -(directions * decay) @ inverse, directions @ np.where(rests, 0.0, -eta * force),
        centre if whole else np.full(loss.dim, np.nan),
    )  # fmt: skip


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
