"""Does bfloat16 change what a convolutional network learns? The paper's CNN on CIFAR-10 in both precisions, per seed.

    python studies/precision.py [--train 3000] [--test 1000] [--epochs 3] [--seeds 3]

The same seeds are run in float32 and in bfloat16, both in channels_last. The record has the curves, the seconds of each
run on one core, and a summary: mean and spread over seeds of the last test accuracy, the mean difference of the pairs
with its standard error, and the ratio of the median times. CIFAR-10 is found or downloaded as by ``data.load``.
"""

from __future__ import annotations

import statistics
from typing import Any

from lossnav import records, sweep
from lossnav.lab.experiment import Experiment
from lossnav.lab.study import Study, main

PRECISIONS = ("float32", "bfloat16")


def wanted(train: int, test: int, epochs: int, seeds: int) -> list[Experiment]:
    """Return the runs; the precisions take turns, so that a machine that is busy for a while slows both."""
    base = {
        "data": "cifar10", "model": "cnn", "optimizer": "ballistic", "lr": 5e-4, "options": {"beta": 0.9},
        "epochs": epochs, "batch_size": 128, "train_size": train, "test_size": test, "memory_format": "channels_last",
        "device": "cpu",
    }  # fmt: skip
    return sorted(sweep.grid({"precision": PRECISIONS}, range(seeds), base), key=lambda e: e.seed)


def results(found: list[records.Record]) -> dict[str, Any]:
    """Return the runs and their summary."""
    runs = [{"precision": one.config["precision"], "seed": one.seeds[0], **one.results[0]} for one in found]
    return {"runs": runs, "summary": summarise(runs)}


def summarise(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean and spread of the last accuracy in each precision, and what separates the pairs of one seed."""
    last = {p: [run["test_accuracy"][-1] for run in runs if run["precision"] == p] for p in PRECISIONS}
    seconds = {p: statistics.median(run["seconds"] for run in runs if run["precision"] == p) for p in PRECISIONS}
    differences = [b - a for a, b in zip(*(last[p] for p in PRECISIONS), strict=True)]
    return {
        "accuracy": {p: round(statistics.mean(last[p]), 4) for p in PRECISIONS},
        "spread": {p: round(statistics.stdev(last[p]), 4) for p in PRECISIONS},
        "difference": round(statistics.mean(differences), 4),
        "difference_error": round(statistics.stdev(differences) / len(differences) ** 0.5, 4),
        "speedup": round(seconds["float32"] / seconds["bfloat16"], 2),
    }


def config(**_: int) -> dict[str, Any]:
    """Return what the runs differ in, and that each had one core."""
    return {"precision": list(PRECISIONS), "threads": 1}


OPTIONS = {"train": 3000, "test": 1000, "epochs": 3, "seeds": 3}
STUDIES = {"precision": Study(wanted, results, OPTIONS, config, workers=1)}

if __name__ == "__main__":
    main(__file__, STUDIES)
