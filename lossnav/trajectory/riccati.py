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
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.problem.drifts import Linear
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory import closed_form, minimal, modes
from lossnav.trajectory.case import CURVED, Case
from lossnav.trajectory.result import Method, Trajectory, plot_times, resting_action

if TYPE_CHECKING:
    from lossnav.trajectory.refinement import Settings


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

    def climb(self, theta: Array) -> float:
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

    def total(self, objective: Objective, climb: float, level: float, span: float, scale: float) -> tuple[float, float]:
        """Return J, and its excess over resting or NaN, of a path that the law continues after ``span``.

        ``climb`` is what it costs up to then with L − ``level`` for the loss, and what V adds after it; ``scale`` is
        the size of what is summed, to tell zero from rounding.
        """
        gamma = objective.gamma
        if not np.all(np.isfinite(self.fixed)):
            beyond = math.exp(-gamma * span) * self.rest / gamma
            return climb + resting_action(objective.k * level, gamma, 1.0, span) + beyond, math.nan
        slip = float(objective.kinetic(self.fixed, np.zeros_like(self.fixed)))
        excess = climb - resting_action(slip, gamma, 1.0, span)
        return excess + resting_action(self.rest, gamma, scale + abs(excess)), excess

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

    whole = _Continued(end, span, stop, position, rate)
    return whole.place, whole.pace


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
    rest there is a question that the linearised problem cannot answer.

    Raises:
        NoMinimiser: if there is none, with the reason (see ``minimal``).
    """
    if isinstance(loss, Quadratic) and (objective.drift is None or isinstance(objective.drift, Linear)):
        return _exact(objective, loss, centre)
    return _resting(objective, loss, centre)


def _exact(objective: Objective, loss: Quadratic, centre: Array) -> LocalValue:
    """Return V of the quadratic problem in x = θ − centre, computed in y = Lᵀx with the metric G = LLᵀ."""
    dim, gamma, eta, k = len(centre), objective.gamma, objective.eta, objective.k
    metric, hessian, gradient = objective.metric_matrix(dim), loss.hessian(centre), loss.gradient(centre)
    lower, inverse = modes.whitening(metric)
    slope = eta * k * (inverse @ gradient)
    basis = modes.decompose(hessian, metric)
    rotation = lower.T @ basis.directions
    curvature = eta * k * (rotation * basis.curvature) @ rotation.T  # with what is rounding set to zero
    floor = modes.rounding(inverse, hessian, inverse.T)
    jacobian, drift, slack = np.zeros((dim, dim)), np.zeros(dim), 0.0
    if objective.drift is not None:
        linear_map = np.array(objective.drift.jacobian(centre))
        jacobian, drift = lower.T @ linear_map @ inverse.T, lower.T @ objective.drift(centre)
        least = float(np.min(np.abs(basis.curvature), initial=math.inf, where=basis.curvature != 0))
        tilted = 16 * dim * float(np.finfo(float).eps) + floor / least  # rounding of the flat directions
        slack = modes.rounding(lower.T, linear_map, inverse.T) + tilted * float(np.max(np.abs(jacobian)))
    tilt_floor = eta * k * float(np.max(np.abs(inverse) @ _blur(loss, centre), initial=0.0))
    kernel = rotation[:, basis.curvature == 0]
    blind = minimal.unseen(kernel, jacobian, slack)
    flat = minimal.unseen(minimal.across(kernel, slope, tilt_floor), jacobian, slack)
    if objective.drift is None:
        modes.require_minimiser(basis.curvature, basis.directions.T @ gradient, eta * k, gamma)
        pull: Array = (rotation * modes.slow_rate(basis.curvature, eta * k, gamma)) @ rotation.T
    else:
        near = np.abs(basis.curvature) <= minimal.BAND * floor
        minimal.require_clear(minimal.unseen(rotation[:, near], jacobian, minimal.BAND * slack), blind, jacobian, gamma)
        pull = minimal.solution(curvature, jacobian, gamma, blind, eta * k * floor)
    minimal.require_slow_tilt(jacobian, blind, flat, gamma)
    # What neither curvature nor gradient sees has no share in V: the rest is solved in its complement.
    seen = minimal.rest_of(flat)
    system = seen.T @ (gamma * np.eye(dim) - jacobian.T + pull) @ seen
    push = seen @ np.linalg.solve(system, seen.T @ (pull @ drift + slope))
    closed, shift = jacobian - pull, drift - push
    level, excess = k * float(loss.value(centre)), 0.0
    if _decays(seen.T @ closed @ seen):
        # Taking the state in which V's own part comes to rest as reference keeps V − rest/γ exact where γ → 0 makes
        # both infinite: the law holds that state, so V there is rest/γ, and that fixes the constant.
        offset = -seen @ np.linalg.solve(seen.T @ closed @ seen, seen.T @ shift)
        force, place = pull @ offset + push, inverse.T @ offset
        excess = -float(offset @ pull @ offset / 2 + push @ offset) / eta
        climb = k * float(gradient @ place + place @ hessian @ place / 2)
        rest = float(force @ force) / (2 * eta) + level + climb
    elif gamma > 0:
        rest = level + float(drift @ push - push @ push / 2) / eta
    else:
        raise NotConverged("the feedback should come to rest at gamma = 0, but rounding hides how; set gamma > 0")
    fixed = np.full(dim, np.nan)
    if _decays(closed):
        fixed = centre - inverse.T @ np.linalg.solve(closed, shift)
    matrix = lower @ pull @ lower.T / eta
    return LocalValue(
        centre, (matrix + matrix.T) / 2, lower @ push / eta, excess, rest,
        inverse.T @ closed @ lower.T, inverse.T @ shift, fixed,
    )  # fmt: skip


def _decays(closed: Array) -> bool:
    """Say whether every mode of the law falls off, by more than rounding."""
    size = float(np.max(np.abs(closed), initial=0.0))
    return bool(np.all(np.linalg.eigvals(closed).real < -1e-13 * size))


def _blur(loss: Quadratic, centre: Array) -> Array:
    """Return a bound on the rounding error of the gradient at ``centre``, shape (D,)."""
    origin = np.zeros(loss.dim) if loss.minimum is None else loss.minimum
    size = np.abs(loss.gradient(origin)) + np.abs(loss.hessian(centre)) @ (np.abs(centre) + np.abs(origin))
    return 4 * loss.dim * float(np.finfo(float).eps) * size


def _resting(objective: Objective, loss: Loss, centre: Array) -> LocalValue:
    """Return V of the linearised problem among paths that come to rest (or grow less than the discount allows)."""
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
        lower, inverse = modes.whitening(metric)
        weight = eta * k * (inverse @ hessian @ inverse.T)
        found = minimal.stabilising(weight, lower.T @ jacobian @ inverse.T - gamma / 2 * np.eye(dim))
        if found is None:
            raise NoMinimiser(
                "no minimiser: the Riccati equation has no stabilising solution (the Hessian is too negative for this "
                f"gamma = {gamma:g}, or gamma = 0 with a flat direction)"
            )
        matrix = lower @ found @ lower.T / eta
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
    # ``fixed``, so V there is rest/γ, and that fixes the constant. Along a valley of rests, where a
    # rate is rounding, all of them are as good, and the nearest is taken.
    offset = -np.linalg.solve(closed, shift) if _decays(closed) else -np.linalg.lstsq(closed, shift, rcond=1e-13)[0]
    excess = -float(offset @ matrix @ offset / 2 + linear @ offset)
    slip = drift + jacobian @ offset
    rest = (
        float(slip @ metric @ slip) / (2 * eta) + level + k * float(gradient @ offset + offset @ hessian @ offset / 2)
    )
    return LocalValue(centre, matrix, linear, excess, rest, closed, shift, centre + offset)


def solve(objective: Objective, loss: Quadratic, theta0: Array, *, horizon: float) -> Trajectory:
    """Return the exact optimum from ``theta0`` by the (differential, if ``horizon`` is finite) Riccati equation."""
    if math.isfinite(horizon):
        return _finite(objective, loss, theta0, horizon)
    return follow(objective, loss, theta0, local_value(objective, loss, theta0), "riccati")


def follow(objective: Objective, loss: Loss, theta0: Array, local: LocalValue, method: Method) -> Trajectory:
    """Return the trajectory of a law that is exact for this problem."""
    climb = local.climb(theta0)
    growth, asymptote = local.fate(theta0)
    scale = objective.k * abs(float(loss.value(theta0))) + abs(climb)
    action = climb + resting_action(local.rest, objective.gamma, scale)
    rates = np.abs(np.linalg.eigvals(local.closed).real)
    pace = growth if growth > 0 else float(np.min(rates[rates > 1e-13 * np.max(rates)], initial=math.inf))
    rests = np.all(np.isfinite(asymptote)) and np.all(np.isfinite(local.fixed))
    return Trajectory(
        objective, loss, plot_times(pace, math.inf), action, climb if rests else math.nan, asymptote, method,
        partial(local.follow, theta0), partial(local.pace, theta0), growth=growth,
    )  # fmt: skip


def _finite(objective: Objective, loss: Quadratic, theta0: Array, horizon: float) -> Trajectory:
    """Integrate P, s, v₀ backwards from V = cL at the deadline, then the feedback forwards."""
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

    # Each part has its own size, which is small if the time is short.
    pace = math.sqrt(eta * k * float(np.max(np.abs(inverse @ hessian)))) + float(np.max(np.abs(jacobian)))
    brief = min(horizon, 1 / pace if pace > 0 else math.inf)
    charge = objective.charge
    heavy = (k * brief + charge) * float(np.max(np.abs(hessian)))
    steep = (k * brief + charge) * float(np.max(np.abs(gradient))) + heavy * float(np.max(np.abs(offset))) * brief
    far = (float(np.max(np.abs(offset))) + eta * float(np.max(np.abs(inverse))) * steep) * brief
    dear = (k * brief + charge) * abs(level) + steep * (float(np.max(np.abs(offset))) + far / brief) * brief
    last = charge * np.concatenate([hessian.ravel(), gradient, [level]])
    sizes = np.concatenate([np.full(dim * dim, heavy), np.full(dim, steep), [dear]])
    options = {"rtol": 1e-11, "method": "DOP853", "dense_output": True}
    value = scipy.integrate.solve_ivp(
        backwards, (0.0, horizon), last, atol=1e-12 * np.maximum(sizes, 1e-290), **options
    )
    escape = 1e10 * ((1 / horizon + pace + gamma) * float(np.max(np.abs(metric))) / eta + float(np.max(np.abs(last))))
    if not value.success or not np.all(np.isfinite(value.y)) or np.max(np.abs(value.y[: dim * dim])) > escape:
        raise NoMinimiser("no minimiser: the Riccati equation escapes to infinity before the horizon (a focal point)")

    law = _Feedback(value.sol, horizon, jacobian, offset, eta * inverse)
    path = scipy.integrate.solve_ivp(
        law.velocity, (0.0, horizon), np.zeros(dim), atol=1e-12 * max(far, 1e-290), **options
    )
    if not path.success:
        raise NotConverged(f"the feedback could not be integrated to the horizon: {path.message}")

    position = partial(_beyond, theta0, path.sol)
    stop = position(np.array([horizon]))[0]
    action = float(value.y[-1, -1])
    return Trajectory(
        objective, loss, plot_times(1.0, horizon), action, math.nan, stop, Riccati.name,
        position, partial(law.along, path.sol), end=horizon,
    )  # fmt: skip


def _beyond(theta0: Array, way: Motion, t: Array) -> Array:
    return theta0 + way(t).T


@dataclass(frozen=True, eq=False)
class _Feedback:
    """The law that P and s give, ``value`` of the time that is left, in x = θ − θ₀; ``mobility`` is ηG⁻¹."""

    value: Callable[[Any], Array]
    horizon: float
    jacobian: Array
    offset: Array
    mobility: Array

    def velocity(self, t: float, x: Array) -> Array:
        state, dim = self.value(self.horizon - t), len(x)
        pull = state[: dim * dim].reshape(dim, dim) @ x + state[dim * dim : -1]
        return self.jacobian @ x + self.offset - self.mobility @ pull

    def along(self, way: Callable[[Any], Array], t: Array) -> Array:
        return np.array([self.velocity(float(u), way(float(u))) for u in t])


class Riccati:
    """The feedback law as a solver; ``settings`` do not concern an exact one."""

    name: Method = "riccati"

    def accepts(self, case: Case) -> str:
        """Return why not: another loss or drift, a fixed end, a metric that depends on θ."""
        if case.objective.curved:
            return CURVED
        if not isinstance(case.loss, Quadratic):
            return f"needs a losses.Quadratic, but loss is {case.loss!r}"
        if case.endpoint is not None:
            return "needs a free end"
        if case.objective.drift is not None and not isinstance(case.objective.drift, Linear):
            return "needs an affine drift"
        return ""

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the exact optimum."""
        assert isinstance(case.loss, Quadratic)  # accepts has said so
        return solve(case.objective, case.loss, case.theta0, horizon=case.objective.horizon)
