r"""How far a path is from optimal: its regret in J, and what it is made of (book: L20–L23, L26).

Let V be the value function and :math:`\dot\theta^*(\theta)` the optimal velocity. For every path

.. math:: J_T[\theta]+e^{-\gamma T}V(\theta_T)-V(\theta_0)
   =\int_0^Te^{-\gamma t}\frac{|\dot\theta-\dot\theta^*|_G^2}{2\eta}dt,

the cost of ending where the path ends and being optimal from there on, beyond that of being optimal at once. Recorded
steps are joined by straight lines; on these the sums below are exact for polynomials, so that no step is too long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav._shown import Shown
from lossnav.problem.drifts import Linear
from lossnav.problem.functions import budget
from lossnav.problem.functions.roots import FADED
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.losses.function import Formula, as_loss
from lossnav.problem.objective import Objective, check_problem
from lossnav.trajectory import charged, modes, riccati, stationary
from lossnav.trajectory.result import Trajectory, final_charge, resting_action
from lossnav.trajectory.solve import optimal_velocity, solve

_NODES = 6  # exact for a polynomial of degree 11 along a step
_SOLVED = 3  # where each costs a solution
_KINKED = 48  # for √L, which has a kink where a step passes the minimum
_RECORDED = 200  # steps that a trajectory is recorded in, unless dt says how many


@dataclass(frozen=True)
class Regret(Shown):
    """The regret of a path, unit ℓ, and its parts; ``plot()`` draws them.

    Attributes:
        total: what the path costs beyond the optimum.
        relative: ``total`` over V(θ₀), the least that the start costs beyond resting at the minimum for ever, or until
            the deadline; with a drift beyond holding the optimum's last place. NaN where a drift has a deadline, or
            the optimum moves on.
        speed: the part by moving faster or slower than the optimum there would.
        direction: the part by moving elsewhere; ``speed`` + ``direction`` = ``total`` where V is known in closed form.
            Else ``total`` is a difference of costs, and the parts are sums over three places of a step: equal to it but
            for the error of these sums, which is large where a step crosses a place at which the best plan changes.
        terminal: e^{−γT}V(θ_T), or with a deadline what it charges: a part of the path's cost, not of its regret.
        dt: time that a step is taken to last, unit T; the best one, if none was given.
        floor: the relative regret of the optimum itself, recorded every ``dt`` and joined by straight lines.
        timing, shape: at γ = 0 and without drift, J_T = ``timing`` + ``shape``: the speed that |θ̇|²_G/2η = kL does not
            allow, and the length ∫√(2kL/η)|dθ|_G with L in excess of its infimum. ``timing`` ≤ ``total``, and needs no
            V. NaN otherwise.
    """

    _drawing: ClassVar[str] = "regret"

    total: float
    relative: float
    speed: float
    direction: float
    terminal: float
    dt: float
    floor: float
    timing: float
    shape: float

    def _facts(self) -> dict[str, float]:
        return asdict(self)


def regret(
    path: ArrayLike | Trajectory,
    objective: Objective,
    loss: Loss | Callable[[Any], Any] | Formula,
    *,
    dt: float | None = None,
    value: str = "auto",
) -> Regret:
    r"""Return how much more a path costs than the optimum from its start (book: L20–L23).

    Args:
        path: recorded steps θ_0 … θ_N, shape (N + 1, D), evenly spaced in time; or a ``Trajectory``, recorded every
            ``dt`` from the start to the last of its ``times``.
        objective: η, k, γ, any metric, any drift. With a finite horizon the steps fill it: N·dt = T.
            Where acceleration is charged the steps are joined by a cubic spline.
        loss: the landscape, of D parameters; a function or a sympy expression of them, too.
        dt: time of a step, unit T; None takes the one for which the path costs least, and under a price is none. A
            ``Trajectory`` has a time of its own: None is a two-hundredth of it.
        value: where V is known in closed form (a quadratic loss, a constant metric, an affine drift) it is used. Else
            it is solved for: at three places of each step with "auto", a tenth of a second each where the loss is
            cheap, only at both ends with "ends" (``speed`` and ``direction`` are NaN then).

    Raises:
        ValueError: naming the argument.
        NoMinimiser, NotConverged: as ``solve``, if V does not exist or cannot be found.

    Example:
        >>> import numpy as np, lossnav as ln
        >>> bowl, patient = ln.losses.Quadratic([[1.0, 0.0], [0.0, 10.0]], minimum=[0.0, 0.0]), ln.Objective()
        >>> descent = np.array([1.0, 1.0]) * (1 - 0.18 * np.array([1.0, 10.0])) ** np.arange(26)[:, None]
        >>> found = ln.regret(descent, patient, bowl)
        >>> found.speed + found.direction == found.total and found.timing < found.total
        True

    References:
        book: L20 (the identity), L21 (recorded steps), L22 (speed and direction), L23 (γ = 0).
    """
    steps, dt = _recorded(path, dt) if isinstance(path, Trajectory) else (_checks.array("path", path), dt)
    surface: Loss = as_loss(loss, steps.shape[-1] if steps.ndim else 1)
    check_problem(objective, surface, priced=True)
    places = _places(steps, surface.dim)
    _checks.one_of("value", value, ("auto", "ends"))
    if objective.price is not None:
        return _charged(places, objective, surface, dt)
    known = _known(objective, surface, places[0], value)
    step = _step(places, objective, surface, known, dt)
    speed, direction = (math.nan, math.nan) if known.velocity is None else _parts(places, objective, known, step)
    total = speed + direction if known.exact else _difference(places, objective, surface, known, step)
    cost_to_go = known.cost_to_go(places[0]) - known.resting
    terminal = _beyond(places, objective, surface, known, step)
    timing, shape = _jacobi(places, objective, surface, known, step)
    best = known.follow(step * np.arange(len(places)))
    floor = (
        sum(_parts(best, objective, known, step)) if known.exact else _difference(best, objective, surface, known, step)
    )
    return Regret(
        total, _over(total, cost_to_go), speed, direction, terminal, step, _over(floor, cost_to_go), timing, shape
    )  # fmt: skip


def alignment(path: ArrayLike, objective: Objective, loss: Quadratic, gamma: ArrayLike, *, dt: float) -> Array:
    r"""Return C(γ), the cosine between a path's steps and those of the optimum for each discount rate (book: L26).

    The one with the largest C is the discount rate that the path looks as if it had; C has no unit, and no step length
    enters but through :math:`2\tanh(R\Delta t/2)`, which is what a step of the optimum is in terms of its middle.

    Args:
        path: recorded steps, shape (N + 1, D).
        objective: η, k and a constant metric; its γ is not used, and it has no drift and no deadline.
        loss: a quadratic with a minimum and no negative curvature, of at least two curvatures (else C is the same
            for all γ).
        gamma: discount rates ≥ 0, shape (M,).
        dt: time of a step, unit T.

    Returns:
        C, shape (M,); NaN for a path that stands still.

    Raises:
        ValueError: naming the argument; also if the loss has a negative curvature or is given without a minimum.
    """
    check_problem(objective, loss)
    _checks.instance("loss", loss, Quadratic, "a losses.Quadratic")
    if objective.drift is not None:
        raise ValueError("objective.drift is set, but the alignment is that of a problem without drift")
    if math.isfinite(objective.horizon):
        raise ValueError(f"objective.horizon = {objective.horizon:g}, but the alignment is that of an endless plan")
    if loss.minimum is None:
        raise ValueError("loss has no minimum given, but the alignment needs one")
    places, step = _places(path, loss.dim), _checks.positive("dt", dt)
    rates = _checks.nonnegatives("gamma", gamma, shape=(None,))
    metric, hessian = objective.metric_matrix(loss.dim), loss.hessian(places[0])
    basis = modes.decompose(hessian, metric)
    if np.min(basis.curvature) < 0:
        raise ValueError(f"loss has the curvature {np.min(basis.curvature):g}, but none of them may be negative")
    move, middle = np.diff(places, axis=0), (places[1:] + places[:-1]) / 2 - loss.minimum
    cosines = np.full(len(rates), np.nan)
    for i, rate in enumerate(rates):
        pace = modes.slow_rate(basis.curvature, objective.eta * objective.k, rate)
        ideal_move = -(middle @ metric @ basis.directions * (2 * np.tanh(pace * step / 2))) @ basis.directions.T
        norms = [float(np.einsum("ni,ij,nj", x, metric, x)) for x in (move, ideal_move)]
        if min(norms) > 0:
            cosines[i] = float(np.einsum("ni,ij,nj", move, metric, ideal_move)) / math.sqrt(norms[0] * norms[1])
    return cosines


def _charged(places: Array, objective: Objective, loss: Loss, dt: float | None) -> Regret:
    """Return the regret under a price, a difference of costs (book: W10, W12); speed and direction are no parts of it.

    As a sum of D_φ it would leave out what waiting costs where the optimum jumps: no velocity is the best one there.
    """
    if dt is None:
        raise ValueError(f"dt = None, but it must be given where objective.price = {objective.price!r}")
    if math.isfinite(objective.horizon):
        raise ValueError(
            f"objective.horizon = {objective.horizon:g}, but it must be inf where objective.price is set: V is known "
            "there of endless plans only"
        )
    step, heavy = _checks.positive("dt", dt), charged.price_of(objective).order == 2
    nodes = step * np.arange(len(places))
    lowest = _infimum(Objective(), loss, places[0], places[0])

    def optimum(start: Array, velocity0: Array | None) -> tuple[Trajectory, float]:
        """Return the optimum, and what it costs beyond resting at the minimum."""
        best = solve(objective, loss, start, velocity0=velocity0)
        return best, best.action - objective.k * lowest / objective.gamma if objective.gamma > 0 else best.excess

    def compared(steps: Array) -> tuple[Trajectory, float, float, float]:
        """Return the optimum from where steps begin, what it costs, their regret, and what comes after them costs."""
        times, at, velocity, weights = _sampled(steps, objective, step, _NODES)
        acceleration, ends = None, (None, None)
        if heavy:
            curve = scipy.interpolate.CubicSpline(nodes, steps)
            at, velocity, acceleration = (curve(times, order) for order in range(3))
            ends = curve(nodes[[0, -1]], 1)
        rate = objective.kinetic(at, velocity, acceleration) + objective.k * (np.asarray(loss.value(at)) - lowest)
        (best, cost_to_go), (_, beyond) = (optimum(steps[end], ends[end]) for end in (0, -1))
        terminal = math.exp(-objective.gamma * nodes[-1]) * beyond
        return best, cost_to_go, float(weights @ rate) + terminal - cost_to_go, terminal

    ideal, cost_to_go, total, terminal = compared(places)
    floor, nan = compared(ideal(nodes))[2], math.nan
    return Regret(total, _over(total, cost_to_go), nan, nan, terminal, step, _over(floor, cost_to_go), nan, nan)


def _recorded(path: Trajectory, dt: float | None) -> tuple[Array, float]:
    """Return the steps of a trajectory, to the end of its grid or the last that is whole, and their time."""
    end = float(path.times[-1])
    step = end / _RECORDED if dt is None else _checks.positive("dt", dt)
    count = int(end / step * (1 + 1e-9))
    if count < 1:
        raise ValueError(f"dt = {step:g}, but it must be at most {end:g}, the last of path.times")
    return path(np.minimum(step * np.arange(count + 1), end)), step


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _places(path: Any, dim: int) -> Array:
    places = _checks.array("path", path)
    if places.ndim != 2 or places.shape[1] != dim:
        wanted = f"it must have shape (N+1, D), a row a step, with D = {dim}"
        raise ValueError(f"path has shape {places.shape}, but {wanted}")
    if len(places) < 2:
        raise ValueError(f"path has {len(places)} place, but it must have at least 2")
    return places


# -------------------------------------------------------------------------------------------------- the value function


@dataclass(frozen=True)
class _Known:
    """V of a problem, counted from ``rest``, a cost rate: cost_to_go(θ) = V − rest/γ.

    Attributes:
        rest: what is taken off the running cost.
        cost_to_go: maps θ, shape (D,), to V there.
        velocity: maps times and places, shapes (N,) and (N, D), to optimal velocities; None: not asked for.
        follow: maps times, shape (N,), to the optimum's places, shape (N, D).
        nodes: how many a step has.
        exact: whether the regret is the sum of its parts, or the difference of costs (which needs V at the ends only).
        resting: what of cost_to_go is paid by who rests for ever, at the minimum or where a drift is best held; NaN
            where that is not known.
    """

    rest: float
    cost_to_go: Callable[[Array], float]
    velocity: Callable[[Array, Array], Array] | None
    follow: Callable[[Array], Array]
    nodes: int
    exact: bool
    resting: float = 0.0


def _known(objective: Objective, loss: Loss, start: Array, value: str) -> _Known:
    plain = objective.drift is None or isinstance(objective.drift, Linear)
    if isinstance(loss, Quadratic) and plain and not objective.curved and math.isinf(objective.horizon):
        law = riccati.local_value(objective, loss, start)
        return _Known(
            law.rest, law.cost_to_go, lambda _, x: law.velocity(x), lambda t: law.follow(start, t), _NODES, exact=True
        )
    best, rest = solve(objective, loss, start), 0.0
    if math.isinf(objective.horizon) and objective.drift is None:
        loss = _surveyed(objective, loss, start)
        rest = objective.k * _infimum(objective, loss, start, best.asymptote)

    def cost_to_go(theta: Array) -> float:
        optimum = best if np.array_equal(theta, start) else solve(objective, loss, theta)
        if objective.gamma > 0 or math.isfinite(objective.horizon):
            return optimum.action - (rest / objective.gamma if rest else 0.0)
        return optimum.excess

    def velocity(times: Array, places: Array) -> Array:
        best, left = np.empty_like(places), objective.horizon - times
        with budget.Budget():  # no limit: it shows how far this is
            for i, place in enumerate(places):
                budget.stage(f"optimum {i + 1} of {len(places)}")
                best[i] = optimal_velocity(replace(objective, horizon=float(left[i])), loss, place)
        return best

    resting = 0.0
    if math.isfinite(objective.horizon):
        lowest = math.nan if objective.drift is not None else _infimum(objective, loss, start, best.asymptote)
        resting = resting_action(objective.k * lowest, objective.gamma, 1.0, objective.horizon)
        resting += final_charge(objective, lowest)
    elif objective.drift is not None and objective.gamma > 0:
        resting = best.action - best.excess
    return _Known(rest, cost_to_go, velocity if value == "auto" else None, best, _SOLVED, False, resting)


class _Surveyed(Loss):
    """A loss whose stationary points were searched for: of V at many places each search would find the same ones."""

    def __init__(self, loss: Loss, points: Array):
        self.dim, self.positive, self._loss, self._known = loss.dim, loss.positive, loss, points
        self.batches = getattr(loss, "batches", {})

    def value(self, theta: ArrayLike) -> Any:
        return self._loss.value(theta)

    def gradient(self, theta: ArrayLike) -> Array:
        return self._loss.gradient(theta)

    def hessian(self, theta: ArrayLike) -> Array:
        return self._loss.hessian(theta)

    def stationary_points(self) -> Array:
        return self._known

    def summed(self, theta: Array) -> float:
        return self._loss.summed(theta)


def _surveyed(objective: Objective, loss: Loss, start: Array) -> Loss:
    """Return the loss with its stationary points, where a search finds all that it hopes to, and none is degenerate."""
    if loss.stationary_points() is not None:
        return loss
    rests = stationary.search(objective, loss, start)
    sharp = len(rests.points) > 0 and not np.any(stationary.degenerate(loss, start, rests.points))
    complete = not len(rests.lost) and rests.bottomless is None and rests.unseen <= stationary.MOST_UNSEEN
    return _Surveyed(loss, rests.points) if sharp and complete else loss


def _infimum(objective: Objective, loss: Loss, start: Array, asymptote: Array) -> float:
    points = [asymptote, *stationary.points(replace(objective, metric=None), loss, start)]
    heights = [float(loss.value(point)) for point in points if np.all(np.isfinite(point))]
    if not heights:
        raise ValueError("loss has no stationary point near the path, from which its excess could be counted")
    return min(heights)


# ----------------------------------------------------------------------------------------------------- sums along steps


def _discounted_gauss(faded: float, count: int) -> tuple[Array, Array]:
    """Return Gauss's nodes on [0, 1] and weights that hold e^{−``faded``·s}: more than ``count`` for a steep one."""
    x, w = np.polynomial.legendre.leggauss(count + int(min(faded, FADED)))
    reach = min(1.0, FADED / faded) if faded > 0 else 1.0
    nodes = reach * (1 + x) / 2
    return nodes, reach * w / 2 * np.exp(-faded * nodes)


def _sampled(places: Array, objective: Objective, step: float, count: int) -> tuple[Array, Array, Array, Array]:
    """Return times, places, velocities and discounted weights along the path, the first axis N·count."""
    s, w = _discounted_gauss(objective.gamma * step, count)
    move = np.diff(places, axis=0)
    begin = step * np.arange(len(move))
    times = (begin[:, None] + step * s).ravel()
    at = (places[:-1, None] + s[:, None] * move[:, None]).reshape(-1, places.shape[1])
    weights = (step * np.exp(-objective.gamma * begin)[:, None] * w).ravel()
    return times, at, np.repeat(move / step, len(s), axis=0), weights


def _running(places: Array, objective: Objective, loss: Loss, known: _Known, step: float) -> float:
    """Return J_T of the path, with ``known.rest`` taken off the cost rate."""
    _, at, velocity, weights = _sampled(places, objective, step, _NODES)
    return float(weights @ (np.asarray(objective.cost_rate(loss, at, velocity)) - known.rest))


def _beyond(places: Array, objective: Objective, loss: Loss, known: _Known, step: float) -> float:
    """Return what comes after the path: e^{−γT}V, or what a deadline charges."""
    if math.isfinite(objective.horizon):
        return final_charge(objective, float(loss.value(places[-1])))
    return math.exp(-objective.gamma * step * (len(places) - 1)) * known.cost_to_go(places[-1])


def _parts(places: Array, objective: Objective, known: _Known, step: float) -> tuple[float, float]:
    """Return the parts of the regret by speed and by direction."""
    assert known.velocity is not None  # it was asked for
    times, at, velocity, weights = _sampled(places, objective, step, known.nodes)
    best, metric = known.velocity(times, at), objective.metric_at(at)
    pairs = ((velocity, velocity), (best, best), (velocity, best))
    own, ideal, product = (np.einsum("ni,nij,nj->n", x, metric, y) for x, y in pairs)
    speed = float(weights @ (np.sqrt(own) - np.sqrt(ideal)) ** 2) / (2 * objective.eta)
    return speed, float(weights @ np.maximum(np.sqrt(own * ideal) - product, 0.0)) / objective.eta


def _difference(places: Array, objective: Objective, loss: Loss, known: _Known, step: float) -> float:
    """Return the regret as a difference of costs, which asks for V at the ends alone."""
    after = _beyond(places, objective, loss, known, step)
    return _running(places, objective, loss, known, step) + after - known.cost_to_go(places[0])


def _jacobi(places: Array, objective: Objective, loss: Loss, known: _Known, step: float) -> tuple[float, float]:
    """Return timing and shape: J_T = ∫(|θ̇|/√2η − √kL)²dt + ∫√(2kL/η)|dθ|, at γ = 0 without drift."""
    if objective.gamma > 0 or objective.drift is not None or math.isfinite(objective.horizon):
        return math.nan, math.nan
    _, at, velocity, weights = _sampled(places, objective, step, _KINKED)
    pace = np.sqrt(np.asarray(objective.kinetic(at, velocity)))
    height = np.sqrt(np.maximum(objective.k * np.asarray(loss.value(at)) - known.rest, 0.0))
    return float(weights @ (pace - height) ** 2), float(2 * weights @ (pace * height))


def _step(places: Array, objective: Objective, loss: Loss, known: _Known, dt: float | None) -> float:
    """Return the time of a step: the one given, or the one for which the path costs least."""
    count = len(places) - 1
    fixed = None if dt is None else _checks.positive("dt", dt)
    if math.isfinite(objective.horizon):
        if fixed is not None and not math.isclose(fixed * count, objective.horizon, rel_tol=1e-9):
            raise ValueError(f"dt = {fixed:g}, but {count} steps must fill objective.horizon = {objective.horizon:g}")
        return objective.horizon / count
    if fixed is not None:
        return fixed
    # Without discount and drift J = K/Δt + hΔt, whose best Δt is √(K/h); else this is where a search begins.
    slow = replace(objective, gamma=0.0)
    _, at, velocity, weights = _sampled(places, slow, 1.0, _NODES)
    kinetic = float(weights @ np.asarray(replace(slow, drift=None).kinetic(at, velocity)))
    height = float(weights @ np.maximum(objective.k * np.asarray(loss.value(at)) - known.rest, 0.0))
    if not kinetic > 0 or not height > 0:
        raise ValueError("path stands still or costs nothing, so that no step length is the best; give dt")
    guess = math.sqrt(kinetic / height)
    if objective.gamma == 0 and objective.drift is None:
        return guess
    last = known.cost_to_go(places[-1])

    def cost(logarithm: float) -> float:
        step = guess * math.exp(logarithm)
        return _running(places, objective, loss, known, step) + math.exp(-objective.gamma * step * count) * last

    # On a wide grid first, so that the bracket holds the lowest of several minima.
    grid = np.linspace(-9.0, 9.0, 73)
    around = int(np.argmin([cost(float(x)) for x in grid]))
    if around in (0, len(grid) - 1):
        raise ValueError(
            f"path costs the less the {'shorter' if around == 0 else 'longer'} its steps last, so that no step length "
            "is the best; give dt"
        )
    minimum = scipy.optimize.minimize_scalar(
        cost, bounds=(grid[around - 1], grid[around + 1]), method="bounded", options={"xatol": 1e-9}
    )
    return guess * math.exp(float(minimum.x))
