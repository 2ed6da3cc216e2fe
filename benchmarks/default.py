"""Optimizers with the arguments they have if nobody gives any, on a transformer of the bytes of Python's manual.

AdamW's default is what each of ours replaces; its loss is the yardstick.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks import machine
from benchmarks.report import Report, Settings
from lossnav import optim
from lossnav.lab.data.text import manual, stretches
from lossnav.lab.models.small import reader

SEEDS, STEPS, BATCH = (0, 1), 300, 16
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


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return cross_entropy(model(x).flatten(0, 1), y.flatten())


def learned(rule: Rule, seed: int, steps: int, device: str) -> float:
    """Return the loss on text that was not learned, after so many steps; inf if it is none."""
    model = reader(seed=seed).to(device)
    optimizer, generator, (train, test) = rule(model), torch.Generator().manual_seed(seed), manual()
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, *(part.to(device) for part in stretches(train, generator, BATCH))).backward()
        optimizer.step()
    with torch.no_grad():
        judged = stretches(test, torch.Generator().manual_seed(1_000), 256)
        value = loss(model, *(part.to(device) for part in judged)).item()
    return value if math.isfinite(value) else math.inf


def run(settings: Settings) -> Report:
    seeds, steps = (SEEDS[:1], 2) if settings.quick else (SEEDS, STEPS)
    with machine.threads(settings.threads or 1) as count:
        losses = {name: [learned(rule, s, steps, settings.device) for s in seeds] for name, rule in RULES.items()}
    means = {name: sum(values) / len(values) for name, values in losses.items()}
    rows: list[list[Any]] = [[name, *values, means[name] - means[YARDSTICK]] for name, values in losses.items()]
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
        config={"steps": steps, "seeds": list(seeds), "batch": BATCH, "threads": count},
        device=machine.name(settings.device),
        notes=["loss: nats a byte, on the last tenth of pydoc_data.topics",
               "no bar for what is not meant to replace AdamW (their docstrings say for what they are)"],
    )  # fmt: skip
