"""The networks that the studies compare rules on."""

from __future__ import annotations

from collections.abc import Sequence

from lossnav._checks import seed as check_seed
from lossnav._checks import sequence
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
    seeds = sequence("seeds", seeds, "whole numbers, one for each member")
    if not len(seeds):
        raise ValueError("seeds is empty, but there must be one for each member")
    for index, seed in enumerate(seeds):
        check_seed(f"seeds[{index}]", seed)
    return Ensemble([models.mlp(inputs, hidden, outputs, initial="he", seed=seed) for seed in seeds])
