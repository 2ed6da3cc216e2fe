"""A network for studies that one core has to do."""

from __future__ import annotations

from torch import nn

from lossnav.lab.models.weights import seeded


def strided(first: int, second: int, *, seed: int) -> nn.Sequential:
    """Return two convolutions of stride 2 with so many channels and two full layers, for (3, 16, 16)."""
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(3, first, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(first, second, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(16 * second, 32), nn.ReLU(), nn.Linear(32, 10),
        ), seed,
    )  # fmt: skip
