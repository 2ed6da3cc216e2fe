"""Networks for studies that one core has to do."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lossnav._checks import counts, room
from lossnav.lab.models.weights import seeded


def strided(first: int, second: int, *, seed: int) -> nn.Sequential:
    """Return two convolutions of stride 2 with so many channels and two full layers, for (3, 16, 16)."""
    counts(first=first, second=second)
    room(9.0 * first * second + 512.0 * second, 4, first=first, second=second)
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(3, first, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(first, second, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * second, 32), nn.ReLU(), nn.Linear(32, 10),
        ), seed,
    )  # fmt: skip


class Bytes(nn.Module):
    """A causal transformer over bytes: from (B, length) to logits (B, length, 256)."""

    def __init__(self, length: int = 64, width: int = 64, heads: int = 4, layers: int = 2) -> None:
        counts(length=length, width=width, heads=heads, layers=layers)
        if width % heads:
            raise ValueError(f"width = {width}, but it must be a multiple of heads = {heads}")
        weights = width * (512.0 + length + 12.0 * layers * width) + float(length) * length  # and the mask
        room(weights, 4, length=length, width=width, layers=layers)
        super().__init__()
        self.tokens, self.places = nn.Embedding(256, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, 256)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of the bytes that follow."""
        inner = self.tokens(x) + self.places.weight
        logits: Tensor = self.head(self.blocks(inner, mask=self.mask, is_causal=True))
        return logits


def reader(length: int = 64, *, seed: int, **sizes: int) -> Bytes:
    """Return a transformer for stretches of so many bytes, of weights that torch draws from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Bytes(length, **sizes)
