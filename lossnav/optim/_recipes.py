"""The optimizers as recipes: what the options of a parameter group mean in ``lossnav.rules.recipe``.

The unit of time is one step, at the rate that the group has now: a rate of the recipe is lr times something, and a
weight β of the past is the time constant −1/ln β.
"""

from __future__ import annotations

import math

from lossnav.optim import _plan
from lossnav.optim import belief as belief_rule
from lossnav.optim._base import Group
from lossnav.rules import recipe
from lossnav.rules.recipe import Filter, Memory, Recipe


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


def belief(group: Group) -> Recipe:
    """Eq. 14: beliefs in mean and variance, and a plan that may discount."""
    lr, epsilon = float(belief_rule.step_rate(group)), belief_rule.damping(group)
    discount = math.inf if belief_rule.is_overdamped(group) else float(epsilon or 0.0)
    mean, variance = (Filter.of_weight(beta, corrected=group["bias_correction"]) for beta in group["betas"])
    data = {"uncentred": recipe.SecondMoment, "centred": recipe.Centred, "innovation": recipe.Innovation}
    return Recipe(
        recipe.Plan(
            lr,
            floor=group["eps_inside"],
            fading=group["eps"] if epsilon is None else 0.0,
            discount=discount,
            curvature_scale=group["curvature_scale"],
        ),
        Memory(mean, variance, data[group["variance"]]()),
        recipe.Decoupled(lr * group["weight_decay"]),
        maximize=group["maximize"],
    )


def navigator(group: Group, given: bool) -> Recipe:
    """Eq. 6 on an average of the curvature, which is g² or comes from outside."""
    lr, stiffness = float(group["lr"]), group["eta_k"]
    overdamped = group["gamma"] == math.inf
    datum = recipe.Given if given else recipe.SecondMoment
    return Recipe(
        recipe.Plan(
            lr * (stiffness if overdamped else math.sqrt(stiffness)),
            floor=group["eps"],
            discount=math.inf if overdamped else _plan.damping(group),
            curvature_scale=1.0,
            negative=group["negative"],
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
