"""Rules whose belief knows rows and columns: with what it goes together, and their torch optimizer.

In the bases of the belief every entry of Q_Lᵀ θ Q_R goes its own way, with the gains of one coordinate, as long as all
else that is assumed is the same in every basis: a decay −jθ, a price of speed that is a number, a rate of fading.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.drifts import Linear
from lossnav.problem.objective import Objective
from lossnav.rules import assume

if TYPE_CHECKING:
    from lossnav.rules.derive.rule import LearningRule


def options(rule: LearningRule, dt: float, price: float, decay: float) -> dict[str, Any]:
    """Return the options of the ``optim.BallisticMatrix`` that takes the steps of a rule.

    Args:
        rule: one whose belief is about matrices.
        dt: Δt of a step.
        price, decay: the number that G is beside what is believed of it, and j.

    Raises:
        ValueError: the optimizer knows no such plan; the reason is in the message.
    """
    _refuse_optimizer(rule)
    matrices: Any = rule.matrices
    control_gain, gamma = rule.objective.eta * rule.objective.k / price, rule.objective.gamma
    fading, unit = float(rule.belief.fading), math.sqrt(matrices.scale)
    arguments: dict[str, Any] = {
        "betas": (rule.belief.beta, matrices.beta if matrices.averages else 0.99),
        "curvature": "kronecker" if matrices.fit == "moments" else matrices.fit, "eps_relative": matrices.floor,
    }  # fmt: skip
    if matrices.averages:
        arguments |= {"every": matrices.every, "watch": matrices.watch, "max_dim": matrices.max_dim, "long": "identity"}
    else:
        arguments["noise"] = matrices.noise
    if rule.metric is not None:
        pace = control_gain / (gamma + decay + fading) / unit
        return {"lr": dt * pace, "weight_decay": decay / pace, **arguments}
    pace = math.sqrt(control_gain) / unit
    if gamma > 0:
        arguments["discount"] = gamma / (2 * math.sqrt(control_gain) * unit)
    return {"lr": dt * pace, "eps": fading / (math.sqrt(control_gain) * unit), **arguments}


def _refuse_optimizer(rule: LearningRule) -> None:
    """Raise where ``BallisticMatrix`` knows no such plan."""
    belief, objective, kind = rule.belief, rule.objective, type(rule.matrices).__name__
    drift = objective.drift
    discounts = rule.metric is None and objective.gamma > 0
    # a root of a root mean square knows no unit of m
    unitless = kind == "Polar" and not (rule.metric or discounts or np.any(belief.fading))
    offset = isinstance(drift, Linear) and drift.dim is not None and bool(np.any(drift.offset(drift.dim)))
    wrong = (
        (rule.exact, "exact = True", "False: its step is of the first order"),
        (belief.trend is not None, f"belief.trend = {belief.trend}", "None"),
        (belief.share != 0, f"belief.share = {belief.share:g}", "0"),
        (not (belief.corrected or belief.beta == 0 or unitless), "belief.corrected = False", "True"),
        (drift is not None and rule.metric is None, f"objective.drift = {drift}",
         f"None beside a curvature, by which entries decay at rates of their own (see metric={kind}(...))"),
        (offset, "objective.drift with an offset", "one without"),
        (discounts and bool(np.any(belief.fading)), f"belief.fading = {belief.fading:g} and gamma = "
         f"{objective.gamma:g}", "0, one of them"),
    )  # fmt: skip
    for holds, setting, allowed in wrong:
        if holds:
            raise ValueError(f"optimizer is asked of a rule with {setting}, but it must be {allowed}")


def isotropic(matrix: Array) -> float | None:
    """Return the number of which a matrix is a multiple of the identity, or None."""
    number = float(matrix[0, 0])
    return number if np.array_equal(matrix, number * np.eye(len(matrix))) else None


def refuse(objective: Objective, belief: assume.Filter, curvature: Any, metric: Any) -> None:
    """Raise where what else is assumed differs between bases, so that it couples the entries."""
    believed = curvature if metric is None else metric
    name = f"{'curvature' if metric is None else 'metric'} = {type(believed).__name__}"
    if curvature is not None and metric is not None:
        raise ValueError(
            f"curvature = {type(curvature).__name__} and metric = {type(metric).__name__} do not commute, but one of "
            "them must be None where the other knows rows and columns: (G#H)⁻¹ needs one eigenbasis"
        )
    if objective.metric is not None and isotropic(objective.metric_matrix(objective.dim or 1)) is None:
        raise ValueError(
            f"objective.metric and {name} do not commute, but the metric must be a multiple of the identity: "
            "(G#H)⁻¹ needs one eigenbasis, and the belief's turns with the gradients"
        )
    drift = objective.drift
    if drift is not None and not isinstance(drift, Linear):
        raise ValueError(
            f"objective.drift = {_checks.shown(drift)}, but it must be a decay −jθ where {name}: others couple the "
            "entries in its bases"
        )
    if isinstance(drift, Linear) and isotropic(drift.matrix(drift.dim or 1)) is None:
        raise ValueError(
            f"objective.drift couples the entries in the bases of {name}, but it must be a decay −jθ, the same for "
            "all weights: a Jacobian that is a multiple of the identity"
        )
    if belief.fading.ndim:
        raise ValueError(
            f"belief.fading has shape {belief.fading.shape}, but it must be a number where {name}: rates of "
            "single weights couple the entries in its bases"
        )
