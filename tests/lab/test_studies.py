"""Studies: every script runs in the one way, and a study's record is that of its runs."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import pytest
from resources import RESULTS, STUDIES, recorded

from lossnav import data, records, sweep
from lossnav.lab import study
from lossnav.lab.experiment import OPTIMIZERS, Experiment

SMALL = {"data": "digits", "train_size": 100, "test_size": 50, "model_options": {"hidden": [4]}}


def digits(seeds, lr=0.1):
    return [Experiment(**SMALL, optimizer="sgd", lr=lr, seed=seed) for seed in range(seeds)]


@functools.cache
def studies() -> dict[str, tuple[str, study.Study]]:
    """The script and the declaration of each study, by its name."""
    scripts = [path.stem for path in sorted(STUDIES.glob("*.py"))]
    return {key: (name, one) for name in scripts for key, one in recorded(name).STUDIES.items()}


def told(wanted) -> dict[str, Any]:
    """What a run is told, by the names that results have for it; what was left to the machine is not said."""
    if isinstance(wanted, study.Measurement):
        return {"seed": wanted.seed, **wanted.settings}
    config = wanted.config()
    given = {**config, **config["options"], "rule": wanted.optimizer}
    return {name: value for name, value in given.items() if value != "auto"}


def is_of(row: dict[str, Any], wanted) -> bool:
    """Whether a row of a record says nothing else than what a run was told."""
    given = told(wanted)
    names = [name for name in row if name in given and row[name] is not None]  # None is what a row does not say
    if isinstance(wanted, Experiment) and row.get("rule") not in OPTIMIZERS:  # a name that the study gives
        names = [name for name in names if name != "rule"]
    return all(same(row[name], given[name]) for name in names)


def same(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, (int, float)) for value in (one, other))
    return math.isclose(one, other, rel_tol=1e-5) if numbers else one == other


def options_of(command: str) -> dict[str, Any]:
    words = command.split()
    places = [place for place, word in enumerate(words) if word.startswith("--")]
    return {
        words[n].removeprefix("--").replace("-", "_"): int(words[n + 1]) if words[n + 1 : n + 2] and n + 1 not in places
        else True for n in places
    }  # fmt: skip


def test_each_record_of_the_book_is_of_a_study():
    assert {path.stem for path in RESULTS.glob("*.json")} == {*studies()}


@pytest.mark.parametrize("key", sorted(path.stem for path in RESULTS.glob("*.json")))
def test_a_record_is_complete(key):
    """By what its script wants today, with the options of its command: each run is there, as often as it was wanted."""
    name, one = studies()[key]
    record = records.load(RESULTS / f"{key}.json")
    assert record.study == key and key.startswith(name.replace("_", "-"))
    assert record.command.split()[:2] == ["python", f"studies/{name}.py"]
    options = {**one.options, **options_of(record.command)}
    wanted, results = one.wanted(**options), record.results
    assert isinstance(one.config(**options), dict)
    if isinstance(wanted, sweep.Comparison):
        budget = len(next(iter(wanted.trials.values())))
        assert record.seeds == sorted(
            s for seeds in wanted.seeds for s in (seeds if isinstance(seeds, tuple) else [seeds])
        )
        if "tuned" in results:
            assert len(results["tuned"]) == len(wanted.trials) * budget * len(wanted.tuning_seeds)
            assert {run["rule"] for run in results["tuned"]} == {*wanted.trials} == {*results["chosen"]}
            assert len(results["tested"]) == len(wanted.trials) * len(wanted.seeds)
        else:
            assert {*results} == {*wanted.trials}
            assert all(len(found["tuning"]) == budget for found in results.values())
            assert all(len(found["scores"]) == len(found["finite"]) == len(record.seeds) for found in results.values())
        return
    rows = results["runs"] if isinstance(results, dict) else results
    assert {*rows[0]} & {*told(wanted[0])} or len(rows) % len(wanted) == 0
    for run in wanted:
        assert any(is_of(row, run) for row in rows), told(run)
    for row in rows:
        assert any(is_of(row, run) for run in wanted), row
    if isinstance(wanted[0], Experiment):
        assert len(rows) == len(wanted)
        curves = [row["test_accuracy"] for row in rows if "test_accuracy" in row and "diverged" not in row]
        assert all(len(curve) == wanted[0].epochs for curve in curves)


def test_a_study_is_a_sweep_and_a_record_of_it(tmp_path):
    def kept(found):
        return [(one.seeds[0], one.results[0]["test_accuracy"][-1]) for one in found]

    studies = {
        "mine-fast": study.Study(digits, kept, {"seeds": 2}),
        "mine-slow": study.Study(digits, kept, {"seeds": 3}),
    }
    script = tmp_path / "studies" / "mine.py"
    words = ["fast", "--seeds", "3", "--workers", "1", "--runs", str(tmp_path / "runs")]
    (tmp_path / "book" / "results").mkdir(parents=True)
    study.main(str(script), studies, words)
    record = records.load(tmp_path / "book" / "results" / "mine-fast.json")
    assert record.command == "python studies/mine.py fast --seeds 3" and record.study == "mine-fast"
    runs = [records.load(path) for path in (tmp_path / "runs" / "mine-fast").glob("*.json")]
    assert sorted(map(tuple, record.results)) == sorted(kept(runs)) and record.seeds == [0, 1, 2]
    assert record.config["optimizer"] == "sgd" and "seed" not in record.config and record.config["study"] == "mine-fast"
    with pytest.raises(SystemExit):
        study.main(str(script), studies, ["fast", "--epochs", "3"])
    (path,) = [path for path in (tmp_path / "runs" / "mine-fast").glob("*.json") if records.load(path).seeds == [0]]
    records.save(path, records.Record(**{**vars(records.load(path)), "device": "another"}))
    with pytest.raises(SystemExit, match="mine: the runs of mine-fast differ in their device"):
        study.main(str(script), studies, words)


def test_a_study_may_measure_by_a_function_of_its_own_and_goes_on_where_it_was_cut_off(tmp_path):
    made = []

    def sums(dataset, seed):
        made.append(seed)
        if made == [0, 1]:
            raise KeyboardInterrupt
        return float(dataset.train.y[:: seed + 1].sum())

    def wanted(seeds):
        return [study.Measurement("digits", seed, sums) for seed in range(seeds)]

    mine = study.Study(
        wanted, lambda found: [one.results for one in found], {"seeds": 2}, lambda **_: {"what": "labels"}
    )
    with pytest.raises(KeyboardInterrupt):
        mine.run("mine", "python studies/mine.py", tmp_path)
    record = mine.run("mine", "python studies/mine.py", tmp_path)
    y = data.load("digits").train.y
    assert made == [0, 1, 1] and record.results == [float(y.sum()), float(y[::2].sum())]
    assert record.seeds == [0, 1] and record.config == {"study": "mine", "what": "labels"} and record.study == "mine"
    mine.run("mine", "python studies/mine.py --seeds 3", tmp_path, {"seeds": 3})
    assert made == [0, 1, 1, 2]
    replace(mine, config=lambda **_: {"what": "names"}).run("mine", "python studies/mine.py", tmp_path)
    assert made == [0, 1, 1, 2, 0, 1]  # what the record says of them belongs to a run's identity


def test_a_run_that_cannot_be_made_ends_a_study(tmp_path):
    bad = study.Study(lambda: [Experiment(**SMALL, options={"beta": 2.0})], list)
    with pytest.raises(RuntimeError, match=r"lossnav train .*: ValueError: beta = 2\.0"):
        bad.run("bad", "python studies/bad.py", tmp_path, workers=1)
