"""Initial weights from a seed, whatever the network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from lossnav._checks import seed as check_seed

Network = TypeVar("Network", bound=nn.Module)


class Positions(nn.Module):
    """Add a learned vector to each place of a sequence: x_t + p_t.

    Args:
        places: number T of places.
        width: length W of the vectors.
    """

    weight: nn.Parameter

    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(places, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, W) for (B, T, W)."""
        return x + self.weight


def seeded(build: Callable[[], Network], seed: int) -> Network:
    """Build a model on the CPU in float32 and draw its weights.

    * linear and convolutional layers: weights and biases from U(−1/√n, 1/√n), n inputs of a unit: torch's default rule;
    * normalisations: scale 1, shift 0;
    * positions: N(0, 0.02²), small beside the content that they are added to.

    Args:
        build: makes the model. What its constructors draw is thrown away: they would use torch's global generator.
        seed: of the weights, which are drawn in the order of ``model.modules()``.

    Raises:
        TypeError: a layer has parameters that no rule is given for.
    """
    seed = check_seed("seed", seed)
    with torch.device("meta"):
        model = build()
    model.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in model.modules():
            _draw(layer, generator)
    return model


def _draw(layer: nn.Module, generator: torch.Generator) -> None:
    if isinstance(layer, nn.Linear | nn.Conv2d):
        bound = 1 / math.sqrt(layer.weight[0].numel())
        layer.weight.uniform_(-bound, bound, generator=generator)
        if layer.bias is not None:
            layer.bias.uniform_(-bound, bound, generator=generator)
    elif isinstance(layer, nn.GroupNorm | nn.LayerNorm):
        layer.weight.fill_(1.0)
        layer.bias.fill_(0.0)
    elif isinstance(layer, Positions):
        layer.weight.normal_(0.0, 0.02, generator=generator)
    elif [*layer.parameters(recurse=False), *layer.buffers(recurse=False)]:
        raise TypeError(f"no rule for the initial weights of {type(layer).__name__}")
