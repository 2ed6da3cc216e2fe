"""The ballistic rule on MNIST: the paper's Fig. 2e, three rules at its settings, three seeds.

    python studies/ballistic_mnist.py [--epochs 10] [--seeds 3]

Runs are kept in ``--runs`` as they finish, so that a study that was cut off goes on where it was. When all are there,
its record is written as ``book/results/ballistic-mnist.json``. MNIST is found or downloaded as by
``lossnav.data.load``. The default takes about six minutes of one core.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lossnav import records, sweep
from lossnav.lab.experiment import Experiment

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
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


def main() -> None:
    """Run what is missing, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None, help="processes of one core each; default: all cores")
    parser.add_argument("--runs", type=Path, default=RESULTS / "runs", help="folder of single runs")
    parser.add_argument("--output", type=Path, default=RESULTS / "ballistic-mnist.json")
    arguments = parser.parse_args()

    wanted = experiments(arguments.epochs, arguments.seeds)
    found: dict[str, records.Record] = {}
    results = sweep.run(wanted, arguments.runs / "ballistic-mnist", workers=arguments.workers)
    for one in tqdm(results, total=len(wanted), unit="run"):
        if one.record is None:
            raise SystemExit(f"ballistic_mnist: {one.experiment.command()}: {one.error}")
        found[one.experiment.key()] = one.record
    runs = []
    for one in wanted:
        curves = {key: value for key, value in found[one.key()].results[0].items() if key != "settings"}
        runs.append({"rule": one.optimizer, "lr": one.lr, "seed": one.seed, **curves})
    config = {**BASE, "epochs": arguments.epochs, "rules": RULES, "network": "mlp 784-512-256-10, ReLU"}
    record = records.new(
        command="python studies/ballistic_mnist.py", config=config, seeds=list(range(arguments.seeds)),
        data=found[wanted[0].key()].data, results=runs, duration=math.fsum(run["seconds"] for run in runs),
        device=records.processor(),
    )  # fmt: skip
    records.save(arguments.output, record)
    print(f"{len(runs)} runs, {record.duration:.0f} s of work -> {arguments.output}")


if __name__ == "__main__":
    main()
