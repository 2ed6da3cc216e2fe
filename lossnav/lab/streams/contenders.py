"""The rules that the continual-learning chapter compares: how each is built, and what there is to tune about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from lossnav._checks import Array, array, counts, instance, one_of, shown
from lossnav._checks import seed as check_seed
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.registry import OPTIMIZERS, RULES
from lossnav.lab.streams.online import Stepper

Setting = Mapping[str, float]


@dataclass(frozen=True)
class Contender:
    """A rule and its hyperparameters.

    Attributes:
        label: its name in figures and tables.
        optimizer: its name in ``lab.registry``.
        space: hyperparameter → (lowest, highest), searched on a logarithmic scale.
        options: further arguments of the optimizer, that are not tuned.
    """

    label: str
    optimizer: str
    space: Mapping[str, tuple[float, float]]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        instance("label", self.label, str, "a string")
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        for name in instance("options", self.options, Mapping, "a mapping from names to values"):
            instance("a name in options", name, str, "a string")
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
        check_seed("seed", seed, low=0)
        from scipy.stats import qmc  # here: it takes half a second to load, and only a search needs it

        points = qmc.LatinHypercube(len(self.space), rng=np.random.default_rng(seed)).random(count)
        low, high = np.log([*self.space.values()]).T
        values = np.exp(low + points * (high - low))
        return [{name: float(f"{x:.4g}") for name, x in zip(self.space, row, strict=True)} for row in values]

    def chosen(self, setting: Setting) -> dict[str, Any]:
        """Return a setting as settings of an ``Experiment``."""
        options = {**instance("setting", setting, Mapping, "a mapping from names to numbers"), **self.options}
        return {"optimizer": self.optimizer, "lr": options.pop("lr", None), "options": options}

    def build(self, ensemble: Ensemble, setting: Setting, seed: int) -> Stepper:
        """Return the rule that steps an ensemble at a setting; ``seed`` is of what it draws, if it draws anything."""
        instance("ensemble", ensemble, Ensemble, "an ensemble.Ensemble")
        instance("setting", setting, Mapping, "a mapping from names to numbers")
        check_seed("seed", seed, low=0)
        rule: Stepper = RULES[self.optimizer].over(ensemble, {**setting, **self.options}, seed)
        return rule


def _contender(rule: str, optimizer: str = "", **space: Any) -> Contender:
    """Return the contender of a rule of the registry, with its label and rates; ``space`` has what else is tuned."""
    rates, options = RULES[rule].rates, space.pop("options", {})
    assert rates is not None
    return Contender(RULES[rule].label, optimizer or rule, {"lr": rates, **space}, options)


_DECAY, _FUSED = (1e-4, 3e-2), {"fused": True}

CONTENDERS: Mapping[str, Contender] = MappingProxyType({
    "sgd": _contender("sgd"),
    "adam": _contender("adam", options=_FUSED),
    "belief": _contender("belief", lr_overdamped=RULES["sgd"].rates),
    "l2": _contender("l2", "sgd", weight_decay=_DECAY),
    "adam + l2": _contender("adam + l2", "adam", weight_decay=_DECAY, options=_FUSED),
    "adamw": _contender("adamw", weight_decay=(1e-2, 3.0), options=_FUSED),
    "shrink and perturb": _contender("shrink and perturb", weight_decay=_DECAY, noise=(1e-5, 1e-3)),
    "continual backprop": _contender("continual backprop", rate=(1e-5, 3e-2)),
    "uncertain": _contender("uncertain", temperature=(1e-5, 1e-2), clip=(3e-2, 1.0)),
})  # fmt: skip
"""Name → rule, in the order of the figures. The keys that are learning rules of the book have its colours."""


def first_tenth(scores: Any) -> Array:
    """Return the mean over the first tenth of the last axis, at least one entry."""
    values = _scores(scores)
    return np.asarray(values[..., : max(1, round(values.shape[-1] / 10))].mean(-1))


def last_tenth(scores: Any) -> Array:
    """Return the mean over the last tenth of the last axis, at least one entry."""
    values = _scores(scores)
    return np.asarray(values[..., -max(1, round(values.shape[-1] / 10)) :].mean(-1))


def _scores(scores: Any) -> Array:
    values = array("scores", scores)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError(f"scores has shape {values.shape}, but it must have shape (…, tasks) with one task at least")
    return values
