r"""Closed forms with drift: weight decay for any Hessian and metric, rotation for an isotropic one (App. G).

Scalar drift f = aθ (decay: a = −j), per mode of G⁻¹H:
:math:`r=\sqrt{(\gamma/2-a)^2+\eta kh}-\gamma/2`, resting place :math:`b\,z^*`, :math:`b=\eta kh/(\eta kh+a(a-\gamma))`
(Eqs. 122–128). Rotation f = Qθ with H = hI, G = I, in any dimension (Eqs. 115–121):
:math:`\theta-\theta_\infty=e^{-\lambda t}e^{Qt}(\theta_0-\theta_\infty)`,
:math:`\theta_\infty=\eta kh(\eta khI-Q^2-\gamma Q)^{-1}\theta^*`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import closed_form, modes, riccati
from lossnav.trajectory.case import CURVED, Case
from lossnav.trajectory.result import Method, Trajectory
from lossnav.trajectory.riccati import LocalValue

if TYPE_CHECKING:
    from lossnav.trajectory.refinement import Settings


def has_law(objective: Objective, loss: Quadratic) -> bool:
    """Return whether the drift has a closed form here; nothing is solved for that."""
    drift, minimum = objective.drift, loss.minimum
    if not isinstance(drift, Linear) or minimum is None or np.any(drift.offset(loss.dim)):
        return False
    jacobian, hessian = drift.matrix(loss.dim), loss.hessian(minimum)
    identity = np.eye(loss.dim)
    isotropic = np.allclose(hessian, hessian[0, 0] * identity, rtol=1e-14, atol=0.0) and hessian[0, 0] > 0
    euclidean = np.array_equal(objective.metric_matrix(loss.dim), identity)
    skew = np.array_equal(jacobian, -jacobian.T)
    return _is_scalar(jacobian) or bool(skew and isotropic and euclidean)


def law(objective: Objective, loss: Quadratic) -> LocalValue:
    """Return the exact value function and feedback of a drift that has a closed form (``has_law``).

    Raises:
        NoMinimiser: if negative curvature leaves J without a lower bound.
    """
    drift, minimum = objective.drift, loss.minimum
    assert isinstance(drift, Linear) and minimum is not None  # has_law has said so
    jacobian, hessian = drift.matrix(loss.dim), loss.hessian(minimum)
    if _is_scalar(jacobian):
        return _scalar(objective, loss, float(jacobian[0, 0]), minimum, hessian)
    return _rotation(objective, loss, jacobian, minimum, float(hessian[0, 0]))


def _is_scalar(jacobian: Array) -> bool:
    return bool(np.array_equal(jacobian, jacobian[0, 0] * np.eye(len(jacobian))))


def _scalar(objective: Objective, loss: Quadratic, rate: float, minimum: Array, hessian: Array) -> LocalValue:
    r"""Per mode with the drift az: V = (p/2)z² + sz + … with ηp = a + r and s = −kh z*/(γ+r), and ż = −rz − ηs.

    A mode without curvature costs nothing if it is left to the drift: there r = −a, p = 0, whatever the sign of a. With
    h > 0, r may be negative: then the path grows, at a rate below γ/2.
    """
    gamma, eta, k = objective.gamma, objective.eta, objective.k
    metric = objective.metric_matrix(loss.dim)
    basis = modes.decompose(hessian, metric)
    h, directions = basis.curvature, basis.directions
    # Not the root of ``modes``: the drift shifts γ under the root, and only there; ``pull`` keeps the digits of r.
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


class ClosedForm:
    """The closed forms as a solver, without drift those of ``closed_form``; ``settings`` do not concern exact ones."""

    name: Method = "closed_form"

    def accepts(self, case: Case) -> str:
        """Return why not: another loss, a drift without closed form, a metric that depends on θ."""
        if case.objective.curved:
            return CURVED
        if not isinstance(case.loss, Quadratic):
            return f"needs a losses.Quadratic, but loss is {case.loss!r}"
        if case.objective.drift is None:
            flat = case.endpoint is not None and case.loss.stationary_points() is None
            return "needs, with an endpoint, a Hessian without flat directions" if flat else ""
        if not case.rests or not has_law(case.objective, case.loss):
            return "needs drift = None, or without a deadline f = aθ, or f = Qθ with H = hI and G = I"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the exact optimum."""
        objective, loss = case.objective, case.loss
        assert isinstance(loss, Quadratic)  # accepts has said so
        if objective.drift is not None:
            return riccati.follow(objective, loss, case.theta0, law(objective, loss), self.name)
        limit = objective.horizon if case.endpoint is None or case.span is None else case.span
        return closed_form.solve(objective, loss, case.theta0, endpoint=case.endpoint, horizon=limit)
