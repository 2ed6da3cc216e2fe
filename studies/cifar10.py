"""The ballistic rule on CIFAR-10: the runs of the chapter, one study at a time, on a laptop, a GPU or a cluster.

    python studies/cifar10.py paper    the paper's Fig. 2f: three rules at its settings, three seeds
    python studies/cifar10.py rates    equal grids of learning rates for three rules on three networks
    python studies/cifar10.py gammas   the optimal step for discounts between the ballistic rule's and SGD's
    python studies/cifar10.py opening  one of the runs of ``rates``, cut to twenty steps: a test repeats it

A study that was cut off goes on where it was, and ``paper --epochs 25`` goes on from ``paper --epochs 5``. CIFAR-10 is
found or downloaded as by ``lossnav.data.load``; a record says which copy it was.

One epoch of one network takes a minute to a minute and a half of a core with bfloat16 units, and two seconds or so on a
data-centre GPU.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from lossnav import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.study import Study, main

BASE = {"data": "cifar10", "batch_size": 128, "clip": 5.0}
BETA = 0.9
PAPER = {"sgd": 0.1, "adam": 5e-4, "ballistic": 5e-4}  # learning rates, App. B
OPTIONS: dict[str, dict[str, Any]] = {"sgd": {}, "adam": {}, "ballistic": {"beta": BETA}}
NETWORKS = ("cnn", "resnet", "vit")
STEPS = (-2, -1, 0, 1, 2)  # half decades around the paper's rate
RATES_SIZE = 25_600  # images of a run of ``rates`` and ``gammas``: 200 steps
GAMMAS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, math.inf)


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


def gammas(epochs: int, seeds: int) -> list[Experiment]:
    """Return Eq. 6 from the ballistic rule (γ = 0) to SGD (γ = ∞), each end with the paper's learning rate.

    With ηk = 1 and a short Δt the step is Δt g / (γ/2 + √(γ²/4 + v)). Δt = lr_ballistic + γ lr_sgd makes it the
    ballistic step of rate lr_ballistic at γ = 0, and SGD's of rate lr_sgd as γ → ∞, where ``Navigator`` reads
    ``eta_k`` as ηk/γ.
    """
    found = []
    for seed in range(seeds):
        for gamma in GAMMAS:
            lr = PAPER["sgd"] if math.isinf(gamma) else PAPER["ballistic"] + gamma * PAPER["sgd"]
            found.append(Experiment(
                **BASE, model="cnn", optimizer="navigator", lr=float(f"{lr:.6g}"),
                options={"gamma": gamma, "beta": BETA}, epochs=epochs, seed=seed, train_size=RATES_SIZE,
            ))  # fmt: skip
    return found


def opening(epochs: int, seeds: int) -> list[Experiment]:
    """Return the runs of ``rates`` with the ballistic rule at its rate on the residual network, cut to 20 steps."""
    wanted = ("resnet", "ballistic", PAPER["ballistic"])
    return [
        replace(one, train_size=20 * one.batch_size, test_size=1000)
        for one in rates(epochs, seeds)
        if (one.model, one.optimizer, one.lr) == wanted
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
    "cifar10-gammas": Study(gammas, results, {"epochs": 1, "seeds": 3}),
    "cifar10-opening": Study(opening, results, {"epochs": 1, "seeds": 1}),
}

if __name__ == "__main__":
    main(__file__, STUDIES)
