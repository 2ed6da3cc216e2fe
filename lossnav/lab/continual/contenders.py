"""The rules that the continual-learning chapter compares: how each is built, and what there is to tune about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from scipy.stats import qmc, t

from lossnav import optim
from lossnav._checks import array, counts, finite, function, instance, shown, whole
from lossnav.lab.continual.online import Stepper
from lossnav.lab.continual.perturb import ShrinkAndPerturb
from lossnav.lab.continual.replacement import ContinualBackprop
from lossnav.lab.members import Ensemble
from lossnav.lab.registry import RULES

Setting = Mapping[str, float]


@dataclass(frozen=True)
class Contender:
    """A rule and its hyperparameters.

    Attributes:
        label: its name in figures and tables.
        build: from an ensemble, a setting and a seed (of what the rule draws, if anything) to the rule.
        space: hyperparameter → (lowest, highest), searched on a logarithmic scale.
    """

    label: str
    build: Callable[[Ensemble, Setting, int], Stepper]
    space: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        instance("label", self.label, str, "a string")
        function("build", self.build)
        if not instance("space", self.space, Mapping, "a mapping from names to (lowest, highest)"):
            raise ValueError("space is empty, but there must be one hyperparameter at least")
        for name, ends in self.space.items():
            instance("a name in space", name, str, "a string")
            low, high = array(f"space[{name!r}]", ends, shape=(2,))
            if not 0 < low <= high:
                raise ValueError(f"space[{name!r}] = {shown(ends)}, but it must be (lowest, highest), both > 0")

    def settings(self, count: int, *, seed: int) -> list[dict[str, float]]:
        """Return ``count`` settings from the space: a Latin hypercube, so that each one-dimensional range is covered.

        Args:
            count: of settings, >= 1; the tuning budget.
            seed: of the search.
        """
        counts(count=count)
        whole("seed", seed, low=0)
        points = qmc.LatinHypercube(len(self.space), rng=np.random.default_rng(seed)).random(count)
        low, high = np.log([*self.space.values()]).T
        values = np.exp(low + points * (high - low))
        return [{name: float(f"{x:.4g}") for name, x in zip(self.space, row, strict=True)} for row in values]


def _elementwise(rule: Any, **options: Any) -> Callable[[Ensemble, Setting, int], Stepper]:
    """Return a builder of an optimizer whose hyperparameters are named as in the setting."""
    return lambda ensemble, setting, _: rule(ensemble.parameters(), **options, **setting)


def _seeded(rule: Any) -> Callable[[Ensemble, Setting, int], Stepper]:
    """Return a builder of an optimizer that draws random numbers."""
    return lambda ensemble, setting, seed: rule(ensemble.parameters(), **setting, seed=seed)


def _replacing(ensemble: Ensemble, setting: Setting, seed: int) -> ContinualBackprop:
    sgd = torch.optim.SGD(ensemble.parameters(), lr=setting["lr"])
    return ContinualBackprop(ensemble, sgd, rate=setting["rate"], seed=seed)


def _contender(
    rule: str, build: Callable[[Ensemble, Setting, int], Stepper], **space: tuple[float, float]
) -> Contender:
    """Return the contender of a rule of the registry, with its label and rates; ``space`` has what else is tuned."""
    return Contender(RULES[rule].label, build, {"lr": _rates(rule), **space})


def _rates(rule: str) -> tuple[float, float]:
    rates = RULES[rule].rates
    assert rates is not None
    return rates


_DECAY = (1e-4, 3e-2)

CONTENDERS: Mapping[str, Contender] = MappingProxyType({
    "sgd": _contender("sgd", _elementwise(torch.optim.SGD)),
    "adam": _contender("adam", _elementwise(torch.optim.Adam, fused=True)),
    "belief": _contender("belief", _elementwise(optim.Belief), lr_overdamped=_rates("sgd")),
    "l2": _contender("l2", _elementwise(torch.optim.SGD), weight_decay=_DECAY),
    "adam + l2": _contender("adam + l2", _elementwise(torch.optim.Adam, fused=True), weight_decay=_DECAY),
    "adamw": _contender("adamw", _elementwise(torch.optim.AdamW, fused=True), weight_decay=(1e-2, 3.0)),
    "shrink and perturb": _contender(
        "shrink and perturb", _seeded(ShrinkAndPerturb), weight_decay=_DECAY, noise=(1e-5, 1e-3)
    ),
    "continual backprop": _contender("continual backprop", _replacing, rate=(1e-5, 3e-2)),
    "uncertain": _contender("uncertain", _seeded(optim.Uncertain), temperature=(1e-5, 1e-2), clip=(3e-2, 1.0)),
})  # fmt: skip
"""Name → rule, in the order of the figures. The keys that are learning rules of the book have its colours."""


def interval(differences: Any, level: float = 0.95) -> tuple[float, float, float]:
    """Return mean and confidence limits of paired differences, by Student's t: (mean, low, high).

    Args:
        differences: (S,), one a seed, S >= 2; of two rules on the same seeds.
        level: of confidence, in (0, 1).

    Example:
        >>> [round(x, 3) for x in interval([0.01, 0.02, 0.03])]
        [0.02, -0.005, 0.045]
    """
    values = array("differences", differences)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"differences has shape {values.shape}, but it must be (S,) with S >= 2")
    finite("level", level, low=0.0, high=math.nextafter(1.0, 0.0), open_low=True)
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
    reach = float(t.ppf((1 + level) / 2, len(values) - 1)) * error
    return float(mean), float(mean - reach), float(mean + reach)
