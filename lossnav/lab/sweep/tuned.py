"""A fair comparison is a sweep plus a selection: equally many settings for every rule, then fresh seeds judge."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from lossnav._checks import flag, function, instance, instances, one_of, sequence
from lossnav.lab import records
from lossnav.lab.experiment import Experiment
from lossnav.lab.sweep.drive import run
from lossnav.lab.sweep.results import outcome

Seeds = Sequence[int | tuple[int, ...]]


def mean_outcome(record: records.Record) -> float | None:
    """Return the last test accuracy of a record, or the mean score of its stream of tasks, averaged over its seeds.

    Args:
        record: of a run.

    Returns:
        A fraction in [0, 1]; None if a seed diverged.
    """
    return _mean(map(outcome, instance("record", record, records.Record, "a records.Record").results))


@dataclass(frozen=True)
class Comparison:
    """What a tuned comparison does.

    Attributes:
        trials: rule → the experiments that it may try, as many as any other rule. Their seeds are of no matter.
        tuning_seeds, tuning: seeds on which each of them is tried, and what is changed about it there (fewer tasks, a
            part of the training images to test on …). A tuple of seeds is one run of several networks.
        seeds, judging: fresh seeds on which the best of each rule is judged, and what is changed about it there.
        score: of a record; None or NaN if it diverged, and then the setting is out.
        lower_is_better: whether the score is an error.

    Raises:
        ValueError: budgets differ, or a rule would be judged on a seed that chose it.
    """

    trials: Mapping[str, Sequence[Experiment]]
    tuning_seeds: Seeds
    seeds: Seeds
    tuning: Mapping[str, Any] = field(default_factory=dict)
    judging: Mapping[str, Any] = field(default_factory=dict)
    score: Callable[[records.Record], float | None] = mean_outcome
    lower_is_better: bool = False

    def __post_init__(self) -> None:
        if not instance("trials", self.trials, Mapping, "a mapping from rules to experiments"):
            raise ValueError("trials is empty, but there must be one rule at least")
        for name, tried in self.trials.items():
            instances(f"trials[{name!r}]", tried, Experiment, "an Experiment", "experiments")
        budgets = {name: len({replace(trial, seed=0).key() for trial in tried}) for name, tried in self.trials.items()}
        if len(set(budgets.values())) > 1 or 0 in budgets.values():
            raise ValueError(
                f"trials has {budgets} different settings, but each rule must have as many, and one at least"
            )
        for name in ("tuning", "judging"):
            for setting in instance(name, getattr(self, name), Mapping, "a mapping from settings to values"):
                one_of(f"a setting in {name}", setting, tuple(entry.name for entry in fields(Experiment)))
        function("score", self.score)
        flag("lower_is_better", self.lower_is_better)
        tuning_seeds, fresh_seeds = (self._all_seeds(name) for name in ("tuning_seeds", "seeds"))
        if shared := tuning_seeds & fresh_seeds:
            raise ValueError(f"seeds and tuning_seeds share {sorted(shared)}, but a rule must be judged on fresh seeds")
        self.tried(), self.judged({name: tried[0] for name, tried in self.trials.items()})  # settings are checked now

    def _all_seeds(self, name: str) -> set[int]:
        seeds = sequence(name, getattr(self, name), "whole numbers")
        if not len(seeds):
            raise ValueError(f"{name} is empty, but there must be one at least")
        (first, *_), *_ = self.trials.values()
        return {seed for index, entry in enumerate(seeds) for seed in _seeded(first, f"{name}[{index}]", entry).seeds}

    def tried(self) -> dict[str, list[list[Experiment]]]:
        """Return the experiments of the tuning: rule → for each setting those of all seeds."""
        return {
            name: [[replace(trial, seed=seed, **self.tuning) for seed in self.tuning_seeds] for trial in tried]
            for name, tried in self.trials.items()
        }

    def judged(self, best: Mapping[str, Experiment]) -> dict[str, list[Experiment]]:
        """Return the experiments that judge the best setting of each rule."""
        for name, base in instance("best", best, Mapping, "a mapping from rules to experiments").items():
            instance(f"best[{name!r}]", base, Experiment, "an Experiment")
        return {name: [replace(base, seed=seed, **self.judging) for seed in self.seeds] for name, base in best.items()}


def _seeded(experiment: Experiment, name: str, seed: Any) -> Experiment:
    try:
        return replace(experiment, seed=seed)
    except ValueError as error:
        raise ValueError(str(error).replace("seed = ", f"{name} = ", 1)) from None


@dataclass(frozen=True)
class Tuned:
    """What became of one rule in a comparison.

    Attributes:
        trials: of each setting, in its order, the records on the tuning seeds.
        scores: of each setting the mean score, None if it diverged on a seed.
        best: place of the setting with the best score.
        judged: the records of that setting on the fresh seeds.
    """

    trials: list[list[records.Record]]
    scores: list[float | None]
    best: int
    judged: list[records.Record]


def compare(comparison: Comparison, folder: str | os.PathLike[str], **how: Any) -> dict[str, Tuned]:
    """Tune every rule with the same budget, then judge its best setting on fresh seeds.

    Args:
        comparison: what to do.
        folder: of the records; runs that are in it are not repeated, so an interrupted comparison goes on.
        how: further arguments of ``sweep.run``.

    Returns:
        rule → what became of it.

    Raises:
        RuntimeError: a run could not be made, or every setting of a rule diverged.
    """
    instance("comparison", comparison, Comparison, "a sweep.Comparison")
    tried = comparison.tried()
    tuning_runs = every([job for settings in tried.values() for seeds in settings for job in seeds], folder, **how)
    trials = {
        name: [[tuning_runs[job.key()] for job in seeds] for seeds in settings] for name, settings in tried.items()
    }  # fmt: skip
    scores = {name: [_mean(map(comparison.score, seeds)) for seeds in settings] for name, settings in trials.items()}
    best = {name: _best(name, table, comparison.lower_is_better) for name, table in scores.items()}
    judged = comparison.judged({name: comparison.trials[name][place] for name, place in best.items()})
    judging_runs = every([job for seeds in judged.values() for job in seeds], folder, **how)
    return {
        name: Tuned(trials[name], scores[name], best[name], [judging_runs[job.key()] for job in judged[name]])
        for name in trials
    }  # fmt: skip


def every(wanted: Sequence[Experiment], folder: str | os.PathLike[str], **how: Any) -> dict[str, records.Record]:
    """Run experiments as ``sweep.run`` does, and return the records of all.

    Args:
        wanted: the experiments.
        folder: where their records are kept; what is there already is not run again.
        how: options of ``sweep.run``, such as ``workers``.

    Returns:
        The records by the experiments' ``key()``.

    Raises:
        RuntimeError: one could not be run; says which, and why.
    """
    records_by_key = {}
    for finished in run(wanted, folder, **how):
        if finished.record is None:
            raise RuntimeError(f"{finished.experiment.command()}: {finished.error}")
        records_by_key[finished.experiment.key()] = finished.record
    return records_by_key


def _mean(scores: Iterable[float | None]) -> float | None:
    values = list(scores)
    sound = [x for x in values if x is not None and not math.isnan(x)]
    return statistics.fmean(sound) if len(sound) == len(values) else None


def _best(name: str, scores: Sequence[float | None], lower_is_better: bool) -> int:
    usable = [(score, -place) for place, score in enumerate(scores) if score is not None]
    if not usable:
        raise RuntimeError(f"all {len(scores)} settings of {name!r} diverged: its ranges must reach smaller rates")
    sign = -1.0 if lower_is_better else 1.0
    return -max((sign * score, place) for score, place in usable)[1]
