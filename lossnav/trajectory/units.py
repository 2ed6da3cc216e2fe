r"""Natural units: every solver sees a problem with η = k = 1, unit curvature and lengths of order one.

With :math:`t=\tau t'`, :math:`\theta=\lambda\theta'`, G = mG′ and :math:`J=jJ'`, :math:`j=\lambda^2m/\tau\eta`, the
objective keeps its form with η′ = k′ = 1, γ′ = γτ, f′ = τf/λ and :math:`L'=(\eta k\tau^2/\lambda^2m)\,L`. The time is
:math:`\tau=(\eta kh/m+|J|^2)^{-1/2}` with h the curvature (else 1/γ, else the deadline). τ, λ and m are powers of two:
times and parameters keep all their digits. Tolerances in the solvers may then be absolute.

Parameters of different kinds have different units, which a constant metric knows: where its diagonal spans very many
orders, each θ_i gets a length of its own that makes the diagonal even.

A metric that depends on θ has its own length: m = 1, and λ is 1, or what the metric says of a change of units that
leaves its formula as it is (``Metric.units_at``). That may be another λ for each parameter, and where a parameter is a
logarithm it is a shift, :math:`\theta=\lambda\theta'+s`.

Beside a price, whose scales of time nobody knows, λ alone is chosen: τ = j = 1, and k′ = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem import drifts
from lossnav.problem.losses import Function, Loss, Quadratic
from lossnav.problem.metrics import Metric
from lossnav.problem.objective import Objective
from lossnav.problem.task import Task
from lossnav.trajectory.result import Trajectory

_NEAR = 3  # binary orders within which the user's own unit of θ is as good as the natural one
_SPREAD = 20  # binary orders between the largest and the smallest price of speed that need no units of their own
_WIDE = 6  # the same for time, metric, η and k, which the solvers feel less
_UNKNOWN = 10  # the same for all, if the landscape has no formula and its scales are guessed from samples


@dataclass(frozen=True, eq=False)
class Units:
    """Units of time, of each θ_i, shape (D,), and of J, in the user's units; and what is taken off θ first."""

    time: float
    length: Array
    cost: float
    shift: Array | float = 0.0

    def place(self, theta: Array) -> Array:
        """Return θ, shape (..., D), dimensionless."""
        return (theta - self.shift) / self.length

    def pace(self, velocity: Array) -> Array:
        """Return a velocity, shape (..., D), dimensionless."""
        return velocity / (self.length / self.time)

    def back(self, theta: Array) -> Array:
        """Return the user's θ, shape (..., D)."""
        return theta * self.length + self.shift

    def objective(self, objective: Objective) -> Objective:
        """Return the dimensionless objective; beside a price, of which only a length is known, one with k = 1."""
        if objective.price is not None:
            length, given = float(self.length[0]), objective.price
            price, speeds = given.in_units(length), np.outer(2.0 ** np.arange(-40, 41), np.ones(len(self.length)))
            values, same = np.asarray(price.value(speeds)), np.asarray(given.value(length * speeds))
            sound = np.isfinite(values) & np.isfinite(same) & (values > 0) & (same > 0)
            if not np.allclose(values[sound], same[sound], rtol=1e-9, atol=0):
                raise ValueError(
                    f"price.lengths = {dict(given.lengths)}, but it must name each field of {given!r} that changes "
                    "with the unit of theta, and which power of it"
                )
            return replace(objective, price=price, k=1.0, terminal=objective.terminal / objective.k)
        metric = objective.metric
        if isinstance(metric, np.ndarray) or (isinstance(metric, Metric) and metric.constant):
            prices = np.multiply.outer(self.length, self.length) / (self.time * objective.eta * self.cost)
            metric = objective.metric_matrix(len(self.length)) * prices
        drift: drifts.Drift | None = None
        if isinstance(objective.drift, drifts.Linear):
            dim, scalar = len(self.length), objective.drift.dim is None
            matrix = objective.drift.matrix(dim) * self.time * self.length / self.length[:, None]
            offset = objective.drift.offset(dim) * (self.time / self.length)
            drift = drifts.Linear(matrix[0, 0] if scalar else matrix, None if scalar else offset)
        elif objective.drift is not None:
            field, pace = objective.drift, self.time / self.length
            lacking = isinstance(field, drifts.Function) and field._slope is None  # and differenced, as a loss's
            drift = drifts.Function(
                lambda x: pace * field(self.length * x),
                None if lacking else lambda x: np.multiply.outer(pace, self.length) * field.jacobian(self.length * x),
                dim=field.dim,
            )
        horizon = self.span(objective.horizon)
        charge = self.span(objective.terminal / objective.k)
        return Objective(
            gamma=objective.gamma * self.time, metric=metric, drift=drift, horizon=horizon, terminal=charge
        )

    def loss(self, loss: Loss, objective: Objective) -> Loss:
        """Return the dimensionless loss, of the same kind where the solvers care about the kind."""
        if isinstance(loss, Task):
            return loss.rescaled(self.time, lambda static_loss: self.loss(static_loss, objective))
        height = objective.k * self.time / self.cost
        gradient_scale, hessian_scale = height * self.length, height * np.multiply.outer(self.length, self.length)
        if isinstance(loss, Quadratic) and not objective.curved:
            hessian, offset = loss.hessian(np.zeros(loss.dim)) * hessian_scale, loss.offset * height
            if loss.tilt is not None:
                return Quadratic(hessian, gradient=loss.tilt * gradient_scale, offset=offset)
            assert loss.minimum is not None
            return Quadratic(hessian, minimum=self.place(loss.minimum), offset=offset)
        if isinstance(loss, Function):  # what it lacks is differenced with steps of the right size
            function = loss
            return _Function(
                lambda x: height * np.asarray(function.value(self.back(x))),
                None if function._gradient is None else lambda x: gradient_scale * function.gradient(self.back(x)),
                None if function._hessian is None else lambda x: hessian_scale * function.hessian(self.back(x)),
                dim=loss.dim, reach=self.reach,
            )  # fmt: skip
        return _Scaled(loss, height, self)

    @property
    def reach(self) -> float:
        """How far around a start to search for resting places: the user's unit, unless it is far off."""
        return 1 / float(self.length[0]) if self._alike and abs(math.log2(self.length[0])) <= _UNKNOWN else 1.0

    @property
    def _alike(self) -> bool:
        return bool(np.all(self.length == self.length[0]))

    def span(self, time: float) -> float:
        """Return a duration, dimensionless."""
        return time / self.time

    def restore(self, path: Trajectory, objective: Objective, loss: Loss) -> Trajectory:
        """Return the user's trajectory for a dimensionless one."""
        return replace(
            path,
            objective=objective,
            loss=loss,
            times=path.times * self.time,
            action=path.action * self.cost,
            excess=path.excess * self.cost,
            asymptote=self.back(path.asymptote),
            position=partial(self._position, path.position),
            rate=partial(self._rate, 1, path.rate),
            second=None if path.second is None else partial(self._rate, 2, path.second),
            end=path.end * self.time,
            residual=path.residual * float(np.max(self.length)) / self.time**2,
            error=path.error * self.cost,
            growth=path.growth / self.time,
            detail=f"{path.detail} {self}" if path.detail else "",
            others=tuple(self.restore(other, objective, loss) for other in path.others),
        )

    def _position(self, position: Callable[[Array], Array], t: Array) -> Array:
        return self.back(position(t / self.time))

    def _rate(self, order: int, rate: Callable[[Array], Array], t: Array) -> Array:
        return rate(t / self.time) * (self.length / self.time**order)

    def __str__(self) -> str:
        theta = f"{self.length[0]:.3g}" if self._alike else _checks.shown(self.length)
        return f"(numbers in natural units: time {self.time:.3g}, theta {theta}, J {self.cost:.3g})"


def natural(objective: Objective, loss: Loss, theta0: Array, span: float | None, stop: Array | None) -> Units | None:
    """Return natural units for a problem, or None if the user's own are as good.

    Args:
        objective: the assumptions.
        loss: the landscape, of D parameters.
        theta0: start, shape (D,).
        span: a horizon beside the objective's own, or None.
        stop: a fixed end, shape (D,), or None.

    Raises:
        ValueError: if the unit of J is out of the range of floating-point numbers.
    """
    if isinstance(loss, Task):  # what decides where a path ends
        loss = loss.final or loss.at(0.0)
    if objective.price is not None:
        length = _power(_extent(theta0, stop, loss.stationary_points()) or 1.0)
        return None if abs(math.log2(length)) <= _NEAR else Units(1.0, length * np.ones(loss.dim), 1.0)
    if objective.curved:
        return _under_curved(objective, loss, theta0, span)
    lengths = _lengths(objective, loss.dim)
    if lengths is None:
        return _under_constant(objective, loss, theta0, span, stop)
    first = Units(1.0, lengths, objective.k)  # L keeps its height
    even = replace(first.objective(replace(objective, eta=1 / objective.k)), eta=objective.eta, k=objective.k)
    stop = None if stop is None else stop / lengths
    scales = _under_constant(even, first.loss(loss, objective), theta0 / lengths, span, stop)
    scales = scales or _made(even, 1.0, np.ones(loss.dim))
    return replace(scales, length=scales.length * lengths)


def _lengths(objective: Objective, dim: int) -> Array | None:
    """Return lengths for parameters that make the diagonal of a constant metric even, shape (D,); None if it is."""
    if objective.metric is None:
        return None
    orders = np.log2(np.diagonal(objective.metric_matrix(dim)))
    if np.ptp(orders) <= _SPREAD:
        return None
    lengths: Array = 2.0 ** np.round((np.max(orders) - orders) / 2)
    return lengths


def _under_constant(
    objective: Objective, loss: Loss, theta0: Array, span: float | None, stop: Array | None
) -> Units | None:
    """Return natural units of time and cost, and one length."""
    known = loss.stationary_points()
    mass = _power(1.0 if objective.metric is None else float(np.max(np.abs(objective.metric_matrix(loss.dim)))))
    control_gain = math.log2(objective.eta) + math.log2(objective.k) - math.log2(mass)  # of ηk/m
    size = _extent(theta0, stop, known)
    # The fastest rate √(ηkh/m): h is known where the loss has formulas, else sampled.
    exact = known is not None or isinstance(loss, Quadratic)
    if exact:
        places = known if known is not None else theta0[None, :]
        curvature = float(np.max(np.abs(loss.hessian(places)), initial=0.0))
    else:
        curvature = _steepness(loss, theta0, size or 1.0, control_gain)
    pace = 2.0 ** min((math.log2(curvature) + control_gain) / 2, 1000.0) if curvature > 0 else 0.0
    speed = 0.0
    if objective.drift is not None:
        pace = math.hypot(pace, float(np.max(np.abs(objective.drift.jacobian(theta0)), initial=0.0)))
        speed = float(np.max(np.abs(objective.drift(np.zeros_like(theta0))), initial=0.0))
    if not exact:  # on a plateau the samples say nothing, and what is known better decides
        paces = [rate for rate in (pace, objective.gamma, speed / (size or 1.0)) if rate > 0]
        pace = min(paces, key=lambda rate: abs(math.log2(rate)), default=0.0)
    time = _time(objective, pace, span)
    if exact and (known is None or span is not None or math.isfinite(objective.horizon)):
        # A slope without a place that can be reached: how far it leads in a unit of time.
        gradient = float(np.max(np.abs(loss.gradient(theta0)), initial=0.0))
        led = 2.0 ** (math.log2(gradient) + control_gain + 2 * math.log2(time)) if gradient > 0 else 0.0
        size = min(size if known is not None else math.inf, max(_extent(theta0, stop), led))
    size = max(size, time * speed)
    # Only what is far from one is worth a change: the digits of common problems stay.
    length = _power(size or 1.0)
    orders = [math.log2(x) for x in (time, mass, objective.eta, objective.k)]
    wide, near = (_WIDE, _NEAR) if exact else (_UNKNOWN, _UNKNOWN)
    if max(map(abs, orders)) <= wide and abs(math.log2(length)) <= near:
        return None
    return _made(objective, time, length * np.ones(loss.dim), math.log2(mass) + 2 * math.log2(length))


def _extent(*places: Array | None) -> float:
    """Return how far from 0 a path is known to be: at its ends, and in places to rest."""
    return max(float(np.max(np.abs(place), initial=0.0)) for place in places if place is not None)


def _under_curved(objective: Objective, loss: Loss, theta0: Array, span: float | None) -> Units | None:
    """Return natural units where the metric depends on θ, from what is seen where a path ends, or at a likely place."""
    known, likely = loss.stationary_points(), loss.starts(theta0)
    place = theta0
    if math.isinf(objective.horizon):
        place = known[0] if known is not None and len(known) else theta0 if likely is None else likely[0]
    metric = objective.metric_on(loss.dim)
    own = metric.units_at(place) if objective.drift is None else None
    scale, move = own or (np.ones(loss.dim), np.zeros(loss.dim))
    with np.errstate(all="ignore"):
        prices = scale[:, None] * metric.matrix(place) * scale
        curvature = np.abs(np.linalg.solve(prices, scale[:, None] * loss.hessian(place) * scale)).max()
        if own:  # a step of order one changes the metric: how soon does the loss drive it so far?
            curvature = max(curvature, np.abs(np.linalg.solve(prices, scale * loss.gradient(place))).max())
    control_gain = math.log2(objective.eta) + math.log2(objective.k)
    pace = 2.0 ** ((math.log2(curvature) + control_gain) / 2) if 0 < curvature < math.inf else 0.0
    time = _time(objective, pace, span)
    orders = [math.log2(x) for x in (time, objective.eta, objective.k)]
    if max(map(abs, orders)) <= (_WIDE if own else _UNKNOWN) and np.max(np.abs(np.log2(scale))) <= _NEAR:
        return None
    return _made(objective, time, scale, shift=move)


def _time(objective: Objective, pace: float, span: float | None) -> float:
    """Return the unit of time: by the pace of the problem, else its discount, but no more than there is."""
    least = min(objective.horizon, math.inf if span is None else span)
    return _power(min(1 / (pace or objective.gamma or 1 / least or 1.0), least))


def _made(objective: Objective, time: float, length: Array, price: float = 0.0, shift: Array | float = 0.0) -> Units:
    """Return the units with that of J, which is in range; a unit of θ, squared, is 2^``price`` by the metric."""
    order = price - math.log2(time) - math.log2(objective.eta)
    if abs(order) > 1000 or abs(math.log2(objective.k) + math.log2(time) - order) > 1000:
        raise ValueError(
            f"eta = {objective.eta:g}, k = {objective.k:g}: with them the natural unit of J is 2^{order:.0f}, beyond "
            "floating-point numbers; choose other units of theta, time or loss"
        )
    return Units(time, length, 2.0**order, shift)


def _power(x: float) -> float:
    """Return the power of two nearest to x > 0 on a logarithmic scale."""
    return 2.0 ** max(-1000, min(1000, round(math.log2(x))))


def _steepness(loss: Loss, theta0: Array, size: float, control_gain: float) -> float:
    """Return a typical curvature of a landscape without a formula, from a few values around the start.

    Of the estimates at three distances the one nearest to the user's own units is taken: a plateau or a wall near the
    start must not decide what is large and what is small.
    """
    steps = size * np.array([0.3, 1.0, 3.0])
    signs = np.where(np.arange(loss.dim) % 2 == 0, 1.0, -1.0)
    shifts = np.concatenate([steps[:, None] * direction for direction in (signs, -signs)])
    with np.errstate(all="ignore"):
        climbs = np.abs(np.asarray(loss.value(theta0 + shifts)) - float(loss.value(theta0)))
    curvatures = 2 * climbs / np.concatenate([steps, steps]) ** 2
    curvatures = curvatures[np.isfinite(curvatures) & (curvatures > 0)]
    if not curvatures.size:
        return 0.0
    return float(curvatures[np.argmin(np.abs(np.log2(curvatures) + control_gain))])


class _Scaled(Loss):
    """L′(θ′) = height·L(θ)."""

    def __init__(self, loss: Loss, height: float, units: Units):
        self.dim, self.positive, self.reach = loss.dim, loss.positive, units.reach
        self._loss, self._height, self._units = loss, height, units
        self._gradient_scale = height * units.length
        self._hessian_scale = height * np.multiply.outer(units.length, units.length)

    def value(self, theta: ArrayLike) -> Any:
        return self._height * self._loss.value(self._units.back(np.asarray(theta)))

    def gradient(self, theta: ArrayLike) -> Array:
        return self._gradient_scale * self._loss.gradient(self._units.back(np.asarray(theta)))

    def hessian(self, theta: ArrayLike) -> Array:
        return self._hessian_scale * self._loss.hessian(self._units.back(np.asarray(theta)))

    def stationary_points(self) -> Array | None:
        points = self._loss.stationary_points()
        return None if points is None else self._units.place(points)

    def starts(self, theta0: Array) -> Array | None:
        points = self._loss.starts(self._units.back(theta0))
        return None if points is None else self._units.place(points)

    def summed(self, theta: Array) -> float:
        return self._height * self._loss.summed(self._units.back(theta))


class _Function(Function):
    """A scaled ``losses.Function``; ``reach`` as in ``Units``."""

    def __init__(self, *functions: Any, dim: int, reach: float):
        super().__init__(*functions, dim=dim)
        self.reach = reach
        for part in self._parts():
            part.counts = False  # the user's own functions inside are counted
