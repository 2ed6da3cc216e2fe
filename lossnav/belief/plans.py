"""Plans: a weight and its beliefs moved together, by the boundary-value problem of Eqs. 139 and 142.

The variance is solved for in ℓ = ln V, which keeps V > 0 whatever the iteration does. With an infinite horizon the plan
ends on the decaying branch of a resting place; with a finite one all three ends are free.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.integrate
import scipy.linalg
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array, NoMinimiser, NotConverged
from lossnav.belief import units
from lossnav.belief.model import Beliefs
from lossnav.belief.observation import Exact
from lossnav.trajectory import blocks
from lossnav.trajectory.modes import slow_rate

Data = Callable[[Array], Array]
_MOST_CALLS = 20_000  # of the law that makes the first guess


@dataclass(frozen=True, eq=False)
class Plan:
    """A planned path of (δ, m, V); ``plan(t)`` gives it, shape (3, T).

    Attributes:
        model: the beliefs it was made under.
        end: time at which the numerics stop; with an infinite horizon the plan is continued at its decaying rates.
        rest: where it comes to rest, shape (3,); NaN with a finite horizon.
        action: J; with an infinite horizon the part of it that resting does not cost.
        converged: whether the collocation met its tolerance.
        reason: why not.
        residual: largest relative residual of the collocation.
        is_minimum: whether the second variation along the plan is positive definite: a local minimum.
        times: mesh, shape (N,).
    """

    model: Beliefs
    end: float
    rest: Array
    action: float
    converged: bool
    reason: str
    residual: float
    is_minimum: bool
    times: Array
    _solution: Callable[[Array], Array]
    _decay: Array  # R, shape (3, 3): the velocity at the end of an infinite plan is −R·(state − rest)

    def __call__(self, t: ArrayLike) -> Array:
        """Return (δ, m, V) at times ``t`` >= 0, shape (3, ...)."""
        return self._at(t)[0]

    def velocity(self, t: ArrayLike) -> Array:
        """Return (δ̇, ṁ, V̇) at times ``t`` >= 0, shape (3, ...)."""
        return self._at(t)[1]

    def _at(self, t: ArrayLike) -> tuple[Array, Array]:
        times = _checks.array("t", t)
        finite = math.isnan(self.rest[0])
        if np.any(times < 0) or (finite and np.any(times > self.end * (1 + 1e-12))):
            raise ValueError(f"t = {_checks.shown(t)}, but it must be within [0, {self.end if finite else math.inf:g}]")
        flat = np.atleast_1d(times).ravel()
        y = self._solution(np.minimum(flat, self.end))
        state, speed = _natural(y)
        late = (flat > self.end) & (not finite)  # a deadline is not gone beyond, but for rounding
        if np.any(late):
            away = state[:, late][:, :1] - self.rest[:, None]
            rates, vectors = np.linalg.eig(self._decay)
            fade = np.exp(-np.outer(rates, flat[late] - self.end)) * np.linalg.solve(vectors, away)
            state[:, late] = self.rest[:, None] + (vectors @ fade).real
            speed[:, late] = -(vectors @ (rates[:, None] * fade)).real
        shape = (3, *times.shape)
        return state.reshape(shape), speed.reshape(shape)


def plan(
    model: Beliefs,
    mean: float,
    variance: float,
    *,
    gradient: float | Data,
    square: float | Data | None = None,
    horizon: float = math.inf,
    tol: float = 1e-6,
    throw: bool = True,
) -> Plan:
    """Return the path of (δ, m, V) that makes J stationary, from δ = 0 and the beliefs held now.

    Args:
        model: the assumptions.
        mean: m at the start, unit 1/u.
        variance: V > 0 at the start, unit 1/u².
        gradient: the datum g, a number or, with a finite horizon, a function of an array of times.
        square: the datum q likewise, for the simplified observation model; None for the exact one.
        horizon: deadline T in (0, inf]; the exact model needs a finite one, for with constant data its V has no rest.
        tol: relative tolerance of the collocation.
        throw: raise if the collocation fails; otherwise return what there is with ``converged`` False.

    Raises:
        ValueError: naming the argument that is out of range.
        NoMinimiser: where the evidence about the gradient is too weak for a minimum (``Beliefs.optimism``), or where no
            resting place has V > 0.
        NotConverged: with the residual and what to try.

    Example:
        >>> from lossnav import belief
        >>> slow = belief.Prior(decay=0.0, diffusion=0.01)
        >>> model = Beliefs(eta=100.0, gamma=1.0, mean=slow, variance=slow, observation=belief.Simplified(0.1, 0.1))
        >>> path = plan(model, 1.0, 1.0, gradient=1.0, square=1.0)
        >>> round(float(path.velocity(0.0)[0]) / float(model.step(1.0, 1.0, 1.0)), 2)
        1.0

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 139 and 142; the boundary conditions are those of App. D.
    """
    _checks.instance("model", model, Beliefs, "a belief.Beliefs")
    m0, v0 = _checks.finite("mean", mean), _checks.positive("variance", variance)
    span = _checks.duration("horizon", horizon)
    _checks.positive("tol", tol)
    _checks.flag("throw", throw)
    model.data(*(_datum(name, value) for name, value in (("gradient", gradient), ("square", square))))
    try:
        return _plan(model, m0, v0, span, gradient, square, tol, throw)
    except (ZeroDivisionError, OverflowError):
        raise ValueError(
            f"model = {_checks.shown(model)}: its numbers are so large or small that their squares leave the range of "
            "floating-point numbers; choose other units of time or of the weight"
        ) from None


def _plan(
    model: Beliefs, m0: float, v0: float, span: float, gradient: Any, square: Any, tol: float, throw: bool
) -> Plan:
    scales = units.natural(model, v0, span)
    if scales is not None:
        inner = scales.model(model), m0 * scales.length, v0 * scales.length**2, span / scales.time
        try:
            found = _solve(*inner, scales.datum(gradient, 1), scales.datum(square, 2), tol, throw)
        except (NoMinimiser, NotConverged) as error:
            own = f"(in units of time {scales.time:.3g} and of the weight {scales.length:.3g})"
            raise type(error)(f"{error} {own}") from None
        return _restored(found, model, scales)
    return _solve(model, m0, v0, span, gradient, square, tol, throw)


def _restored(plan: Plan, model: Beliefs, scales: units.Units) -> Plan:
    """Return the user's plan for one in natural units."""
    factors = scales.scales
    return replace(
        plan,
        model=model,
        end=plan.end * scales.time,
        rest=plan.rest * factors,
        action=plan.action * scales.cost,
        times=plan.times * scales.time,
        _solution=scales.solution(plan._solution),
        _decay=factors[:, None] * plan._decay / factors / scales.time,
    )


def _solve(
    model: Beliefs, m0: float, v0: float, span: float, gradient: Any, square: Any, tol: float, throw: bool
) -> Plan:
    if not math.isfinite(span):
        return _endless(model, m0, v0, gradient, square, tol, throw)
    feed = _feed(gradient), None if square is None else _feed(square)
    guess = _guess(model, np.array([0.0, m0, v0]), feed, span)
    decays = model.decays[:, None]

    def last(y: Array) -> Array:
        state, speed = _natural(y[:, None])
        return (speed + decays * state)[:, 0]  # the momenta vanish at a free end

    found = _collocate(model, np.array([0.0, m0, v0]), feed, last, guess, tol)
    return _report(model, found, feed, np.full(3, np.nan), np.zeros((3, 3)), throw)


def resting_places(model: Beliefs, gradient: float, square: float) -> Array:
    """Return the states with V > 0 at which a plan can rest under constant data, shape (N, 3), nearest δ first.

    With the simplified model they are the roots of a cubic in δ: m = −cVδ, with m and V from their own equations.
    """
    _checks.instance("model", model, Beliefs, "a belief.Beliefs")
    if isinstance(model.observation, Exact):
        raise ValueError(f"model.observation = {model.observation}, but resting places need the simplified model")
    g, q = _checks.finite("gradient", gradient), _checks.finite("square", square)
    first, second = model.memories()
    c, tilt = model.curvature_scale, model.k / model.weight
    by_mean = tilt * model.mean.diffusion**2 / first.stiffness
    by_variance = tilt * c * model.variance.diffusion**2 / (2 * second.stiffness)
    roots = np.roots([-c * by_variance, 0.0, c * second.gain * q - by_mean, first.gain * g])
    real = roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots))].real
    states = np.stack([real, first.gain * g - by_mean * real, second.gain * q - by_variance * real**2], axis=-1)
    states = states[states[:, 2] > 0]
    return states[np.argsort(np.abs(states[:, 0]))]


def _endless(model: Beliefs, m0: float, v0: float, gradient: Any, square: Any, tol: float, throw: bool) -> Plan:
    if isinstance(model.observation, Exact):
        raise ValueError("horizon = inf, but the exact observation model needs a finite one: its V never rests")
    for name, value in (("gradient", gradient), ("square", square)):
        if callable(value):
            raise ValueError(f"{name} is a function of time, but with horizon = inf it must be a number")
    places = [x for x in resting_places(model, gradient, square) if model.is_minimum(x, gradient, square)]
    if not places:
        model.require_evidence(v0)  # the usual reason
        raise NoMinimiser(
            f"gradient = {gradient:g} and square = {square:g}: no resting place has V > 0 and is a minimum; lower "
            "observation.mean_noise or observation.variance_noise, or raise square"
        )
    rest = places[0]
    model.require_evidence(min(v0, rest[2]))
    decay = _decaying(model, rest, gradient, square)
    slowest = float(np.min(np.linalg.eigvals(decay).real))
    if slowest <= 0:
        raise NoMinimiser(
            "observation.mean_noise: the evidence about the gradient is too weak to hold the belief, and the plan runs "
            "away from its stationary place instead of resting there; lower the noise, raise weight, or set a horizon"
        )
    span, feed = 14.0 / slowest, (_feed(gradient), _feed(square))

    def last(y: Array) -> Array:
        state, speed = _natural(y[:, None])
        return speed[:, 0] + decay @ (state[:, 0] - rest)

    start = np.array([0.0, m0, v0])
    found = _collocate(model, start, feed, last, _guess(model, start, feed, span, rest), tol)
    return _report(model, found, feed, rest, decay, throw)


def _decaying(model: Beliefs, rest: Array, gradient: float, square: float) -> Array:
    """Return R with ẋ = −R(x − rest) on the branch that does not blow up, shape (3, 3): a root of R² + γR = K."""
    masses = model.masses
    pull = model.bend(rest, gradient, square) + np.diag(masses * model.decays * (model.decays + model.gamma))
    root = np.sqrt(masses)
    rates, vectors = np.linalg.eigh(pull / np.outer(root, root))  # the masses make it symmetric
    slow = slow_rate(np.maximum(rates, -(model.gamma**2) / 4), 1.0, model.gamma)
    return (vectors * slow) @ vectors.T * root / root[:, None]


def _natural(y: Array) -> tuple[Array, Array]:
    """Return (δ, m, V) and its velocity from (δ, m, ln V) and its velocity."""
    v = np.exp(np.clip(y[2], -700.0, 700.0))
    return np.stack([y[0], y[1], v]), np.stack([y[3], y[4], v * y[5]])


def _datum(name: str, value: Any) -> Any:
    """Return a datum as a number, or that of time 0, to be checked once."""
    if callable(value):
        return _checks.array(f"{name}(t)", value(np.zeros(1)))[..., 0]
    return None if value is None else _checks.finite(name, value)


def _feed(value: Any) -> Data:
    if callable(value):
        return lambda t: np.broadcast_to(_checks.reals("the datum", value(t)), np.shape(t))
    number = float(value)
    return lambda t: np.full(np.shape(t), number)


def _guess(
    model: Beliefs, start: Array, feed: tuple[Data, Data | None], span: float, rest: Array | None = None
) -> tuple[Array, Array]:
    """Return a mesh and a first path: beliefs as leaky averages, the weight moved by the discounted rule."""
    first, second = model.memories(variance=start[2])
    calls = 0

    def law(t: float, y: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls > _MOST_CALLS or not np.all(np.isfinite(y)):
            raise NotConverged(
                "no first guess of the plan could be integrated: its time scales, or the sizes of beliefs and data, "
                "lie too far apart; start nearer to the data, or choose a horizon nearer to the memories"
            )
        at = np.array([t])
        g = float(feed[0](at)[0])
        q = float(feed[1](at)[0]) if feed[1] is not None else max((g - y[1]) ** 2, start[2] / 4)
        aims = (first.gain * g, second.gain * q) if rest is None else (rest[1], rest[2])
        v = max(y[2], 1e-3 * start[2])
        pace = float(model.step(1.0, v, 1.0))
        slide = pace * (y[1] + model.curvature_scale * v * y[0])
        return np.array([slide, first.rate * (aims[0] - y[1]), second.rate * (aims[1] - y[2])])

    path = scipy.integrate.solve_ivp(law, (0.0, span), start, method="LSODA", rtol=1e-5, atol=1e-8, dense_output=True)
    if not path.success or len(path.t) < 2:
        raise NotConverged(f"no first guess of the plan could be integrated: {path.message}")
    fine = np.unique(np.concatenate([path.t, span * np.linspace(0.0, 1.0, 201) ** 2]))
    x = path.sol(fine)
    x[2] = np.maximum(x[2], 1e-3 * start[2])
    speed = np.stack([law(t, y) for t, y in zip(fine, x.T, strict=True)], axis=-1)
    return fine, np.stack([x[0], x[1], np.log(x[2]), speed[0], speed[1], speed[2] / x[2]])


def _collocate(
    model: Beliefs,
    start: Array,
    feed: tuple[Data, Data | None],
    last: Callable[[Array], Array],
    guess: tuple[Array, Array],
    tol: float,
) -> Any:
    first = np.array([start[0], start[1], math.log(start[2])])

    def equations(t: Array, y: Array) -> Array:
        state, speed = _natural(y)
        pushed = model._motion(state, speed, feed[0](t), np.zeros(()) if feed[1] is None else feed[1](t))
        return np.stack([y[3], y[4], y[5], pushed[0], pushed[1], pushed[2] / state[2] - y[5] ** 2])

    def boundary(left: Array, right: Array) -> Array:
        return np.concatenate([left[:3] - first, last(right)])

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return scipy.integrate.solve_bvp(equations, boundary, *guess, tol=tol, max_nodes=60_000)


def _report(model: Beliefs, found: Any, feed: tuple[Data, Data | None], rest: Array, decay: Array, throw: bool) -> Plan:
    residual = float(np.max(found.rms_residuals))
    reason = "" if found.success else found.message
    if not found.success and throw:
        raise NotConverged(
            f"the plan did not converge: {found.message} (residual {residual:.3g}). If V is driven to zero, the data "
            "leave no plan with V > 0: raise square, or lower observation.variance_noise; otherwise relax tol or "
            "shorten horizon"
        )
    end, endless = float(found.x[-1]), not math.isnan(rest[0])
    times = np.unique(np.concatenate([found.x, (found.x[1:] + found.x[:-1]) / 2]))
    state, speed = _natural(found.sol(times))
    data = feed[0](times), np.zeros(len(times)) if feed[1] is None else feed[1](times)
    rate = model._integrand(state, speed, *data)
    if endless:
        floor = model._integrand(rest, np.zeros(3), data[0][-1], data[1][-1])
        rate = rate - float(floor)
    action = float(scipy.integrate.simpson(np.exp(-model.gamma * times) * rate, x=times))
    tail = np.diag(model.masses) @ (decay - np.diag(model.decays)) if endless else None
    minimum = bool(found.success) and _definite(model, times, state, data, tail)
    return Plan(model, end, rest, action, bool(found.success), reason, residual, minimum, times, found.sol, decay)


def _definite(model: Beliefs, times: Array, state: Array, data: tuple[Array, Array], tail: Array | None) -> bool:
    """Say whether the second variation, with X = e^{−γt/2}·(variation) fixed at the start, is positive definite.

    It is ∫{mass·(Ẋ + (α+γ/2)X)² + XᵀKX}dt, on a mesh of midpoints; ``tail`` is what the time after the mesh adds.
    """
    h = np.diff(times)[:, None, None]
    bend = model._stiffness(state, *data)
    middle = (bend[1:] + bend[:-1]) / 2
    mass, slip = np.diag(model.masses), np.diag(model.decays + model.gamma / 2)
    eye = np.eye(3)
    left, right = -eye / h + slip / 2, eye / h + slip / 2
    start = h * (np.swapaxes(left, 1, 2) @ mass @ left + middle / 4)
    final = h * (np.swapaxes(right, 1, 2) @ mass @ right + middle / 4)
    cross = h * (np.swapaxes(right, 1, 2) @ mass @ left + middle / 4)
    diagonal = final.copy()
    diagonal[:-1] += start[1:]
    if tail is not None:
        diagonal[-1] += (tail + tail.T) / 2
    return blocks.factor(blocks.banded(diagonal, cross[1:])) is not None
