"""Learning-rate sweep of the ballistic rule, SGD and Adam on MNIST: equal grids around the paper's rates.

    python studies/learning_rates.py [--epochs 3] [--seeds 3] [--output book/results/learning-rates.json]

Each rule gets seven rates, half a decade apart, centred on the rate that the paper uses for it, and the same seeds.
MNIST is found or downloaded as by ``lossnav.data.load``. The default takes about 11 minutes of one core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import torch

from lossnav import data, models, optim, records, training

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
RATES = {"sgd": 0.1, "adam": 1e-3, "ballistic": 5e-4, "ballistic, corrected": 5e-4}  # the paper's; the last is ours
STEPS = (-3, -2, -1, 0, 1, 2, 3)  # half decades
BETA, BATCH, CLIP = 0.999, 128, 5.0

RULES: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda params, lr: torch.optim.SGD(params, lr=lr),
    "adam": lambda params, lr: torch.optim.Adam(params, lr=lr),
    "ballistic": lambda params, lr: optim.Ballistic(params, lr=lr, beta=BETA),
    "ballistic, corrected": lambda params, lr: optim.Ballistic(params, lr=lr, beta=BETA, bias_correction=True),
}


def run(dataset: data.Dataset, rule: str, half_decades: int, seed: int, epochs: int) -> dict[str, Any]:
    """Train once; a run that diverges is a result too (no accuracy, no loss)."""
    rate = RATES[rule] * 10 ** (half_decades / 2)
    model = models.mlp(dataset.inputs, seed=seed)
    optimizer = RULES[rule](model.parameters(), rate)
    entry: dict[str, Any] = {"rule": rule, "lr": float(f"{rate:.6g}"), "factor": half_decades / 2, "seed": seed}
    try:
        history = training.train(
            model, dataset, optimizer, epochs=epochs, batch_size=BATCH, seed=seed, clip=CLIP, device="cpu",
            progress=False,
        )  # fmt: skip
    except training.Diverged as error:
        return {**entry, "diverged": error.step}
    return {**entry, **history.record()}


def main() -> None:
    """Run the grid and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None, help="threads, one core each; default: all cores")
    parser.add_argument("--output", type=Path, default=RESULTS / "learning-rates.json")
    arguments = parser.parse_args()

    start = time.perf_counter()
    dataset = data.load("mnist")
    seeds = list(range(arguments.seeds))
    jobs = list(product(RATES, STEPS, seeds))
    results = training.in_parallel(lambda job: run(dataset, *job, arguments.epochs), jobs, arguments.workers)
    config = {
        "epochs": arguments.epochs, "batch_size": BATCH, "clip": CLIP, "beta": BETA, "rates": RATES,
        "grid": "rate × 10^(k/2), k = -3 … 3", "model": "mlp 784-512-256-10, ReLU",
    }  # fmt: skip
    record = records.new(
        command="python studies/learning_rates.py", config=config, seeds=seeds, data=dataset.provenance.record(),
        results=results, duration=time.perf_counter() - start, device=records.processor(),
    )  # fmt: skip
    records.save(arguments.output, record)
    print(f"{len(results)} runs in {record.duration:.0f} s -> {arguments.output}")


if __name__ == "__main__":
    main()
