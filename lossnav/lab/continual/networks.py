"""The networks that the studies compare rules on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import nn

from lossnav._checks import seed as check_seed
from lossnav._checks import sequence
from lossnav.lab import models
from lossnav.lab.members import Ensemble


def perceptrons(inputs: int, hidden: Sequence[int], outputs: int, *, seeds: Sequence[int]) -> Ensemble:
    """Return multilayer perceptrons with ReLU, a member for each seed, with the initial weights of He et al.

    Weights are uniform in ±√(6/n), n inputs of a unit, which keeps the size of activations through ReLU layers; biases
    are zero.

    Args:
        inputs: number of input values.
        hidden: widths of the hidden layers.
        outputs: number of outputs.
        seeds: of the members' weights.

    Example:
        >>> perceptrons(64, (32, 32), 10, seeds=range(5)).size
        5
    """
    seeds = sequence("seeds", seeds, "whole numbers, one for each member")
    if not len(seeds):
        raise ValueError("seeds is empty, but there must be one for each member")
    for index, seed in enumerate(seeds):
        check_seed(f"seeds[{index}]", seed)
    members = [models.mlp(inputs, hidden, outputs, seed=seed) for seed in seeds]  # weights and biases in ±1/√n
    with torch.no_grad():
        for member in members:
            for layer in member.modules():
                if isinstance(layer, nn.Linear):
                    layer.weight.mul_(math.sqrt(6.0))
                    layer.bias.zero_()
    return Ensemble(members)
