"""Studies: every script runs in the one way, and a study's record is that of its runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from resources import RESULTS, STUDIES, recorded

from lossnav import data, records, sweep
from lossnav.lab import study
from lossnav.lab.experiment import Experiment

SCRIPTS = sorted(path.stem for path in STUDIES.glob("*.py"))
SMALL = {"data": "digits", "train_size": 100, "test_size": 50, "model_options": {"hidden": [4]}}


def digits(seeds, lr=0.1):
    return [Experiment(**SMALL, optimizer="sgd", lr=lr, seed=seed) for seed in range(seeds)]


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_studies_of_a_script_have_records_that_name_them_and_say_how_they_are_run(name):
    script = recorded(name)
    stem = name.replace("_", "-")
    for key, one in script.STUDIES.items():
        record = records.load(RESULTS / f"{key}.json")
        assert record.study == key and key.startswith(stem)
        assert record.command.split()[:2] == ["python", f"studies/{name}.py"]
        wanted = one.wanted(**one.options)
        made = wanted.tried() if isinstance(wanted, sweep.Comparison) else wanted
        assert made and isinstance(one.config(**one.options), dict)


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
