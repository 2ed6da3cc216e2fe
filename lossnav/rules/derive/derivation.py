"""``derive``: which assumptions go together, and the rule that they make."""

from __future__ import annotations

import math

import numpy as np

from lossnav import _checks
from lossnav.problem.objective import Objective, check_objective
from lossnav.rules import assume
from lossnav.rules.assumption import Curvature, Metric
from lossnav.rules.derive import charged, coordinate, in_bases
from lossnav.rules.derive.rule import LearningRule
from lossnav.rules.derive.source import check_names


def derive(
    objective: Objective, *, belief: assume.Filter | None = None, curvature: Curvature | None = None,
    dt: float | None = None, exact: bool = False, metric: Metric | None = None, form: str | None = None,
) -> LearningRule:  # fmt: skip
    r"""Derive the learning rule that is optimal under assumptions.

    Args:
        objective: η, k, γ, a constant metric, a drift; no deadline. With a price: limits and tolls give sign descent,
            clipping, the polar factor, soft thresholds; an acceleration a rule with a velocity. The report says which
            hypotheses about the loss make them optimal.
        belief: ``assume.Filter``; None is an exact gradient, which goes on as it is.
        curvature: ``assume.Known``, ``SecondMoment``, ``Innovation`` or ``Hutchinson``, or your own
            ``assume.Curvature``; of matrices ``Eigenbasis``, ``Kronecker`` or ``Polar``; None is none at all.
        dt: Δt > 0, the time of a step; None for a rule in continuous time, which has formulas and no step.
        exact: whether a step is the exact flow over Δt, beliefs running on as forecast; False is Δt times the velocity.
        metric: ``assume.RootMeanSquare``, in place of the objective's; of matrices the same three.
        form: None, or "ema" where acceleration is charged: an ordinary walker, whose weights are averaged after each
            step, in the place of the exact law. From rest and without a discount it costs 0.16 % more at mkη²h = 0.24,
            1 % at 1.

    Returns:
        A ``LearningRule``. To train with it, ``.optimizer(model.parameters())`` is the rule as a torch optimizer. To
        look at it, call it on arrays, or ask for ``.velocity``, ``.equations``, ``.limits(V)``, ``.regime(V)``.

    Raises:
        ValueError: an argument is wrong, or assumptions do not go together.
        NoMinimiser: J has no minimiser under these assumptions; the reason is in the message.

    Example:
        >>> import lossnav as ln
        >>> adam = ln.derive(
        ...     ln.Objective(), belief=ln.assume.Filter(0.9, fading=1e-8), curvature=ln.assume.SecondMoment(0.999),
        ...     dt=1e-3,
        ... )
        >>> step, state = adam([6.0, -0.02], adam.init([3.0, -1.0]), [3.0, -1.0])
        >>> step.round(6)
        array([-0.001,  0.001])
        >>> import torch
        >>> optimizer = adam.optimizer(torch.nn.Linear(3, 1).parameters())
        >>> isinstance(optimizer, torch.optim.Optimizer)
        True

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 6, 10, 14, 33; drift, fading, trend and their composition are ours.
    """
    check_objective(objective, priced=True)
    if objective.curved:
        raise ValueError(
            "objective.metric is a function of theta, but it must be constant: others have no closed form yet"
        )
    if objective.horizon < math.inf:
        raise ValueError(
            f"objective.horizon = {objective.horizon:g}, but it must be inf: gains depend on the time left (use solve)"
        )
    believed = assume.Filter(0.0) if belief is None else belief
    _checks.instance("belief", believed, assume.Filter, "None or an assume.Filter")
    if curvature is not None:
        names = (
            "None or an instance of assume.Known, SecondMoment, Innovation, Hutchinson, Eigenbasis, Kronecker, Polar "
            "or your own assume.Curvature"
        )
        _checks.instance("curvature", curvature, Curvature, names)
    if metric is not None:
        names = "None or an instance of assume.RootMeanSquare, Eigenbasis, Kronecker, Polar or your own assume.Metric"
        _checks.instance("metric", metric, Metric, names)
    step = None if dt is None else _checks.positive("dt", dt)
    walker, averaging = charged.free(objective, form)
    rule = LearningRule(
        walker, believed, curvature, metric, step, _checks.flag("exact", exact), objective.price, averaging
    )
    if rule.matrices is not None:
        in_bases.refuse(objective, believed, curvature, metric)
    if metric is not None and objective.metric is not None:
        raise ValueError("metric is given, but it must be None where objective.metric is set: both price speed")
    charged.refuse(rule)
    _refuse(rule)
    return rule


def _refuse(rule: LearningRule) -> None:
    """Raise where assumptions do not go together, or none of their plans has a minimiser."""
    check_names(rule)
    belief, curvature, objective = rule.belief, rule.curvature, rule.objective
    if curvature is not None:
        curvature.refuse(belief)
    dims = {
        "objective.metric": None if objective.metric is None else objective.dim,
        "objective.drift": None if objective.drift is None else objective.drift.dim,
        "curvature": None if curvature is None else curvature.dim,
        "belief.fading": belief.dim,
    }
    if len({size for size in dims.values() if size is not None}) > 1:
        raise ValueError(
            f"{dims} are the numbers of parameters, but objective, curvature and belief must have the same"
        )
    if belief.fading.ndim == 2:
        slowest = float(np.linalg.eigvals(belief.fading).real.min())
        if slowest < 0 and slowest <= -objective.gamma / 2:
            raise ValueError(
                f"belief.fading has an eigenvalue of real part {slowest:.6g}, but all must be > -gamma/2 = "
                f"{-objective.gamma / 2:g} (or >= 0): the forecast grows faster than it is discounted"
            )
    if rule.price is not None and (rule.price.order == 2 or rule.price.bare) and not rule.averaging:
        return  # a limit needs no discount, and of accelerations each step asks
    if rule.coordinatewise and (curvature is None or curvature.constant):
        coordinate.require(objective, rule._case(np.array(0.0), None), np.array(curvature is None))
    elif not rule.coordinatewise:
        _ = rule._steady
