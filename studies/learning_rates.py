"""Learning-rate sweep of the ballistic rule, SGD and Adam on MNIST: equal grids around the paper's rates.

    python studies/learning_rates.py [--epochs 3] [--seeds 3]

Each rule gets seven rates, half a decade apart, centred on the rate that the paper uses for it, and the same seeds.
MNIST is found or downloaded as by ``lossnav.data.load``. The default takes about 11 minutes of one core.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from lossnav import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.study import Study, main

RATES = {"sgd": 0.1, "adam": 1e-3, "ballistic": 5e-4, "ballistic, corrected": 5e-4}  # the paper's; the last is ours
STEPS = (-3, -2, -1, 0, 1, 2, 3)  # half decades
BETA = 0.999
OPTIONS: dict[str, dict[str, Any]] = {
    "ballistic": {"beta": BETA}, "ballistic, corrected": {"beta": BETA, "bias_correction": True},
}  # fmt: skip


def one(rule: str, half_decades: int, seed: int, epochs: int) -> Experiment:
    """Return the run of a rule at a rate."""
    return Experiment(
        data="mnist", optimizer=rule.split(",")[0], lr=RATES[rule] * 10 ** (half_decades / 2),
        options=OPTIONS.get(rule, {}), epochs=epochs, batch_size=128, clip=5.0, seed=seed,
    )  # fmt: skip


def wanted(epochs: int, seeds: int) -> list[Experiment]:
    """Return the grid."""
    return [one(*run, epochs) for run in product(RATES, STEPS, range(seeds))]


def results(found: list[records.Record]) -> list[dict[str, Any]]:
    """Return the curves; a run that diverges is a result too (no accuracy, no loss)."""
    seeds = len(found) // (len(RATES) * len(STEPS))
    return [
        {"rule": rule, "lr": float(f"{record.config['lr']:.6g}"), "factor": half_decades / 2, "seed": seed,
         **{key: value for key, value in record.results[0].items() if key != "settings"}}
        for (rule, half_decades, seed), record in zip(product(RATES, STEPS, range(seeds)), found, strict=True)
    ]  # fmt: skip


def config(**_: int) -> dict[str, Any]:
    """Return how the record describes the study."""
    return {
        "beta": BETA, "rates": RATES, "grid": "rate × 10^(k/2), k = -3 … 3", "model": "mlp 784-512-256-10, ReLU",
    }  # fmt: skip


STUDIES = {"learning-rates": Study(wanted, results, {"epochs": 3, "seeds": 3}, config)}

if __name__ == "__main__":
    main(__file__, STUDIES)
