"""What became of the experiments of a sweep, one by one and over the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lossnav._checks import instance, sequence
from lossnav.lab import records
from lossnav.lab.experiment import Experiment


@dataclass(frozen=True)
class Finished:
    """What became of one experiment of a sweep.

    Attributes:
        experiment: which one.
        record: its record, or None if it could not be run.
        error: why it could not be run, or "".
        before: whether an earlier sweep had run it.
    """

    experiment: Experiment
    record: records.Record | None
    error: str = ""
    before: bool = False


def complete(record: records.Record) -> bool:
    """Whether a record holds a run to its end: a test accuracy after each epoch, or the step at which it diverged."""
    results = record.results
    if not (isinstance(results, list) and len(results) == 1 and isinstance(results[0], dict)):
        return False
    curves = results[0]
    for name in ("train_loss", "test_loss", "test_accuracy"):
        if not isinstance(curves.get(name), list) or any(type(x) not in (int, float) for x in curves[name]):
            return False
    if "diverged" in curves:
        return type(curves["diverged"]) is int
    return len(curves["test_accuracy"]) == record.config.get("epochs")


def summarise(finished: Sequence[Finished]) -> list[dict[str, Any]]:
    """Return one entry for each combination: settings, number of seeds, mean and spread of the last test accuracy.

    ``accuracy`` and ``spread`` (sample standard deviation over seeds; None for a single one) count the runs that did
    not diverge; ``diverged`` counts the others.
    """
    for index, entry in enumerate(sequence("finished", finished, "results of a sweep")):
        instance(f"finished[{index}]", entry, Finished, "a sweep.Finished")
    groups: dict[str, list[Finished]] = {}
    for entry in finished:
        if entry.record is not None:
            config = {key: value for key, value in entry.record.config.items() if key != "seed"}
            groups.setdefault(repr(sorted(config.items())), []).append(entry)
    return [_group(entries) for entries in groups.values()]


def _group(entries: Sequence[Finished]) -> dict[str, Any]:
    results = [entry.record.results[0] for entry in entries if entry.record is not None]
    last = [result["test_accuracy"][-1] for result in results if "diverged" not in result]
    mean = sum(last) / len(last) if last else None
    spread = None
    if mean is not None and len(last) > 1:
        spread = math.sqrt(sum((x - mean) ** 2 for x in last) / (len(last) - 1))
    config = {key: value for key, value in entries[0].experiment.config().items() if key != "seed"}
    return {
        "config": config, "seeds": len(results), "diverged": len(results) - len(last), "accuracy": mean,
        "spread": spread,
    }  # fmt: skip
