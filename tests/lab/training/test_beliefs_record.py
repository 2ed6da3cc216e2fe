"""The recorded runs with beliefs that the chapter shows: complete, tuned as said, and what the script gives today."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from resources import RESULTS, real, recorded

from lossnav import experiment, optim, records


@pytest.fixture(scope="module")
def script():
    return recorded("beliefs_mnist")


@pytest.fixture(scope="module")
def record():
    return records.load(RESULTS / "beliefs-mnist.json")


def test_the_rates_are_those_with_the_lowest_held_out_loss(record):
    for rule, chosen in record.results["chosen"].items():
        runs = [run for run in record.results["tuned"] if run["rule"] == rule]
        losses = {
            lr: np.mean([run.get("test_loss", [math.inf])[-1] for run in runs if run["lr"] == lr])
            for lr in {run["lr"] for run in runs}
        }
        assert losses[chosen] == min(losses.values()) < math.inf


def test_the_rules_are_the_ones_they_are_called(script):
    weights = [torch.nn.Parameter(torch.ones(2))]
    for rule, options in script.RULES.items():
        made = experiment.make_optimizer(script.one(rule, 0.01, 1), weights)
        group = made.param_groups[0]
        assert group["lr"] == 0.01
        if isinstance(made, optim.Belief):
            assert group["variance"] == options["variance"]
            epsilon = group["lr"] / (2 * group["lr_overdamped"])
            assert epsilon == pytest.approx(options["epsilon"])
    classes = {
        rule: type(experiment.make_optimizer(script.one(rule, 0.01, 1), weights))
        for rule in ("sgd", "rmsprop", script.ADAM)
    }
    assert classes == {"sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop, script.ADAM: torch.optim.Adam}


def test_tuning_never_sees_the_test_images_and_every_run_learns_from_the_same_ones(script):
    """60,000 images are there: 50,000 to learn from, and those after them to choose by."""
    asked = script.comparison(3)
    tried = [one for rules in asked.tried().values() for seeds in rules for one in seeds]
    assert {(one.validation, one.train_size) for one in tried} == {(script.HELD_OUT, None)}
    judged = asked.judged({rule: table[0] for rule, table in asked.trials.items()})
    assert {(one.validation, one.train_size) for runs in judged.values() for one in runs} == {(None, 50_000)}
    assert script.IMAGES - script.HELD_OUT == 50_000


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["sgd", "innovation, ε = 0.001"])
def test_a_run_made_now_equals_the_recorded_one(script, record, rule):
    """The first epoch, on whatever processor: sums are rounded differently, so the curves agree but not their bits."""
    then = next(run for run in record.results["tested"] if run["rule"] == rule)
    one = replace(script.one(rule, then["lr"], 1), seed=then["seed"], train_size=script.IMAGES - script.HELD_OUT)
    now = experiment.run(one, dataset=real("mnist")).results[0]
    assert now["train_loss"][0] == pytest.approx(then["train_loss"][0], rel=0.03)
    assert now["test_accuracy"][0] == pytest.approx(then["test_accuracy"][0], abs=0.01)
