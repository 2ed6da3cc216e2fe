"""Eight seeds of a small network: trained together, by batched products or by vmap, and one after the other.

One call is an epoch of scikit-learn's digits for all seeds, evaluation included. The three ways give the same curves.
The notes say what is left of the gain where a step has more arithmetic, down to the paper's network at its batch size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks import machine
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, spread, take_turns
from lossnav import data, ensemble, models, optim, training

SEEDS, BATCH, ROUNDS = 8, 32, 9
NETWORKS = {"64-32-10": (32,), "64-32-32-32-10": (32, 32, 32)}
LARGER = {"64-32-10": (32,), "64-128-128-10": (128, 128), "784-512-256-10": (512, 256)}
LARGER_BATCH, LARGER_ROUNDS = 128, 5  # the paper's batch size
Rule = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
RULES: dict[str, Rule] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "Adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "Ballistic": lambda p: optim.Ballistic(p, lr=5e-4, bias_correction=True),
}
GOAL = 3.0  # times the throughput of one after the other


class Opaque(nn.Module):
    """A network whose layers an ensemble cannot see, so that it must use vmap."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def measure(
    digits: data.Dataset, hidden: tuple[int, ...], rule: Rule, device: str, rounds: int, batch_size: int = BATCH
) -> tuple[dict[str, list[float]], float]:
    """Return the seconds that all seeds take each way, and by how much their curves differ, at most."""
    options: dict[str, Any] = {"epochs": 1, "batch_size": batch_size, "device": device, "progress": False}

    def members() -> list[nn.Module]:
        return [models.mlp(digits.inputs, hidden, seed=seed) for seed in range(SEEDS)]

    def together() -> list[training.History]:
        return ensemble.train(members(), digits, rule, seeds=range(SEEDS), **options)

    def mapped() -> list[training.History]:
        return ensemble.train([Opaque(m) for m in members()], digits, rule, seeds=range(SEEDS), **options)

    def alone() -> list[training.History]:
        pairs = enumerate(members())
        return [training.train(m, digits, rule(m.parameters()), seed=s, **options) for s, m in pairs]

    times = take_turns({"together": together, "mapped": mapped, "alone": alone}, rounds, warm_up=1)
    return times, _gap(together(), alone())


def run(settings: Settings) -> Report:
    digits = data.load("digits").to(settings.device)
    if settings.quick:
        digits = digits.head(64, 32)
    rows, checks, more = [], {}, []
    with machine.threads(settings.threads or 1) as count:
        shapes = list(NETWORKS.items())[: 1 if settings.quick else None]
        for (shape, hidden), (name, rule) in product(shapes, RULES.items()):
            times, gap = measure(digits, hidden, rule, settings.device, 2 if settings.quick else ROUNDS)
            gain, by_vmap = ratio(times["alone"], times["together"]), ratio(times["alone"], times["mapped"])
            label = f"{shape}, {name}"
            rows.append([
                label, *(1e3 * spread(seconds).median / SEEDS for seconds in times.values()), *gain.cells(),
                *by_vmap.cells(), gap,
            ])  # fmt: skip
            checks[f"{label}: {gain} times the throughput, at least {GOAL:g}"] = gain.median >= GOAL
            checks[f"{label}: the same curves, {gap:.0e} apart"] = gap <= 1e-5
        for shape, hidden in list(LARGER.items())[: 1 if settings.quick else None]:
            images = enlarged(digits) if shape.startswith("784") else digits
            rounds = 2 if settings.quick else LARGER_ROUNDS
            times, _ = measure(images, hidden, RULES["Ballistic"], settings.device, rounds, LARGER_BATCH)
            more.append(f"{shape} {ratio(times['alone'], times['together'])}")
    return Report(
        columns=["network, rule", "together, ms", "vmap, ms", "alone, ms", "ratio", "1st quartile", "3rd",
                 "ratio of vmap", "1st quartile", "3rd", "curves apart"],
        formats=[".1f", ".1f", ".1f", ".1f", ".1f", ".1f", ".1f", ".1f", ".1f", ".0e"],
        rows=rows,
        checks=checks,
        config={"seeds": SEEDS, "batch_size": BATCH, "rounds": ROUNDS, "threads": count,
                "data": digits.provenance.label},
        device=machine.name(settings.device),
        notes=[
            f"ms: of an epoch, a seed; {SEEDS} seeds; {count} thread(s)",
            f"ratio with more arithmetic in a step, Ballistic in batches of {LARGER_BATCH}: {', '.join(more)}",
        ],
    )  # fmt: skip


def enlarged(digits: data.Dataset) -> data.Dataset:
    """Return the digits as images of 28×28 pixels, the size of MNIST's: each pixel nine times, in a black frame."""

    def split(old: data.Split) -> data.Split:
        large = old.x.repeat_interleave(3, 2).repeat_interleave(3, 3)
        return replace(old, x=nn.functional.pad(large, (2, 2, 2, 2)))

    return replace(digits, train=split(digits.train), test=split(digits.test))


def _gap(one: list[training.History], other: list[training.History]) -> float:
    """Return the largest difference of the losses of any step of any seed."""
    return float(np.max(np.abs([np.subtract(a.step_loss, b.step_loss) for a, b in zip(one, other, strict=True)])))
