r"""J on a mesh, its gradient and its Hessian in θ₀ … θ_N: the one transcription that every numeric solver minimises.

Over the interval from t_n to t_{n+1}, with s the slip and G at a place m inside,

.. math:: J_N = \sum_n \Bigl\{\omega_n\,\frac{|s_n|_{G(m_n)}^2}{2\eta}
   + k\,[\alpha_n L(\theta_n) + \beta_n L(\theta_{n+1})]\Bigr\} + w_Nc\,L(\theta_N) + \text{terminal},

.. math:: s_n = \frac{\theta_{n+1}-\theta_n}{\Delta t_n} - a_nf(\theta_n) - b_nf(\theta_{n+1}),\quad
   m_n = \theta_n+\tfrac{1+b_n}3(\theta_{n+1}-\theta_n),\quad w = e^{-\gamma t}.

The path is linear between its nodes, with ω, α, β that integrate the discount exactly, and a and b those of the
discounted mean of f. What costs nothing but a steady rate, such as resting against a drift, is exact however long the
steps are. Elsewhere, for γΔt below 1, errors are O(Δt²) in J and path, of relative size γrΔt²/12 for a mode of rate r
(velocities in the middle and the trapezoidal rule, which this is at γ = 0, leave γ²Δt²/24), and symmetric in an
interval's ends: on the nodes of one ``Mesh`` they are a series in (1/N)². Beyond, where e^{−γΔt} is small, a path is
that of implicit Euler steps of the gradient flow, of first order.

``halfway`` asks for the loss in the middles, too: instead of αL(θ_n) + βL(θ_{n+1}), an interval of u from 0 to 1 counts

.. math:: \int e^{-\gamma t}\bigl[(1-u)^2L(\theta_n) + 2u(1-u)\,L(\tfrac{\theta_n+\theta_{n+1}}2)
   + u^2L(\theta_{n+1})\bigr]\,dt ,

half of what the loss bends along the straight line. All of it makes explicit Euler steps of the gradient flow where
γΔt is large, nothing implicit ones, and half the midpoint rule. Paths are then of second order whatever γΔt is, with
errors of size r²Δt². So they are under a G(θ) of one coordinate, as it is taken a third of the way there, and half of
it at γΔt = 0. Of more coordinates they are of first order where γΔt is large: to move a node changes G, too, by
½·∂_iG_jk v_j v_k where a flow has the change of G along it, v_l ∂_lG_ij v_j, and no place of G makes the two equal.
Where the loss jumps in time there is to be a node: α has what comes after it, β what was before. Derivatives are
divided by w_n, so that nothing underflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lossnav._checks import Array
from lossnav.problem.functions.roots import exp_mean, exp_moment, exp_parabolas
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory.mesh import Even, Mesh
from lossnav.trajectory.motion import bent
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.riccati import LocalValue

_NEAR = 1e-3  # how far a path may move, relative to 1 + |θ|, until a metric's second derivatives are asked for anew
_MOST_TURN = 600.0  # γΔt where e^{γΔt} is still a number: of what comes after a longer step nothing counts


@dataclass(frozen=True, eq=False)
class Transcription:
    """J on ``steps`` intervals up to ``horizon``.

    ``terminal`` adds the value function of a resting place at the end; ``endpoint`` fixes the end instead; with neither
    the end is free. ``level`` is subtracted from the loss before summing (its discounted integral is known exactly).
    ``halfway`` asks for the loss between the nodes, too; not for a drift, and its J is that of ``smoothed``.
    Methods take one path, shape (N+1, D), or several with leading axes.
    """

    objective: Objective
    loss: Loss
    horizon: float
    steps: int
    terminal: LocalValue | None = None
    endpoint: Array | None = None
    level: float = 0.0
    mesh: Mesh = field(default_factory=Even)
    halfway: bool = False

    @cached_property
    def times(self) -> Array:
        """Nodes, shape (N+1,)."""
        return self.mesh.times(self.horizon, self.steps)

    @cached_property
    def dt(self) -> Array:
        """Lengths of the intervals, shape (N, 1), as of all that belongs to an interval."""
        return np.diff(self.times)[:, None]

    @property
    def order(self) -> int:
        """The power of Δt with which errors of the path fall where γΔt is large; elsewhere it is 2."""
        return 1 if self.halfway and self.objective.curved and self.loss.dim > 1 else 2

    @property
    def free(self) -> slice:
        """Which nodes may move."""
        return slice(1, self.steps + 1 if self.endpoint is None else self.steps)

    @cached_property
    def landscape(self) -> Loss:
        """L as the nodes see it: of a loss that jumps in time the mean of both sides, by what each counts."""
        return _Nodal(self) if self.loss.timed else self.loss

    def overstretched(self, steps: int) -> bool:
        """Return whether the longest of so many steps would be too long for the discount: beyond it nothing counts."""
        return not self.halfway and bool(self.objective.gamma * np.max(self.dt) * (self.steps / steps) > _MOST_TURN)

    @cached_property
    def _turn(self) -> Array:
        return self.objective.gamma * self.dt

    @cached_property
    def _onward(self) -> Array:
        """w_n/w_{n+1}, shape (N, 1), or what is as good as infinite."""
        return np.exp(np.minimum(self._turn, _MOST_TURN))

    @cached_property
    def kinetic_factors(self) -> tuple[Array, Array]:
        """ω/Δt relative to w at an interval's left and at its right node, shape (N, 1) each."""
        mean = exp_mean(self._turn)
        return mean, self._onward * mean

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        """What the loss counts at an interval's left node, in its middle and at its right node, (N, 1) each.

        Relative to the discount at the left node: integrals of e^{−γΔt·u} times 1 − u, 0 and u, or, if the loss is
        asked halfway, too, (1 − u)², 2u(1 − u) and u².
        """
        if self.halfway:
            early, middle, late = exp_parabolas(self._turn)
            return self.dt * early, self.dt * middle, self.dt * late
        turn, mean, first = self._turn, exp_mean(self._turn), exp_moment(self._turn, 1)
        last = np.where(turn < 1, mean - first, (mean - np.exp(-turn)) / np.maximum(turn, 1))  # with all its digits
        return self.dt * first, np.zeros_like(self.dt), self.dt * last

    @cached_property
    def halves(self) -> tuple[Array, Array]:
        """What an interval's loss counts at its left and at its right node, relative to their discount, (N, 1) each."""
        early, _, late = self._parts
        return early, self._onward * late

    @cached_property
    def _middle_loss(self) -> Loss:
        return self.loss.at((self.times[1:] + self.times[:-1]) / 2) if self.loss.timed else self.loss

    @cached_property
    def drift_shares(self) -> tuple[Array, Array]:
        """a and b, shape (N, 1) each."""
        left = exp_moment(self._turn, 1) / self.kinetic_factors[0]
        return left, 1 - left

    @cached_property
    def share(self) -> Array:
        """What a node's loss counts, before discounting, shape (N+1,); the last with what a deadline charges."""
        share = np.zeros(self.steps + 1)
        ahead, behind = self.halves
        share[:-1] += self.objective.k * ahead[:, 0]
        share[1:] += self.objective.k * behind[:, 0]
        share[-1] += self.objective.charge
        return share

    @cached_property
    def unit_share(self) -> float:
        """What the loss of a node inside counts on average; ``node_sizes`` are relative to it."""
        return self.objective.k * self.horizon / self.steps

    @cached_property
    def node_sizes(self) -> Array:
        """The time that a free node stands for, with its discount, relative to the mean, shape (M, 1)."""
        early, middle, late = self._parts
        length = np.zeros((self.steps + 1, 1))
        length[:-1] += early + middle / 2
        length[1:] += self._onward * (late + middle / 2)
        return length[self.free] * (self.steps / self.horizon)

    def residual(self, gradient: Array) -> float:
        """Return the largest residual of θ̈, given ``gradient`` at the free nodes, as they are: unit u/T²."""
        rate = np.abs(gradient) * (self.objective.eta * self.steps / self.horizon) / self.node_sizes
        return float(np.max(rate, initial=0.0))

    @cached_property
    def _weights(self) -> tuple[Array, Array, Array]:
        """Weights of motion in intervals, of L at nodes and of L between them, with their discount."""
        discount = np.exp(-self.objective.gamma * self.times)
        intervals = self.dt[:, 0] * self.kinetic_factors[0][:, 0] * discount[:-1]
        early, between, late = (self.objective.k * part[:, 0] * discount[:-1] for part in self._parts)
        nodes = np.append(early, self.objective.charge * discount[-1])
        nodes[1:] += late
        return intervals, nodes, between

    @cached_property
    def blur(self) -> float:
        """What rounding leaves of J: a loss of order one is known to its last digit, and ``level`` is taken from it."""
        return 4 * float(np.finfo(float).eps) * (1 + abs(self.level)) * float(self._weights[1].sum())

    @cached_property
    def _drift_weights(self) -> tuple[Array, Array]:
        """What an interval's momentum counts in ∂J/∂f at its left and at its right node."""
        (left, right), (before, after) = self.kinetic_factors, self.drift_shares
        return left * self.dt * before, right * self.dt * after

    @cached_property
    def discount_root(self) -> Array:
        """√(w_n/w_1) at the free nodes, shape (M, 1)."""
        times = self.times[self.free]
        return np.exp(-self.objective.gamma / 2 * (times - times[0]))[:, None]

    @cached_property
    def discount_steps(self) -> Array:
        """√(w_n/w_{n+1}) between the free nodes, shape (M−1, 1, 1)."""
        return np.sqrt(self._onward[1 : self.free.stop - 1])[:, :, None]

    def slips(self, path: Array) -> Array:
        """Return s, shape (..., N, D)."""
        velocity = (path[..., 1:, :] - path[..., :-1, :]) / self.dt
        if self.objective.drift is None:
            return velocity
        drift, (before, after) = self.objective.drift(path), self.drift_shares
        return velocity - before * drift[..., :-1, :] - after * drift[..., 1:, :]

    @cached_property
    def _place(self) -> Array:
        """c, how far between its nodes an interval's metric is taken, shape (N, 1): ½, and ⅓ where γΔt is large."""
        return (1 + self.drift_shares[1]) / 3

    @cached_property
    def _metric(self) -> _Middles:
        return _Middles(self.objective, self.loss.dim, self._place)

    def _lowered(self, path: Array, slips: Array) -> Array:
        """Return G s."""
        if self.objective.metric is None:
            return slips
        if not self.objective.curved:
            return slips @ self.objective.metric_matrix(slips.shape[-1])
        return np.einsum("...ij,...j->...i", self._metric.at(path).matrix, slips)

    def action(self, path: Array) -> Any:
        """Return J_N, shape (...), without the level's and the resting cost's share.

        Of a path that leaves the domain it is infinite: θ ≤ 0 where a loss asks for more, or a metric that is none.
        """
        outside = np.zeros(path.shape[:-2], bool)
        for i in self.loss.positive:
            outside |= np.any(path[..., i] <= 0, axis=-1)
        if np.any(outside):
            path = np.where(outside[..., None, None], path[..., :1, :], path)
        intervals, nodes, between = self._weights
        paid = self.paid(path)
        if self.objective.curved:
            outside |= np.any(paid < 0, axis=-1)
        total = paid @ intervals + (np.asarray(self.landscape.value(path)) - self.level) @ nodes
        if self.halfway:
            total += (np.asarray(self._middle_loss.value(_middles(path))) - self.level) @ between
        total += self._left(path)
        total = np.where(outside, np.inf, total) if np.any(outside) else total
        return float(total) if path.ndim == 2 else total

    def _left(self, path: Array) -> Any:
        """Return what is still to pay at the end, shape (...)."""
        if self.terminal is None:
            return 0.0
        x = path[..., -1, :] - self.terminal.centre
        cost_to_go = ((x @ self.terminal.matrix / 2 + self.terminal.linear) * x).sum(-1) + self.terminal.excess
        return np.exp(-self.objective.gamma * self.horizon) * cost_to_go

    def paid(self, path: Array) -> Array:
        """Return |s|²_G/2η, shape (..., N)."""
        slips = self.slips(path)
        return np.einsum("...ni,...ni->...n", self._lowered(path, slips), slips) / (2 * self.objective.eta)

    def _kinetic_gradients(self, path: Array) -> tuple[Array, Array]:
        """Return what an interval's kinetic term adds to (∂J_N/∂θ)/w at its left and right node, (..., N, D) each."""
        objective, slips = self.objective, self.slips(path)
        costate = self._lowered(path, slips) / objective.eta  # conjugate momentum
        left, right = self.kinetic_factors
        start, final = -left * costate, right * costate
        if objective.curved:  # the place of the metric moves with both nodes
            tilt = self._metric.at(path).tilt(slips) * (self.dt / (2 * objective.eta))
            start += left * (1 - self._place) * tilt
            final += right * self._place * tilt
        if objective.drift is not None:
            jacobian, (before, after) = objective.drift.jacobian(path), self._drift_weights
            start -= before * np.einsum("...nji,...nj->...ni", jacobian[..., :-1, :, :], costate)
            final -= after * np.einsum("...nji,...nj->...ni", jacobian[..., 1:, :, :], costate)
        return start, final

    def gradient(self, path: Array, loss_gradient: Array | None = None) -> Array:
        """Return (∂J_N/∂θ_n)/w_n, shape (..., N+1, D); ``loss_gradient`` is ∇L at the nodes, if known."""
        result = self.share[:, None] * (self.landscape.gradient(path) if loss_gradient is None else loss_gradient)
        start, final = self._kinetic_gradients(path)
        if self.halfway:
            pull = self._middle_pull(path)
            start, final = start + pull, final + self._onward * pull
        result[..., :-1, :] += start
        result[..., 1:, :] += final
        if self.terminal is not None:
            result[..., -1, :] += (path[..., -1, :] - self.terminal.centre) @ self.terminal.matrix
            result[..., -1, :] += self.terminal.linear
        return result

    def _middle_pull(self, path: Array) -> Array:
        """Return what the loss in the middles adds to (∂J_N/∂θ)/w at either node, relative to the left one's w."""
        return self.objective.k / 2 * self._parts[1] * self._middle_loss.gradient(_middles(path))

    @property
    def steady(self) -> bool:
        """Whether the second derivatives of what motion costs are the same on every path."""
        return self.objective.drift is None and not self.objective.curved

    def eased(self) -> Iterator[Transcription]:
        """Yield problems that lead up to this one, each near the one before: none is needed."""
        yield from ()

    @property
    def walled(self) -> bool:
        """Whether a limit holds paths: how near to it they are may be small, and no rounding."""
        return False

    def admitted(self, paths: Array) -> Array:
        """Return paths of finite J in the place of those from which a search is to begin: these."""
        return paths

    def reach(self, path: Array, step: Array) -> float:
        """Return which share of a step of the free nodes, shape (M, D), a path may take: all of it."""
        return 1.0

    def lift(self, places: Array) -> Array:
        """Return the states of a learner who rests at places, shape (..., D): the places."""
        return places

    @cached_property
    def _inertia(self) -> tuple[Array, Array]:
        """What a constant metric adds to the Hessian without drift: on the diagonal and below it."""
        dim = self.loss.dim
        left, right = self.kinetic_factors
        mass = self.objective.metric_matrix(dim) / (self.dt[..., None] * self.objective.eta)
        diagonal = np.zeros((self.steps + 1, dim, dim))
        diagonal[:-1] += left[..., None] * mass
        diagonal[1:] += right[..., None] * mass
        return diagonal, -np.sqrt(left * right)[..., None] * mass

    def hessian(self, path: Array, curvature: Array | None = None) -> tuple[Array, Array]:
        """Return the blocks of W^{-1/2}·∇²J_N·W^{-1/2}; ``curvature`` is ∇²L at the nodes, if known.

        The blocks on the diagonal have shape (..., N+1, D, D), those below it (N, D, D) or (..., N, D, D).
        """
        curvature = self.landscape.hessian(path) if curvature is None else curvature
        diagonal = self.share[:, None, None] * curvature
        if self.steady:
            inertia, below = self._inertia
            diagonal += inertia
        else:
            start, final, below = self._kinetic_blocks(path)
            diagonal[..., :-1, :, :] += start
            diagonal[..., 1:, :, :] += final
        if self.halfway:
            onward = self._onward[..., None]
            bent = self.objective.k / 4 * self._parts[1][..., None] * self._middle_loss.hessian(_middles(path))
            diagonal[..., :-1, :, :] += bent
            diagonal[..., 1:, :, :] += onward * bent
            below = below + np.sqrt(onward) * bent
        if self.terminal is not None:
            diagonal[..., -1, :, :] += self.terminal.matrix
        return diagonal, below

    def _kinetic_blocks(self, path: Array) -> tuple[Array, Array, Array]:
        """Return an interval's second derivatives by its left node, by its right one, and mixed, (..., N, D, D) each.

        With ∂s/∂θ = A, B = ∂(Gs)/∂m and Q = ∂²|s|²_G/∂m² they are those of ω|s|²_G/2η,
        A₁ᵀGA₂ + c₂A₁ᵀB + c₁BᵀA₂ + c₁c₂Q/2, c the share of a node in m, and of the drift's own bend.
        """
        objective, dim = self.objective, path.shape[-1]
        dt = self.dt[..., None]
        left, right = (factor[..., None] * dt / objective.eta for factor in self.kinetic_factors)
        between = np.sqrt(left * right)  # e^{±γΔt/2} cancels between the two nodes
        # A = ∂s/∂θ by the node ahead, and by the one behind.
        ahead = np.broadcast_to(np.eye(dim) / dt, (*path.shape[:-2], self.steps, dim, dim))
        behind = -ahead
        if objective.drift is not None:
            before, after = (share[..., None] for share in self.drift_shares)
            jacobian = objective.drift.jacobian(path)
            ahead = ahead - after * jacobian[..., 1:, :, :]
            behind = behind - before * jacobian[..., :-1, :, :]
        turned, turned_back = np.swapaxes(ahead, -1, -2), np.swapaxes(behind, -1, -2)
        if not objective.curved:
            # A constant metric leaves AᵀGA.
            metric = objective.metric_matrix(dim)
            lowered = metric @ behind
            start, final, cross = turned_back @ lowered, turned @ (metric @ ahead), turned @ lowered
        else:
            middle, slips = self._metric.at(path), self.slips(path)
            mixed, middle_hessian, late = middle.mixed(slips), middle.bend(slips) / 2, self._place[..., None]
            early = 1 - late
            behind_mixed, ahead_mixed = turned_back @ mixed, turned @ mixed
            behind_turned, ahead_turned = (np.swapaxes(each, -1, -2) for each in (behind_mixed, ahead_mixed))
            lowered = middle.matrix @ behind
            start = turned_back @ lowered + early * (behind_mixed + behind_turned) + early**2 * middle_hessian
            final = turned @ (middle.matrix @ ahead) + late * (ahead_mixed + ahead_turned) + late**2 * middle_hessian
            cross = turned @ lowered + early * ahead_mixed + late * behind_turned + early * late * middle_hessian
        start, final = left * start, right * final
        if objective.drift is not None:
            # The drift bends: −λ·∂²f/∂θ², weighted as in the gradient.
            costate = self._lowered(path, self.slips(path)) / objective.eta
            start = start - bent(objective.drift, path[..., :-1, :], self._drift_weights[0] * costate)
            final = final - bent(objective.drift, path[..., 1:, :], self._drift_weights[1] * costate)
        return start, final, between * cross

    def costates(self, path: Array, loss_gradient: Array | None = None) -> Array:
        """Return the discrete conjugate momentum at the nodes, shape (N+1, D) (error O(Δt²)).

        It is that of the interval which a node begins; at a switch that of the one before is the same to this order.
        At a free end the momentum is what the end asks for: over a long last interval e^{γΔt} would drown it.
        """
        objective = self.objective
        start, final = self._kinetic_gradients(path)
        after, before = self.sides(path, loss_gradient)
        ahead, behind = self.halves
        momentum = np.empty_like(path)
        momentum[:-1] = -start - objective.k * ahead * after
        if self.halfway:
            momentum[:-1] -= self._middle_pull(path)
        momentum[-1] = final[-1] + objective.k * behind[-1] * before
        if self.endpoint is None:
            momentum[-1] = -objective.charge * before
            if self.terminal is not None:
                momentum[-1] -= (path[-1] - self.terminal.centre) @ self.terminal.matrix + self.terminal.linear
        return momentum

    def velocities(self, path: Array, loss_gradient: Array | None = None) -> Array:
        """Return θ̇ at the nodes, shape (N+1, D), from ``costates``."""
        objective = self.objective
        velocity = objective.eta * self.costates(path, loss_gradient)
        if objective.curved:
            velocity = np.linalg.solve(objective.metric_on(path.shape[1]).matrix(path), velocity[..., None])[..., 0]
        elif objective.metric is not None:
            velocity = np.linalg.solve(objective.metric_matrix(path.shape[1]), velocity.T).T
        return velocity if objective.drift is None else velocity + objective.drift(path)

    def carried(self, path: Array, loss_gradient: Array | None = None) -> Array:
        """Return what interpolation needs beside the places, shape (N+1, D): the velocities."""
        return self.velocities(path, loss_gradient)

    def smoothed(self, path: Array, before: Array, after: Array) -> float:
        """Return J as ``action`` does, of the cubics with these velocities at both ends of an interval, shape (N, D).

        A straight line has its mean velocity from the start, where an interval is long against 1/γ and all of it is
        paid. What time costs is taken for a parabola through its values at both ends and in the middle.
        """
        early, late = path[:-1], path[1:]
        middle = (early + late) / 2 + (before - after) * self.dt / 8
        through = 3 / 2 * (late - early) / self.dt - (before + after) / 4
        begun, ended = (
            self.loss.at(times) if self.loss.timed else self.loss
            for times in (self.times[:-1], np.nextafter(self.times[1:], 0.0))
        )
        moments = (begun, early, before), (self._middle_loss, middle, through), (ended, late, after)
        objective = self.objective
        rates = [
            objective.kinetic(place, velocity) + objective.k * (np.asarray(loss.value(place)) - self.level)
            for loss, place, velocity in moments
        ]
        first, bend, last = exp_parabolas(self._turn)
        weights = self.dt * np.hstack([first - bend / 2, 2 * bend, last - bend / 2])
        paid = np.einsum("in,ni,n->", rates, weights, np.exp(-self.objective.gamma * self.times[:-1]))
        return float(paid + self._left(path))

    def rates(self, carried: Array) -> Array:
        """Return how fast the states at the nodes change: the velocities."""
        return carried

    def pace(self, place: Any, carried: Array, loss_gradient: Array) -> Any:
        """Return the velocity between the nodes, given the ``scipy.interpolate.PPoly`` of the places there."""
        return place.derivative()

    def bias(self, path: Array) -> float:
        """Return what to add to J_N of a minimum, which may have been that of an easier problem."""
        return 0.0

    def gap(self, path: Array) -> float:
        """Return how much less than a path costs J may be, because it is the minimum of an easier problem."""
        return 0.0

    def seen(self, path: Trajectory) -> Trajectory:
        """Return the path of a solution as whoever asked for it sees it."""
        return path

    def sides(self, path: Array, loss_gradient: Array | None) -> tuple[Array, Array]:
        """Return ∇L after the nodes but the last, shape (N, D), and before the last, shape (D,)."""
        if not self.loss.timed:
            loss_gradient = self.loss.gradient(path) if loss_gradient is None else loss_gradient
            return loss_gradient[:-1], loss_gradient[-1]
        after = self.loss.at(self.times[:-1]).gradient(path[:-1])
        return after, self.loss.at(np.nextafter(self.times[-1], 0.0)).gradient(path[-1])


def switch_nodes(loss: Loss, times: Array) -> NDArray[np.intp]:
    """Return which nodes inside are switches of a loss, shape (M,)."""
    return 1 + np.flatnonzero(np.isin(times[1:-1], getattr(loss, "switches", ())))


def _middles(path: Array) -> Array:
    return (path[..., 1:, :] + path[..., :-1, :]) / 2


class _Nodal(Loss):
    """A loss that depends on time at the nodes of a mesh, each at its own time; before and after it, where they differ.

    Its points have shape (..., N+1, D).
    """

    def __init__(self, problem: Transcription):
        loss, times = problem.loss, problem.times
        self.dim, self.positive = loss.dim, loss.positive
        self._after = loss.at(np.minimum(times, np.nextafter(times[-1], 0.0)))  # the last node ends an interval only
        self._jumps = switch_nodes(loss, times)
        self._before = loss.at(np.nextafter(times[self._jumps], 0.0)) if len(self._jumps) else None
        ahead, behind = problem.halves
        late, early = ahead[self._jumps, 0], behind[self._jumps - 1, 0]
        self._weight = early / (late + early) if len(self._jumps) else early

    def value(self, theta: Any) -> Any:
        return self._mean(np.asarray(self._after.value(theta)), lambda loss, x: np.asarray(loss.value(x)), theta, 0)

    def gradient(self, theta: Any) -> Array:
        return self._mean(self._after.gradient(theta), lambda loss, x: loss.gradient(x), theta, 1)

    def hessian(self, theta: Any) -> Array:
        return self._mean(self._after.hessian(theta), lambda loss, x: loss.hessian(x), theta, 2)

    def _mean(self, after: Array, read: Any, theta: Array, axes: int) -> Array:
        if self._before is None:
            return after
        after = np.array(after)
        nodes: Any = (..., self._jumps, *[slice(None)] * axes)
        weight = self._weight.reshape(-1, *[1] * axes)
        before = read(self._before, theta[..., self._jumps, :])
        after[nodes] = (1 - weight) * after[nodes] + weight * before
        return after


class _Middles:
    """A metric at places of a path's intervals; the last path's is remembered."""

    def __init__(self, objective: Objective, dim: int, place: Array):
        self._metric, self._place = objective.metric_on(dim), place
        self._path: Any = None
        self._derivative: Array | None = None
        self._bend: Array | None = None

    def at(self, path: Array) -> _Middles:
        """Return it for a path, shape (..., N+1, D)."""
        new = self._path is None or self._path.shape != path.shape
        if new or not np.array_equal(self._path, path):
            # Newton's method needs no more of a bend than that of a path near by.
            if new or np.max(np.abs(self._path - path)) > _NEAR * (1 + np.max(np.abs(path))):
                self._bend = None
            self._path = path.copy()
            self._theta = path[..., :-1, :] + self._place * np.diff(path, axis=-2)
            self.matrix = self._metric.matrix(self._theta)
            self._derivative = None
        return self

    def _derivative_there(self) -> Array:
        if self._derivative is None:
            self._derivative = self._metric.derivative(self._theta)
        return self._derivative

    def tilt(self, slips: Array) -> Array:
        """Return ∂|s|²_G/∂m at constant s, shape (..., N, D)."""
        return np.einsum("...jki,...j,...k->...i", self._derivative_there(), slips, slips)

    def mixed(self, slips: Array) -> Array:
        """Return B_ik = ∂(Gs)_i/∂m_k, shape (..., N, D, D)."""
        return np.einsum("...ijk,...j->...ik", self._derivative_there(), slips)

    def bend(self, slips: Array) -> Array:
        """Return Q, the second derivatives of |s|²_G by m, shape (..., N, D, D)."""
        if self._bend is None:
            self._bend = self._metric.second_derivative(self._theta)
        hessian = np.einsum("...jkil,...j,...k->...il", self._bend, slips, slips)
        return (hessian + np.swapaxes(hessian, -1, -2)) / 2
