"""A small vision transformer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from lossnav._checks import counts, room
from lossnav.lab.models.weights import Positions, seeded


class Attention(nn.Module):
    """Self-attention with h heads: softmax(QKᵀ/√d)V in each, d = W/h, over all places of a sequence.

    It is written out, and not torch's ``scaled_dot_product_attention``, whose fast kernels cannot be differentiated
    twice (a Hessian-vector product asks for that). The T×T weights that those kernels avoid are small for images of
    this size.

    Args:
        width: W, of the sequence's vectors.
        heads: h, a divisor of W.
    """

    inward: nn.Linear
    outward: nn.Linear

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inward = nn.Linear(width, 3 * width)
        self.outward = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, W) for (B, T, W)."""
        # (B, T, 3W) -> three of (B, h, T, d)
        queries, keys, values = self.inward(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax((queries / math.sqrt(queries.shape[-1])) @ keys.transpose(2, 3), dim=3)
        return self.outward((weights @ values).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, then a perceptron at each place, each added to what it reads through a layer normalisation.

    Args:
        width: W, of the sequence's vectors.
        heads: of the attention.
        hidden: width of the perceptron's hidden layer.
    """

    attention: nn.Sequential
    perceptron: nn.Sequential

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads))
        self.perceptron = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, T, W) for (B, T, W)."""
        x = x + self.attention(x)
        return x + self.perceptron(x)


class Places(nn.Module):
    """An image as the sequence of its places, row by row."""

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, HW, C) for (B, C, H, W)."""
        return x.flatten(2).transpose(1, 2)


class Mean(nn.Module):
    """The mean over all places of a sequence."""

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, W) for (B, T, W)."""
        return x.mean(1)


def vit(
    channels: int = 3,
    size: int = 32,
    outputs: int = 10,
    *,
    patch: int = 4,
    width: int = 128,
    depth: int = 6,
    heads: int = 4,
    seed: int,
) -> nn.Sequential:
    """Return a small vision transformer: patches, learned positions, pre-norm blocks, the mean of places, logits.

    The hidden layers of the blocks have 2 ``width`` units. By default 64 places, and 810,890 parameters. A class token,
    dropout and weight decay, which large ones have, are left out.

    Args:
        channels: of the images, (B, channels, size, size).
        size: side of the images in pixels, a multiple of ``patch``.
        outputs: number of classes.
        patch: side of a patch in pixels.
        width: of the vectors, a multiple of ``heads``.
        depth: number of blocks.
        heads: of each attention.
        seed: of the initial weights. torch's global generator is neither read nor moved.

    Returns:
        A module from images to logits (B, outputs), on the CPU in float32.

    Raises:
        ValueError: a number is not allowed; names it.

    Example:
        >>> import torch
        >>> vit(seed=0)(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])

    References:
        Dosovitskiy et al. (2021), An image is worth 16×16 words; the mean in place of a class token: Beyer, Zhai,
        Kolesnikov (2022), Better plain ViT baselines for ImageNet-1k.
    """
    counts(channels=channels, size=size, outputs=outputs, patch=patch, width=width, depth=depth, heads=heads)
    if size % patch:
        raise ValueError(f"size = {size}, but it must be a multiple of patch = {patch}")
    if width % heads:
        raise ValueError(f"width = {width}, but it must be a multiple of heads = {heads}")
    places = float(size // patch) ** 2
    weights = width * (float(channels) * patch * patch + places + 8.0 * depth * width + outputs)
    room(weights, 4, channels=channels, size=size, outputs=outputs, patch=patch, width=width, depth=depth)

    def build() -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(channels, width, patch, stride=patch), Places(), Positions((size // patch) ** 2, width),
            *[Block(width, heads, 2 * width) for _ in range(depth)],
            nn.LayerNorm(width), Mean(), nn.Linear(width, outputs),
        )  # fmt: skip

    return seeded(build, seed)
