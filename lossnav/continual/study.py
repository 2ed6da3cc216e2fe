"""A fair comparison: every rule gets the same number of settings on the same tuning seeds, then fresh seeds judge."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from .._checks import finite
from ..ensemble import Ensemble, Loss
from .contenders import Contender, Setting
from .online import Score, accuracy, run
from .tasks import Stream


@dataclass(frozen=True)
class Plan:
    """What a study does.

    Attributes:
        stream: from seeds to a stream of tasks.
        network: from seeds to an ensemble.
        settings: number of settings that each rule may try.
        tuning_seeds, tuning_tasks: what they are tried on.
        seeds, tasks: what the best setting of each rule is judged on; the seeds must be fresh.
        block: tasks that a score in the results is the mean of; divides both numbers of tasks.
        lower_is_better: whether the score is an error.
        search: seed of the settings.
        loss, score: as in ``run``.
    """

    stream: Callable[[Sequence[int]], Stream]
    network: Callable[[Sequence[int]], Ensemble]
    settings: int
    tuning_seeds: tuple[int, ...]
    tuning_tasks: int
    seeds: tuple[int, ...]
    tasks: int
    block: int = 10
    lower_is_better: bool = False
    search: int = 0
    loss: Loss = cross_entropy
    score: Score = accuracy

    def __post_init__(self) -> None:
        if shared := set(self.seeds) & set(self.tuning_seeds):
            raise ValueError(f"seeds and tuning_seeds share {sorted(shared)}, but a rule must be judged on fresh seeds")
        for name, tasks in (("tuning_tasks", self.tuning_tasks), ("tasks", self.tasks)):
            finite(name, tasks, low=1)
            if tasks % self.block:
                raise ValueError(f"{name} = {tasks}, but it must be a multiple of block = {self.block}")


def compare(
    plan: Plan, contenders: Mapping[str, Contender], store: Path, *, progress: bool = True
) -> dict[str, dict[str, Any]]:
    """Tune every contender with the same budget, then judge its best setting on fresh seeds.

    The best setting is the one with the best mean score over all tuning tasks and seeds. A setting that diverges in any
    seed does not count as one.

    Args:
        plan: what to do.
        contenders: name → rule.
        store: file of finished runs, one a line. Runs that are in it are not repeated, so an interrupted study goes on.
        progress: show a bar for each run.

    Returns:
        name → ``label``; ``tuning``, a list of ``setting``, ``mean`` (over tasks and seeds), ``last`` (tenth of the
        tasks) and ``finite``; ``best``, the setting; of the evaluation, ``scores`` (seeds, tasks /
        block) and ``finite``.

    Raises:
        RuntimeError: every setting of a rule diverged.
    """
    results = {}
    for name, contender in contenders.items():
        tuning = []
        for setting in contender.settings(plan.settings, seed=plan.search):
            done = _once(plan, name, contender, setting, plan.tuning_seeds, plan.tuning_tasks, store, progress)
            scores = np.array(done["scores"])
            tuning.append({
                "setting": setting, "mean": round(float(scores.mean()), 5),
                "last": round(float(last_tenth(scores).mean()), 5), "finite": all(done["finite"]),
            })  # fmt: skip
        best = _best(name, tuning, plan.lower_is_better)
        judged = _once(plan, name, contender, best, plan.seeds, plan.tasks, store, progress)
        results[name] = {
            "label": contender.label, "tuning": tuning, "best": best, "scores": judged["scores"],
            "finite": judged["finite"],
        }  # fmt: skip
    return results


def first_tenth(scores: Any) -> np.ndarray:
    """Return the mean over the first tenth of the last axis, at least one entry."""
    values = np.asarray(scores)
    return np.asarray(values[..., : max(1, round(values.shape[-1] / 10))].mean(-1))


def last_tenth(scores: Any) -> np.ndarray:
    """Return the mean over the last tenth of the last axis, at least one entry."""
    values = np.asarray(scores)
    return np.asarray(values[..., -max(1, round(values.shape[-1] / 10)) :].mean(-1))


def finished(store: Path) -> list[dict[str, Any]]:
    """Return the runs in a store; a last line that a killed process left unfinished is removed from it."""
    if not store.is_file():
        return []
    text = store.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        part = store.with_name(store.name + ".part")
        part.write_text(whole, encoding="utf-8")
        part.replace(store)
    return [json.loads(line) for line in whole.splitlines()]


def _best(name: str, tuning: Sequence[Mapping[str, Any]], lower_is_better: bool) -> dict[str, float]:
    usable = [trial for trial in tuning if trial["finite"]]
    if not usable:
        raise RuntimeError(f"all {len(tuning)} settings of {name!r} diverged: its ranges must reach smaller rates")
    sign = -1.0 if lower_is_better else 1.0
    return dict(max(usable, key=lambda trial: sign * trial["mean"])["setting"])


def _once(
    plan: Plan, name: str, contender: Contender, setting: Setting, seeds: Sequence[int], tasks: int, store: Path,
    progress: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return the run's result from the store, or run it and append it."""
    key = {"rule": name, "setting": dict(setting), "seeds": list(seeds), "tasks": tasks}
    for entry in finished(store):
        if entry["key"] == key:
            return entry
    ensemble = plan.network(seeds)
    rule = contender.build(ensemble, setting, seeds[0])
    if progress:
        print(f"{name} {dict(setting)} on {len(seeds)} seeds", flush=True)
    found = run(ensemble, rule, plan.stream(seeds), tasks=tasks, loss=plan.loss, score=plan.score, progress=progress)
    blocks = found.scores.double().view(len(seeds), -1, plan.block).mean(-1)
    blocks = torch.nan_to_num(blocks, nan=1e9, posinf=1e9).clamp_(max=1e9)  # an error that overflowed; JSON has no inf
    entry = {
        "key": key, "scores": [[round(x, 5) for x in row] for row in blocks.tolist()],
        "finite": found.finite.tolist(), "seconds": round(found.seconds, 1),
    }  # fmt: skip
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    return entry
