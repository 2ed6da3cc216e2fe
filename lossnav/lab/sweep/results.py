"""What became of the experiments of a sweep, one by one and over the seeds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lossnav._checks import instances, shown
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


def recorded(record: records.Record) -> Experiment:
    """Return the experiment that a record is of, with the precision that was used, whatever was asked for.

    Raises:
        ValueError: a setting is not allowed, or the results are none of runs.
    """
    setup = Experiment.of(record.config)
    try:
        used = record.results[0].get("settings", {}).get("precision", setup.precision)
        for result in record.results:
            outcome(result)
    except (AttributeError, LookupError, TypeError):
        raise ValueError(f"results = {shown(record.results)}, but they must be those of runs, one or more") from None
    return replace(setup, precision=used) if setup.precision == "auto" and setup.model != "mlp" else setup


def outcome(result: Mapping[str, Any]) -> float | None:
    """Return the last test accuracy of a run, or the mean score of a stream of tasks; None if it diverged."""
    if "scores" in result:
        return statistics.fmean(result["scores"]) if result["finite"] else None
    return None if "diverged" in result else result["test_accuracy"][-1]


def summarise(finished: Sequence[Finished]) -> list[dict[str, Any]]:
    """Return what became of each combination of settings, over its seeds.

    Args:
        finished: from ``sweep.run``; those without a record are left out.

    Returns:
        One entry for each combination: ``config`` (its settings), ``seeds`` (how many), ``diverged`` (how many of
        them), and of the others ``accuracy``, the mean of the last test accuracy (of a stream of tasks: of the mean
        score), and ``spread``, the sample standard deviation; None where there are too few.
    """
    instances("finished", finished, Finished, "a sweep.Finished", "results of a sweep")
    groups: dict[str, list[Finished]] = {}
    for entry in finished:
        if entry.record is not None:
            config = {key: value for key, value in entry.record.config.items() if key != "seed"}
            groups.setdefault(repr(sorted(config.items())), []).append(entry)
    return [_group(entries) for entries in groups.values()]


def _group(entries: Sequence[Finished]) -> dict[str, Any]:
    results = [result for entry in entries if entry.record is not None for result in entry.record.results]
    last = [score for result in results if (score := outcome(result)) is not None]
    mean = statistics.fmean(last) if last else None
    spread = statistics.stdev(last) if len(last) > 1 else None
    config = {key: value for key, value in entries[0].experiment.config().items() if key != "seed"}
    return {
        "config": config, "seeds": len(results), "diverged": len(results) - len(last), "accuracy": mean,
        "spread": spread,
    }  # fmt: skip
