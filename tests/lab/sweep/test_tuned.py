"""Tuned comparisons: the same budget for every rule, the best setting on fresh seeds, and nothing done twice."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lossnav import continual, data, experiment, records, sweep
from lossnav.lab.experiment import Experiment
from lossnav.lab.paired import interval, percent
from lossnav.lab.streams import contenders, networks
from lossnav.lab.streams.contenders import CONTENDERS, Contender
from lossnav.lab.sweep import Comparison, compare

BASE = {
    "data": "digits", "stream": "permuted", "stream_options": {"examples": 160}, "batch_size": 16, "clip": None,
    "model_options": {"hidden": [16], "initial": "he"},
}  # fmt: skip


def plan(names=("sgd", "l2"), settings=4, rules=CONTENDERS, **changes):
    trials = {
        name: [Experiment(**BASE, **rules[name].chosen(s), tasks=6) for s in rules[name].settings(settings, seed=0)]
        for name in names
    }
    return Comparison(trials, **{"tuning_seeds": [(0, 1)], "seeds": [(7, 8, 9)], "tuning": {"tasks": 4}, **changes})


@pytest.mark.parametrize("name", CONTENDERS)
def test_an_experiment_is_the_loop_called_directly_bit_for_bit(name):
    """The chapter calls the loop, the studies name the same thing by settings."""
    contender = CONTENDERS[name]
    middle = {key: float(np.sqrt(low * high)) for key, (low, high) in contender.space.items()}
    wanted = Experiment(**BASE, **contender.chosen(middle), tasks=2, seed=(3, 4))
    ensemble = networks.perceptrons(64, (16,), 10, seeds=(3, 4))
    stream = continual.Permuted(data.load("digits"), (3, 4), examples=160)
    now = continual.run(ensemble, contender.build(ensemble, middle, 3), stream, tasks=2, progress=False)
    results = experiment.run(wanted).results
    assert [entry["scores"] for entry in results] == now.scores.tolist()
    assert [entry["seed"] for entry in results] == [3, 4]


@pytest.mark.parametrize("name", CONTENDERS)
def test_settings_cover_every_range_evenly(name):
    contender = CONTENDERS[name]
    settings = contender.settings(10, seed=0)
    assert settings == contender.settings(10, seed=0) != contender.settings(10, seed=1)
    for key, (low, high) in contender.space.items():
        tenths = sorted(int(10 * np.log(s[key] / low) / np.log(high / low)) for s in settings)
        assert tenths == list(range(10))


def test_the_best_setting_of_an_equal_budget_is_judged_on_fresh_seeds(tmp_path):
    asked = plan()
    for name, tuned in compare(asked, tmp_path, workers=1).items():
        means = [np.mean([entry["scores"] for entry in trial.results]) for (trial,) in tuned.trials]
        assert tuned.scores == pytest.approx(means) and tuned.best == int(np.argmax(means))
        assert [trial.seeds for (trial,) in tuned.trials] == [[0, 1]] * 4
        (judged,) = tuned.judged
        assert judged.seeds == [7, 8, 9] and [len(entry["scores"]) for entry in judged.results] == [6] * 3
        again = experiment.run(replace(asked.trials[name][tuned.best], seed=(7, 8, 9)))
        assert [entry["scores"] for entry in again.results] == [entry["scores"] for entry in judged.results]


def test_epochs_are_tuned_in_the_same_way_and_never_on_the_test_images(tmp_path):
    """Rates of two rules, on the last 200 training images."""
    base = {"data": "digits", "model_options": {"hidden": [8]}, "train_size": 300, "test_size": 100}
    trials = {rule: [Experiment(**base, optimizer=rule, lr=lr) for lr in (1e-3, 1e-1)] for rule in ("sgd", "ballistic")}
    asked = Comparison(trials, tuning_seeds=[0, 1], seeds=[5], tuning={"validation": 200})
    by_rule = compare(asked, tmp_path, workers=1)
    digits = data.load("digits")
    assert digits.train.x.shape[0] - 200 > 300
    for rule, tuned in by_rule.items():
        assert [[trial.config["validation"] for trial in seeds] for seeds in tuned.trials] == [[200] * 2] * 2
        assert tuned.judged[0].config["validation"] is None and tuned.judged[0].seeds == [5]
        last = [np.mean([trial.results[0]["test_accuracy"][-1] for trial in seeds]) for seeds in tuned.trials]
        assert tuned.best == int(np.argmax(last)) and by_rule[rule].scores == pytest.approx(last)


def test_an_interrupted_comparison_goes_on_and_repeats_nothing(tmp_path, monkeypatch):
    full = compare(plan(), tmp_path / "whole", workers=1)
    calls, limit, real = [], 7, experiment.run

    def counted(*arguments, **options):
        calls.append(1)
        if len(calls) > limit:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(experiment, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        compare(plan(), tmp_path / "runs", workers=1)
    assert len(list((tmp_path / "runs").glob("*.json"))) == 7
    limit = 100
    again = compare(plan(), tmp_path / "runs", workers=1)
    assert {name: tuned.scores for name, tuned in again.items()} == {name: tuned.scores for name, tuned in full.items()}
    assert len(calls) == 7 + 1 + 3  # of ten runs, seven were there; the eighth was begun twice


def test_a_setting_that_diverges_is_not_the_best(tmp_path):
    wild = {"wild": Contender("wild", "sgd", {"lr": (1e-2, 1e12)})}
    tuned = compare(plan(["wild"], rules=wild), tmp_path, workers=1)["wild"]
    assert None in tuned.scores
    unknown = replace(
        plan(["sgd"]), score=lambda record: math.nan if record.config["lr"] < 0.03 else record.results[0]["scores"][0]
    )
    (rule,) = compare(unknown, tmp_path, workers=1).values()
    assert None in rule.scores and rule.scores[rule.best] is not None
    assert tuned.judged[0].config["lr"] < 100 and all(entry["finite"] for entry in tuned.judged[0].results)
    hopeless = {"hopeless": Contender("hopeless", "sgd", {"lr": (1e20, 1e22)})}
    with pytest.raises(RuntimeError, match="all 4 settings of 'hopeless' diverged"):
        compare(plan(["hopeless"], rules=hopeless), tmp_path, workers=1)
    for path in tmp_path.glob("*.json"):
        assert records.load(path).results  # also of runs whose scores are no numbers


def test_comparisons_that_are_not_fair_are_refused():
    with pytest.raises(ValueError, match=r"share \[0\]"):
        plan(seeds=[(0, 5)])
    with pytest.raises(ValueError, match=r"share \[1\]"):
        plan(tuning_seeds=[0, 1], seeds=[1])
    trials = plan().trials
    with pytest.raises(ValueError, match=r"trials has \{'sgd': 4, 'l2': 3\} different settings"):
        Comparison({**trials, "l2": trials["l2"][1:]}, [0], [1])
    with pytest.raises(ValueError, match=r"trials has .* different settings"):  # four, of which two are the same
        Comparison({**trials, "l2": [*trials["l2"][1:], trials["l2"][1]]}, [0], [1])
    with pytest.raises(ValueError, match="tasks = 0"):
        plan(tuning={"tasks": 0})


def test_an_error_of_a_run_is_told(tmp_path):
    bad = {"bad": Contender("bad", "uncertain", {"lr": (1e-3, 1e-2)}, {"clip": -1.0})}
    with pytest.raises(RuntimeError, match=r"lossnav train .*: ValueError: clip = -1\.0"):
        compare(plan(["bad"], rules=bad), tmp_path, workers=1)
    assert sweep.every([], tmp_path) == {}


def test_interval_holds_the_truth_as_often_as_it_says():
    draws = np.random.default_rng(0).normal(0.3, 2.0, size=(4000, 8))
    hits = [low < 0.3 < high for _, low, high in map(interval, draws)]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.012)  # 3.5 standard errors of 4000 throws
    with pytest.raises(ValueError, match=r"differences has shape \(1,\)"):
        interval([0.1])
    assert percent([2.0, 3.0], [1.0, 2.0])[0] == pytest.approx(75.0)
    with pytest.raises(ValueError, match=r"theirs has shape \(3,\)"):
        percent([1.0, 2.0], [1.0, 2.0, 3.0])


def test_tenths():
    scores = np.arange(60.0).reshape(2, 30)
    assert contenders.first_tenth(scores).tolist() == [1.0, 31.0]
    assert contenders.last_tenth(scores).tolist() == [28.0, 58.0]
