"""Studies: the same budget for every rule, the best setting on fresh seeds, and nothing done twice."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from lossnav import data
from lossnav.lab.continual import Permuted, networks, study
from lossnav.lab.continual.contenders import CONTENDERS, Contender, interval


@pytest.fixture(scope="module")
def plan():
    digits = data.load("digits")
    return study.Plan(
        stream=lambda seeds: Permuted(digits, seeds, examples=160),
        network=lambda seeds: networks.perceptrons(64, (16,), 10, seeds=seeds),
        settings=4, tuning_seeds=(0, 1), tuning_tasks=4, seeds=(7, 8, 9), tasks=6, block=2,
    )  # fmt: skip


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_learns_with_a_setting_from_the_middle_of_its_space(plan, name):
    contender = CONTENDERS[name]
    middle = {key: float(np.sqrt(low * high)) for key, (low, high) in contender.space.items()}
    ensemble = plan.network((0, 1))
    rule = contender.build(ensemble, middle, 0)
    before = [p.detach().clone() for p in ensemble.parameters()]
    found = study.run(ensemble, rule, plan.stream((0, 1)), tasks=1, progress=False)
    assert found.finite.all()
    assert all(not torch.equal(a, b) for a, b in zip(before, ensemble.parameters(), strict=True))


@pytest.mark.parametrize("name", CONTENDERS)
def test_settings_cover_every_range_evenly(name):
    contender = CONTENDERS[name]
    settings = contender.settings(10, seed=0)
    assert settings == contender.settings(10, seed=0) != contender.settings(10, seed=1)
    for key, (low, high) in contender.space.items():
        tenths = sorted(int(10 * np.log(s[key] / low) / np.log(high / low)) for s in settings)
        assert tenths == list(range(10))


def test_the_best_setting_of_an_equal_budget_is_judged_on_fresh_seeds(plan, tmp_path):
    rules = {name: CONTENDERS[name] for name in ("sgd", "l2")}
    results = study.compare(plan, rules, tmp_path / "runs.jsonl", progress=False)
    for name, found in results.items():
        assert [trial["setting"] for trial in found["tuning"]] == rules[name].settings(4, seed=0)
        assert found["best"] == max(found["tuning"], key=lambda trial: trial["mean"])["setting"]
        assert np.array(found["scores"]).shape == (3, 3) and found["finite"] == [True] * 3
        ensemble = plan.network(plan.seeds)
        again = study.run(
            ensemble, rules[name].build(ensemble, found["best"], 7), plan.stream(plan.seeds), tasks=6, progress=False
        )
        np.testing.assert_allclose(found["scores"], again.scores.view(3, 3, 2).mean(-1), atol=1e-5)


def test_an_interrupted_study_goes_on_and_repeats_nothing(plan, tmp_path, monkeypatch):
    rules = {name: CONTENDERS[name] for name in ("sgd", "l2")}
    whole = study.compare(plan, rules, tmp_path / "whole.jsonl", progress=False)
    store, calls, limit = tmp_path / "runs.jsonl", [], 7
    real = study.run

    def counted(*arguments, **options):
        calls.append(1)
        if len(calls) > limit:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(study, "run", counted)
    with pytest.raises(KeyboardInterrupt):
        study.compare(plan, rules, store, progress=False)
    assert len(store.read_text().splitlines()) == 7
    limit = 100
    assert study.compare(plan, rules, store, progress=False) == whole
    assert len(calls) == 7 + 1 + 3  # of ten runs, seven were there; the eighth was begun twice


def test_a_line_that_was_cut_off_is_run_again(plan, tmp_path):
    rules = {"sgd": CONTENDERS["sgd"]}
    store = tmp_path / "runs.jsonl"
    whole = study.compare(plan, rules, store, progress=False)
    text = store.read_text()
    store.write_text(text[: len(text) - 40])
    assert study.compare(plan, rules, store, progress=False) == whole


def test_other_settings_are_other_runs(plan, tmp_path):
    rules = {"sgd": CONTENDERS["sgd"]}
    store = tmp_path / "runs.jsonl"
    study.compare(plan, rules, store, progress=False)
    study.compare(replace(plan, seeds=(5, 6)), rules, store, progress=False)
    keys = [json.loads(line)["key"] for line in store.read_text().splitlines()]
    assert len(keys) == 6 and keys[-1]["seeds"] == [5, 6]


def another_loss(outputs, y):
    return 2 * torch.nn.functional.cross_entropy(outputs, y)


def another_score(outputs, y):
    return 1 - (outputs.argmax(-1) == y).float().mean(-1)


def momentum(ensemble, setting, seed):
    return torch.optim.SGD(ensemble.parameters(), momentum=0.5, **setting)


CHANGES = {
    "block = 2 there, 1 here": {"block": 1},
    "network.modules": {"network": lambda seeds: networks.perceptrons(64, (16, 16), 10, seeds=seeds)},
    "network.tensors.stacked.1.weight": {"network": lambda seeds: networks.perceptrons(64, (8,), 10, seeds=seeds)},
    "stream.steps = 10 there, 5 here": {"stream": lambda seeds: Permuted(data.load("digits"), seeds, examples=80)},
    "loss = 'torch.nn.functional.cross_entropy' there": {"loss": another_loss},
    "score = 'lossnav.lab.continual.online.accuracy' there": {"score": another_score},
    "rule.param_groups.0.momentum = 0 there, 0.5 here": {"build": momentum},
}


@pytest.mark.parametrize("named", CHANGES)
def test_the_runs_of_another_study_are_not_taken_for_those_of_this_one(plan, tmp_path, named):
    """The store's key had rule, setting, seeds and tasks alone: 0.218 was reported where 0.135 is right."""
    plan, store, change = replace(plan, settings=1), tmp_path / "runs.jsonl", dict(CHANGES[named])
    rules = {"sgd": CONTENDERS["sgd"]}
    results = study.compare(plan, rules, store, progress=False)
    before = store.read_bytes()
    others = {"sgd": replace(rules["sgd"], build=change.pop("build"))} if "build" in change else rules
    with pytest.raises(
        ValueError, match=rf"runs\.jsonl' has this run of 'sgd' from another study: .*{re.escape(named)}"
    ):
        study.compare(replace(plan, **change), others, store, progress=False)
    assert store.read_bytes() == before
    assert study.compare(plan, rules, store, progress=False) == results


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"scores": [["a"]]}, "line 2: its scores"), ({"scores": None}, "line 2: its scores"),
        ({"finite": [1, 1]}, "line 2: its finite"), ({"seconds": "1"}, "line 2: its seconds"),
        ({"key": 3}, "line 2: its key"), ({"identity": []}, "line 2: its identity"), (None, "line 2: it is no JSON"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_run_is_named(plan, tmp_path, change, named):
    store = tmp_path / "runs.jsonl"
    study.compare(replace(plan, settings=1), {"sgd": CONTENDERS["sgd"]}, store, progress=False)
    lines = store.read_text().splitlines()
    lines[1] = lines[1][5:] if change is None else json.dumps({**json.loads(lines[1]), **change})
    store.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=rf"runs\.jsonl, {named}"):
        study.finished(store)


def test_a_store_of_an_earlier_version_is_refused(plan, tmp_path):
    store, rules = tmp_path / "runs.jsonl", {"sgd": CONTENDERS["sgd"]}
    study.compare(replace(plan, settings=1), rules, store, progress=False)
    entries = [json.loads(line) for line in store.read_text().splitlines()]
    store.write_text("".join(json.dumps({k: v for k, v in e.items() if k != "identity"}) + "\n" for e in entries))
    with pytest.raises(ValueError, match=r"runs\.jsonl' has this run of 'sgd' by a version that did not keep"):
        study.compare(replace(plan, settings=1), rules, store, progress=False)


def test_a_setting_that_diverges_is_not_the_best(plan, tmp_path):
    wild = Contender("wild", CONTENDERS["sgd"].build, {"lr": (1e-2, 1e12)})
    results = study.compare(plan, {"wild": wild}, tmp_path / "runs.jsonl", progress=False)
    assert not all(trial["finite"] for trial in results["wild"]["tuning"])
    assert results["wild"]["best"]["lr"] < 100
    hopeless = Contender("hopeless", CONTENDERS["sgd"].build, {"lr": (1e20, 1e22)})
    with pytest.raises(RuntimeError, match="all 4 settings of 'hopeless' diverged"):
        study.compare(plan, {"hopeless": hopeless}, tmp_path / "runs.jsonl", progress=False)


def test_plans_that_judge_a_rule_on_its_tuning_seeds_are_refused(plan):
    with pytest.raises(ValueError, match=r"share \[0\]"):
        replace(plan, seeds=(0, 5))
    with pytest.raises(ValueError, match="tasks = 7, but it must be a multiple of block = 2"):
        replace(plan, tasks=7)


def test_interval_holds_the_truth_as_often_as_it_says():
    draws = np.random.default_rng(0).normal(0.3, 2.0, size=(4000, 8))
    hits = [low < 0.3 < high for _, low, high in map(interval, draws)]
    assert np.mean(hits) == pytest.approx(0.95, abs=0.012)  # 3.5 standard errors of 4000 throws
    with pytest.raises(ValueError, match=r"differences has shape \(1,\)"):
        interval([0.1])


def test_tenths():
    scores = np.arange(60.0).reshape(2, 30)
    assert study.first_tenth(scores).tolist() == [1.0, 31.0] and study.last_tenth(scores).tolist() == [28.0, 58.0]
