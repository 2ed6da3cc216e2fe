"""What the studies of moving networks share: a training that ends at rest, and the settings around a base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn
from torch.nn.utils import vector_to_parameters

from lossnav.lab.moving.setting import Setting
from lossnav.lab.moving.walk import Pair, walk


def ended(model: nn.Module, data: Pair, setting: Setting, steps: int, **how: Any) -> Tensor:
    """Return the weights, flat, where a walk of which nothing is recorded ends; ``how`` as for ``walk``."""
    return walk(model, data, setting, steps=2, burn=steps - 2, starts=1, longest=1, **how).final


def rested(model: nn.Module, data: Pair, training: Sequence[tuple[Setting, int]], **how: Any) -> nn.Module:
    """Train a network, so many steps at each setting, and return it; ``how`` as for ``walk``."""
    for setting, steps in training:
        vector_to_parameters(ended(model, data, setting, steps, **how), model.parameters())
    return model


def around(base: Setting, sweeps: Mapping[str, Sequence[Any]]) -> list[tuple[str, Setting]]:
    """Return (sweep, setting) of all runs but the base's own, at last that on shuffled epochs."""
    runs = [(name, replace(base, **{name: value})) for name, values in sweeps.items() for value in values]
    return [run for run in runs if run[1] != base] + [("epochs", replace(base, sampling="epochs"))]
