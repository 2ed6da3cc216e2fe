r"""One-dimensional problems in the phase plane: the feedback law p(θ), and when it is optimal to stay (theory §7.5).

The optimal path into a minimum c is the stable manifold of the rest point (c, 0) of θ̈ = γθ̇ + ηkL′. As a curve over θ,
with q = p²/2, it solves :math:`dq/d\theta = \gamma p + \eta kL'(\theta)`, integrated *away* from c, which is the stable
direction; the value function follows from the policy :math:`p = -\eta V'`. Nothing here is discretised in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.integrate
import scipy.optimize
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.losses import Loss
from lossnav.objective import Objective
from lossnav.trajectory import modes, stationary
from lossnav.trajectory.result import resting_action

_OFFSET = 1e-4  # where the quadratic expansion of the manifold hands over to the integrator, relative to 1 + |c|


@dataclass(frozen=True, eq=False)
class Feedback:
    """The optimal law into ``target``: θ̇ = speed(θ) on ``reach``, the interval that its orbit covers without turning.

    Attributes:
        target: the minimum c.
        reach: (low, high); an end inside the requested span is where the orbit has slowed to zero.
        speed: maps θ to θ̇, NaN outside reach.
        excess: maps θ to V(θ) − V(c), NaN outside reach.
        rest: V(c) = kL(c)/γ, or 0 or ±inf at γ = 0.
    """

    target: float
    reach: tuple[float, float]
    speed: Callable[[ArrayLike], Array]
    excess: Callable[[ArrayLike], Array]
    rest: float

    def action(self, theta: ArrayLike) -> Array:
        """Return J of the path from θ into ``target``, NaN outside reach."""
        return self.excess(theta) + self.rest


def feedback(objective: Objective, loss: Loss, target: float, span: tuple[float, float]) -> Feedback:
    """Return the law that steers a one-dimensional θ into the minimum ``target``, within ``span`` around it.

    Args:
        objective: η, k, γ; infinite horizon, no drift, no metric but a number (D = 1).
        loss: of dimension 1.
        target: a minimum of L with positive curvature.
        span: (low, high) with low < target < high.

    Raises:
        ValueError: naming the argument that does not fit.
    """
    stiffness = _stiffness(objective, loss)
    target = _checks.finite("target", target)
    low, high = (_checks.finite("span", edge) for edge in span)
    if not low < target < high:
        raise ValueError(f"span = {span}, but it must be (low, high) with low < target = {target:g} < high")
    curvature = float(loss.hessian([target])[0, 0])
    if curvature <= 0 or abs(float(loss.gradient([target])[0])) > 1e-6 * curvature * (1 + abs(target)):
        raise ValueError(f"target = {target:g}, but it must be a minimum of the loss with positive curvature")
    left = _branch(loss, stiffness, objective.gamma, target, low)
    right = _branch(loss, stiffness, objective.gamma, target, high)

    def evaluate(theta: ArrayLike, row: int) -> Array:
        theta = np.asarray(theta, dtype=np.float64)
        return np.where(theta < target, left.evaluate(theta, row), right.evaluate(theta, row))

    level = objective.k * float(loss.value([target]))
    # The mass of a one-dimensional metric G rescales η: V′ = −Gp/η.
    mass = float(objective.metric_matrix(1)[0, 0]) / objective.eta
    return Feedback(
        target,
        (left.stop, right.stop),
        lambda theta: evaluate(theta, 0),
        lambda theta: mass * evaluate(theta, 1),
        resting_action(level, objective.gamma, abs(level) + objective.k * abs(float(loss.value([low])))),
    )


def heteroclinic_discount(objective: Objective, loss: Loss) -> float:
    """Return γ_het: below it, crossing from the shallower of two neighbouring wells into the deeper is always optimal.

    At γ_het an orbit leaves the shallow minimum and comes to rest in the deep one: the unstable manifold of the former
    meets the stable manifold of the latter above the barrier. ``objective.gamma`` is not used.

    Raises:
        ValueError: unless the loss is one-dimensional with exactly two minima of different depth.
    """
    stiffness = _stiffness(objective, loss)
    shallow, barrier, deep = _wells(objective, loss)
    side = barrier + math.copysign(_OFFSET, shallow - barrier)  # just past the barrier is where both are smooth

    def gap(gamma: float) -> float:
        leaving = _branch(loss, stiffness, gamma, shallow, side, unstable=True)
        arriving = _branch(loss, stiffness, gamma, deep, side)
        arrived = abs(float(arriving.evaluate(np.array(side), 0))) if arriving.complete else 0.0
        return abs(float(leaving.evaluate(np.array(side), 0))) - arrived

    return float(scipy.optimize.brentq(gap, 0.0, _no_rush(stiffness, loss, barrier), xtol=1e-13, rtol=1e-13))


def indifference_point(objective: Objective, loss: Loss) -> float | None:
    """Return θ_s, the start from which staying in the shallower well and crossing to the deeper cost the same.

    None means that crossing is optimal from everywhere (γ below ``heteroclinic_discount``). From
    γ = 2√(ηk|h|) on, h the barrier's curvature, θ_s is the barrier itself, as for gradient descent.

    Raises:
        ValueError: unless the loss is one-dimensional with exactly two minima of different depth.
    """
    stiffness = _stiffness(objective, loss)
    shallow, barrier, deep = _wells(objective, loss)
    if objective.gamma >= _no_rush(stiffness, loss, barrier):
        return barrier
    reach = 2 * abs(deep - shallow)
    stay = feedback(objective, loss, shallow, _ordered(shallow - math.copysign(reach, deep - shallow), deep))
    cross = feedback(objective, loss, deep, _ordered(shallow, deep + math.copysign(reach, deep - shallow)))
    near, far = (0, 1) if shallow < deep else (1, 0)
    start = cross.reach[near]
    if start == shallow:
        return None
    stop = stay.reach[far]
    if abs(stop - start) < 1e-6:  # both orbits turn within rounding of the barrier
        return barrier
    margin = 1e-9 * abs(stop - start)
    start, stop = start + math.copysign(margin, stop - start), stop - math.copysign(margin, stop - start)

    def lead(theta: float) -> float:
        return abs(float(cross.speed(theta))) - abs(float(stay.speed(theta)))

    return float(scipy.optimize.brentq(lead, start, stop, xtol=1e-13))


@dataclass(frozen=True, eq=False)
class _Branch:
    """One side of a manifold: q = p²/2 and ∫p dθ over θ from ``target`` to ``stop``."""

    target: float
    stop: float
    complete: bool
    sign: float
    expansion: tuple[float, float]  # p = first·x + second·x² near the target
    handover: float
    solution: Callable[[Array], Array]

    def evaluate(self, theta: Array, row: int) -> Array:
        """Return p (row 0) or V-like −∫p dθ (row 1) at θ, NaN beyond ``stop``."""
        low, high = _ordered(self.handover, self.stop)
        q, area = self.solution(np.clip(theta, low, high))
        far = self.sign * np.sqrt(2 * np.maximum(q, 0.0)) if row == 0 else -area
        x = theta - self.target
        first, second = self.expansion
        close = first * x + second * x**2 if row == 0 else -(first * x**2 / 2 + second * x**3 / 3)
        low, high = _ordered(self.target, self.stop)
        inside = (theta >= low - 1e-12) & (theta <= high + 1e-12)
        return np.where(inside, np.where(np.abs(x) < abs(self.handover - self.target), close, far), np.nan)


def _branch(
    loss: Loss, stiffness: float, gamma: float, target: float, edge: float, *, unstable: bool = False
) -> _Branch:
    """Integrate the stable (or unstable) manifold of (target, 0) towards ``edge`` until it stops or gets there."""
    curvature = np.array([float(loss.hessian([target])[0, 0])])
    if unstable:
        first = float(modes.fast_rate(curvature, stiffness, gamma)[0])
    else:
        first = -float(modes.slow_rate(curvature, stiffness, gamma)[0])
    offset = math.copysign(min(_OFFSET * (1 + abs(target)), abs(edge - target) / 2), edge - target)
    bend = float(loss.hessian([target + offset])[0, 0] - loss.hessian([target - offset])[0, 0]) / (2 * offset)
    second = stiffness * bend / (2 * (3 * first - gamma))  # the x² terms of p·dp/dx = γp + ηkL′
    sign = math.copysign(1.0, first * offset)
    start = first * offset + second * offset**2
    area = first * offset**2 / 2 + second * offset**3 / 3

    def slope(theta: float, state: Array) -> list[float]:
        p = sign * math.sqrt(2 * max(state[0], 0.0))
        return [gamma * p + stiffness * float(loss.gradient([theta])[0]), p]

    def stopped(_: float, state: Array) -> float:
        return state[0]

    stopped.terminal = True  # type: ignore[attr-defined]
    result = scipy.integrate.solve_ivp(
        slope,
        (target + offset, edge),
        [start**2 / 2, area],
        method="DOP853",
        rtol=1e-12,
        atol=1e-18,
        events=stopped,
        dense_output=True,
    )
    complete = result.status == 0
    stop = edge if complete else float(result.t[-1])
    return _Branch(target, stop, complete, sign, (first, second), target + offset, result.sol)


def _wells(objective: Objective, loss: Loss) -> tuple[float, float, float]:
    """Return (shallow minimum, barrier, deep minimum)."""
    found = np.sort(stationary.points(objective, loss, np.zeros(1))[:, 0])
    minima = [x for x in found if loss.hessian([x])[0, 0] > 0]
    if len(minima) != 2 or loss.value([minima[0]]) == loss.value([minima[1]]):
        raise ValueError(
            f"loss = {loss!r} has minima at {[round(float(x), 6) for x in minima]}, but it must have "
            "exactly two, of different depth"
        )
    barriers = [x for x in found if minima[0] < x < minima[1]]
    deep, shallow = sorted(minima, key=lambda x: float(loss.value([x])))
    return float(shallow), float(barriers[0]), float(deep)


def _no_rush(stiffness: float, loss: Loss, barrier: float) -> float:
    """Return 2√(ηk|h|) at the barrier: from this γ on its extremals no longer spiral."""
    return 2 * math.sqrt(stiffness * abs(float(loss.hessian([barrier])[0, 0])))


def _stiffness(objective: Objective, loss: Loss) -> float:
    """Return ηk/G for a one-dimensional problem of the kind that this module solves, or raise."""
    if loss.dim != 1:
        raise ValueError(f"loss = {loss!r} has dim = {loss.dim}, but the phase plane needs 1: see losses.Section")
    if objective.drift is not None or math.isfinite(objective.horizon):
        raise ValueError("objective must have no drift and an infinite horizon here")
    return objective.eta * objective.k / float(objective.metric_matrix(1)[0, 0])


def _ordered(a: float, b: float) -> tuple[float, float]:
    return (a, b) if a <= b else (b, a)
