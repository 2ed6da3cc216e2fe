"""The optimizers as recipes: what the options of a parameter group mean in ``lossnav.rules.recipe``.

The unit of time is one step, at the rate that the group has now: a rate of the recipe is lr times something, and a
weight β of the past is the time constant −1/ln β. What takes more than a name to say is said by the rule itself:
``rate``, ``discount``, the prior.
"""

from __future__ import annotations

import math
from typing import Any

from lossnav.rules import recipe
from lossnav.rules.recipe import Filter, Memory, Recipe

Group = dict[str, Any]
_DATA: dict[str, type[recipe.Datum]] = {
    "uncentred": recipe.SecondMoment,
    "centred": recipe.Centred,
    "innovation": recipe.Innovation,
}


def ballistic(group: Group) -> Recipe:
    """Eq. 33: a second moment, and the undiscounted plan on it."""
    lr, corrected = float(group["lr"]), group["bias_correction"]
    return Recipe(
        recipe.Plan(lr, floor=group["eps"]),
        Memory(
            Filter.of_weight(group["momentum"] or 0.0, corrected=corrected),
            Filter.of_weight(group["beta"], corrected=corrected),
        ),
        recipe.Decoupled(lr * group["weight_decay"]),
        maximize=group["maximize"],
    )


def belief(group: Group, rate: float, discount: float | None) -> Recipe:
    """Eq. 14: beliefs in mean and variance, and a plan that discounts, or (None) believes in a gradient that fades."""
    mean, variance = (Filter.of_weight(beta, corrected=group["bias_correction"]) for beta in group["betas"])
    return Recipe(
        recipe.Plan(
            rate,
            floor=group["eps_inside"],
            fading=group["eps"] if discount is None else 0.0,
            discount=discount or 0.0,
            curvature_scale=group["curvature_scale"],
        ),
        Memory(mean, variance, _DATA[group["variance"]]()),
        recipe.Decoupled(rate * group["weight_decay"]),
        maximize=group["maximize"],
    )


def navigator(group: Group, discount: float, given: bool) -> Recipe:
    """Eq. 6 on an average of the curvature, which is g² or comes from outside."""
    lr, stiffness = float(group["lr"]), group["eta_k"]
    datum = recipe.Given if given else recipe.SecondMoment
    return Recipe(
        recipe.Plan(
            lr * (stiffness if discount == math.inf else math.sqrt(stiffness)),
            floor=group["eps"],
            discount=discount,
            curvature_scale=1.0,
            negative=group["negative"] if given else "absolute",  # g² is never negative
        ),
        Memory(Filter(), Filter.of_weight(group["beta"], corrected=True), datum(group["curvature_scale"])),
        recipe.Decoupled(lr * group["weight_decay"]),
        maximize=group["maximize"],
    )


def uncertain(group: Group, mean: float, variance: float) -> Recipe:
    """Eq. 148 with the prior N(mean, variance): V is what the data add to the prior's precision."""
    lr, temperature = float(group["lr"]), group["temperature"]
    forgetting = lr if group["forgetting"] is None else group["forgetting"]
    datum = recipe.Sampled if group["sample"] else recipe.SecondMoment
    blur = recipe.Blur(group["speed"], Filter.of_weight(group["speed_beta"])) if group["speed"] != 0 else None
    return Recipe(
        recipe.Newton(lr / temperature, 1 / variance, math.inf if group["clip"] is None else group["clip"]),
        Memory(
            Filter(),
            Filter(1 / forgetting if forgetting > 0 else math.inf),
            datum(group["curvature_scale"] / temperature),
        ),
        recipe.Prior(temperature / variance, mean),
        maximize=group["maximize"],
        blur=blur,
        renewal=recipe.Renewal.of_probability(*group["reset"]) if group["reset"] is not None else None,
    )
