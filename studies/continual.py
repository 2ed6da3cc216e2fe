"""Studies of the continual-learning chapter: every rule tuned with one budget, then judged on fresh seeds.

    python studies/continual.py digits   permuted and relabelled digits                       (about 30 minutes)
    python studies/continual.py parts    the same without parts of Uncertain; needs the first (about 3 minutes)
    python studies/continual.py mnist    online permuted MNIST                                (about 20 minutes)
    python studies/continual.py bits     regression on bits that change slowly                (about 15 minutes)

on one core. Each rule tries the same number of settings (a Latin hypercube in its own ranges, see
``lossnav.continual.contenders``) on tuning seeds; the one with the best mean score is run on seeds and tasks that no
rule has met. MNIST is found or downloaded as by ``lossnav.data.load``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lossnav import records
from lossnav.lab.experiment import STREAMS, Experiment
from lossnav.lab.streams.contenders import CONTENDERS, Contender, last_tenth
from lossnav.lab.study import Study, main
from lossnav.lab.sweep import Comparison, Tuned

RESULTS = Path(__file__).resolve().parents[1] / "book" / "results"
FIRST_SEED, BLOCK = 100, 10  # of the evaluation; tasks that a score in the record is the mean of
BRIEF = {name: rule for name, rule in CONTENDERS.items() if name not in ("belief", "adamw")}
PARTS: dict[str, dict[str, Any]] = {  # what is changed about ``Uncertain`` to see what it is good for
    "all of it": {},
    "curvature off": {"curvature_scale": 0.0},
    "no limit on a step": {"clip": None},
    "no decay": {},
    "with resets": {"reset": (1e-4, 0.1, 1000.0)},
}


@dataclass(frozen=True)
class Task:
    """What the rules are compared on, with which budget, and how the record describes it."""

    base: Mapping[str, Any]
    rules: Mapping[str, Contender]
    tuning_seeds: tuple[int, ...]
    tuning_tasks: int
    seeds: int
    told: Mapping[str, Any]
    search: int = 0
    block: int = BLOCK
    lower_is_better: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower_is_better", STREAMS[self.base["stream"]] == "squared_error")

    def comparison(self, settings: int, tasks: int) -> Comparison:
        """Return the comparison with a budget."""
        for name, count in (("tasks", tasks), ("tuning_tasks", self.tuning_tasks)):
            if count % self.block:
                raise ValueError(f"{name} = {count}, but it must be a multiple of {self.block}")
        trials = {
            name: [
                Experiment(**self.base, **rule.chosen(setting), tasks=tasks, clip=None)
                for setting in rule.settings(settings, seed=self.search)
            ]
            for name, rule in self.rules.items()
        }
        seeds = tuple(range(FIRST_SEED, FIRST_SEED + self.seeds))
        return Comparison(
            trials, [self.tuning_seeds], [seeds], tuning={"tasks": self.tuning_tasks}, score=self.score,
            lower_is_better=self.lower_is_better,
        )  # fmt: skip

    def scores(self, record: records.Record) -> np.ndarray:
        """Return the mean scores of blocks of tasks, (S, tasks / block)."""
        table = np.array([entry["scores"] for entry in record.results])
        return np.minimum(table.reshape(len(table), -1, self.block).mean(-1), 1e9).round(5)

    def score(self, record: records.Record) -> float | None:
        """Return the mean score; None if a network diverged."""
        finite = all(entry["finite"] for entry in record.results)
        return round(float(self.scores(record).mean()), 5) if finite else None

    def results(self, found: dict[str, Tuned]) -> dict[str, Any]:
        """Return for each rule what was tried, the best of it, and its scores on the fresh seeds."""
        table = {}
        for name, one in found.items():
            settings, tuning = self.rules[name].settings(len(one.trials), seed=self.search), []
            for setting, (trial,) in zip(settings, one.trials, strict=True):
                scores = self.scores(trial)
                tuning.append({
                    "setting": setting, "mean": round(float(scores.mean()), 5),
                    "last": round(float(last_tenth(scores).mean()), 5),
                    "finite": all(entry["finite"] for entry in trial.results),
                })  # fmt: skip
            (judged,) = one.judged
            table[name] = {
                "label": self.rules[name].label, "tuning": tuning, "best": settings[one.best],
                "scores": self.scores(judged).tolist(), "finite": [entry["finite"] for entry in judged.results],
            }  # fmt: skip
        return table

    def config(self, settings: int, tasks: int) -> dict[str, Any]:
        """Return how the record describes the study."""
        return {
            "settings": settings, "tasks": tasks, "tuning_seeds": list(self.tuning_seeds),
            **{name: getattr(self, name) for name in ("tuning_tasks", "block", "lower_is_better", "search")},
            **self.told, "spaces": {name: dict(rule.space) for name, rule in self.rules.items()},
        }  # fmt: skip


def perceptron(*hidden: int) -> dict[str, Any]:
    """Return the settings of a network."""
    return {"model_options": {"hidden": list(hidden), "initial": "he"}}


DIGITS = Task(
    {"data": "digits", "stream": "permuted", "batch_size": 16, **perceptron(32, 32, 32)}, CONTENDERS,
    tuning_seeds=(0, 1, 2), tuning_tasks=150, seeds=10,
    told={"task": "new permutation of pixels and of labels, one pass over all images", "steps_per_task": 112,
          "model": "mlp 64-32-32-32-10, ReLU, He-uniform", "score": "online accuracy"},
)  # fmt: skip
MNIST = Task(
    {"data": "mnist", "stream": "permuted", "stream_options": {"examples": 5000, "relabel": False}, "batch_size": 16,
     **perceptron(100, 100, 100)}, BRIEF,
    tuning_seeds=(0,), tuning_tasks=40, seeds=5,
    told={"task": "new permutation of pixels, one pass over 5000 images drawn anew", "steps_per_task": 312,
          "model": "mlp 784-100-100-100-10, ReLU, He-uniform", "score": "online accuracy"},
)  # fmt: skip
BITS = Task(
    {"data": "bits", "stream": "bits", "loss": "squared_error", "stream_options": {"period": 1000}, "batch_size": 1,
     **perceptron(5)}, BRIEF,
    tuning_seeds=tuple(range(10)), tuning_tasks=20, seeds=20,
    told={"task": "15 of 20 bits drawn anew, then 1000 examples", "steps_per_task": 1000,
          "model": "mlp 20-5-1, ReLU, He-uniform", "score": "squared error"},
)  # fmt: skip


def parts() -> Task:
    """Return the task that takes parts of ``Uncertain`` away, at its best setting of the study on digits."""
    best = records.load(RESULTS / "continual-digits.json").results["uncertain"]["best"]
    space = {name: (value, value) for name, value in best.items()}  # there is nothing to tune
    rules = {
        name: Contender("Uncertain", "undecayed" if name == "no decay" else "uncertain", space, change)
        for name, change in PARTS.items()
    }
    told = {**DIGITS.told, "parts": {name: repr(change) for name, change in PARTS.items()}}
    return Task(DIGITS.base, rules, tuning_seeds=(0,), tuning_tasks=10, seeds=DIGITS.seeds, told=told)


def study(task: Callable[[], Task], settings: int, tasks: int) -> Study:
    """Return the study of a task with a budget."""
    return Study(
        lambda **budget: task().comparison(**budget), lambda found: task().results(found),
        {"settings": settings, "tasks": tasks}, lambda **budget: task().config(**budget),
    )  # fmt: skip


STUDIES = {
    "continual-digits": study(lambda: DIGITS, settings=20, tasks=300),
    "continual-parts": study(parts, settings=1, tasks=300),
    "continual-mnist": study(lambda: MNIST, settings=6, tasks=100),
    "continual-bits": study(lambda: BITS, settings=12, tasks=200),
}

if __name__ == "__main__":
    main(__file__, STUDIES)
