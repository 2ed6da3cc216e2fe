"""The recorded studies of the chapter: equal budgets, fresh seeds, complete, and what the script gives today."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from resources import RESULTS, recorded

from lossnav import experiment, records
from lossnav.lab import study
from lossnav.lab.experiment import Experiment
from lossnav.lab.streams import contenders
from lossnav.lab.streams.undecayed import Undecayed

STUDIES = ("digits", "parts", "mnist", "bits")


@pytest.fixture(scope="module")
def script():
    return recorded("continual")


def load(name):
    return records.load(RESULTS / f"continual-{name}.json")


@pytest.mark.parametrize("name", STUDIES)
def test_every_rule_had_the_same_budget_and_was_judged_on_fresh_seeds(name):
    record = load(name)
    assert not set(record.seeds) & set(record.config["tuning_seeds"])
    blocks = record.config["tasks"] // record.config["block"]
    sign = -1 if record.config["lower_is_better"] else 1
    for rule, found in record.results.items():
        assert len(found["tuning"]) == record.config["settings"], rule
        usable = [trial for trial in found["tuning"] if trial["finite"]]
        assert found["best"] == max(usable, key=lambda trial: sign * trial["mean"])["setting"]
        assert np.array(found["scores"]).shape == (len(record.seeds), blocks)
        for trial in found["tuning"]:
            for key, (low, high) in record.config["spaces"][rule].items():
                assert low * 0.999 <= trial["setting"][key] <= high * 1.001


@pytest.mark.parametrize("name", ["digits", "mnist", "bits"])
def test_the_settings_are_those_of_the_search(name):
    record = load(name)
    for rule, found in record.results.items():
        contender = contenders.CONTENDERS[rule]
        assert record.config["spaces"][rule] == {key: list(ends) for key, ends in contender.space.items()}
        searched = contender.settings(record.config["settings"], seed=record.config["search"])
        for trial, setting in zip(found["tuning"], searched, strict=True):
            assert trial["setting"] == pytest.approx(setting, rel=1e-3)


def test_the_parts_are_those_of_the_best_setting():
    best = load("digits").results["uncertain"]
    found = load("parts").results
    assert found["all of it"]["best"] == pytest.approx(best["best"], rel=1e-3)
    np.testing.assert_allclose(np.mean(found["all of it"]["scores"]), np.mean(best["scores"]), atol=0.01)


def begun(script, name, rule, seeds):
    """Scores of the first block of tasks, made now at the recorded setting."""
    task = {"digits": script.DIGITS, "mnist": script.MNIST, "bits": script.BITS}[name]
    best = load(name).results[rule]["best"]
    chosen = contenders.CONTENDERS[rule].chosen(best)
    one = Experiment(**task.base, **chosen, clip=None, tasks=task.block, seed=tuple(seeds))
    return task.scores(experiment.run(one))[:, 0]


@pytest.mark.parametrize(("name", "rule"), [("digits", "uncertain"), ("digits", "continual backprop"), ("bits", "l2")])
def test_a_run_made_now_begins_as_the_recorded_one(script, name, rule):
    """The first block of tasks on all seeds, on whatever processor: sums are rounded differently, means agree."""
    record = load(name)
    now = begun(script, name, rule, record.seeds)
    then = np.array(record.results[rule]["scores"])[:, 0]
    spread, share = (0.03, 0.015) if name == "digits" else (0.3 * then, 0.05)
    assert (np.abs(now - then) < spread).all()
    assert now.mean() == pytest.approx(then.mean(), rel=share)


def test_a_study_is_made_as_its_record_says(script, tmp_path):
    """The script as it is called, with a small budget: what the record keeps is what the runs gave."""
    words = [
        "parts",
        "--tasks",
        "10",
        "--workers",
        "1",
        "--runs",
        str(tmp_path),
        "--output",
        str(tmp_path / "new.json"),
    ]
    small = replace(script.DIGITS, seeds=2, base={**script.DIGITS.base, "stream_options": {"examples": 64}})
    script.DIGITS, whole = small, script.DIGITS
    try:
        study.main(script.__file__, script.STUDIES, words)
    finally:
        script.DIGITS = whole
    record, then = records.load(tmp_path / "new.json"), load("parts")
    assert record.study == then.study == "continual-parts" and record.seeds == [100, 101]
    assert record.command == "python studies/continual.py parts --tasks 10" and then.command.endswith(
        "continual.py parts"
    )
    assert {*then.config} <= {*record.config} and {*then.results} == {*record.results}
    for rule, found in then.results.items():
        assert {*found} == {*record.results[rule]} and found["best"] == pytest.approx(record.results[rule]["best"])
        assert np.shape(record.results[rule]["scores"]) == (2, 1)
    runs = [records.load(path) for path in (tmp_path / "continual-parts").glob("*.json")]
    assert len(runs) == 2 * len(then.results)
    judged = [one for one in runs if one.seeds == [100, 101] and one.config["options"].get("curvature_scale") == 0]
    (entry,) = [[np.mean(seed["scores"]) for seed in one.results] for one in judged]
    np.testing.assert_allclose(np.ravel(record.results["curvature off"]["scores"]), entry, atol=1e-5)


def test_without_decay_a_weight_that_nothing_pulls_stays():
    weight = torch.nn.Parameter(torch.randn(50, generator=torch.Generator().manual_seed(0)))
    start = weight.detach().clone()
    rule = Undecayed([weight], lr=1e-2, clip=None)
    for _ in range(20):
        weight.grad = torch.zeros(50)
        rule.step()
    assert torch.equal(weight.detach(), start)


def test_mnist_begins_as_recorded(script):
    seeds = load("mnist").seeds[:1]  # of an elementwise rule, a member's run does not depend on its company
    then = np.array(load("mnist").results["l2"]["scores"])[:1, 0]
    np.testing.assert_allclose(begun(script, "mnist", "l2", seeds), then, atol=0.01)


def test_what_the_chapter_says_of_the_digits():
    """The two plain rules decline on the fresh seeds; ``uncertain`` does not (nothing is asked of its rank)."""
    results = load("digits").results
    tenth = len(results["sgd"]["scores"][0]) // 10
    for rule, least in (("sgd", 0.1), ("adam", 0.1)):
        scores = np.array(results[rule]["scores"])
        assert (scores[:, -tenth:].mean(1) < scores[:, :tenth].mean(1) - least).all(), rule
    kept = np.array(results["uncertain"]["scores"])
    assert abs(kept[:, -tenth:].mean() - kept[:, :tenth].mean()) < 0.05
