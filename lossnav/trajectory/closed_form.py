"""The closed form for quadratic losses without drift: Eqs. 53, 78–82, 51 for a deadline, any metric and curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes, riccati
from lossnav.trajectory.case import CURVED, Case
from lossnav.trajectory.result import Method, Trajectory, final_charge, plot_times, resting_action

if TYPE_CHECKING:
    from lossnav.trajectory.refinement import Settings


def solve(
    objective: Objective, loss: Quadratic, theta0: Array, *, endpoint: Array | None, horizon: float
) -> Trajectory:
    """Return the exact optimum from ``theta0``; ``endpoint`` fixes θ(horizon), else the end is free.

    Raises:
        NoMinimiser: where J is unbounded below or its infimum is not attained.
    """
    if endpoint is not None:
        return _fixed_end(objective, loss, theta0, endpoint, horizon)
    stiffness, gamma = objective.eta * objective.k, objective.gamma
    metric = objective.metric_matrix(loss.dim)
    basis = modes.decompose(loss.hessian(theta0), metric)
    h, directions = basis.curvature, basis.directions
    slope = directions.T @ loss.gradient(theta0)
    charge = objective.charge / objective.k
    modes.require_minimiser(h, slope, stiffness, gamma, horizon, charge)

    free = _Free(theta0, directions, slope, (h, stiffness, gamma), (horizon, charge))
    action, excess = _action(objective, loss, theta0, h, slope, horizon)
    if math.isfinite(horizon):
        asymptote = free.position(np.array([horizon]))[0]
    else:
        stays = (h > 0) | (np.abs(slope) <= 1e-12 * np.max(np.abs(slope), initial=0.0))
        reach = np.where(h > 0, 1 / np.where(h > 0, h, 1.0), 0.0)
        asymptote = theta0 - directions @ (reach * slope) if np.all(stays) else np.full(loss.dim, np.nan)
    slow = modes.slow_rate(h, stiffness, gamma)
    moves = slope != 0 if math.isfinite(horizon) else (slope != 0) & ((h > 0) | ~stays)
    growth = float(np.max(-slow, initial=-math.inf, where=moves)) if math.isinf(horizon) else math.nan
    slowest = float(np.nanmin(np.where(slow > 0, slow, np.inf), initial=np.inf))
    pace = growth if growth > 0 else slowest
    return Trajectory(
        objective, loss, plot_times(pace, horizon), action, excess, asymptote, "closed_form",
        free.position, free.rate, end=horizon, growth=growth,
    )  # fmt: skip


def _action(
    objective: Objective, loss: Quadratic, theta0: Array, h: Array, slope: Array, horizon: float
) -> tuple[float, float]:
    """Return J and its excess over the cost of resting at the stationary point.

    A mode with curvature contributes −x₀ẋ₀/2η = ψ(0)g²/2ηh on top of resting at its stationary point. A mode too
    flat for that (x₀ = g/h loses its digits) contributes −(kg²/2)∫e^{−γt}φ dt on top of resting where it starts, and
    −(cg²/2)e^{−γT}φ(T) by the charge at a deadline.
    """
    stiffness, gamma = objective.eta * objective.k, objective.gamma
    charge = objective.charge / objective.k
    curved = np.abs(h) > 1e-6 * np.max(np.abs(h), initial=0.0)
    if gamma == 0 and not math.isfinite(horizon):
        curved = h > 0  # the other form does not exist; require_minimiser has seen to it that flat modes have no slope
    safe = np.where(curved, h, 1.0)
    start_speed = modes.speed(h, stiffness, gamma, 0.0, horizon, charge)
    climb = float(np.sum(np.where(curved, start_speed * slope**2 / (2 * objective.eta * safe), 0.0)))
    level = float(loss.value(theta0)) - float(np.sum(np.where(curved, slope**2 / (2 * safe), 0.0)))
    flat = ~curved & (np.abs(slope) > 1e-12 * np.max(np.abs(slope), initial=0.0))
    if np.any(flat):
        gain = _discounted(h[flat], stiffness, gamma, horizon, charge)
        climb -= objective.k / 2 * float(np.sum(slope[flat] ** 2 * gain))
    scale = objective.k * (abs(float(loss.value(theta0))) + abs(level))
    rest = resting_action(objective.k * level, gamma, scale, horizon) + final_charge(objective, level)
    return rest + climb, math.nan if np.any(flat) else climb


def _discounted(h: Array, stiffness: float, gamma: float, horizon: float, charge: float) -> Array:
    """Return ∫ e^{−γt}φ(t) dt over the horizon, per mode, with what the end counts beside it."""
    if not math.isfinite(horizon):
        if gamma == 0:  # only for modes without slope, whose share is dropped
            return np.zeros_like(h)
        return stiffness / (gamma * modes.fast_rate(h, stiffness, gamma) ** 2)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t = horizon * (1 + nodes[:, None]) / 2
    phi = modes.displacement(h, stiffness, gamma, t, horizon, charge)
    running = horizon / 2 * np.sum(weights[:, None] * np.exp(-gamma * t) * phi, axis=0)
    if not charge:
        return running
    return running + charge * math.exp(-gamma * horizon) * modes.displacement(
        h, stiffness, gamma, horizon, horizon, charge
    )


def _fixed_end(objective: Objective, loss: Quadratic, theta0: Array, endpoint: Array, horizon: float) -> Trajectory:
    stiffness, gamma = objective.eta * objective.k, objective.gamma
    metric = objective.metric_matrix(loss.dim)
    basis = modes.decompose(loss.hessian(theta0), metric)
    h, directions = basis.curvature, basis.directions
    slope = directions.T @ loss.gradient(theta0)
    flat = h == 0
    if np.any(flat & (np.abs(slope) > 1e-12 * np.max(np.abs(slope), initial=0.0))):
        raise ValueError(
            "method = 'closed_form' with an endpoint needs a Hessian without flat directions; use 'action' or 'bvp'"
        )
    rest = np.where(flat, 0.0, -slope / np.where(flat, 1.0, h))  # stationary point, in mode coordinates from theta0
    start, stop = -rest, directions.T @ metric @ (endpoint - theta0) - rest
    square = _without_conjugate_point(h, stiffness, gamma, horizon)
    bridge = _Bridge(theta0, directions, rest, start, stop, square, gamma, horizon)
    _, pace = bridge.in_modes(np.array([0.0, horizon]))
    climb = float(math.exp(-gamma * horizon) * stop @ pace[1] - start @ pace[0]) / (2 * objective.eta)
    level = float(loss.value(theta0 + directions @ rest))
    action = climb + resting_action(objective.k * level, gamma, 0.0, horizon)
    action += final_charge(objective, float(loss.value(endpoint)))
    times, stays = plot_times(1.0, horizon), endpoint.copy()
    return Trajectory(
        objective, loss, times, action, climb, stays, "closed_form", bridge.position, bridge.rate, end=horizon
    )  # fmt: skip


def _without_conjugate_point(h: Array, stiffness: float, gamma: float, horizon: float) -> Array:
    """Return γ²/4 + ηkh per mode, or raise where a path between two ends is no minimum."""
    square = gamma**2 / 4 + stiffness * h
    if np.any((square < 0) & (np.sqrt(np.maximum(-square, 0)) * horizon >= np.pi)):
        worst = int(np.argmin(square))
        raise NoMinimiser(
            f"no minimiser: the Hessian has the eigenvalue {h[worst]:.6g}, so its conjugate point at "
            f"t = {np.pi / math.sqrt(-square[worst]):.6g} lies before the horizon {horizon:.6g}"
        )
    return square


@dataclass(frozen=True, eq=False)
class _Free:
    """The path with a free end; ``mode`` are curvatures, ηk and γ, ``end`` the deadline and what it charges."""

    theta0: Array
    directions: Array
    slope: Array
    mode: tuple[Array, float, float]
    end: tuple[float, float]

    def position(self, t: Array) -> Array:
        way = modes.displacement(*self.mode, t[:, None], *self.end)
        return self.theta0 - (way * self.slope) @ self.directions.T

    def rate(self, t: Array) -> Array:
        return -(modes.speed(*self.mode, t[:, None], *self.end) * self.slope) @ self.directions.T


@dataclass(frozen=True, eq=False)
class _Bridge:
    """The path between two fixed ends: in each mode that with the boundary values (1, 0) and that with (0, 1)."""

    theta0: Array
    directions: Array
    rest: Array
    start: Array
    stop: Array
    square: Array
    gamma: float
    horizon: float

    def position(self, t: Array) -> Array:
        return self.theta0 + (self.rest + self.in_modes(t)[0]) @ self.directions.T

    def rate(self, t: Array) -> Array:
        return self.in_modes(t)[1] @ self.directions.T

    def in_modes(self, t: Array) -> tuple[Array, Array]:
        """Return what the modes are off rest, shape (T, D), and their speeds."""
        t, half, real = t[:, None], self.gamma / 2, np.sqrt(np.maximum(self.square, 0))
        whole = modes.waves(self.square, np.array([[self.horizon]]))[0]
        sine, cosine = modes.waves(self.square, self.horizon - t)
        outward = np.exp((half - real) * t) / whole * self.start
        place, pace = outward * sine, outward * (half * sine - cosine)
        sine, cosine = modes.waves(self.square, t)
        inward = np.exp(-(half + real) * (self.horizon - t)) / whole * self.stop
        return place + inward * sine, pace + inward * (half * sine + cosine)


def drifts_exactly(objective: Objective, loss: Quadratic) -> bool:
    """Return whether the drift has a closed form: f = aθ for any H and G, or f = Qθ with H = hI and G = I."""
    drift, minimum = objective.drift, loss.minimum
    if not isinstance(drift, Linear) or minimum is None or np.any(drift.offset(loss.dim)):
        return False
    jacobian, hessian = drift.matrix(loss.dim), loss.hessian(minimum)
    identity = np.eye(loss.dim)
    isotropic = np.allclose(hessian, hessian[0, 0] * identity, rtol=1e-14, atol=0.0) and hessian[0, 0] > 0
    euclidean = np.array_equal(objective.metric_matrix(loss.dim), identity)
    turns = np.array_equal(jacobian, -jacobian.T) and isotropic and euclidean
    return bool(turns or np.array_equal(jacobian, jacobian[0, 0] * identity))


class ClosedForm:
    """The closed forms as a solver: without drift mode by mode, else by ``riccati``; ``settings`` are not needed."""

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
        if not case.rests or not drifts_exactly(case.objective, case.loss):
            return "needs drift = None, or without a deadline f = aθ, or f = Qθ with H = hI and G = I"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the exact optimum."""
        objective, loss = case.objective, case.loss
        assert isinstance(loss, Quadratic)  # accepts has said so
        if objective.drift is not None:
            return riccati.follow(objective, loss, case.theta0, self.name)
        limit = objective.horizon if case.endpoint is None or case.span is None else case.span
        return solve(objective, loss, case.theta0, endpoint=case.endpoint, horizon=limit)
