r"""The Riccati feedback for a quadratic loss and an affine drift f = Jθ + c with any constant metric.

The value function is :math:`V = \tfrac12x^\top Px + s^\top x + v_0` in :math:`x=\theta-` ``centre``, with
:math:`\gamma P = kH + J^\top P + PJ - \eta PG^{-1}P`, and the optimal law is the first-order feedback
:math:`\dot\theta = f - \eta G^{-1}\nabla V` (the Hamilton–Jacobi–Bellman equation of the problem).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import minimal, modes
from lossnav.trajectory.case import Case, Settings, quadratic
from lossnav.trajectory.mesh import most_steps
from lossnav.trajectory.motion import bent_hessian
from lossnav.trajectory.result import Method, Trajectory, final_charge, plot_times, resting_action

Motion = Callable[[Array], Array]  # from times, shape (T,), to (T, D)


@dataclass(frozen=True, eq=False)
class LocalValue:
    r"""The value function of the quadratic model about ``centre``, and the law that it gives.

    V(θ) = ½xᵀPx + sᵀx + excess + rest/γ with x = θ − centre; θ̇ = closed @ x + shift. ``fixed`` is where the law rests
    from every start, NaN if there is no such place. ``rest`` is the cost rate |θ̇−f|²_G/2η + kL in the long run; where
    the cost never settles (γ > 0: the law runs away in directions that the loss sees) it is γV(centre) instead.
    """

    centre: Array
    matrix: Array
    linear: Array
    excess: float
    rest: float
    closed: Array
    shift: Array
    fixed: Array

    def cost_to_go(self, theta: Array) -> float:
        """Return V(θ) − rest/γ: the cost beyond resting at ``fixed`` for ever."""
        x = theta - self.centre
        return float(x @ self.matrix @ x / 2 + self.linear @ x + self.excess)

    def follow(self, start: Array, t: Array) -> Array:
        """Return where the law leads from ``start``, shape (D,), in times t, shape (T,): shape (T, D)."""
        pace = self.velocity(start)
        rates, vectors = np.linalg.eig(self.closed)
        if np.linalg.cond(vectors) < 1e6:  # always so without drift: the law is similar to a symmetric one
            shares = np.linalg.solve(vectors, pace)
            shares[self._unmoved(rates, vectors, shares, start)] = 0.0
            growth = t[:, None] * modes.exp_mean(-rates * t[:, None])
            return start + ((growth * shares) @ vectors.T).real
        dim = len(start)
        generator = np.zeros((dim + 1, dim + 1))  # θ̇ = Ax + b as one linear system needs no inverse of A
        generator[:dim, :dim], generator[:dim, dim] = self.closed, pace
        return start + scipy.linalg.expm(t[:, None, None] * generator)[:, :dim, dim]

    def fate(self, start: Array) -> tuple[float, Array]:
        """Return how the law's path from ``start`` behaves in the end: its growth rate, and its limit or NaN.

        The rate is lim ln|θ̇|/t: of the slowest falling or the fastest growing mode that the path contains (−inf if it
        stays where it is), 0 for a path that moves on steadily.
        """
        rates, vectors = np.linalg.eig(self.closed)
        shares = np.linalg.lstsq(vectors, self.velocity(start).astype(complex))[0]
        moved = np.logical_not(self._unmoved(rates, vectors, shares, start))
        rates, shares, size = rates[moved], shares[moved], float(np.max(np.abs(rates), initial=0.0))
        growth = float(np.max(rates.real, initial=-math.inf))
        if growth >= -1e-13 * size and np.any(moved):
            return (growth if growth > 1e-13 * size else 0.0), np.full_like(start, np.nan)
        if np.all(np.isfinite(self.fixed)):
            return growth, self.fixed
        return growth, start - (vectors[:, moved] @ (shares / rates)).real

    def _unmoved(self, rates: Array, vectors: Array, shares: Array, start: Array) -> Array:
        """Say which modes have no share in the velocity at ``start``, shape (D,); of those that do not fall off, also
        which have only a share of rounding errors, which in time would make a path of them.
        """
        size = np.abs(self.closed) @ np.abs(start - self.centre) + np.abs(self.shift)
        blur = 16 * len(start) * np.finfo(float).eps * np.abs(np.linalg.pinv(vectors)) @ size
        falls = rates.real < -1e-13 * np.max(np.abs(rates), initial=0.0)
        return np.logical_or(np.logical_not(falls) & (np.abs(shares) <= blur), shares == 0)

    def ending(self, start: Array) -> tuple[float, Array]:
        """Return ``fate`` for a path that is not the law's own, but comes to it near ``fixed`` (if there is one)."""
        if not np.all(np.isfinite(self.fixed)):
            return self.fate(start)
        rates = np.linalg.eigvals(self.closed).real
        return float(np.max(rates, initial=-math.inf, where=rates < 0)), self.fixed

    def total(
        self, objective: Objective, loss: Loss, start: Array, cost_to_go: float, level: float, span: float
    ) -> tuple[float, float]:
        """Return J, and its excess over resting or NaN, of a path that the law continues after ``span``.

        ``cost_to_go`` is what it costs up to then with L − ``level`` for the loss, and what V adds after it.
        """
        gamma = objective.gamma
        if not np.all(np.isfinite(self.fixed)):
            beyond = math.exp(-gamma * span) * self.rest / gamma
            return cost_to_go + resting_action(objective.k * level, gamma, 1.0, span) + beyond, math.nan
        driftless = objective.drift is None
        slip = 0.0 if driftless else float(objective.kinetic(self.fixed, np.zeros_like(self.fixed)))
        excess, size = cost_to_go - resting_action(slip, gamma, 1.0, span), 0.0
        if gamma == 0:  # only there it matters what is rounding, of what is summed or of a loss of order one
            heights = abs(float(loss.value(start[: loss.dim]))) + loss.at(math.inf).summed(self.fixed[: loss.dim])
            size = objective.k * (1 + heights) + abs(excess)
        return excess + resting_action(self.rest, gamma, size), excess

    def pace(self, start: Array, t: Array) -> Array:
        """Return how fast it leads there, shape (T, D)."""
        return self.velocity(self.follow(start, t))

    def velocity(self, theta: Array) -> Array:
        """Return the law's θ̇ at θ, shape (..., D)."""
        return (theta - self.centre) @ self.closed.T + self.shift

    @property
    def growth(self) -> float:
        """The law's largest growth rate; negative if it comes to rest."""
        return float(np.max(np.linalg.eigvals(self.closed).real))


def continued(
    end: LocalValue | None, span: float, stop: Array, position: Motion, rate: Motion
) -> tuple[Motion, Motion]:
    """Return position and rate of a path that is at ``stop`` at ``span``, after that by the law of its end, if any."""
    path = _Continued(end, span, stop, position, rate)
    return path.place, path.pace


@dataclass(frozen=True, eq=False)
class _Continued:
    end: LocalValue | None
    span: float
    stop: Array
    position: Motion
    rate: Motion

    def place(self, t: Array) -> Array:
        within = self.position(np.minimum(t, self.span))
        late = t > self.span
        if self.end is None or not np.any(late):
            return within
        return np.where(late[:, None], self.end.follow(self.stop, np.maximum(t - self.span, 0.0)), within)

    def pace(self, t: Array) -> Array:
        within = self.rate(np.minimum(t, self.span))
        if self.end is None:
            return within
        return np.where((t > self.span)[:, None], self.end.velocity(self.place(t)), within)


def local_value(objective: Objective, loss: Loss, centre: Array) -> LocalValue:
    """Return the infinite-horizon value function: exact for a quadratic loss and an affine drift.

    Otherwise it is that of the problem linearised about ``centre``, among the paths that come to rest there; whether to
    rest there is a question that the linearised problem cannot answer. Computed in y = Lᵀ(θ − centre), G = LLᵀ.

    Raises:
        NoMinimiser: if there is none, with the reason (see ``minimal``).
    """
    dim, gamma, eta, k = len(centre), objective.gamma, objective.eta, objective.k
    metric, hessian = objective.metric_matrix(dim), bent_hessian(objective, loss, centre)
    gradient = loss.gradient(centre)
    # In whitened coordinates y the metric is the identity, and modes are orthonormal.
    lower, inverse = modes.whitening(metric)
    whitened_gradient = eta * k * (inverse @ gradient)
    basis = modes.decompose(hessian, metric)
    rotation = lower.T @ basis.directions
    curvature = eta * k * (rotation * basis.curvature) @ rotation.T  # with what is rounding set to zero
    floor = modes.rounding(inverse, hessian, inverse.T)
    # The drift there, and how much of what its Jacobian couples may be rounding.
    drift_jacobian, jacobian, drift, slack = np.zeros((dim, dim)), np.zeros((dim, dim)), np.zeros(dim), 0.0
    if objective.drift is not None:
        drift_jacobian = np.array(objective.drift.jacobian(centre))
        jacobian, drift = lower.T @ drift_jacobian @ inverse.T, lower.T @ objective.drift(centre)
        least = float(np.min(np.abs(basis.curvature), initial=math.inf, where=basis.curvature != 0))
        tilted = 16 * dim * float(np.finfo(float).eps) + floor / least  # rounding of the flat directions
        slack = modes.rounding(lower.T, drift_jacobian, inverse.T) + tilted * float(np.max(np.abs(jacobian)))
    # Directions whose curvature is never seen, wherever the drift leads (blind), and of these those without a tilt, too
    # (flat).
    blind: Array = np.zeros((dim, 0))
    flat = blind
    if exact := isinstance(loss, Quadratic) and isinstance(objective.drift, Linear | None):
        tilt_floor = eta * k * float(np.max(np.abs(inverse) @ _blur(loss, centre), initial=0.0))
        kernel = rotation[:, basis.curvature == 0]
        blind = minimal.unseen(kernel, jacobian, slack)
        flat = minimal.unseen(minimal.across(kernel, whitened_gradient, tilt_floor), jacobian, slack)
        near = np.abs(basis.curvature) <= minimal.BAND * floor
        minimal.require_clear(minimal.unseen(rotation[:, near], jacobian, minimal.BAND * slack), blind, jacobian, gamma)
    # The quadratic part: mode by mode where modes do not mix, else by the Riccati equation.
    rate = drift_jacobian[0, 0]
    if objective.drift is None:
        modes.require_minimiser(basis.curvature, basis.directions.T @ gradient, eta * k, gamma)
        feedback: Array = (rotation * modes.slow_rate(basis.curvature, eta * k, gamma)) @ rotation.T
    elif exact and basis.curvature[0] >= 0 and np.array_equal(drift_jacobian, rate * np.eye(dim)):
        # f = aθ + c shifts the discount under the root: mode by mode, no digit is lost (Eqs. 122–128).
        least_roots = modes.slow_rate if gamma >= 2 * rate else modes.fast_rate
        roots = np.where(basis.curvature == 0, 0.0, least_roots(basis.curvature, eta * k, abs(gamma - 2 * rate)))
        feedback = (rotation * roots) @ rotation.T
    elif exact:
        feedback = minimal.solution(curvature, jacobian, gamma, blind, eta * k * floor)
    else:
        feedback = minimal.solution(curvature, jacobian, gamma, None, 0.0)
    minimal.require_slow_tilt(jacobian, blind, flat, gamma)
    # What neither curvature nor gradient sees has no share in V: the rest is solved in its complement.
    seen = minimal.rest_of(flat)
    system = seen.T @ (gamma * np.eye(dim) - jacobian.T + feedback) @ seen
    try:
        feedforward = seen @ np.linalg.solve(system, seen.T @ (feedback @ drift + whitened_gradient))
    except np.linalg.LinAlgError:
        raise NoMinimiser("no minimiser: gamma = 0 and the loss has a flat direction; set gamma > 0") from None
    # The law θ̇ = f − ηG⁻¹∇V, whose growth the discount must outrun.
    closed, shift = jacobian - feedback, drift - feedforward
    growth = float(np.max(np.linalg.eigvals(closed).real))
    if not exact and growth > gamma / 2 * (1 + 1e-9):
        raise NoMinimiser(f"no minimiser: the feedback grows at rate {growth:.3g}, faster than gamma/2 discounts")
    valley = not exact and growth < 0
    # The constant: what it costs to stay where the law stands still, if it does anywhere.
    level, excess = k * float(loss.value(centre)), 0.0
    offset, place = _standing(seen.T @ closed @ seen, seen.T @ shift, valley), _standing(closed, shift, valley)
    if offset is not None:
        # Taking the state in which V's own part comes to rest as reference keeps V − rest/γ exact where γ → 0 makes
        # both infinite: the law holds that state, so V there is rest/γ, and that fixes the constant.
        offset = seen @ offset
        force, away = feedback @ offset + feedforward, inverse.T @ offset
        excess = -float(offset @ feedback @ offset / 2 + feedforward @ offset) / eta
        rest = float(force @ force) / (2 * eta) + level + k * float(gradient @ away + away @ hessian @ away / 2)
    elif gamma > 0 or not exact:
        rest = level + float(drift @ feedforward - feedforward @ feedforward / 2) / eta
    else:
        raise NotConverged("the feedback should come to rest at gamma = 0, but rounding hides how; set gamma > 0")
    fixed = np.full(dim, np.nan) if place is None else centre + inverse.T @ place
    matrix = lower @ feedback @ lower.T / eta
    return LocalValue(
        centre, (matrix + matrix.T) / 2, lower @ feedforward / eta, excess, rest,
        inverse.T @ closed @ lower.T, inverse.T @ shift, fixed,
    )  # fmt: skip


def _standing(closed: Array, shift: Array, valley: bool) -> Array | None:
    """Return where ẏ = closed·y + shift stands still, or None if a mode of it does not fall off by more than rounding.

    Along the floor of a ``valley``, where a rate is rounding, all places are as good, and the nearest is taken.
    """
    size = float(np.max(np.abs(closed), initial=0.0))
    if np.all(np.linalg.eigvals(closed).real < -1e-13 * size):
        return -np.linalg.solve(closed, shift)
    return -np.linalg.lstsq(closed, shift, rcond=1e-13)[0] if valley else None


def _blur(loss: Quadratic, centre: Array) -> Array:
    """Return a bound on the rounding error of the gradient at ``centre``, shape (D,)."""
    origin = np.zeros(loss.dim) if loss.minimum is None or loss.tilt is not None else loss.minimum
    size = np.abs(loss.gradient(origin)) + np.abs(loss.hessian(centre)) @ (np.abs(centre) + np.abs(origin))
    return 4 * loss.dim * float(np.finfo(float).eps) * size


def follow(objective: Objective, loss: Quadratic, theta0: Array, method: Method) -> Trajectory:
    """Return the exact optimum of an infinite time, by its law."""
    local = local_value(objective, loss, theta0)
    cost_to_go = local.cost_to_go(theta0)
    growth, asymptote = local.fate(theta0)
    scale = objective.k * abs(float(loss.value(theta0))) + abs(cost_to_go)
    action = cost_to_go + resting_action(local.rest, objective.gamma, scale)
    rates = np.abs(np.linalg.eigvals(local.closed).real)
    pace = growth if growth > 0 else float(np.min(rates[rates > 1e-13 * np.max(rates)], initial=math.inf))
    rests = np.all(np.isfinite(asymptote)) and np.all(np.isfinite(local.fixed))
    return Trajectory(
        objective, loss, plot_times(pace, math.inf), action, cost_to_go if rests else math.nan, asymptote, method,
        partial(local.follow, theta0), partial(local.pace, theta0), growth=growth,
    )  # fmt: skip


def _finite(objective: Objective, loss: Quadratic, theta0: Array, horizon: float) -> Trajectory:
    """Return the optimum up to a deadline: V = ½zᵀPz in z = (θ − θ₀, 1), whose last row has V's other parts.

    Along an optimum (z, λ = Pz) obeys a linear equation, so that one matrix exponential, of blocks A, B, C and D, takes
    P over a step backwards, P′ = (C + DP)(A + BP)⁻¹, from cL at the deadline on, and another z forwards.
    """
    dim, gamma, eta, k = loss.dim, objective.gamma, objective.eta, objective.k
    drift = objective.drift if objective.drift is not None else Linear(0.0)
    jacobian, offset, charge = np.array(drift.jacobian(theta0)), drift(theta0), objective.charge
    mobility = eta * np.linalg.inv(objective.metric_matrix(dim))
    hessian, gradient = loss.hessian(theta0), loss.gradient(theta0)
    pace = math.sqrt(k * float(np.max(np.abs(mobility @ hessian)))) + float(np.max(np.abs(jacobian))) + gamma
    count = max(1, math.ceil(2 * horizon * pace))
    if count > most_steps(dim):
        raise NotConverged(
            f"the deadline is {horizon * pace:.3g} times as long as the shortest time in the problem; leave it out"
        )
    step = horizon / count
    # z and λ are measured by how far a step leads: nothing is lost where the time is short or the slope is small.
    drift_speed, weight = float(np.max(np.abs(offset))), k * step + charge
    far = (drift_speed + float(np.max(np.abs(mobility))) * weight * float(np.max(np.abs(gradient)))) * step or 1.0
    steep = weight * (float(np.max(np.abs(gradient))) + float(np.max(np.abs(hessian))) * far) or 1.0
    # The linear flow of (z, λ), the constant 1 being the last entry of z.
    bowl, drift_block = np.zeros((dim + 1, dim + 1)), np.zeros((dim + 1, dim + 1))
    bowl[:dim, :dim], bowl[:dim, dim], bowl[dim, :dim] = hessian * far / steep, gradient / steep, gradient / steep
    drift_block[:dim, :dim], drift_block[:dim, dim] = jacobian, offset / far
    free = np.pad(mobility * steep / far, (0, 1))
    flow = np.block([[drift_block, -free], [-k * bowl, gamma * np.eye(dim + 1) - drift_block.T]])
    back = scipy.linalg.expm(-step * flow)
    a, b, c, d = (part for rows in np.split(back, 2) for part in np.split(rows, 2, axis=1))
    spread = np.linalg.solve(a, b)
    # Backwards from the deadline P, forwards from θ₀ the path.
    value = [charge * bowl]
    for _ in range(count):
        # Between two steps A + sB P is singular for some s ≤ 1, a focal point, where 1 + A⁻¹B P is not positive.
        if not np.min(np.linalg.eigvals(np.eye(dim + 1) + spread @ value[-1]).real) > 0:
            raise NoMinimiser("no minimiser: the Riccati equation escapes to infinity before the horizon (focal point)")
        after = np.linalg.solve((a + b @ value[-1]).T, (c + d @ value[-1]).T)
        value.append((after + after.T) / 2)
    ahead = scipy.linalg.expm(step * flow)[: dim + 1]
    states = [np.eye(dim + 1)[dim]]
    for matrix in value[:0:-1]:
        states.append(ahead @ np.concatenate([states[-1], matrix @ states[-1]]))
    nodes = np.array([np.concatenate([z, matrix @ z]) for z, matrix in zip(states, value[::-1], strict=True)])
    path = _Flow(theta0, far, flow, nodes, step)
    level = float(loss.value(theta0))
    action = resting_action(k * level, gamma, 1.0, horizon) + final_charge(objective, level)
    action += far * steep * float(value[-1][dim, dim]) / 2
    return Trajectory(
        objective, loss, plot_times(1.0, horizon), action, math.nan, path.position(np.array([horizon]))[0],
        Riccati.name, path.position, path.rate, end=horizon,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Flow:
    """The path θ₀ + ``size``·z by the linear ``flow`` of (z, λ) from ``nodes`` a step apart, shape (N+1, 2D+2)."""

    theta0: Array
    size: float
    flow: Array
    nodes: Array
    step: float

    def position(self, t: Array) -> Array:
        return self.theta0 + self.size * self._state(t)[:, : len(self.theta0)]

    def rate(self, t: Array) -> Array:
        return self.size * (self._state(t) @ self.flow.T)[:, : len(self.theta0)]

    def _state(self, t: Array) -> Array:
        """Return (z, λ) from the last node before."""
        last = np.clip(np.floor(t / self.step).astype(int), 0, len(self.nodes) - 1)
        onwards = scipy.linalg.expm((t - last * self.step)[:, None, None] * self.flow)
        return np.einsum("tij,tj->ti", onwards, self.nodes[last])


class Riccati:
    """The feedback law as a solver; ``settings`` do not concern an exact one."""

    name: Method = "riccati"

    def accepts(self, case: Case) -> str:
        """Return why not: another loss or drift, a fixed end, a metric that depends on θ."""
        if declined := quadratic(case):
            return declined
        if case.endpoint is not None:
            return "needs a free end"
        if case.objective.drift is not None and not isinstance(case.objective.drift, Linear):
            return "needs an affine drift"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the exact optimum."""
        assert isinstance(case.loss, Quadratic)  # accepts has said so
        if math.isfinite(case.objective.horizon):
            return _finite(case.objective, case.loss, case.theta0, case.objective.horizon)
        return follow(case.objective, case.loss, case.theta0, self.name)
