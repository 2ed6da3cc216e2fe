"""The ballistic rule on MNIST: the paper's Fig. 2e, three rules at its settings, three seeds.

    python studies/ballistic_mnist.py [--epochs 10] [--seeds 3]

A study that was cut off goes on where it was. MNIST is found or downloaded as by ``lossnav.data.load``. The default
takes about six minutes of one core.
"""

from __future__ import annotations

from typing import Any

from lossnav import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.study import Study, main

BASE = {"data": "mnist", "model": "mlp", "batch_size": 128, "clip": 5.0, "device": "cpu"}
RULES: dict[str, dict[str, Any]] = {  # App. B
    "sgd": {"lr": 0.1},
    "adam": {"lr": 1e-3},
    "ballistic": {"lr": 5e-4, "options": {"beta": 0.999}},
}


def experiments(epochs: int, seeds: int) -> list[Experiment]:
    """Return the paper's three rules at its rates, for each seed."""
    return [
        Experiment(**BASE, optimizer=rule, **settings, epochs=epochs, seed=seed)
        for rule, settings in RULES.items()
        for seed in range(seeds)
    ]


def results(found: list[records.Record]) -> list[dict[str, Any]]:
    """Return the curves of each run."""
    runs = []
    for one in found:
        curves = {key: value for key, value in one.results[0].items() if key != "settings"}
        runs.append({"rule": one.config["optimizer"], "lr": one.config["lr"], "seed": one.seeds[0], **curves})
    return runs


def config(**_: int) -> dict[str, Any]:
    """Return how the record describes the study."""
    return {"rules": RULES, "network": "mlp 784-512-256-10, ReLU"}


STUDIES = {"ballistic-mnist": Study(experiments, results, {"epochs": 10, "seeds": 3}, config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
