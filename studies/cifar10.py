"""The ballistic rule on CIFAR-10: the runs of the chapter, one study at a time, on a laptop, a GPU or a cluster.

    python studies/cifar10.py paper    the paper's rules and rates, without the crops of its code; three seeds
    python studies/cifar10.py rates    equal grids of learning rates for three rules on three networks
    python studies/cifar10.py opening  one of the runs of ``rates``, cut to twenty steps: a test repeats it
    python studies/cifar10.py lengths  how long gradient and ballistic step are in twenty steps of each network

A study that was cut off goes on where it was, and ``paper --epochs 25`` goes on from ``paper --epochs 5``. CIFAR-10 is
found or downloaded as by ``lossnav.data.load``; a record says which copy it was.

One epoch of one network takes a minute to a minute and a half of a core with bfloat16 units, and two seconds or so on a
data-centre GPU.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from lossnav import data, models, optim, records, training
from lossnav.lab.experiment import Experiment
from lossnav.lab.study import Measurement, Study, main

BASE = {"data": "cifar10", "batch_size": 128, "clip": 5.0}
BETA = 0.9
PAPER = {"sgd": 0.1, "adam": 5e-4, "ballistic": 5e-4}  # learning rates, App. B
OPTIONS: dict[str, dict[str, Any]] = {"sgd": {}, "adam": {}, "ballistic": {"beta": BETA}}
NETWORKS = ("cnn", "resnet", "vit")
STEPS = (-2, -1, 0, 1, 2)  # half decades around the paper's rate
RATES_SIZE = 25_600  # images of a run of ``rates``: 200 steps
NOTED = 20  # steps whose lengths are noted
QUANTILES = 1000  # of √v over the weights of the CNN


def paper(epochs: int, seeds: int) -> list[Experiment]:
    """Return the paper's three rules at its rates."""
    return [
        Experiment(**BASE, model="cnn", optimizer=rule, lr=lr, options=OPTIONS[rule], epochs=epochs, seed=seed)
        for seed in range(seeds)
        for rule, lr in PAPER.items()
    ]


def rate(rule: str, half_decades: int) -> float:
    """Return a learning rate of the grid."""
    return float(f"{PAPER[rule] * 10 ** (half_decades / 2):.6g}")


def rates(epochs: int, seeds: int) -> list[Experiment]:
    """Return equal grids for each rule and network."""
    return [
        Experiment(
            **BASE, model=model, optimizer=rule, lr=rate(rule, n), options=OPTIONS[rule], epochs=epochs, seed=seed,
            train_size=RATES_SIZE,
        )
        for seed in range(seeds)
        for model in NETWORKS
        for rule in PAPER
        for n in STEPS
    ]  # fmt: skip


def opening(epochs: int, seeds: int) -> list[Experiment]:
    """Return the runs of ``rates`` with the ballistic rule at its rate on the residual network, cut to 20 steps."""
    wanted = ("resnet", "ballistic", PAPER["ballistic"])
    return [
        replace(one, train_size=20 * one.batch_size, test_size=1000)
        for one in rates(epochs, seeds)
        if (one.model, one.optimizer, one.lr) == wanted
    ]


def lengths(seeds: int) -> list[Measurement]:
    """Return a run of the ballistic rule on each network, of which every step is noted."""
    return [
        Measurement("cifar10", seed, noted, {"model": model, "steps": NOTED})
        for seed in range(seeds)
        for model in NETWORKS
    ]


def noted(dataset: data.Dataset, seed: int, model: str, steps: int) -> dict[str, Any]:
    """Train a network for a few steps; note |g| after clipping, |g/√(v+ε)|, and the CNN's √v, v without its bias."""
    channels, side, _ = dataset.shape
    network = {
        "cnn": lambda: models.cnn(channels, side, seed=seed),
        "resnet": lambda: models.resnet(channels, seed=seed),
        "vit": lambda: models.vit(channels, side, patch=side // 8, seed=seed),
    }[model]()
    optimizer = optim.Ballistic(
        network.parameters(), lr=PAPER["ballistic"], beta=BETA, bias_correction=False, fused=False
    )
    gradients, ballistic, spread = [], [], {}

    def note(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        group = optimizer.param_groups[0]
        v = torch.cat([optimizer.state[p]["v"].flatten() for p in group["params"]])
        g = torch.cat([p.grad.flatten() for p in group["params"]])
        step = len(gradients) + 1
        v = v / (1 - group["beta"] ** step)
        gradients.append(g.norm().item())
        ballistic.append((g / (v + group["eps"]).sqrt()).norm().item())
        if model == "cnn" and step in (5, steps):
            spread["early" if step == 5 else "late"] = spread_of(v.sqrt().double().numpy())

    optimizer.register_step_post_hook(note)
    seen = dataset.head(steps * BASE["batch_size"], 1)
    history = training.train(
        network, seen, optimizer, epochs=1, batch_size=BASE["batch_size"], seed=seed, clip=BASE["clip"], progress=False
    )
    return {
        "gradients": gradients, "ballistic": ballistic, "roots": spread, "precision": history.settings["precision"]
    }  # fmt: skip


def spread_of(roots: np.ndarray) -> dict[str, Any]:
    """Return quantiles of √v, and the share of the weights for which SGD takes the longer step at the paper's rates."""
    places = (np.arange(QUANTILES) + 0.5) / QUANTILES
    return {
        "quantiles": [float(f"{value:.4g}") for value in np.quantile(roots, places)],
        "beyond": float((roots > PAPER["ballistic"] / PAPER["sgd"]).mean()),
    }


def measured(found: list[records.Record]) -> list[dict[str, Any]]:
    """Return the notes of each network."""
    return [
        {"model": one.config["model"], "seed": one.seeds[0], **one.results, "revision": one.revision} for one in found
    ]


def results(found: list[records.Record]) -> list[dict[str, Any]]:
    """Return the numbers of each run, with what tells it from the others of its study."""
    runs = []
    for record in found:
        made, curves = record.config, dict(record.results[0])
        settings = curves.pop("settings")
        kept = {"model": made["model"], "rule": made["optimizer"], "lr": made["lr"], "seed": made["seed"]}
        runs.append({
            **kept, **made["options"], **curves, "precision": settings["precision"], "revision": record.revision
        })  # fmt: skip
    return runs


STUDIES = {
    "cifar10-paper": Study(paper, results, {"epochs": 25, "seeds": 3}),
    "cifar10-rates": Study(rates, results, {"epochs": 1, "seeds": 2}),
    "cifar10-opening": Study(opening, results, {"epochs": 1, "seeds": 1}),
    "cifar10-lengths": Study(
        lengths,
        measured,
        {"seeds": 1},
        lambda **_: {**BASE, "rule": "ballistic", "lr": PAPER["ballistic"], **OPTIONS["ballistic"]},
    ),
}

if __name__ == "__main__":
    main(__file__, STUDIES)
