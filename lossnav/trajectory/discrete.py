r"""The discretised objective: midpoint velocities, trapezoid loss, and its gradient and Hessian in θ₀ … θ_N.

.. math:: J_N = \sum_n w_{n+1/2}\,\Delta t\,\frac{|s_n|_G^2}{2\eta}
   + k\,\Delta t\sum_n c_n w_n L(\theta_n) + \text{terminal},

.. math:: s_n = \frac{\theta_{n+1}-\theta_n}{\Delta t} - \frac{f(\theta_n)+f(\theta_{n+1})}2,\quad w = e^{-\gamma t},

with :math:`c = (\tfrac12, 1, …, 1, \tfrac12)`; error O(Δt²) in J and path. The rule ``"left"``,
:math:`c = (1, …, 1, 0)` and weights :math:`w_n` for the kinetic term, is the paper's Eq. 29, error O(Δt). Derivatives
are divided by :math:`w_n`, so that nothing underflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lossnav._checks import Array
from lossnav.drifts import Linear
from lossnav.losses import Loss
from lossnav.objective import Objective
from lossnav.trajectory.riccati import LocalValue


@dataclass(frozen=True, eq=False)
class Problem:
    """J discretised with ``steps`` intervals up to ``horizon``.

    ``terminal`` adds the value function of a resting place at the end; ``endpoint`` fixes the end instead; with neither
    the end is free. ``level`` is subtracted from the loss before summing (its discounted integral is known exactly).
    """

    objective: Objective
    loss: Loss
    horizon: float
    steps: int
    terminal: LocalValue | None = None
    endpoint: Array | None = None
    level: float = 0.0
    rule: str = "trapezoid"

    @property
    def dt(self) -> float:
        """Length of an interval."""
        return self.horizon / self.steps

    @property
    def times(self) -> Array:
        """Grid, shape (N+1,)."""
        return np.linspace(0.0, self.horizon, self.steps + 1)

    @property
    def fixed(self) -> bool:
        """Whether the end is fixed."""
        return self.endpoint is not None

    def loss_weights(self) -> Array:
        """Return c, shape (N+1,)."""
        weights = np.ones(self.steps + 1)
        if self.rule == "left":
            weights[-1] = 0.0
        else:
            weights[0] = weights[-1] = 0.5
        return weights

    def kinetic_factors(self) -> tuple[float, float]:
        """Return the kinetic weight of an interval relative to w at its left and at its right node."""
        half = math.exp(min(self.objective.gamma * self.dt / 2, 300.0))  # beyond it the grid resolves nothing anyway
        return (1.0, half * half) if self.rule == "left" else (1 / half, half)

    def slips(self, path: Array) -> Array:
        """Return s, shape (N, D)."""
        velocity = np.diff(path, axis=0) / self.dt
        if self.objective.drift is None:
            return velocity
        drift = self.objective.drift(path)
        return velocity - (drift[1:] + drift[:-1]) / 2

    def action(self, path: Array) -> float:
        """Return J_N without the level's and the resting cost's share."""
        objective = self.objective
        weights = np.exp(-objective.gamma * self.times)
        slips = self.slips(path)
        metric = objective.metric_matrix(path.shape[1])
        kinetic = np.einsum("ni,ni->n", slips @ metric, slips) / (2 * objective.eta)
        left, _ = self.kinetic_factors()
        height = np.asarray(self.loss.value(path)) - self.level
        total = self.dt * float(np.sum(weights[:-1] * left * kinetic))
        total += objective.k * self.dt * float(np.sum(self.loss_weights() * weights * height))
        if self.terminal is not None:
            total += float(weights[-1]) * self.terminal.climb(path[-1])
        return total

    def gradient(self, path: Array) -> Array:
        """Return (∂J_N/∂θ_n)/w_n, shape (N+1, D)."""
        objective = self.objective
        push = self.slips(path) @ objective.metric_matrix(path.shape[1]) / objective.eta  # conjugate momentum
        left, right = self.kinetic_factors()
        result = objective.k * self.dt * self.loss_weights()[:, None] * self.loss.gradient(path)
        result[:-1] -= left * push
        result[1:] += right * push
        if objective.drift is not None:
            jacobian = objective.drift.jacobian(path)
            result[:-1] -= left * self.dt / 2 * np.einsum("nji,nj->ni", jacobian[:-1], push)
            result[1:] -= right * self.dt / 2 * np.einsum("nji,nj->ni", jacobian[1:], push)
        if self.terminal is not None:
            result[-1] += self.terminal.matrix @ (path[-1] - self.terminal.centre) + self.terminal.linear
        return result

    def hessian(self, path: Array) -> tuple[Array, Array]:
        """Return the blocks of W^{-1/2}·∇²J_N·W^{-1/2}: diagonal (N+1, D, D) and below (N, D, D)."""
        objective, dim = self.objective, path.shape[1]
        metric = objective.metric_matrix(dim) * self.dt / objective.eta
        left, right = self.kinetic_factors()
        between = math.sqrt(left * right)  # e^{±γΔt/2} cancels between the two nodes
        diagonal = objective.k * self.dt * self.loss_weights()[:, None, None] * self.loss.hessian(path)
        if objective.drift is None:
            mass = metric / self.dt**2
            diagonal[:-1] += left * mass
            diagonal[1:] += right * mass
            below = np.broadcast_to(-between * mass, (self.steps, dim, dim))
        else:
            jacobian = objective.drift.jacobian(path) / 2
            ahead, behind = np.eye(dim) / self.dt - jacobian[1:], -np.eye(dim) / self.dt - jacobian[:-1]
            diagonal[:-1] += left * np.einsum("nji,jk,nkl->nil", behind, metric, behind)
            diagonal[1:] += right * np.einsum("nji,jk,nkl->nil", ahead, metric, ahead)
            below = between * np.einsum("nji,jk,nkl->nil", ahead, metric, behind)
            if not isinstance(objective.drift, Linear):
                diagonal += self._drift_curvature(path, left, right)
        if self.terminal is not None:
            diagonal[-1] += self.terminal.matrix
        return diagonal, below

    def _drift_curvature(self, path: Array, left: float, right: float) -> Array:
        """Return −½Δt Σ_i p_i ∇²f_i at each node, from central differences of the Jacobian."""
        drift = self.objective.drift
        assert drift is not None
        push = self.slips(path) @ self.objective.metric_matrix(path.shape[1]) / self.objective.eta * self.dt / 2
        weight = np.zeros_like(path)
        weight[:-1] += left * push
        weight[1:] += right * push
        result = np.empty((*path.shape, path.shape[1]))
        for j in range(path.shape[1]):
            step = 1e-5 * np.maximum(1.0, np.abs(path[:, j]))
            offset = np.zeros_like(path)
            offset[:, j] = step
            change = (drift.jacobian(path + offset) - drift.jacobian(path - offset)) / (2 * step)[:, None, None]
            result[:, :, j] = -np.einsum("nik,ni->nk", change, weight)
        return (result + np.swapaxes(result, 1, 2)) / 2

    def velocities(self, path: Array) -> Array:
        """Return θ̇ at the nodes, shape (N+1, D), from the discrete conjugate momentum (error O(Δt²))."""
        objective = self.objective
        push = self.slips(path) @ objective.metric_matrix(path.shape[1]) / objective.eta
        left, right = self.kinetic_factors()
        slope = objective.k * self.dt * self.loss_weights()[:, None] * self.loss.gradient(path)
        momentum = np.empty_like(path)
        momentum[:-1] = left * push - slope[:-1] * (0.5 if self.rule == "trapezoid" else 1.0)
        momentum[0] = left * push[0] - slope[0]  # c₀ = ½ already
        momentum[-1] = right * push[-1] + slope[-1]
        if objective.drift is not None:
            jacobian = objective.drift.jacobian(path) * self.dt / 2
            momentum[:-1] += left * np.einsum("nji,nj->ni", jacobian[:-1], push)
            momentum[-1] -= right * jacobian[-1].T @ push[-1]
        velocity = objective.eta * np.linalg.solve(objective.metric_matrix(path.shape[1]), momentum.T).T
        return velocity if objective.drift is None else velocity + objective.drift(path)
