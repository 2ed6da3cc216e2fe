"""How far from optimal do optimizers train a network, and which discount do they look as if they had? Five seeds.

    python studies/regret_networks.py [--seeds 5]

A perceptron with tanh learns a thousand digits of MNIST, with gradients of all of them and 200 steps. Each rule tries
thirteen rates over three decades; that whose loss at the end is the lowest, as a mean over two seeds of their own, is
watched on the others by ``lossnav.watch``: once as it is, and once with batches of 100, where loss, slope and Hessian
of the comparison stay those of all examples. MNIST is found or downloaded as by ``lossnav.data.load``. It takes about
nine minutes of one core.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from matrices import muon
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lossnav import data, optim
from lossnav.lab.models.weights import seeded
from lossnav.lab.study import Measurement, Study, main, six

EXAMPLES, HIDDEN, STEPS, BATCH = 1000, 32, 200, 100
TUNED_ON, TRIED = (100, 101), 13  # seeds that nothing else uses; rates of each rule
GAMMA = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, math.inf)  # over √(ηk)
EVERY, LANCZOS = 20, 16


class Together(torch.optim.Optimizer):
    """Several optimizers as one."""

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move the parameters of each."""
        for part in self.parts:
            part.step()


Made = Callable[[nn.Module, float], torch.optim.Optimizer]
RULES: dict[str, tuple[Made, float]] = {  # how it is made, and the smallest rate that is tried
    "gradient descent": (lambda m, lr: torch.optim.SGD(m.parameters(), lr=lr), 0.01),
    "heavy ball": (lambda m, lr: torch.optim.SGD(m.parameters(), lr=lr, momentum=0.9), 0.002),
    "nesterov": (lambda m, lr: torch.optim.SGD(m.parameters(), lr=lr, momentum=0.9, nesterov=True), 0.002),
    "rmsprop": (lambda m, lr: torch.optim.RMSprop(m.parameters(), lr=lr, alpha=0.99), 1e-4),
    "adam": (lambda m, lr: torch.optim.Adam(m.parameters(), lr=lr), 5e-4),
    "ballistic": (lambda m, lr: optim.Ballistic(m.parameters(), lr=lr, beta=0.99, bias_correction=True), 1e-4),
    "ballistic matrix": (lambda m, lr: optim.BallisticMatrix(optim.split(m), lr), 5e-4),
    "adamw": (lambda m, lr: torch.optim.AdamW(m.parameters(), lr), 5e-4),
    "muon": (lambda m, lr: Together(*(make([p for _, p in group["params"]], lr) for make, group in
                                      zip((muon, torch.optim.Adam), optim.split(m), strict=True))), 5e-4),
}  # fmt: skip
_TUNED: dict[str, tuple[float, list[float]]] = {}


def rates(rule: str) -> list[float]:
    """Return the rates that a rule tries."""
    return [float(f"{rate:.4g}") for rate in np.geomspace(RULES[rule][1], 1000 * RULES[rule][1], TRIED)]


def network(seed: int) -> nn.Sequential:
    """Return the perceptron; its second derivatives exist everywhere."""
    return seeded(lambda: nn.Sequential(nn.Linear(784, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 10)), seed)


def digits(dataset: data.Dataset) -> tuple[Tensor, Tensor]:
    """Return the first training images, shape (N, 784), and their labels."""
    x, y = dataset.train.batch(slice(0, EXAMPLES))
    return x.flatten(1), y


def run(dataset: data.Dataset, seed: int, rule: str, lr: float, batch: int | None, watched: bool) -> dict[str, Any]:
    """Train once; ``batch``: None for all examples."""
    x, y = digits(dataset)
    model = network(seed)
    optimizer = RULES[rule][0](model, lr)
    order = torch.Generator().manual_seed(seed)
    steep = 0.0

    def loss() -> Tensor:
        return cross_entropy(model(x), y)

    def step(seen: optim.Watch | None) -> None:
        nonlocal steep
        optimizer.zero_grad()
        value = loss()
        if batch is None:
            value.backward()
        else:
            some = torch.randperm(EXAMPLES, generator=order)[:batch]
            cross_entropy(model(x[some]), y[some]).backward()
        if seen is not None:
            seen.note(value)
            slope = sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None)
            steep = max(steep, slope / (2 * float(value.detach())))
        optimizer.step()

    first = float(loss().detach())
    if not watched:
        for _ in range(STEPS):
            step(None)
        return {"first": first, "last": float(loss().detach())}
    with optim.watch(optimizer, loss, every=EVERY, lanczos=LANCZOS) as seen:
        for _ in range(STEPS):
            step(seen)
    factor, regret = seen.timing(), seen.regret()
    return {
        "first": first, "last": float(loss().detach()), "timing": factor, "cost": regret * factor / (factor - 1),
        "cosines": seen.alignment(GAMMA).tolist(), "smoothness": steep,
    }  # fmt: skip


def tuned(dataset: data.Dataset, rule: str) -> tuple[float, list[float]]:
    """Return the rate that ends lowest, and where each ends; found once for all seeds that are measured."""
    if rule in _TUNED:
        return _TUNED[rule]
    ends = [np.mean([run(dataset, seed, rule, lr, None, False)["last"] for seed in TUNED_ON]) for lr in rates(rule)]
    ends = [float(end) if math.isfinite(end) else 1e6 for end in ends]
    _TUNED[rule] = rates(rule)[int(np.argmin(ends))], ends
    return _TUNED[rule]


def measured(dataset: data.Dataset, seed: int, rule: str) -> dict[str, Any]:
    """Return what a tuned rule does, with all examples and with batches."""
    lr, ends = tuned(dataset, rule)
    found = {
        name: {key: six(value) for key, value in run(dataset, seed, rule, lr, batch, True).items()}
        for name, batch in (("full", None), ("batches", BATCH))
    }
    return {"rule": rule, "seed": seed, "lr": six(lr), "tried": six(ends), **found}


def wanted(seeds: int) -> list[Measurement]:
    """Return one measurement for each rule and seed."""
    return [Measurement("mnist", seed, measured, {"rule": rule}) for rule in RULES for seed in range(seeds)]


def config(**_: int) -> dict[str, Any]:
    """Return how the record describes the study."""
    return {
        "model": f"mlp 784-{HIDDEN}-10, tanh", "examples": EXAMPLES, "steps": STEPS, "batch": BATCH,
        "tuned_on": list(TUNED_ON), "rates": {rule: rates(rule) for rule in RULES},
        "gamma": [rate if math.isfinite(rate) else "inf" for rate in GAMMA], "every": EVERY, "lanczos": LANCZOS,
    }  # fmt: skip


STUDIES = {"regret-networks": Study(wanted, options={"seeds": 5}, config=config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
