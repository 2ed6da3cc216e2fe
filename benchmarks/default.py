"""Optimizers with the arguments they have if nobody gives any, on a transformer of the bytes of Python's manual.

AdamW's default is what each of ours replaces; its loss is the yardstick.
"""

from __future__ import annotations

import math
import pydoc_data.topics
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks import machine
from benchmarks.report import Report, Settings
from lossnav import optim

SEEDS, STEPS, BATCH, WIDTH, HEADS, LAYERS, LENGTH = (0, 1), 300, 16, 64, 4, 2, 64
ROOM = 0.02  # nats above AdamW's default

Rule = Callable[[nn.Module], torch.optim.Optimizer]
YARDSTICK = "AdamW"
RULES: dict[str, Rule] = {
    YARDSTICK: lambda m: torch.optim.AdamW(m.parameters()),
    "SGD, 0.1": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
    "Belief": lambda m: optim.Belief(m.parameters()),
    "Ballistic": lambda m: optim.Ballistic(m.parameters()),
    "Ballistic, the paper's": lambda m: optim.Ballistic(m.parameters(), bias_correction=False),
    "Navigator": lambda m: optim.Navigator(m.parameters()),
    "BallisticMatrix": lambda m: optim.BallisticMatrix(m.parameters()),
    "Uncertain": lambda m: optim.Uncertain(m.parameters()),
}


class Bytes(nn.Module):
    """A causal transformer over bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(256, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 256)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.tokens(x) + self.places.weight
        found: Tensor = self.head(self.blocks(inner, mask=self.mask, is_causal=True))
        return found


def text() -> tuple[Tensor, Tensor]:
    """Return the bytes of Python's manual, nine tenths to learn and the rest to judge by."""
    topics = pydoc_data.topics.topics
    whole = torch.frombuffer(bytearray("".join(topics[key] for key in sorted(topics)).encode()), dtype=torch.uint8)
    cut = len(whole) * 9 // 10
    return whole[:cut].long(), whole[cut:].long()


def batch(source: Tensor, generator: torch.Generator, size: int) -> tuple[Tensor, Tensor]:
    """Return stretches of a text and the bytes that follow each of theirs."""
    starts = torch.randint(len(source) - LENGTH - 1, (size, 1), generator=generator)
    windows = source[starts + torch.arange(LENGTH + 1)]
    return windows[:, :-1], windows[:, 1:]


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(model(x).flatten(0, 1), y.flatten())


def learned(rule: Rule, seed: int, steps: int, device: str) -> float:
    """Return the loss on text that was not learned, after so many steps; inf if it is none."""
    torch.manual_seed(seed)
    model = Bytes().to(device)
    optimizer, generator, (train, test) = rule(model), torch.Generator().manual_seed(seed), text()
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, *(part.to(device) for part in batch(train, generator, BATCH))).backward()
        optimizer.step()
    with torch.no_grad():
        judged = batch(test, torch.Generator().manual_seed(1_000), 256)
        found = loss(model, *(part.to(device) for part in judged)).item()
    return found if math.isfinite(found) else math.inf


def run(settings: Settings) -> Report:
    seeds, steps = (SEEDS[:1], 2) if settings.quick else (SEEDS, STEPS)
    with machine.threads(settings.threads or 1) as count:
        losses = {name: [learned(rule, s, steps, settings.device) for s in seeds] for name, rule in RULES.items()}
    means = {name: sum(found) / len(found) for name, found in losses.items()}
    rows: list[list[Any]] = [[name, *found, means[name] - means[YARDSTICK]] for name, found in losses.items()]
    checks = {
        f"{name}: {means[name]:.3f}, at most {YARDSTICK}'s {means[YARDSTICK]:.3f} + {ROOM:g}":
            means[name] <= means[YARDSTICK] + ROOM
        for name in ("Belief", "Ballistic", "BallisticMatrix")
    }  # fmt: skip
    return Report(
        columns=["rule", *(f"loss, seed {s}" for s in seeds), f"above {YARDSTICK}"],
        formats=[*(".3f" for _ in seeds), "+.3f"],
        rows=rows,
        checks=checks,
        config={"steps": steps, "seeds": list(seeds), "batch": BATCH, "length": LENGTH, "width": WIDTH,
                "layers": LAYERS, "threads": count},
        device=machine.name(settings.device),
        notes=["loss: nats a byte, on the last tenth of pydoc_data.topics",
               "no bar for what is not meant to replace AdamW (their docstrings say for what they are)"],
    )  # fmt: skip
