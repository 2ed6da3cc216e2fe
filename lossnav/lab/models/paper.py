"""The two networks of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import torch
from torch import nn

from lossnav._checks import counts, one_of, room, sequence
from lossnav.lab.models.weights import seeded


def mlp(
    inputs: int = 784, hidden: Sequence[int] = (512, 256), outputs: int = 10, *, initial: str = "torch", seed: int
) -> nn.Sequential:
    """Return a multilayer perceptron with ReLU, by default the paper's 784-512-256-10 for MNIST.

    Args:
        inputs: number of input values; images are flattened.
        hidden: widths of the hidden layers.
        outputs: number of classes.
        initial: size of the initial weights of a unit with n inputs: "torch", weights and biases uniform in ±1/√n; or
            "he" (He et al. 2015), weights uniform in ±√(6/n), which keeps the size of activations through ReLU layers,
            and biases zero.
        seed: of the initial weights. torch's global generator is neither read nor moved.

    Returns:
        A module from (B, …) with ``inputs`` values each to logits (B, outputs), on the CPU in float32.

    Raises:
        ValueError: a width is no whole number >= 1, or ``hidden`` is no list; names it.

    References:
        Vastola, Gershman, Rajan (2025), App. B.
    """
    counts(inputs=inputs, outputs=outputs)
    sequence("hidden", hidden, "widths, such as [512, 256]")
    between = {f"hidden[{k}]": width for k, width in enumerate(hidden)}
    counts(**between)
    one_of("initial", initial, ("torch", "he"))
    widths = [inputs, *hidden, outputs]
    room(sum(float(before) * after for before, after in pairwise(widths)), 4, inputs=inputs, outputs=outputs, **between)

    def build() -> nn.Sequential:
        layers: list[nn.Module] = [nn.Flatten()]
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    network: Any = seeded(build, seed)
    if initial == "he":
        with torch.no_grad():
            for layer in network[1::2]:
                layer.weight.mul_(math.sqrt(6.0))
                layer.bias.zero_()
    return cast(nn.Sequential, network)


def cnn(channels: int = 3, size: int = 32, outputs: int = 10, *, seed: int) -> nn.Sequential:
    """Return the paper's small convolutional network for CIFAR-10.

    Four 3×3 convolutions with ReLU (64, 64, pool, 128, 128, pool), one hidden layer of 256, logits.

    Args:
        channels: of the images, (B, channels, size, size).
        size: side of the images in pixels, a multiple of 4.
        outputs: number of classes.
        seed: of the initial weights. torch's global generator is neither read nor moved.

    Returns:
        A module from images to logits (B, outputs), on the CPU in float32.

    Raises:
        ValueError: a number is not allowed; names it.

    References:
        Vastola, Gershman, Rajan (2025), App. B.
    """
    counts(channels=channels, size=size, outputs=outputs)
    if size % 4:
        raise ValueError(f"size = {size}, but it must be a positive multiple of 4 (two poolings halve it)")
    weights = 576.0 * channels + 2048.0 * size * size + 256.0 * outputs  # those that grow with the sizes
    room(weights, 4, channels=channels, size=size, outputs=outputs)

    def build() -> nn.Sequential:
        layers: list[nn.Module] = []
        before = channels
        for width in (64, 128):
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
            before = width
        layers += [nn.Flatten(), nn.Linear(128 * (size // 4) ** 2, 256), nn.ReLU(), nn.Linear(256, outputs)]
        return nn.Sequential(*layers)

    return seeded(build, seed)
