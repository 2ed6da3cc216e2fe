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
from functools import cached_property
from typing import Any

import numpy as np

from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory.riccati import LocalValue


@dataclass(frozen=True, eq=False)
class Problem:
    """J discretised with ``steps`` intervals up to ``horizon``.

    ``terminal`` adds the value function of a resting place at the end; ``endpoint`` fixes the end instead; with neither
    the end is free. ``level`` is subtracted from the loss before summing (its discounted integral is known exactly).
    Methods take one path, shape (N+1, D), or several with leading axes.
    """

    objective: Objective
    loss: Loss
    horizon: float
    steps: int
    terminal: LocalValue | None = None
    endpoint: Array | None = None
    level: float = 0.0
    rule: str = "trapezoid"

    @cached_property
    def dt(self) -> float:
        """Length of an interval."""
        return self.horizon / self.steps

    @cached_property
    def times(self) -> Array:
        """Grid, shape (N+1,)."""
        return np.linspace(0.0, self.horizon, self.steps + 1)

    @property
    def fixed(self) -> bool:
        """Whether the end is fixed."""
        return self.endpoint is not None

    @property
    def free(self) -> slice:
        """Which nodes may move."""
        return slice(1, self.steps if self.fixed else self.steps + 1)

    def loss_weights(self) -> Array:
        """Return c, shape (N+1,)."""
        weights = np.ones(self.steps + 1)
        if self.rule == "left":
            weights[-1] = 0.0
        else:
            weights[0] = weights[-1] = 0.5
        return weights

    @cached_property
    def kinetic_factors(self) -> tuple[float, float]:
        """The kinetic weight of an interval relative to w at its left and at its right node."""
        half = math.exp(min(self.objective.gamma * self.dt / 2, 300.0))  # beyond it the grid resolves nothing anyway
        return (1.0, half * half) if self.rule == "left" else (1 / half, half)

    @cached_property
    def _share(self) -> Array:
        """kΔt·c: what a node's loss counts, before discounting."""
        return self.objective.k * self.dt * self.loss_weights()

    @cached_property
    def _inertia(self) -> tuple[Array, Array]:
        """What the kinetic term adds to the Hessian without drift: on the diagonal and below it."""
        dim = self.loss.dim
        left, right = self.kinetic_factors
        mass = self.objective.metric_matrix(dim) / (self.dt * self.objective.eta)
        diagonal = np.zeros((self.steps + 1, dim, dim))
        diagonal[:-1] += left * mass
        diagonal[1:] += right * mass
        return diagonal, np.broadcast_to(-math.sqrt(left * right) * mass, (self.steps, dim, dim))

    @cached_property
    def _weights(self) -> tuple[Array, Array, float]:
        """Weights of |s|² in intervals and of L at nodes, and that of the terminal value, with their discount."""
        discount = np.exp(-self.objective.gamma * self.times)
        left, _ = self.kinetic_factors
        return self.dt * left / (2 * self.objective.eta) * discount[:-1], self._share * discount, float(discount[-1])

    @cached_property
    def discount_root(self) -> Array:
        """√(w_n/w_1) at the free nodes, shape (M, 1)."""
        return np.exp(-self.objective.gamma / 2 * self.dt * np.arange(self.free.stop - 1))[:, None]

    def slips(self, path: Array) -> Array:
        """Return s, shape (..., N, D)."""
        velocity = (path[..., 1:, :] - path[..., :-1, :]) / self.dt
        if self.objective.drift is None:
            return velocity
        drift = self.objective.drift(path)
        return velocity - (drift[..., 1:, :] + drift[..., :-1, :]) / 2

    def _lowered(self, slips: Array) -> Array:
        """Return G s."""
        return slips if self.objective.metric is None else slips @ self.objective.metric_matrix(slips.shape[-1])

    def action(self, path: Array, height: Array | None = None) -> Any:
        """Return J_N, shape (...), without the level's and the resting cost's share; ``height`` is L, if known."""
        slips = self.slips(path)
        height = np.asarray(self.loss.value(path)) if height is None else height
        intervals, nodes, last = self._weights
        total = np.einsum("...ni,...ni->...n", self._lowered(slips), slips) @ intervals
        total += (height - self.level) @ nodes
        if self.terminal is not None:
            x = path[..., -1, :] - self.terminal.centre
            climb = ((x @ self.terminal.matrix / 2 + self.terminal.linear) * x).sum(-1) + self.terminal.excess
            total += last * climb
        return float(total) if path.ndim == 2 else total

    def gradient(self, path: Array, slope: Array | None = None) -> Array:
        """Return (∂J_N/∂θ_n)/w_n, shape (..., N+1, D); ``slope`` is ∇L, if known."""
        objective = self.objective
        push = self._lowered(self.slips(path)) / objective.eta  # conjugate momentum
        left, right = self.kinetic_factors
        result = self._share[:, None] * (self.loss.gradient(path) if slope is None else slope)
        result[..., :-1, :] -= left * push
        result[..., 1:, :] += right * push
        if objective.drift is not None:
            jacobian = objective.drift.jacobian(path)
            back = np.einsum("...nji,...nj->...ni", jacobian[..., :-1, :, :], push)
            result[..., :-1, :] -= left * self.dt / 2 * back
            ahead = np.einsum("...nji,...nj->...ni", jacobian[..., 1:, :, :], push)
            result[..., 1:, :] -= right * self.dt / 2 * ahead
        if self.terminal is not None:
            result[..., -1, :] += (path[..., -1, :] - self.terminal.centre) @ self.terminal.matrix
            result[..., -1, :] += self.terminal.linear
        return result

    def hessian(self, path: Array, curvature: Array | None = None) -> tuple[Array, Array]:
        """Return the blocks of W^{-1/2}·∇²J_N·W^{-1/2}; ``curvature`` is ∇²L, if known.

        The blocks on the diagonal have shape (..., N+1, D, D), those below it (N, D, D) or (..., N, D, D).
        """
        objective, dim = self.objective, path.shape[-1]
        diagonal = self._share[:, None, None] * (self.loss.hessian(path) if curvature is None else curvature)
        if objective.drift is None:
            whole, below = self._inertia
            diagonal += whole
        else:
            metric = objective.metric_matrix(dim) * self.dt / objective.eta
            left, right = self.kinetic_factors
            between = math.sqrt(left * right)  # e^{±γΔt/2} cancels between the two nodes
            jacobian = objective.drift.jacobian(path) / 2
            ahead = np.eye(dim) / self.dt - jacobian[..., 1:, :, :]
            behind = -np.eye(dim) / self.dt - jacobian[..., :-1, :, :]
            product = "...nji,jk,...nkl->...nil"
            diagonal[..., :-1, :, :] += left * np.einsum(product, behind, metric, behind)
            diagonal[..., 1:, :, :] += right * np.einsum(product, ahead, metric, ahead)
            below = between * np.einsum(product, ahead, metric, behind)
            if not isinstance(objective.drift, Linear):
                diagonal += self._drift_curvature(path, left, right)
        if self.terminal is not None:
            diagonal[..., -1, :, :] += self.terminal.matrix
        return diagonal, below

    def _drift_curvature(self, path: Array, left: float, right: float) -> Array:
        """Return −½Δt Σ_i p_i ∇²f_i at each node, from central differences of the Jacobian."""
        drift = self.objective.drift
        assert drift is not None
        push = self._lowered(self.slips(path)) / self.objective.eta * self.dt / 2
        weight = np.zeros_like(path)
        weight[..., :-1, :] += left * push
        weight[..., 1:, :] += right * push
        result = np.empty((*path.shape, path.shape[-1]))
        for j in range(path.shape[-1]):
            step = 1e-5 * np.maximum(1.0, np.abs(path[..., j]))
            offset = np.zeros_like(path)
            offset[..., j] = step
            change = (drift.jacobian(path + offset) - drift.jacobian(path - offset)) / (2 * step)[..., None, None]
            result[..., j] = -np.einsum("...ik,...i->...k", change, weight)
        return (result + np.swapaxes(result, -1, -2)) / 2

    def velocities(self, path: Array, slope: Array | None = None) -> Array:
        """Return θ̇ at the nodes, shape (N+1, D), from the discrete conjugate momentum (error O(Δt²))."""
        objective = self.objective
        push = self._lowered(self.slips(path)) / objective.eta
        left, right = self.kinetic_factors
        slope = self._share[:, None] * (self.loss.gradient(path) if slope is None else slope)
        momentum = np.empty_like(path)
        momentum[:-1] = left * push - slope[:-1] * (0.5 if self.rule == "trapezoid" else 1.0)
        momentum[0] = left * push[0] - slope[0]  # c₀ = ½ already
        momentum[-1] = right * push[-1] + slope[-1]
        if objective.drift is not None:
            jacobian = objective.drift.jacobian(path) * self.dt / 2
            momentum[:-1] += left * np.einsum("nji,nj->ni", jacobian[:-1], push)
            momentum[-1] -= right * jacobian[-1].T @ push[-1]
        velocity = objective.eta * momentum
        if objective.metric is not None:
            velocity = np.linalg.solve(objective.metric_matrix(path.shape[1]), velocity.T).T
        return velocity if objective.drift is None else velocity + objective.drift(path)
