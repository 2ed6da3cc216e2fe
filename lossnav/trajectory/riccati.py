r"""The Riccati feedback for a quadratic loss and an affine drift f = Jθ + c with any constant metric.

The value function is :math:`V = \tfrac12x^\top Px + s^\top x + v_0` in :math:`x=\theta-` ``centre``, with
:math:`\gamma P = kH + J^\top P + PJ - \eta PG^{-1}P`, and the optimal law is the first-order feedback
:math:`\dot\theta = f - \eta G^{-1}\nabla V` (the Hamilton–Jacobi–Bellman equation of the problem).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.integrate
import scipy.linalg

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.drifts import Linear
from lossnav.losses import Loss, Quadratic
from lossnav.objective import Objective
from lossnav.trajectory import closed_form, modes
from lossnav.trajectory.result import Trajectory, plot_times, resting_action


@dataclass(frozen=True, eq=False)
class LocalValue:
    r"""The value function of the quadratic model about ``centre``, and the law that it gives.

    V(θ) = ½xᵀPx + sᵀx + excess + rest/γ with x = θ − centre; θ̇ = closed @ x + shift. ``fixed`` is where the law rests,
    ``rest`` the cost rate |f|²_G/2η + kL there; both refer to the linearised problem. Where the law runs away instead
    (γ > 0), ``fixed`` is NaN and ``rest`` is γV(centre).
    """

    centre: Array
    matrix: Array
    linear: Array
    excess: float
    rest: float
    closed: Array
    shift: Array
    fixed: Array

    def climb(self, theta: Array) -> float:
        """Return V(θ) − rest/γ: the cost beyond resting at ``fixed`` for ever."""
        x = theta - self.centre
        return float(x @ self.matrix @ x / 2 + self.linear @ x + self.excess)

    def follow(self, start: Array, t: Array) -> Array:
        """Return where the law leads from ``start``, shape (D,), in times t, shape (T,): shape (T, D)."""
        pace = self.velocity(start)
        rates, vectors = np.linalg.eig(self.closed)
        if np.linalg.cond(vectors) < 1e6:  # always so without drift: the law is similar to a symmetric one
            growth = t[:, None] * modes.exp_mean(-rates * t[:, None])
            return start + ((growth * np.linalg.solve(vectors, pace)) @ vectors.T).real
        dim = len(start)
        generator = np.zeros((dim + 1, dim + 1))  # θ̇ = Ax + b as one linear system needs no inverse of A
        generator[:dim, :dim], generator[:dim, dim] = self.closed, pace
        return start + scipy.linalg.expm(t[:, None, None] * generator)[:, :dim, dim]

    def velocity(self, theta: Array) -> Array:
        """Return the law's θ̇ at θ, shape (..., D)."""
        return (theta - self.centre) @ self.closed.T + self.shift

    @property
    def growth(self) -> float:
        """The law's largest growth rate; negative if it comes to rest."""
        return float(np.max(np.linalg.eigvals(self.closed).real))


def local_value(objective: Objective, loss: Loss, centre: Array) -> LocalValue:
    """Return the infinite-horizon value function of the problem linearised about ``centre`` (exact for affine drift).

    Raises:
        NoMinimiser: if the linearised problem has no stabilising feedback.
    """
    dim, gamma, eta, k = len(centre), objective.gamma, objective.eta, objective.k
    metric = objective.metric_matrix(dim)
    gradient, hessian = loss.gradient(centre), loss.hessian(centre)
    if objective.drift is None:
        jacobian: Array = np.zeros((dim, dim))
        drift: Array = np.zeros(dim)
        basis = modes.decompose(hessian, metric)
        modes.require_minimiser(basis.curvature, basis.directions.T @ gradient, eta * k, gamma)
        stiffness_matrix = metric @ closed_form.decay_matrix(objective, hessian) / eta
        matrix: Array = (stiffness_matrix + stiffness_matrix.T) / 2
    else:
        jacobian, drift = np.array(objective.drift.jacobian(centre)), objective.drift(centre)
        matrix = _are(jacobian, k * hessian, metric / eta, gamma)
    gain = eta * np.linalg.solve(metric, matrix)
    system = gamma * np.eye(dim) - jacobian.T + gain.T
    try:
        linear = np.linalg.solve(system, matrix @ drift + k * gradient)
    except np.linalg.LinAlgError:
        raise NoMinimiser("no minimiser: gamma = 0 and the loss has a flat direction; set gamma > 0") from None
    closed = jacobian - gain
    growth = float(np.max(np.linalg.eigvals(closed).real))
    if growth > gamma / 2 * (1 + 1e-9):
        raise NoMinimiser(f"no minimiser: the feedback grows at rate {growth:.3g}, faster than gamma/2 discounts")
    shift = drift - eta * np.linalg.solve(metric, linear)
    level = k * float(loss.value(centre))
    if growth >= 0:  # the path runs away (γ > 0): no resting state to refer to
        rate = level + float(drift @ linear) - float(linear @ np.linalg.solve(metric, linear)) * eta / 2
        return LocalValue(centre, matrix, linear, 0.0, rate, closed, shift, np.full(dim, np.nan))
    # Taking the resting state as reference keeps V − rest/γ exact where γ → 0 makes both infinite: the law holds θ at
    # ``fixed``, so V there is rest/γ, and that fixes the constant.
    offset = -np.linalg.solve(closed, shift)
    excess = -float(offset @ matrix @ offset / 2 + linear @ offset)
    slip = drift + jacobian @ offset
    rest = (
        float(slip @ metric @ slip) / (2 * eta) + level + k * float(gradient @ offset + offset @ hessian @ offset / 2)
    )
    return LocalValue(centre, matrix, linear, excess, rest, closed, shift, centre + offset)


def _are(jacobian: Array, weight: Array, cost: Array, gamma: float) -> Array:
    dim = len(jacobian)
    shifted = jacobian - gamma / 2 * np.eye(dim)
    try:
        return scipy.linalg.solve_continuous_are(shifted, np.eye(dim), weight, cost)
    except np.linalg.LinAlgError as error:
        raise NoMinimiser(
            "no minimiser: the Riccati equation has no stabilising solution (the Hessian is too negative for this "
            f"gamma = {gamma:g}, or gamma = 0 with a flat direction)"
        ) from error


def solve(objective: Objective, loss: Quadratic, theta0: Array, *, horizon: float) -> Trajectory:
    """Return the exact optimum from ``theta0`` by the (differential, if ``horizon`` is finite) Riccati equation."""
    if math.isfinite(horizon):
        return _finite(objective, loss, theta0, horizon)
    return follow(objective, loss, theta0, local_value(objective, loss, theta0), "riccati")


def follow(objective: Objective, loss: Loss, theta0: Array, local: LocalValue, method: str) -> Trajectory:
    """Return the trajectory of a law that is exact for this problem."""
    climb = local.climb(theta0)
    excess = climb if np.all(np.isfinite(local.fixed)) else math.nan
    scale = objective.k * abs(float(loss.value(theta0))) + abs(climb)
    action = climb + resting_action(local.rest, objective.gamma, scale)
    slowest = abs(local.growth) if local.growth != 0 else 1.0
    return Trajectory(
        objective,
        loss,
        plot_times(slowest, math.inf),
        action,
        excess,
        local.fixed,
        method,
        lambda t: local.follow(theta0, t),
        lambda t: local.velocity(local.follow(theta0, t)),
    )


def _finite(objective: Objective, loss: Quadratic, theta0: Array, horizon: float) -> Trajectory:
    """Integrate P, s, v₀ backwards from V = 0 at the deadline, then the feedback forwards."""
    dim, gamma, eta, k = loss.dim, objective.gamma, objective.eta, objective.k
    drift = objective.drift if objective.drift is not None else Linear(0.0)
    jacobian, offset = np.array(drift.jacobian(theta0)), drift(theta0)
    metric = objective.metric_matrix(dim)
    inverse = np.linalg.inv(metric)
    hessian, gradient, level = loss.hessian(theta0), loss.gradient(theta0), float(loss.value(theta0))

    def backwards(_: float, state: Array) -> Array:
        matrix, linear = state[: dim * dim].reshape(dim, dim), state[dim * dim : -1]
        d_matrix = k * hessian + jacobian.T @ matrix + matrix @ jacobian - eta * matrix @ inverse @ matrix
        d_linear = k * gradient + jacobian.T @ linear + matrix @ (offset - eta * inverse @ linear)
        d_level = k * level + offset @ linear - eta / 2 * linear @ inverse @ linear
        return np.concatenate(
            [(d_matrix - gamma * matrix).ravel(), d_linear - gamma * linear, [d_level - gamma * state[-1]]]
        )

    options = {"rtol": 1e-11, "atol": 1e-12, "method": "DOP853", "dense_output": True}
    value = scipy.integrate.solve_ivp(backwards, (0.0, horizon), np.zeros(dim * dim + dim + 1), **options)
    if not value.success or not np.all(np.isfinite(value.y)) or np.max(np.abs(value.y)) > 1e10:
        raise NoMinimiser("no minimiser: the Riccati equation escapes to infinity before the horizon (a focal point)")

    def feedback(t: float, x: Array) -> Array:
        state = value.sol(horizon - t)
        pull = state[: dim * dim].reshape(dim, dim) @ x + state[dim * dim : -1]
        return jacobian @ x + offset - eta * inverse @ pull

    path = scipy.integrate.solve_ivp(feedback, (0.0, horizon), np.zeros(dim), **options)
    if not path.success:
        raise NotConverged(f"the feedback could not be integrated to the horizon: {path.message}")

    def position(t: Array) -> Array:
        return theta0 + path.sol(t).T

    def rate(t: Array) -> Array:
        return np.array([feedback(float(u), path.sol(float(u))) for u in t])

    stop = position(np.array([horizon]))[0]
    return Trajectory(
        objective,
        loss,
        plot_times(1.0, horizon),
        float(value.y[-1, -1]),
        math.nan,
        stop,
        "riccati",
        position,
        rate,
        end=horizon,
    )
