r"""Rules of a learner who is charged for something else than |θ̇|²/2η (book: W8, W9, W11, W16–W18).

Beliefs are those of any rule. Under a price of speed the free rule, of the price's own η, is heeded and clipped as the
price says; where acceleration is charged, the rule remembers its velocity, or is a free walker whose weights are
averaged (``form="ema"``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.roots import slow_rate
from lossnav.problem.objective import Objective
from lossnav.problem.prices import Bowl
from lossnav.rules.assumption import absent
from lossnav.rules.derive import coordinate
from lossnav.trajectory import accelerated

if TYPE_CHECKING:
    from lossnav.rules.derive.rule import LearningRule
    from lossnav.rules.derive.state import Believed


def free(objective: Objective, form: str | None) -> tuple[Objective, float]:
    """Return the objective of the learner who is charged |θ̇|²/2η alone, and at which rate its weights are averaged.

    That rate is 0 where they are not. Without an η in the price it is 1, and does not matter.

    Raises:
        ValueError: ``form`` does not go with the price, or the price has no rule.
    """
    price: Any = objective.price
    if form is not None:
        _checks.one_of("form", form, ("ema",))
        if price is None or price.order == 1:
            raise ValueError(
                f"form = {form!r}, but it must be None unless acceleration is charged (prices.Acceleration)"
            )
    if price is None:
        return objective, 0.0
    if objective.metric is not None or not price.moves:
        why = "objective.metric is set" if price.moves else "the optimum jumps"
        raise ValueError(f"objective.price = {price!r}, but it must be another for a rule: {why}")
    if price.order == 1:
        if np.ndim(price.eta):  # one for each coordinate is a metric
            return replace(objective, price=None, eta=1.0, metric=np.diag(1 / np.asarray(price.eta))), 0.0
        eta = price.eta if price.eta is not None and math.isfinite(price.eta) else 1.0
        return replace(objective, price=None, eta=eta), 0.0
    if form is None:
        return objective, 0.0
    if price.speed == 0:
        raise ValueError("price.speed = 0, but it must be > 0 for form = 'ema': the walker is charged for its speed")
    rate = float(slow_rate(price.speed / price.m, 1.0, objective.gamma))
    return replace(objective, price=None, eta=1 / price.speed), rate


def refuse(rule: LearningRule) -> None:
    """Raise where a price and beliefs do not go together."""
    price, belief, curvature = rule.price, rule.belief, rule.curvature
    if price is None:
        return
    reasons = {
        "metric is given": rule.metric is not None,
        "belief fades, or has a trend": bool(np.any(belief.fading)) or belief.trend is not None,
        "curvature knows rows and columns": rule.matrices is not None,
        "curvature couples coordinates": not rule.coordinatewise,
        "curvature is given": curvature is not None and price.order == 1 and price.cap is None,
        "exact = False": not rule.averaging and curvature is not None and price.bare and not rule.exact,
        "exact = True": rule.exact and price.order == 1 and curvature is None,
    }
    for words, wrong in reasons.items():
        if wrong:
            raise ValueError(f"{words}, but it must be otherwise beside price = {price!r}: no such rule is derived")


def generated(rule: LearningRule) -> bool:
    """Return whether a step can be written: clipped in one piece, or of a velocity whose gains are roots alone."""
    price = rule.price
    if price.order == 2:
        return rule.curvature is not None and rule.objective.gamma == 0 and not rule.exact
    single = price.order == 1 and price.cap is not None and np.ndim(price.cap) == 0 and np.ndim(price.eta) == 0
    return bool(single and (price.bare or not rule.exact or math.isinf(price.cap)))


def soft(x: Any, edge: Any) -> Any:
    """Return sign(x)·max(|x| − edge, 0) of an array, or of a list that has only a name yet."""
    return x if absent(edge) else x - x / _at_least(abs(x) / edge, 1.0)  # within the edge exactly 0


def clipped(x: Any, bound: Any) -> Any:
    """Return x within ±bound, of an array or of a list."""
    return -_at_least(-_at_least(x, -bound), -bound)


def _at_least(x: Any, bound: Any) -> Any:
    return x.at_least(bound) if hasattr(x, "at_least") else np.maximum(x, bound)


def moved(rule: LearningRule, seen: Believed) -> Array:
    """Return Δθ under a price of speed."""
    price, k, gamma, dt = rule.price, rule.objective.k, rule.objective.gamma, rule._time
    if rule.curvature is None:
        return _steady(rule, seen.mean)
    case = rule._case(seen.variance, None)
    h = case.curvature
    if np.any(h < 0):
        raise ValueError(f"curvature is {np.min(h):g}, but it must be >= 0 beside price = {price!r}: no law else")
    if not rule.exact:
        heeded = seen._replace(mean=soft(seen.mean, price.zone(k, gamma)))
        free = rule._free(np.zeros_like(seen.mean), heeded)
        return free if np.all(np.isinf(price.cap)) else clipped(free, price.cap * dt)
    flat = (h == 0) & (seen.mean != 0)
    if not price.bare:
        coordinate.require(rule.objective, case, flat)
    place = np.where(seen.mean == 0, 0.0, seen.mean) / np.where(h > 0, h, 1.0)
    bowl = Bowl(np.broadcast_to(np.where(h > 0, h, 1.0), place.shape).ravel(), k, gamma)
    way = price.travel(place.ravel(), np.array([dt]), bowl)[0].reshape(place.shape)
    return np.where(flat, _steady(rule, seen.mean), way) if np.any(flat) else way


def _steady(rule: LearningRule, mean: Array) -> Array:
    """Return Δθ where no curvature is believed, so that the gradient stays."""
    price, objective = rule.price, rule.objective
    patience = 1.0 if price.bare else objective.gamma  # a bare limit is at full speed whatever the gradient
    return np.asarray(rule._time * price.velocity(-(objective.k / patience) * mean))


def pushed(rule: LearningRule, seen: Believed, velocity: Array) -> tuple[Array, Array]:
    """Return Δθ and the velocity after it where acceleration is charged: the step of W9, or its first order in Δt.

    To first order it is momentum whose β₁ = e^{−K₂Δt} is that of the curvature believed now.
    """
    objective = rule.objective
    h = np.broadcast_to(rule._curvature(seen.variance), seen.mean.shape)
    accelerated.require(objective, h, seen.mean != 0)
    if not rule.exact:
        kappa, friction = accelerated.gains(objective, h)
        dt = rule._time
        behind = kappa / np.where(friction == 0, 1.0, friction) * seen.mean + velocity
        after = velocity + np.expm1(-friction * dt) * behind
        return dt * after, after
    exact = accelerated.held(objective, h, rule._time)
    return exact.slide * velocity - exact.psi * seen.mean, exact.beta * velocity - exact.kappa * exact.slide * seen.mean
