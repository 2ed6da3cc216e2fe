"""Does bfloat16 change what a convolutional network learns? The paper's CNN on CIFAR-10 in both precisions, per seed.

    python studies/precision.py [--train 3000] [--epochs 3] [--seeds 3] [--output book/results/precision.json]

The same seeds are run in float32 and in bfloat16, both in channels_last. The record has the curves, the seconds of each
run on one core, and a summary: mean and spread over seeds of the last test accuracy, the mean difference of the pairs
with its standard error, and the ratio of the median times. CIFAR-10 is found or downloaded as by ``data.load``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from lossnav import data, experiment, records, sweep

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
PRECISIONS = ("float32", "bfloat16")


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


def main() -> None:
    """Run both precisions for every seed and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=3000)
    parser.add_argument("--test", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS / "precision.json")
    arguments = parser.parse_args()

    start = time.perf_counter()
    torch.set_num_threads(1)
    dataset = data.load("cifar10")
    base = {
        "data": "cifar10", "model": "cnn", "optimizer": "ballistic", "lr": 5e-4, "options": {"beta": 0.9},
        "epochs": arguments.epochs, "batch_size": 128, "train_size": arguments.train, "test_size": arguments.test,
        "memory_format": "channels_last", "device": "cpu",
    }  # fmt: skip
    seeds = list(range(arguments.seeds))
    runs = []
    # the precisions take turns, so that a machine that is busy for a while slows both
    wanted = sorted(sweep.grid({"precision": PRECISIONS}, seeds, base), key=lambda e: e.seed)
    for one in wanted:
        record = experiment.run(one, dataset=dataset)
        runs.append({"precision": one.precision, "seed": one.seed, **record.results[0]})
        print(
            f"{one.precision:9} seed {one.seed}: {runs[-1]['test_accuracy']}  {runs[-1]['seconds']:.0f} s", flush=True
        )
    config = {**base, "precision": list(PRECISIONS), "threads": 1}
    record = records.new(
        command="python studies/precision.py", config=config, seeds=seeds, data=dataset.provenance.record(),
        results={"runs": runs, "summary": summarise(runs)}, duration=time.perf_counter() - start,
        device=records.processor(),
    )  # fmt: skip
    records.save(arguments.output, record)
    print(record, summarise(runs), sep="\n")


if __name__ == "__main__":
    main()
