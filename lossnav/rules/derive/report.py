"""A derived rule on one page: what is assumed, what follows, how far the named limits are, and the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lossnav.rules.derive.source import decay_of

if TYPE_CHECKING:
    from lossnav.rules.derive.rule import LearningRule

_CURVATURES = (1e-4, 1.0, 1e4)


def report(rule: LearningRule) -> str:
    """Return the page as Markdown."""
    parts = ["**What is assumed**", _table(("about", "assumption"), _assumed(rule))]
    if rule._priced or not rule.coordinatewise:
        return "\n\n".join([*parts, *_steps(rule)]) + "\n"
    equation, velocity = rule.latex
    entry = "one coordinate"
    if rule.matrices is not None:
        entry = "one entry of $Q_L^\\top\\theta Q_R$, in the bases in which $C$ is believed diagonal"
    parts += [f"**What follows**, for {entry}, planned from $\\theta_0$", f"$$ {equation} $$"]
    parts += [f"$$ \\dot\\theta = {velocity} $$"]
    averaged = rule.curvature is None or not rule.curvature.needs
    if rule.metric is None and averaged:
        parts += [
            "**How far the named limits are**: relative size of the term that each leaves out, at three V",
            _table(("limit", "assumes", *(f"V = {V:g}" for V in _CURVATURES)), _limits(rule)),
        ]
    return "\n\n".join([*parts, *_steps(rule)]) + "\n"


def _steps(rule: LearningRule) -> list[str]:
    """Return what its torch optimizer runs, or why there is none."""
    parts: list[str] = []
    try:
        if rule.matrices is not None:
            options = ", ".join(f"{name}={_written(value)}" for name, value in rule.options.items())
            parts += ["**Its torch optimizer**", f"```python\nlossnav.optim.BallisticMatrix(params, {options})\n```"]
        else:
            parts += ["**A step of its torch optimizer**", f"```python\n{rule.source}```"]
    except ValueError as reason:
        parts.append(f"No torch optimizer is generated: {reason}.")
    return parts


def _assumed(rule: LearningRule) -> list[tuple[str, str]]:
    objective, belief, curvature = rule.objective, rule.belief, rule.curvature
    drift = "none" if objective.drift is None else type(objective.drift).__name__
    if decay := decay_of(rule):
        drift = f"f = −jθ, j = {decay:.6g}"
    metric = "G = 1" if objective.metric is None else "constant"
    if rule.metric is not None:
        metric = rule.metric.words()
    kind = "none" if curvature is None else curvature.words()
    time = "continuous" if rule.dt is None else f"Δt = {rule.dt:g}, {'exact' if rule.exact else 'first order'}"
    more = []
    if rule.price is not None:
        metric, more = repr(rule.price), [("the loss", rule.price.hypothesis)]
    if rule.averaging:
        more.append(("weights", f"averaged at the rate {rule.averaging:g}; parameters are the walker's"))
    # A price says its own η, if it has one.
    gains = f"k = {rule.objective.k:g}" if rule._priced else f"ηk = {rule.objective.eta * rule.objective.k:g}"
    return [
        ("future", f"γ = {objective.gamma:g}, {gains}"), ("price of speed", metric),
        ("drift", drift), ("gradient", belief.words()), ("curvature", kind), ("a step", time), *more,
    ]  # fmt: skip


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _limits(rule: LearningRule) -> list[tuple[str, ...]]:
    cases = [rule.limits(V) for V in _CURVATURES]
    names = {name: limit.assumption for limits in cases for name, limit in limits.items()}
    rows = []
    for name, words in names.items():
        sizes = (_two_digits(np.max(np.abs(limits[name].neglected))) if name in limits else "—" for limits in cases)
        rows.append((name, words, *sizes))
    return rows


def _two_digits(size: Any) -> str:
    """Return 480 and not 4.8e+02, as long as it can be read."""
    if size == 0 or not 1e-6 <= size < 1e6:
        return f"{size:.2g}"
    return np.format_float_positional(size, 2, unique=False, fractional=False, trim="-")


def _table(head: tuple[str, ...], rows: list[Any]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
