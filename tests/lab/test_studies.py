"""Studies: every script runs in the one way, and a study's record is that of its runs."""

from __future__ import annotations

import pytest
from resources import RESULTS, STUDIES, recorded

from lossnav import records, sweep
from lossnav.lab import study
from lossnav.lab.experiment import Experiment

OTHERWISE = {"moving_network", "moving_residual"}  # they measure where networks walk; their runs are no experiments
SCRIPTS = sorted(path.stem for path in STUDIES.glob("*.py") if path.stem not in OTHERWISE)
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


def test_a_run_that_cannot_be_made_ends_a_study(tmp_path):
    bad = study.Study(lambda: [Experiment(**SMALL, options={"beta": 2.0})], list)
    with pytest.raises(RuntimeError, match=r"lossnav train .*: ValueError: beta = 2\.0"):
        bad.run("bad", "python studies/bad.py", tmp_path, workers=1)
