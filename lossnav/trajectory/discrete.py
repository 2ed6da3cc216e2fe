r"""The discretised objective: midpoint velocities, trapezoid loss, and its gradient and Hessian in θ₀ … θ_N.

.. math:: J_N = \sum_n w_{n+1/2}\,\Delta t\,\frac{|s_n|_G^2}{2\eta}
   + k\,\Delta t\sum_n c_n w_n L(\theta_n) + w_Nc\,L(\theta_N) + \text{terminal},

.. math:: s_n = \frac{\theta_{n+1}-\theta_n}{\Delta t} - \frac{f(\theta_n)+f(\theta_{n+1})}2,\quad w = e^{-\gamma t},

with :math:`c = (\tfrac12, 1, …, 1, \tfrac12)`; error O(Δt²) in J and path. The rule ``"left"``,
:math:`c = (1, …, 1, 0)` and weights :math:`w_n` for the kinetic term, is the paper's Eq. 29, error O(Δt). Derivatives
are divided by :math:`w_n`, so that nothing underflows. ``graded.Graded`` is the same sum over intervals that differ.
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
    def dt(self) -> Any:
        """Length of an interval; where they differ, of each, shape (N, 1), as of all that belongs to an interval."""
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
    def kinetic_factors(self) -> tuple[Any, Any]:
        """The kinetic weight of an interval relative to w at its left and at its right node."""
        half = math.exp(min(self.objective.gamma * self.dt / 2, 300.0))  # beyond it the grid resolves nothing anyway
        return (1.0, half * half) if self.rule == "left" else (1 / half, half)

    @cached_property
    def halves(self) -> tuple[Any, Any]:
        """What an interval's loss counts at its left and at its right node, before discounting."""
        return (self.dt, 0.0) if self.rule == "left" else (self.dt / 2, self.dt / 2)

    @cached_property
    def drift_shares(self) -> tuple[Any, Any]:
        """The shares of f at an interval's left and right node in its mean."""
        return 0.5, 0.5

    @cached_property
    def share(self) -> Array:
        """kΔt·c: what a node's loss counts, before discounting; the last with what a deadline charges."""
        share = self.objective.k * self.dt * self.loss_weights()
        share[-1] += self.objective.charge
        return share

    @cached_property
    def unit_share(self) -> float:
        """What the loss of a node inside counts on average; ``node_sizes`` are relative to it."""
        return float(self.objective.k * self.dt)

    @cached_property
    def node_sizes(self) -> Any:
        """The time that a free node stands for, relative to the mean; where they differ, shape (M, 1)."""
        return 1.0

    def residual(self, gradient: Array) -> float:
        """Return the largest residual of θ̈, given ``gradient`` at the free nodes, as they are: unit u/T²."""
        return float(np.max(np.abs(gradient), initial=0.0)) * self.objective.eta / float(self.dt)

    @cached_property
    def _inertia(self) -> tuple[Array, Array]:
        """What the kinetic term adds to the Hessian without drift: on the diagonal and below it."""
        dim = self.loss.dim
        left, right = self.kinetic_factors
        mass = self.objective.metric_matrix(dim) / (matrices(self.dt) * self.objective.eta)
        diagonal = np.zeros((self.steps + 1, dim, dim))
        diagonal[:-1] += matrices(left) * mass
        diagonal[1:] += matrices(right) * mass
        return diagonal, np.broadcast_to(-np.sqrt(matrices(left * right)) * mass, (self.steps, dim, dim))

    @cached_property
    def _weights(self) -> tuple[Array, Array, float]:
        """Weights of |s|² in intervals and of L at nodes, and that of the terminal value, with their discount."""
        discount = np.exp(-self.objective.gamma * self.times)
        left, _ = self.kinetic_factors
        intervals = np.ravel(self.dt * left / (2 * self.objective.eta)) * discount[:-1]
        return intervals, self.share * discount, float(discount[-1])

    @cached_property
    def _drift_weights(self) -> tuple[Any, Any]:
        """What an interval's momentum counts in ∂J/∂f at its left and at its right node."""
        (left, right), (before, after) = self.kinetic_factors, self.drift_shares
        return left * self.dt * before, right * self.dt * after

    @cached_property
    def discount_root(self) -> Array:
        """√(w_n/w_1) at the free nodes, shape (M, 1)."""
        return np.exp(-self.objective.gamma / 2 * self.dt * np.arange(self.free.stop - 1))[:, None]

    @property
    def discount_steps(self) -> Any:
        """√(w_n/w_{n+1}) between free nodes, as far as floats go: beyond, the grid is hopeless, and the caller says so.

        Where intervals differ, shape (M−1, 1, 1).
        """
        return math.exp(min(self.objective.gamma * self.dt / 2, 300.0))

    def slips(self, path: Array) -> Array:
        """Return s, shape (..., N, D)."""
        velocity = (path[..., 1:, :] - path[..., :-1, :]) / self.dt
        if self.objective.drift is None:
            return velocity
        drift = self.objective.drift(path)
        return velocity - self._mean(drift)

    def _mean(self, drift: Array) -> Array:
        """Return the mean of f in each interval, shape (..., N, D)."""
        return (drift[..., 1:, :] + drift[..., :-1, :]) / 2

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
        result = self.share[:, None] * (self.loss.gradient(path) if slope is None else slope)
        result[..., :-1, :] -= left * push
        result[..., 1:, :] += right * push
        if objective.drift is not None:
            jacobian = objective.drift.jacobian(path)
            back = np.einsum("...nji,...nj->...ni", jacobian[..., :-1, :, :], push)
            result[..., :-1, :] -= self._drift_weights[0] * back
            ahead = np.einsum("...nji,...nj->...ni", jacobian[..., 1:, :, :], push)
            result[..., 1:, :] -= self._drift_weights[1] * ahead
        if self.terminal is not None:
            result[..., -1, :] += (path[..., -1, :] - self.terminal.centre) @ self.terminal.matrix
            result[..., -1, :] += self.terminal.linear
        return result

    def hessian(self, path: Array, curvature: Array | None = None) -> tuple[Array, Array]:
        """Return the blocks of W^{-1/2}·∇²J_N·W^{-1/2}; ``curvature`` is ∇²L, if known.

        The blocks on the diagonal have shape (..., N+1, D, D), those below it (N, D, D) or (..., N, D, D).
        """
        objective, dim = self.objective, path.shape[-1]
        diagonal = self.share[:, None, None] * (self.loss.hessian(path) if curvature is None else curvature)
        if objective.drift is None:
            whole, below = self._inertia
            diagonal += whole
        else:
            dt = matrices(self.dt)
            metric = objective.metric_matrix(dim) * dt / objective.eta
            left, right = (matrices(factor) for factor in self.kinetic_factors)
            before, after = (matrices(share) for share in self.drift_shares)
            between = np.sqrt(left * right)  # e^{±γΔt/2} cancels between the two nodes
            jacobian = objective.drift.jacobian(path)
            ahead = np.eye(dim) / dt - after * jacobian[..., 1:, :, :]
            behind = -np.eye(dim) / dt - before * jacobian[..., :-1, :, :]
            lowered, turned = metric @ behind, np.swapaxes(ahead, -1, -2)
            diagonal[..., :-1, :, :] += left * (np.swapaxes(behind, -1, -2) @ lowered)
            diagonal[..., 1:, :, :] += right * (turned @ (metric @ ahead))
            below = between * (turned @ lowered)
            if not isinstance(objective.drift, Linear):
                diagonal += self._drift_curvature(path)
        if self.terminal is not None:
            diagonal[..., -1, :, :] += self.terminal.matrix
        return diagonal, below

    def _drift_curvature(self, path: Array) -> Array:
        """Return −½Δt Σ_i p_i ∇²f_i at each node, from central differences of the Jacobian."""
        drift = self.objective.drift
        assert drift is not None
        push = self._lowered(self.slips(path)) / self.objective.eta
        weight = np.zeros_like(path)
        weight[..., :-1, :] += self._drift_weights[0] * push
        weight[..., 1:, :] += self._drift_weights[1] * push
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
        slope = objective.k * (self.loss.gradient(path) if slope is None else slope)
        ahead, behind = self.halves
        momentum = np.empty_like(path)
        momentum[:-1] = left * push - ahead * slope[:-1]
        momentum[-1] = (right * push)[-1] + np.ravel(behind)[-1] * slope[-1]
        if objective.drift is not None:
            jacobian = objective.drift.jacobian(path)
            before, after = self._drift_weights
            momentum[:-1] += before * np.einsum("nji,nj->ni", jacobian[:-1], push)
            momentum[-1] -= np.ravel(after)[-1] * jacobian[-1].T @ push[-1]
        velocity = objective.eta * momentum
        if objective.metric is not None:
            velocity = np.linalg.solve(objective.metric_matrix(path.shape[1]), velocity.T).T
        return velocity if objective.drift is None else velocity + objective.drift(path)


def matrices(weight: Any) -> Any:
    """Return an interval's weight as a factor of matrices: one for all as it is, (N, 1) as (N, 1, 1)."""
    return weight[..., None] if isinstance(weight, np.ndarray) else weight
