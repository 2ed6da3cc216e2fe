"""The closed form for quadratic losses without drift: Eqs. 53, 78–82, 51 for a deadline, any metric and curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lossnav._checks import Array, NoMinimiser
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import modes, riccati
from lossnav.trajectory.case import Case, Settings, quadratic
from lossnav.trajectory.result import Method, Trajectory, final_charge, plot_times, resting_action

_FLAT = 1e-2  # of the curvature by which a rest is reached in time: below it J would be what large numbers leave
_FADED = 40  # e-folds after which nothing counts


def _free_end(objective: Objective, loss: Quadratic, theta0: Array) -> Trajectory:
    """Return the optimum with a free end, of a deadline or of infinite time.

    J is that of resting, and what a mode adds: with curvature −x₀ẋ₀/2η = ψ(0)g²/2ηh on top of resting at its stationary
    point; one too flat for that, on top of resting where it starts, −(kg²/2)∫e^{−γt}φ dt − (cg²/2)e^{−γT}φ(T).

    Raises:
        NoMinimiser: where J is unbounded below or its infimum is not attained.
    """
    horizon, charge, gain = objective.horizon, objective.charge / objective.k, objective.eta * objective.k
    basis = modes.decompose(loss.hessian(theta0), objective.metric_matrix(loss.dim))
    h, gradient = basis.curvature, basis.directions.T @ loss.gradient(theta0)
    modes.require_minimiser(h, gradient, gain, objective.gamma, horizon, charge)
    # Each mode goes by itself; what it adds to J depends on whether it knows a place to rest.
    path = _Free(theta0, basis.directions, gradient, (h, gain, objective.gamma), (horizon, charge))
    endless = math.isinf(horizon)
    tilted, timeless = modes.tilted(gradient), endless and objective.gamma == 0
    blunt, depths = modes.depths(h, gradient, timeless)  # of the stationary point below the start
    flat = blunt | _hasty(objective, h, horizon)
    costs = modes.speed(*path.mode, 0.0, *path.end) * depths / objective.eta
    level = float(loss.value(theta0)) - float(np.sum(depths[~flat]))
    scale = objective.k * (abs(float(loss.value(theta0))) + abs(level))
    action = float(np.sum(costs[~flat])) + resting_action(objective.k * level, objective.gamma, scale, horizon)
    # Without discount and end a mode without curvature has no tilt: ``require_minimiser`` has seen to it.
    if np.any(flat) and not timeless:
        action -= objective.k / 2 * float(_descent(objective, h[flat]) @ gradient[flat] ** 2)
    # What becomes of the path: in a time without an end each mode falls off, grows, or moves on.
    slow, growth = modes.slow_rate(h, gain, objective.gamma), math.nan
    if endless:
        growth = float(np.max(-slow, initial=-math.inf, where=(gradient != 0) & ((h > 0) | tilted)))
        rests = np.all((h > 0) | ~tilted)
        way = np.where(h > 0, 1 / np.where(h > 0, h, 1.0), 0.0) * gradient
        stop = theta0 - basis.directions @ way if rests else np.full(loss.dim, np.nan)
    else:
        stop = path.position(np.array([horizon]))[0]
    pace = growth if growth > 0 else float(np.nanmin(np.where(slow > 0, slow, np.inf), initial=np.inf))
    return Trajectory(
        objective, loss, plot_times(pace, horizon), action + final_charge(objective, level),
        math.nan if np.any(blunt & tilted) else float(np.sum(costs)), stop, ClosedForm.name, path.position, path.rate,
        end=horizon, growth=growth,
    )  # fmt: skip


def _hasty(objective: Objective, h: Array, horizon: float) -> NDArray[np.bool_]:
    """Return which modes do not come near their rest before time is over."""
    return objective.eta * objective.k * np.abs(h) < _FLAT * (objective.gamma + 1 / horizon) ** 2


def _counted(gamma: float, horizon: float) -> tuple[Array, Array]:
    """Return times up to a deadline, shape (N, 1), and weights (N,): the sum of f(t) by them is ∫e^{−γt} f dt."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    end = min(horizon, _FADED / gamma) if gamma > 0 else horizon
    t = end * (1 + nodes) / 2
    return t[:, None], end / 2 * weights * np.exp(-gamma * t)


def _descent(objective: Objective, h: Array) -> Array:
    """Return ∫e^{−γt}φ(t) dt up to the deadline, per mode, with what the end counts beside it."""
    gain, gamma, horizon = objective.eta * objective.k, objective.gamma, objective.horizon
    if math.isinf(horizon):
        return gain / (gamma * modes.fast_rate(h, gain, gamma) ** 2)
    charge = objective.charge / objective.k
    t, weights = _counted(gamma, horizon)
    phi = modes.displacement(h, gain, gamma, np.vstack([t, [[horizon]]]), horizon, charge)
    return np.append(weights, charge * math.exp(-gamma * horizon)) @ phi


def _fixed_end(objective: Objective, loss: Quadratic, theta0: Array, endpoint: Array, horizon: float) -> Trajectory:
    """Return the optimum that is at ``endpoint`` at the deadline.

    Raises:
        NoMinimiser: if the deadline is later than the first conjugate point.
    """
    gain, gamma = objective.eta * objective.k, objective.gamma
    metric = objective.metric_matrix(loss.dim)
    basis = modes.decompose(loss.hessian(theta0), metric)
    h, directions = basis.curvature, basis.directions
    gradient = directions.T @ loss.gradient(theta0)
    # A mode that swings is optimal for less than half a turn.
    square = gamma**2 / 4 + gain * h
    if np.any((square < 0) & (np.sqrt(np.maximum(-square, 0)) * horizon >= np.pi)):
        worst = int(np.argmin(square))
        raise NoMinimiser(
            f"no minimiser: the Hessian has the eigenvalue {h[worst]:.6g}, so its conjugate point at "
            f"t = {np.pi / math.sqrt(-square[worst]):.6g} lies before the horizon {horizon:.6g}"
        )
    # Both ends as seen from the stationary point, mode by mode; of a flat one as seen from the path with a free end.
    flat = _hasty(objective, h, horizon)
    rest = np.where(flat, 0.0, -gradient / np.where(flat, 1.0, h))
    mode = np.where(flat, h, 0.0), gain, gamma
    free = _Free(theta0, directions, np.where(flat, gradient, 0.0), mode, (horizon, 0.0))
    way = directions.T @ metric @ (endpoint - theta0)
    (fallen,), (last,) = free.in_modes(np.array([horizon]))
    stop = way - rest - fallen
    path = _Bridge(free, rest, -rest, stop, square, gamma, horizon)
    _, pace = path.in_modes(np.array([0.0, horizon]))
    late = math.exp(-gamma * horizon)
    costs = (late * stop * pace[1] + rest * pace[0]) / (2 * objective.eta)
    level = float(loss.value(theta0 + directions @ rest))
    if np.any(flat):  # along x from the start −½(xẋ)˙/η = ½kgx
        t, weights = _counted(gamma, horizon)
        sunk = weights @ (path.in_modes(t[:, 0])[0] + free.in_modes(t[:, 0])[0])
        own = late * way * (pace[1] + last) / (2 * objective.eta) + objective.k * gradient * sunk / 2
        costs = np.where(flat, own, costs)
    action = float(np.sum(costs)) + resting_action(objective.k * level, gamma, 0.0, horizon)
    action += final_charge(objective, float(loss.value(endpoint)))
    blunt, depths = modes.depths(h, gradient, timeless=False)
    depth, lost = float(np.sum(depths[flat])), np.any(flat & blunt & modes.tilted(gradient))
    cost_to_go = float(np.sum(costs)) + resting_action(objective.k * depth, gamma, 0.0, horizon)
    return Trajectory(
        objective, loss, plot_times(1.0, horizon), action, math.nan if lost else cost_to_go, endpoint.copy(),
        ClosedForm.name, path.position, path.rate, end=horizon,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Free:
    """The path with a free end; ``mode`` are curvatures, ηk and γ, ``end`` the deadline and what it charges."""

    theta0: Array
    directions: Array
    gradient: Array
    mode: tuple[Array, float, float]
    end: tuple[float, float]

    def position(self, t: Array) -> Array:
        return self.theta0 + self.in_modes(t)[0] @ self.directions.T

    def rate(self, t: Array) -> Array:
        return self.in_modes(t)[1] @ self.directions.T

    def in_modes(self, t: Array) -> tuple[Array, Array]:
        """Return how far the modes are from the start, shape (T, D), and their speeds."""
        way, pace = (of(*self.mode, t[:, None], *self.end) for of in (modes.displacement, modes.speed))
        return -way * self.gradient, -pace * self.gradient


@dataclass(frozen=True, eq=False)
class _Bridge:
    """The path between two fixed ends: in each mode that with the boundary values (1, 0) and that with (0, 1), about a
    place of rest, or about a path that starts there and moves only where there is none.
    """

    free: _Free
    rest: Array
    start: Array
    stop: Array
    square: Array
    gamma: float
    horizon: float

    def position(self, t: Array) -> Array:
        return self.free.position(t) + (self.rest + self.in_modes(t)[0]) @ self.free.directions.T

    def rate(self, t: Array) -> Array:
        return self.free.rate(t) + self.in_modes(t)[1] @ self.free.directions.T

    def in_modes(self, t: Array) -> tuple[Array, Array]:
        """Return what the modes are off rest, shape (T, D), and their speeds."""
        t, half, real = t[:, None], self.gamma / 2, np.sqrt(np.maximum(self.square, 0))
        full_sine = modes.waves(self.square, np.array([[self.horizon]]))[0]
        sine, cosine = modes.waves(self.square, self.horizon - t)
        outward = np.exp((half - real) * t) / full_sine * self.start
        place, pace = outward * sine, outward * (half * sine - cosine)
        sine, cosine = modes.waves(self.square, t)
        inward = np.exp(-(half + real) * (self.horizon - t)) / full_sine * self.stop
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
        if (declined := quadratic(case)) or not isinstance(case.loss, Quadratic):
            return declined
        if case.objective.drift is None:
            return ""
        if not case.rests or not drifts_exactly(case.objective, case.loss):
            return "needs drift = None, or without a deadline f = aθ, or f = Qθ with H = hI and G = I"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the exact optimum."""
        assert isinstance(case.loss, Quadratic)  # accepts has said so
        if case.objective.drift is not None:
            return riccati.follow(case.objective, case.loss, case.theta0, self.name)
        if case.endpoint is not None:
            return _fixed_end(case.objective, case.loss, case.theta0, case.endpoint, case.deadline)
        return _free_end(case.objective, case.loss, case.theta0)
