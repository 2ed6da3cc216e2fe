"""The text of a derived rule's step: numbers of the rule and lines written here, never a string of a user's."""

from __future__ import annotations

import math

from lossnav import _checks
from lossnav.problem.drifts import Linear
from lossnav.rules import assume
from lossnav.rules.derive import LearningRule

_TINY = "1e-30"  # a root of zero: 0/_TINY is 0, where 0/0 would be NaN


def source(rule: LearningRule) -> str:
    """Return the text of ``step(theta, g, m, v, u, steps, lr)``, which moves lists of tensors in place over Δt = lr.

    m, v and u are the averages of gradient, curvature and metric; one that the rule does not have is not touched.

    Raises:
        ValueError: the rule is none of one coordinate with numbers (arrays, a trend, an exact step, a Hutchinson).
    """
    _checks.instance("rule", rule, LearningRule, "a LearningRule")
    _refuse(rule)
    eta_k, gamma = rule.objective.eta * rule.objective.k, rule.objective.gamma
    decay, fading = _decay_of(rule), float(rule.belief.fading)
    lines = ["def step(theta, g, m, v, u, steps, lr):"]
    mean, beta = "g", rule.belief.beta
    if beta > 0:
        mean = "m"
        add = f"torch._foreach_add_(m, g, alpha={_number(1 - beta)})"
        lines += _averaged("m", beta, add, "belief in the mean")
        if rule.belief.corrected:
            lines.append(f"    m = torch._foreach_div(m, [1 - {_number(beta)} ** n for n in steps])")
    priced = isinstance(rule.metric, assume.RootMeanSquare)
    if rule.metric is not None:
        lines += _squares("u", "g", rule.metric.beta, rule.metric.corrected, "metric")
        lines += [
            f"    price = torch._foreach_sqrt({_estimate('u', rule.metric.corrected)})",
            f"    torch._foreach_add_(price, {_number(rule.metric.eps)})",
            f"    torch._foreach_clamp_min_(price, {_TINY})  # a price of zero, where nothing was seen",
        ]
    if not isinstance(rule.curvature, assume.SecondMoment):
        gain = eta_k / (gamma + decay + fading)
        if decay:
            lines.append(f"    torch._foreach_mul_(theta, 1 - lr * {_number(decay)})  # the drift")
        if priced:
            lines.append(f"    torch._foreach_addcdiv_(theta, {mean}, price, -lr * {_number(gain)})")
        else:
            lines.append(f"    torch._foreach_add_(theta, {mean}, alpha=-lr * {_number(gain)})")
        return "\n".join(lines) + "\n"
    belief = rule.curvature
    datum = "g"
    if belief.centred:
        lines.append(f"    off = torch._foreach_sub(g, {'m' if not rule.belief.corrected else 'average'})")
        datum = "off"
        if rule.belief.corrected:  # the average itself is what deviations are taken from
            lines.insert(next(i for i, line in enumerate(lines) if "_foreach_div(m" in line), "    average = m")
    lines += _squares("v", datum, belief.beta, belief.corrected, "belief in the curvature")
    half = gamma / 2 + decay
    lines.append(f"    fast = torch._foreach_mul({_estimate('v', belief.corrected)}, {_number(eta_k * belief.scale)})")
    if belief.floor:
        lines.append(f"    torch._foreach_add_(fast, {_number(eta_k * belief.scale * belief.floor)})")
    if priced:
        lines.append("    torch._foreach_div_(fast, price)")
    if half:
        lines.append(f"    torch._foreach_add_(fast, {_number(half * half)})")
    lines.append("    torch._foreach_sqrt_(fast)")
    if gamma:
        lines.append(f"    torch._foreach_add_(fast, {_number(gamma / 2)})  # what discounts a forecast")
    if decay:
        lines += [
            "    drift = torch._foreach_div(theta, fast)",
            f"    torch._foreach_add_(theta, drift, alpha=-lr * {_number(decay * (decay + gamma))})  # the drift",
        ]
    if fading:
        lines.append(f"    torch._foreach_add_(fast, {_number(fading)})  # the belief fades")
    if priced:
        lines.append("    torch._foreach_mul_(fast, price)")
    lines += [
        f"    torch._foreach_clamp_min_(fast, {_TINY})  # 0/0 where nothing was seen",
        f"    torch._foreach_addcdiv_(theta, {mean}, fast, -lr * {_number(eta_k)})",
    ]
    return "\n".join(lines) + "\n"


def _decay_of(rule: LearningRule) -> float:
    """Return j of the drift −jθ."""
    drift = rule.objective.drift
    return -float(drift.matrix(1)[0, 0]) if isinstance(drift, Linear) and drift.dim is None else 0.0


def _refuse(rule: LearningRule) -> None:
    """Raise unless the rule is one of a coordinate whose numbers are the same in all of them."""
    objective, drift = rule.objective, rule.objective.drift
    reasons = {
        "dt = None": rule.dt is None,
        "exact = True": rule.exact,
        "objective.metric is set": objective.metric is not None,
        "objective.drift is no decay by one number": drift is not None
        and (not isinstance(drift, Linear) or drift.dim is not None),
        "objective.drift grows": _decay_of(rule) < 0,
        "belief.fading is an array": rule.belief.fading.ndim > 0,
        "belief.trend is set": rule.belief.trend is not None,
        "curvature is neither None nor a SecondMoment": not isinstance(
            rule.curvature, assume.SecondMoment | type(None)
        ),
    }
    for words in (words for words, wrong in reasons.items() if wrong):
        raise ValueError(
            f"{words}, but a generated optimizer must have a rule of one coordinate, with numbers, of first order: "
            "use rule(gradient, state, theta) on arrays"
        )


def _averaged(name: str, beta: float, add: str, words: str) -> list[str]:
    return [f"    torch._foreach_mul_({name}, {_number(beta)})  # {words}", f"    {add}"]


def _squares(name: str, datum: str, beta: float, corrected: bool, words: str) -> list[str]:
    """Return the lines that average the squares of a datum, and divide by what has been seen."""
    add = f"torch._foreach_addcmul_({name}, {datum}, {datum}, {_number(1 - beta)})"
    lines = _averaged(name, beta, add, words)
    if corrected:
        lines.append(f"    {name}_hat = torch._foreach_div({name}, [1 - {_number(beta)} ** n for n in steps])")
    return lines


def _estimate(name: str, corrected: bool) -> str:
    return f"{name}_hat" if corrected else name


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"rule has the number {value}, but all of its numbers must be finite")
    return repr(float(value))
