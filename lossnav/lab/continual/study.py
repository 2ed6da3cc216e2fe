"""A fair comparison: every rule gets the same number of settings on the same tuning seeds, then fresh seeds judge."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from lossnav._checks import Array, array, counts, flag, function, instance, path, sequence, whole
from lossnav._writing import replacing
from lossnav.lab.continual.contenders import Contender, Setting
from lossnav.lab.continual.identity import differences
from lossnav.lab.continual.online import Score, accuracy, identify, run
from lossnav.lab.continual.tasks import Stream
from lossnav.lab.members import Ensemble, Loss


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
        for name in ("seeds", "tuning_seeds"):
            if not len(sequence(name, getattr(self, name), "whole numbers")):
                raise ValueError(f"{name} is empty, but there must be one at least")
            for index, seed in enumerate(getattr(self, name)):
                whole(f"{name}[{index}]", seed, low=0)
        if shared := set(self.seeds) & set(self.tuning_seeds):
            raise ValueError(f"seeds and tuning_seeds share {sorted(shared)}, but a rule must be judged on fresh seeds")
        for name in ("stream", "network", "loss", "score"):
            function(name, getattr(self, name))
        counts(settings=self.settings, block=self.block)
        flag("lower_is_better", self.lower_is_better)
        whole("search", self.search, low=0)
        for name, tasks in (("tuning_tasks", self.tuning_tasks), ("tasks", self.tasks)):
            whole(name, tasks, low=1)
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
            Each line says what it is of: network, rule, stream, loss, score and block.
        progress: show a bar for each run.

    Returns:
        name → ``label``; ``tuning``, a list of ``setting``, ``mean`` (over tasks and seeds), ``last`` (tenth of the
        tasks) and ``finite``; ``best``, the setting; of the evaluation, ``scores`` (seeds, tasks /
        block) and ``finite``.

    Raises:
        RuntimeError: every setting of a rule diverged.
        ValueError: the store has a run of this rule, setting, seeds and tasks whose network, stream … were others; or
            cannot be read. Says what differs; name another store for another study.
    """
    instance("plan", plan, Plan, "a Plan")
    if not instance("contenders", contenders, Mapping, "a mapping from names to contenders"):
        raise ValueError("contenders is empty, but there must be one at least")
    for name, contender in contenders.items():
        instance(f"contenders[{name!r}]", contender, Contender, "a Contender")
    path("store", store)
    flag("progress", progress)
    store, results = Path(store), {}
    plan = replace(plan, stream=lru_cache(maxsize=2)(plan.stream))  # to be made once for many runs, and described
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
    values = _scores(scores)
    return np.asarray(values[..., : max(1, round(values.shape[-1] / 10))].mean(-1))


def _scores(scores: Any) -> Array:
    found = array("scores", scores)
    if found.ndim == 0 or found.shape[-1] == 0:
        raise ValueError(f"scores has shape {found.shape}, but it must have shape (…, tasks) with one task at least")
    return found


def last_tenth(scores: Any) -> np.ndarray:
    """Return the mean over the last tenth of the last axis, at least one entry."""
    values = _scores(scores)
    return np.asarray(values[..., -max(1, round(values.shape[-1] / 10)) :].mean(-1))


def finished(store: Path) -> list[dict[str, Any]]:
    """Return the runs in a store; a last line that a killed process left unfinished is removed from it."""
    path("store", store)
    store = Path(store)
    if not store.is_file():
        return []
    text = store.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        with replacing(store) as stream:
            stream.write(whole.encode())
    return [_entry(store, number, line) for number, line in enumerate(whole.splitlines(), start=1)]


def _entry(store: Path, number: int, line: str) -> dict[str, Any]:
    """Return the run of a line, or raise an error that names the file, the line and the entry."""
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{store}, line {number}: it is no JSON ({error}); remove the line to run it again") from None
    wrong = ["line"]
    if isinstance(entry, dict):
        scores, flags = entry.get("scores"), entry.get("finite")
        rows = scores if isinstance(scores, list) and scores else [None]
        right = {
            "key": isinstance(entry.get("key"), dict) and "rule" in entry["key"],
            "identity": isinstance(entry.get("identity", {}), dict),
            "scores": all(isinstance(row, list) and all(type(x) in (int, float) for x in row) for row in rows),
            "finite": isinstance(flags, list) and [type(flag) for flag in flags] == [bool] * len(rows),
            "seconds": type(entry.get("seconds")) in (int, float),
        }
        wrong = [name for name, good in right.items() if not good]
        if not wrong:
            return entry
    raise ValueError(f"{store}, line {number}: its {wrong[0]} is not that of a run; remove the line to run it again")


def _check_same_run(store: Path, entry: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    if "identity" not in entry:
        raise ValueError(
            f"store = {str(store)!r} has this run of {entry['key']['rule']!r} by a version that did not keep what it "
            "was of: name another file to run it again"
        )
    if others := differences(entry["identity"], identity):
        raise ValueError(
            f"store = {str(store)!r} has this run of {entry['key']['rule']!r} from another study: "
            f"{'; '.join(others[:6])}. Name another file"
        )


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
    ensemble = plan.network(seeds)
    rule = contender.build(ensemble, setting, seeds[0])
    stream = plan.stream(tuple(seeds))
    identity = {"block": plan.block, **identify(ensemble, rule, stream, plan.loss, plan.score, None)}
    for entry in finished(store):
        if entry["key"] == key:
            _check_same_run(store, entry, identity)
            return entry
    if progress:
        print(f"{name} {dict(setting)} on {len(seeds)} seeds", flush=True)
    found = run(ensemble, rule, stream, tasks=tasks, loss=plan.loss, score=plan.score, progress=progress)
    blocks = found.scores.double().view(len(seeds), -1, plan.block).mean(-1)
    blocks = torch.nan_to_num(blocks, nan=1e9, posinf=1e9).clamp_(max=1e9)  # an error that overflowed; JSON has no inf
    entry = {
        "key": key, "identity": identity, "scores": [[round(x, 5) for x in row] for row in blocks.tolist()],
        "finite": found.finite.tolist(), "seconds": round(found.seconds, 1),
    }  # fmt: skip
    store.parent.mkdir(parents=True, exist_ok=True)
    with store.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(entry) + "\n")
        lines.flush()
        os.fsync(lines.fileno())
    return entry
