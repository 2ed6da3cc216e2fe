"""Our optimizers as derived rules: under which assumptions the steps of a parameter group are optimal.

Each function returns assumptions, the regime or the reason, and the rule of ``lossnav.derive`` that takes the same
steps, None where it has no such belief. The unit of time is that of ``lr``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lossnav.problem.objective import Objective
from lossnav.rules import assume
from lossnav.rules.derive import LearningRule, derive

Group = dict[str, Any]
Found = tuple[str, str, LearningRule | None]

_DECAYS = "A decoupled decay beside a curvature is no drift of that plan: the reading is without it"


def ballistic(group: Group, _: Any) -> Found:
    """Eq. 33."""
    words = (
        "ballistic (γ = 0), curvature h = c(V + ε) believed diagonal, V an average of g²; belief: m = g, or an average"
    )
    corrected = group["bias_correction"]
    rule = _without_decay(group, lambda: derive(
        Objective(), dt=float(group["lr"]), belief=assume.Filter(group["momentum"] or 0.0, corrected=corrected),
        curvature=assume.SecondMoment(group["beta"], floor=group["eps"], corrected=corrected),
    ))  # fmt: skip
    return words, _DECAYS if group["weight_decay"] else "γ ≪ √(ηkcV), and beliefs that change slowly", rule


def belief(group: Group, epsilon: float | None) -> Found:
    """Eq. 14; ``epsilon`` is the discount, None where Adam's ε has its place."""
    (beta1, beta2), corrected, c = group["betas"], group["bias_correction"], group["curvature_scale"]
    words = f"beliefs in mean and variance of the gradient, h = cV; V an average, {group['variance']}; "
    words += "a gradient that fades at α = ε√(ηkc)" if epsilon is None else f"discount γ = {2 * epsilon:g}√(ηkc)"
    if group["variance"] == "innovation" and beta1 == 0:
        return words, "Without memory there is no mean to be surprised about", None
    if c > 0 and epsilon is None and group["eps"] > 0:
        return words, "A step that is not small under a gradient that fades is another one in derive", None
    fading = group["eps"] if epsilon is None else 0.0

    def made() -> LearningRule:
        mean, scale = assume.Filter(beta1, fading=fading, corrected=corrected), c or 1.0
        if epsilon == math.inf:
            return derive(Objective(gamma=1.0), belief=mean, dt=float(group["lr"]))
        shared = {"scale": scale, "floor": group["eps_inside"], "corrected": corrected}
        if group["variance"] == "innovation":
            variance: Any = assume.Innovation(beta2, **shared)
        else:
            variance = assume.SecondMoment(beta2, centred=group["variance"] == "centred", **shared)
        objective = Objective(eta=scale, gamma=2 * (epsilon or 0.0) * scale)
        return derive(objective, belief=mean, curvature=variance, dt=float(group["lr"]), exact=c > 0)

    if epsilon == math.inf and c > 0:
        return words, "The limit of a large discount with a step that is not small has no derived rule", None
    return words, _DECAYS if group["weight_decay"] else "As for Adam", _without_decay(group, made)


def navigator(group: Group, curvature: Any) -> Found:
    """Eq. 6 on an average of the curvature."""
    told = curvature if isinstance(curvature, str) else "a function"
    words = f"Eq. 6 in each coordinate, exactly in Δt; gradient as seen, curvature an average of {told}"
    average: Any = assume.SecondMoment if curvature == "second_moment" else assume.Hutchinson
    if group["gamma"] == math.inf or (curvature != "second_moment" and group["negative"] != "absolute"):
        return words, "A limit, or a curvature with a sign, that derive's averages do not have", None
    scale = group["curvature_scale"]
    rule = _without_decay(group, lambda: derive(
        Objective(eta=group["eta_k"], gamma=group["gamma"]), dt=float(group["lr"]), exact=True,
        curvature=average(group["beta"], scale=scale, floor=group["eps"] / scale),
    ))  # fmt: skip
    return words, _DECAYS if group["weight_decay"] else "Curvatures that change little in a step", rule


def matrix(group: Group, epsilon: float | None, shape: Any) -> Found:
    """Eq. 32 with the belief ``shape`` about rows and columns; matrices of which no side is longer than ``max_dim``."""
    kind = group["curvature"]
    if kind == "diagonal":
        return belief({**group, "variance": "uncentred", "bias_correction": True, "eps_inside": 0.0,
                       "curvature_scale": 0.0}, epsilon)  # fmt: skip
    words = f"ballistic, curvature of a weight matrix: {kind}; belief: an average of g; all else as Belief"
    if group["block"] is not None or epsilon == math.inf:
        return words, "Bases in blocks, or no curvature at all, are none of derive's beliefs about matrices", None
    mean = assume.Filter(group["betas"][0], fading=group["eps"] if epsilon is None else 0.0)
    rule = _without_decay(group, lambda: derive(
        Objective(gamma=2 * (epsilon or 0.0)), belief=mean, curvature=shape, dt=float(group["lr"]),
    ))  # fmt: skip
    return words, _DECAYS if group["weight_decay"] else "Of matrices; of one mean (polar), or of averages", rule


def uncertain(group: Group, _: Any) -> Found:
    """Eq. 148."""
    words = "weights that are distributions, with entropy (Sec. 6): overdamped, g² for the curvature"
    return words, "derive's learner has no uncertain weights: the rule is in the chapter on continual learning", None


def _without_decay(group: Group, make: Callable[[], LearningRule]) -> LearningRule | None:
    """Return the rule, or None where there is a decay, which goes beside it, or no step."""
    return None if group["weight_decay"] or group["maximize"] or not float(group["lr"]) else make()
