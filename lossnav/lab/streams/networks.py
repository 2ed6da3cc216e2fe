"""The networks that the studies compare rules on."""

from __future__ import annotations

from collections.abc import Sequence

from lossnav._checks import seeds as check_seeds
from lossnav.lab import models
from lossnav.lab.ensemble import Ensemble


def perceptrons(inputs: int, hidden: Sequence[int], outputs: int, *, seeds: Sequence[int]) -> Ensemble:
    """Return multilayer perceptrons with ReLU, a member for each seed, with the initial weights of He et al.

    Args:
        inputs: number of input values.
        hidden: widths of the hidden layers.
        outputs: number of outputs.
        seeds: of the members' weights; see ``models.mlp(…, initial="he")``.

    Example:
        >>> perceptrons(64, (32, 32), 10, seeds=range(5)).size
        5
    """
    seeds = check_seeds("seeds", seeds, "whole numbers, one for each member", none="there must be one for each member")
    return Ensemble([models.mlp(inputs, hidden, outputs, initial="he", seed=seed) for seed in seeds])
