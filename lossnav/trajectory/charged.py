"""The optimum under another price than |θ̇|²/2η, exact on bowls; on other losses there is no solver yet."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss, Quadratic
from lossnav.problem.objective import Objective
from lossnav.problem.prices import Bowl, Price
from lossnav.trajectory import accelerated
from lossnav.trajectory.case import Case
from lossnav.trajectory.result import Method, Trajectory, plot_times, resting_action

if TYPE_CHECKING:
    from lossnav.trajectory.refinement import Settings

_DIAGONAL = 1e-12  # of the largest entry: what rounding leaves beside a diagonal
_FLAT = 1e-6  # of the largest curvature: below it half of the digits of g/h are rounding
_SEEN = 1e-3  # of the way: how near to the end the natural times go


def price_of(objective: Objective) -> Price:
    """Return the price, which is there."""
    assert objective.price is not None  # whoever calls has seen to it
    return objective.price


def bowl(objective: Objective, hessian: Array) -> tuple[Bowl, str]:
    """Return curvatures along the price's axes, and why it has no exact law there, or ""."""
    h = np.diagonal(hessian).copy()
    coupled = np.max(np.abs(hessian - np.diag(h))) > _DIAGONAL * np.max(np.abs(hessian))
    reason = "needs a Hessian that is diagonal, as the price's axes are" if coupled else price_of(objective).refuses(h)
    return Bowl(h, objective.k, objective.gamma), reason


def surplus(objective: Objective, loss: Loss) -> Callable[[Array, Array, Array], Any]:
    """Return what a place, velocity and acceleration cost per time beyond the optimum there: D_φ (W10, W12).

    Raises:
        ValueError: V is not known in closed form.
    """
    price = price_of(objective)
    if not isinstance(loss, Quadratic):
        raise ValueError(
            f"loss = {loss!r}, but beside a price it must be a losses.Quadratic: else V has no closed form"
        )
    origin = np.zeros(loss.dim)
    if price.order == 2:
        law = accelerated.Law.of(objective, loss)
        lower = np.linalg.cholesky(objective.metric_matrix(loss.dim))
        m = accelerated.charged(objective).m
        return lambda x, v, a: price.bregman(a @ lower, m * law(x, v) @ lower)
    axes, declined = bowl(objective, loss.hessian(origin))
    if declined:
        raise ValueError(f"objective.price = {price!r} {declined}")
    minimum = -loss.gradient(origin) / axes.curvature
    return lambda x, v, _: price.bregman(v, price.costate(x - minimum, axes))


class OnBowl:
    """The exact optimum on a quadratic loss: of acceleration in any metric, of speed along the price's axes."""

    name: Method = "closed_form"

    def accepts(self, case: Case) -> str:
        """Return why not: another loss, a deadline, coupled axes."""
        if not isinstance(case.loss, Quadratic):
            return f"needs a losses.Quadratic, but loss is {case.loss!r}: beside a price others have no solver yet"
        if not case.rests:
            return "needs neither a deadline nor an endpoint"
        if price_of(case.objective).order == 2:
            return ""
        return bowl(case.objective, case.loss.hessian(case.theta0))[1]

    def solve(self, case: Case, settings: Settings) -> Trajectory:
        """Return the exact optimum."""
        assert isinstance(case.loss, Quadratic)  # accepts has said so
        if price_of(case.objective).order == 2:
            return _accelerated(case, case.loss)
        return _settled(case, case.loss)


def _accelerated(case: Case, loss: Quadratic) -> Trajectory:
    """Return the optimum where acceleration is charged, with J = ∫… by the value function (W3).

    V is ½m[K₁(γ+K₂)x² + 2K₁xv + K₂v²] on top of resting at the minimum; of a mode too flat to know where that is it is
    κ·m·gv + ½mK₂v² − mκ²g²/2γ on top of resting where it starts, κ = K₁/h.
    """
    objective, theta0 = case.objective, case.theta0
    path = accelerated.start(objective, loss, theta0, case.velocity0)
    h, g, v, gamma = path.curvature, path.slope, path.speed, objective.gamma
    kappa, friction = accelerated.gains(objective, h)
    m = accelerated.charged(objective).m
    curved = h > (_FLAT * np.max(np.abs(h), initial=0.0) if gamma > 0 else 0.0)
    reach = np.where(curved, 1 / np.where(curved, h, 1.0), 0.0)
    flat = 0.0 if gamma == 0 else -m / gamma * float(np.where(curved, 0.0, kappa**2) @ g**2)
    own = m * float((reach * kappa * (gamma + friction)) @ g**2 + 2 * kappa @ (g * v) + friction @ v**2)
    climb, level = (own + flat) / 2, float(loss.value(theta0)) - float(reach @ g**2) / 2
    scale = objective.k * (abs(float(loss.value(theta0))) + abs(level))
    # Where nothing pulls (h = g = 0), friction alone stops a learner who moves, after v/K₂.
    coasts = (h == 0) & (np.abs(g) <= 1e-12 * np.max(np.abs(g), initial=0.0))
    slow = np.where(coasts, friction, _slow(kappa * h, friction))
    moved = (v != 0) | ((g != 0) & ~coasts)
    rests = np.all((slow > 0) | ~moved)
    growth = float(np.max(-slow, initial=-math.inf, where=moved))
    way = np.where(coasts, -v / np.where(friction > 0, friction, 1.0), g / np.where(h > 0, h, 1.0))
    stop = theta0 - path.directions @ way
    pace = growth if growth > 0 else float(np.min(slow, initial=np.inf, where=slow > 0))
    return Trajectory(
        objective, loss, plot_times(pace, math.inf), climb + resting_action(objective.k * level, gamma, scale),
        climb if np.all(curved | coasts) else math.nan, stop if rests else np.full(loss.dim, np.nan), OnBowl.name,
        path.position, path.rate, growth=growth, second=path.second,
    )  # fmt: skip


def _slow(stiff: Array, friction: Array) -> Array:
    """Return the real part of the slower rate of s² + K₂s + K₁ = 0."""
    half = friction / 2
    fast = half + np.sqrt(np.maximum(half**2 - stiff, 0.0))
    return np.where(half**2 > stiff, stiff / np.where(fast == 0, 1.0, fast), half)


@dataclass(frozen=True, eq=False)
class _Settling:
    """The path along the price's axes."""

    price: Price
    minimum: Array
    start: Array
    bowl: Bowl

    def position(self, t: Array) -> Array:
        return self.minimum + self.price.settle(self.start, t, self.bowl)

    def rate(self, t: Array) -> Array:
        return self.price.pace(self.price.settle(self.start, t, self.bowl), self.bowl)


def _settled(case: Case, loss: Quadratic) -> Trajectory:
    """Return the optimum along the price's axes."""
    objective, price = case.objective, price_of(case.objective)
    axes, _ = bowl(objective, loss.hessian(case.theta0))
    start = loss.gradient(case.theta0) / axes.curvature
    minimum = case.theta0 - start
    path = _Settling(price, minimum, start, axes)
    stop = price.settle(start, np.array([np.inf]), axes)[0]
    level, cost = objective.k * float(loss.value(minimum)), float(price.cost(start, axes))
    height = objective.k / 2 * float(axes.curvature @ stop**2)
    times = np.linspace(0.0, _span(price, start, stop, axes), 201)
    return Trajectory(
        objective, loss, times, cost + resting_action(level, objective.gamma, abs(level) + cost),
        cost - resting_action(height, objective.gamma, 0.0) if height else cost, minimum + stop, OnBowl.name,
        path.position, path.rate,
    )  # fmt: skip


def _span(price: Price, start: Array, stop: Array, axes: Bowl) -> float:
    """Return a time after which no more than a thousandth of the way is left."""
    far = _SEEN * float(np.max(np.abs(start - stop), initial=0.0))
    if far == 0:
        return 10.0
    grid = 2.0 ** np.arange(-300, 301)
    left = np.max(np.abs(price.settle(start, grid, axes) - stop), axis=1)
    return float(grid[np.argmax(left <= far)])
