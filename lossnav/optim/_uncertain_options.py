"""What the options of the uncertain rules may be, so that the mean stays stable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from lossnav._checks import finite, nonnegative, positive, shown, weight
from lossnav._checks import seed as check_seed
from lossnav.optim._options import Group, check_rate


class Reset(NamedTuple):
    """When a weight that has learned nothing is drawn afresh from the prior.

    In each step, with ``probability``, if its precision exceeds the prior's by less than the fraction ``threshold``
    and its last reset is more than ``age`` steps ago.
    """

    probability: float
    threshold: float = 0.1
    age: float = 1000.0


Reset.__module__ = "lossnav.optim"  # where users find it; a NamedTuple takes no such line in its body


def check_options(group: Group) -> None:
    """Raise ``ValueError`` unless the options of an uncertain rule are in range and keep the mean stable."""
    check_rate("lr", group["lr"])
    if group["forgetting"] is not None:
        nonnegative("forgetting", group["forgetting"])
    positive("temperature", group["temperature"])
    if not (isinstance(group["prior_variance"], str) and group["prior_variance"] == "init"):
        allowed = "'init' or a finite number > 0"
        try:
            positive("prior_variance", group["prior_variance"])
        except ValueError:
            raise ValueError(f"prior_variance = {shown(group['prior_variance'])}, but it must be {allowed}") from None
    if group["clip"] is not None:
        positive("clip", group["clip"])
    if group["prior_mean"] is not None:
        finite("prior_mean", group["prior_mean"])
    check_rate("curvature_scale", group["curvature_scale"])
    check_rate("speed", group["speed"])
    weight("speed_beta", group["speed_beta"])
    check_seed("seed", group["seed"], low=0)
    if group["reset"] is not None:
        group["reset"] = checked_reset(group["reset"])
    check_stability(group)


def checked_reset(reset: Any) -> tuple[float, float, float]:
    """Return (probability, threshold, age) as a plain tuple, which any checkpoint can hold."""
    try:
        probability, threshold, age = Reset(**reset) if isinstance(reset, Mapping) else Reset(*reset)
    except TypeError:
        raise ValueError(f"reset = {shown(reset)}, but it must be None or (probability, threshold, age)") from None
    return (
        finite("reset.probability", probability, low=0.0, high=1.0),
        nonnegative("reset.threshold", threshold),
        nonnegative("reset.age", age),
    )


def check_stability(group: Group) -> None:
    """Raise if the mean can diverge: after a jump p >= (1 − e^{−ρ})h/T, so that it moves lr/(1 − e^{−ρ}) of its way."""
    lr, fixed = group["lr"], group["forgetting"]
    if torch.is_tensor(lr) or lr == 0 or fixed == 0 or lr < 2 * forgetting(group)[1]:
        return  # with forgetting = 0 p stays as it is, whatever the curvature does
    if fixed is None:
        raise ValueError(f"lr = {shown(lr)}, but it must be < 1.594 where forgetting is lr: the mean would diverge")
    if group["clip"] is None:
        raise ValueError(
            f"lr = {shown(lr)}, but it must be < {2 * forgetting(group)[1]:.4g} where forgetting = {shown(fixed)} and "
            "clip is None: after a jump of the curvature the mean would diverge"
        )


def forgetting(group: Group) -> tuple[Any, Any]:
    """Return e^{−ρ} and 1 − e^{−ρ}."""
    rate = group["lr"] if group["forgetting"] is None else group["forgetting"]
    if torch.is_tensor(rate):
        return torch.exp(-rate), -torch.expm1(-rate)
    return math.exp(-rate), -math.expm1(-rate)
