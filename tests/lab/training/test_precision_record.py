"""The recorded runs in float32 and bfloat16: complete, in pairs, summarised as said, and made again today."""

from __future__ import annotations

import math

import numpy as np
import pytest
from resources import RESULTS, real
from scipy import stats

from lossnav import experiment, records, sweep


@pytest.fixture(scope="module")
def record():
    return records.load(RESULTS / "precision.json")


def test_the_summary_follows_from_the_runs(record):
    """By another road: numpy and scipy, from tables of seeds."""
    runs, found = record.results["runs"], record.results["summary"]
    last = {
        precision: np.array([
            next(run["test_accuracy"][-1] for run in runs if (run["precision"], run["seed"]) == (precision, seed))
            for seed in record.seeds
        ])
        for precision in ("float32", "bfloat16")
    }  # fmt: skip
    for precision, accuracies in last.items():
        assert found["accuracy"][precision] == pytest.approx(accuracies.mean(), abs=1e-4)
        assert found["spread"][precision] == pytest.approx(accuracies.std(ddof=1), abs=1e-4)
    difference = last["bfloat16"] - last["float32"]
    assert found["difference"] == pytest.approx(difference.mean(), abs=1e-4)
    assert found["difference_error"] == pytest.approx(stats.sem(difference), abs=1e-4)


def test_accuracy_is_unchanged_within_the_spread_of_the_seeds(record):
    found = record.results["summary"]
    assert abs(found["difference"]) <= max(found["spread"].values())


def test_both_precisions_begin_alike_and_learn(record):
    """The first epoch's mean loss: the same weights, the same order of images, products rounded to 8 bits."""
    for seed in record.seeds:
        one, other = (run for run in record.results["runs"] if run["seed"] == seed)
        assert one["train_loss"][0] == pytest.approx(other["train_loss"][0], rel=0.02)
        assert one["train_loss"] != other["train_loss"]
        assert max(one["train_loss"][-1], other["train_loss"][-1]) < math.log(10)


@pytest.mark.slow
def test_a_run_made_now_equals_the_recorded_one(record):
    """The first epoch of one run, on whatever processor: sums are rounded differently. Nothing is tested in it."""
    base = {key: value for key, value in record.config.items() if key not in ("precision", "threads")}
    (one,) = sweep.grid({"precision": ["bfloat16"]}, [0], {**base, "epochs": 1, "test_size": 100})
    now = experiment.run(one, dataset=real("cifar10")).results[0]
    then = next(run for run in record.results["runs"] if (run["precision"], run["seed"]) == ("bfloat16", 0))
    assert now["train_loss"][0] == pytest.approx(then["train_loss"][0], rel=0.03)
