"""Which schedule of the rate, for which length? Six of them, two rules, two networks, a short run and a longer one.

    python studies/schedules.py mnist
    python studies/schedules.py cifar10

A perceptron on MNIST and a small convolutional network on CIFAR-10 (16×16 pixels), batches of 16. In each case every
schedule tries the same peak rates on two tuning seeds, by the loss of images that nobody trains on; while the best of
one of them lies at the end of the list, the list grows, for all. The best peak is then run on five other seeds. A seed
fixes the weights and the order of the images, so that all schedules of it can be compared in pairs; they are trained
together, as members of one ensemble. Data are found or downloaded as by ``lossnav.data.load``. About five minutes
of one core each.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import avg_pool2d, cross_entropy

from lossnav import curvature, data, models, optim
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.models.weights import seeded
from lossnav.lab.study import Measurement, Study, main, six

SCHEDULES = ("constant", "linear", "cosine", "wsd", "deadline", "kernel")
HELD = "plateau"  # judged only: the peak of "wsd", held to the end
BATCH, COOLDOWN, STIFFNESS = 16, 0.2, 5.0
TUNING, JUDGES = (0, 1), tuple(range(100, 105))
HELD_OUT, LOOKED_AT = 3000, 3000  # training images that choose the peak; first images of which the training loss is
LENGTHS = {"mnist": (60, 2500), "cifar10": (80, 400)}
MIDDLE = {("mnist", "sgd"): 0.16, ("mnist", "adamw"): 4e-3, ("cifar10", "sgd"): 0.16, ("cifar10", "adamw"): 4e-3}
STEP, REACH, FARTHEST = 2**0.5, 3, 12  # the peaks are middle·step^k, |k| ≤ reach, and then farther where it must be
DECAY = 0.01  # of AdamW
PROBES, PRODUCTS, SEEN = 4, 25, 1000  # of the measured kernel: noises, products with the Hessian, images
GRID = np.geomspace(1e-4, 100.0, 25)  # of u, where the record says what is left of the noise


def network(name: str, seed: int) -> nn.Sequential:
    """Return the network of a data set, with weights drawn from a seed."""
    if name == "mnist":
        return models.mlp(784, (64,), seed=seed)
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(24 * 16, 10),
        ), seed,
    )  # fmt: skip


def images(split: data.Split, index: Tensor | slice) -> tuple[Tensor, Tensor]:
    """Return a batch as the network wants it: colour images averaged over 2×2 pixels."""
    x, y = split.batch(index)
    return (avg_pool2d(x, 2) if x.shape[1] == 3 else x), y


def multipliers(schedule: str, steps: int, peak: float, kernel: Any) -> list[float]:
    """Return the multiplier of the peak at each step."""
    left = 1 - (np.arange(steps) + 0.5) / steps
    if schedule in ("constant", HELD):
        return [1.0] * steps
    if schedule == "cosine":
        return list((1 - np.cos(np.pi * left)) / 2)
    if schedule == "wsd":  # with the 1 − √ of Hägele et al. 2024
        return list(1 - np.sqrt(np.maximum(1 - left / COOLDOWN, 0.0)))
    how: dict[str, Any] = {
        "linear": {"kind": "power", "cooldown": 1.0},
        "deadline": {"kind": "deadline", "stiffness": STIFFNESS},
        "kernel": {"kind": "kernel", "kernel": kernel, "cooldown": COOLDOWN},
    }[schedule]
    law = optim.deadline_schedule(torch.optim.SGD([torch.zeros(1)], lr=peak), steps, **how).lr_lambdas[0]
    return [law(step) for step in range(steps)]


def rule(name: str, parameters: Any) -> torch.optim.Optimizer:
    """Return the optimizer with the rate 1: a member's step is its rate times the step that this one takes."""
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1.0)
    return torch.optim.AdamW(parameters, lr=1.0, weight_decay=DECAY)


def batches(count: int, steps: int, seed: int) -> Iterator[Tensor]:
    """Yield the places of each batch's images: a new order each time all have been seen."""
    draw, order = torch.Generator().manual_seed(seed), torch.empty(0, dtype=torch.long)
    for _ in range(steps):
        if len(order) < BATCH:
            order = torch.randperm(count, generator=draw)
        yield order[:BATCH]
        order = order[BATCH:]


def train(
    dataset: data.Dataset, name: str, optimizer: str, rates: np.ndarray, seed: int, looks: dict[int, Any]
) -> tuple[Ensemble, torch.optim.Optimizer]:
    """Train a network for each row of rates (M, N), all from one seed; after step n, ``looks[n]`` is shown them."""
    several = Ensemble([network(name, seed)] * len(rates))
    stepper, table = rule(optimizer, several.parameters()), torch.tensor(rates, dtype=torch.float32)
    order = batches(len(dataset.train) - HELD_OUT, rates.shape[1], seed)
    for step, index in enumerate(order):
        x, y = images(dataset.train, index)
        several.losses(x.expand(len(rates), *x.shape), y.expand(len(rates), -1)).sum().backward()
        before = [p.detach().clone() for p in several.parameters()]
        stepper.step()
        stepper.zero_grad()
        with torch.no_grad():  # both rules are linear in their rate
            for p, start in zip(several.parameters(), before, strict=True):
                p.copy_(torch.lerp(start, p, table[:, step].view(-1, *[1] * (p.ndim - 1))))
        if step + 1 in looks:
            looks[step + 1](several)
    return several, stepper


@torch.no_grad()
def judge(several: Ensemble, split: data.Split, places: range) -> tuple[list[float], list[float]]:
    """Return the mean losses of all members on some images, and the shares that they classify."""
    found = torch.zeros(2, several.size)
    members = [several.member(k) for k in range(several.size)]  # one after the other is faster than stacked here
    for start in range(places.start, places.stop, 500):
        x, y = images(split, slice(start, min(start + 500, places.stop)))
        for k, member in enumerate(members):
            out = member(x)
            found[:, k] += torch.stack([cross_entropy(out, y, reduction="sum"), (out.argmax(-1) == y).sum()])
    losses, right = found / len(places)
    return six(losses), six(right)


class Preconditioned(nn.Module):
    """A network in coordinates φ = θ/s, in which the steps −a·s²·g of an adaptive rule are plain gradient steps."""

    def __init__(self, model: nn.Module, scales: list[Tensor]) -> None:
        super().__init__()
        self.names = [name for name, _ in model.named_parameters()]
        self.scales = scales
        self.inner = [model]  # hidden, so that its parameters are not this module's
        self.coordinates = nn.ParameterList([p.detach() / s for p, s in zip(model.parameters(), scales, strict=True)])

    def forward(self, x: Tensor) -> Tensor:
        """Return the network's outputs."""
        values = [s * phi for s, phi in zip(self.scales, self.coordinates, strict=True)]
        return functional_call(self.inner[0], dict(zip(self.names, values, strict=True)), (x,))


def kernel(dataset: data.Dataset, name: str, optimizer: str, steps: int) -> curvature.NoiseKernel:
    """Return what is left of a step's noise, measured where the cooldown begins, in the rule's own metric."""
    plateau = round(steps * (1 - COOLDOWN))
    rates = np.full((1, plateau), MIDDLE[name, optimizer])
    several, stepper = train(dataset, name, optimizer, rates, TUNING[0], {})
    model: nn.Module = several.member(0)
    if optimizer == "adamw":
        beta, eps = stepper.param_groups[0]["betas"][1], stepper.param_groups[0]["eps"]
        squares = [stepper.state[p]["exp_avg_sq"][0] / (1 - beta**plateau) for p in several.parameters()]
        model = Preconditioned(model, [(v.sqrt() + eps).rsqrt() for v in squares])
    seen = images(dataset.train, slice(0, SEEN))
    return curvature.noise_kernel(model, cross_entropy, seen, batch=BATCH, probes=PROBES, steps=PRODUCTS)


def rows(schedules: list[tuple[str, float]], steps: int, left: Any) -> np.ndarray:
    """Return the rates (M, N) of (schedule, peak)."""
    return np.array([np.multiply(peak, multipliers(name, steps, peak, left)) for name, peak in schedules])


def tune(dataset: data.Dataset, name: str, optimizer: str, steps: int, left: Any) -> dict[float, list[float]]:
    """Return for each peak the mean validation loss of every schedule; the list grows until all bests are inside."""
    found: dict[int, list[float]] = {}
    wanted = list(range(-REACH, REACH + 1))
    kept = range(len(dataset.train) - HELD_OUT, len(dataset.train))
    while wanted:
        asked = [(schedule, MIDDLE[name, optimizer] * STEP**k) for k in wanted for schedule in SCHEDULES]
        ends = [
            judge(train(dataset, name, optimizer, rows(asked, steps, left), seed, {})[0], dataset.train, kept)[0]
            for seed in TUNING
        ]
        means = np.nan_to_num(np.mean(ends, axis=0), nan=99.0, posinf=99.0).reshape(len(wanted), -1)
        found |= {k: row.tolist() for k, row in zip(wanted, means, strict=True)}
        best = [min(found, key=lambda k, c=column: found[k][c]) for column in range(len(SCHEDULES))]
        low, high = min(found), max(found)
        wanted = [low - 1, low - 2] * (low in best) + [high + 1, high + 2] * (high in best)
        wanted = [k for k in wanted if abs(k) <= FARTHEST]
    return {six(MIDDLE[name, optimizer] * STEP**k): six(found[k]) for k in sorted(found)}


def measured(dataset: data.Dataset, seed: tuple[int, ...], name: str, optimizer: str, steps: int) -> dict[str, Any]:
    """Measure the kernel, choose each schedule's peak, and judge it on the seeds."""
    torch.set_flush_denormal(True)
    left = kernel(dataset, name, optimizer, steps)
    tuned = tune(dataset, name, optimizer, steps, left)
    best = {s: min(tuned, key=lambda peak, c=c: tuned[peak][c]) for c, s in enumerate(SCHEDULES)}
    best[HELD] = best["wsd"]
    table, early, ends = rows(list(best.items()), steps, left), [], []
    looked = range(LOOKED_AT)
    for one in seed:
        looks = {round(steps * (1 - COOLDOWN)): lambda several: early.append(judge(several, dataset.train, looked)[0])}
        several, _ = train(dataset, name, optimizer, table, one, looks)
        test, accuracy = judge(several, dataset.test, range(len(dataset.test)))
        ends.append((test, accuracy, judge(several, dataset.train, looked)[0]))
    columns = np.array(ends).transpose(1, 2, 0)  # what, member, seed
    judged = {
        member: {"peak": best[member], "early": six(np.array(early)[:, place]),
                 **{what: six(columns[k, place]) for k, what in enumerate(("test", "accuracy", "train"))}}
        for place, member in enumerate(best)
    }  # fmt: skip
    return {
        "case": {"data": name, "rule": optimizer, "steps": steps}, "tuning": [[peak, *tuned[peak]] for peak in tuned],
        "judged": judged, "kernel": {"u": six(GRID), "left": six(left(GRID) / left(0.0)), "dropped": six(left.dropped)},
    }  # fmt: skip


def wanted(name: str) -> list[Measurement]:
    """Return the four cases of a data set."""
    return [
        Measurement(name, JUDGES, measured, {"name": name, "optimizer": optimizer, "steps": steps})
        for steps in LENGTHS[name]
        for optimizer in ("sgd", "adamw")
    ]


def config() -> dict[str, Any]:
    """Return how the record describes the study."""
    return {
        "schedules": list(SCHEDULES), "held": HELD, "batch_size": BATCH, "cooldown": COOLDOWN, "stiffness": STIFFNESS,
        "tuning_seeds": list(TUNING), "held_out": HELD_OUT, "looked_at": LOOKED_AT, "lengths": LENGTHS, "decay": DECAY,
        "peaks": {f"{name}, {optimizer}": middle for (name, optimizer), middle in MIDDLE.items()},
        "step": six(STEP), "reach": REACH, "kernel": [PROBES, PRODUCTS, SEEN],
        "models": {"mnist": "mlp 784-64-10, ReLU", "cifar10": "two 3×3 convolutions (12, 24), ReLU, pooled; linear"},
    }  # fmt: skip


STUDIES = {f"schedules-{name}": Study(functools.partial(wanted, name), config=config) for name in LENGTHS}

if __name__ == "__main__":
    main(__file__, STUDIES)
