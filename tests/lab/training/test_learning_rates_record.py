"""The recorded sweep that the MNIST chapter shows: complete, and what the script gives today."""

from __future__ import annotations

import pytest
from resources import RESULTS, real, recorded

from lossnav import experiment, records


@pytest.fixture(scope="module")
def script():
    return recorded("learning_rates")


@pytest.fixture(scope="module")
def record():
    return records.load(RESULTS / "learning-rates.json")


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["sgd", "ballistic"])
def test_a_run_made_now_equals_the_recorded_one(script, record, rule):
    """The first epoch, on whatever processor: sums are rounded differently, so the curves agree but not their bits."""
    now = experiment.run(script.one(rule, 0, seed=1, epochs=1), dataset=real("mnist")).results[0]
    then = next(r for r in record.results if (r["rule"], r["factor"], r["seed"]) == (rule, 0.0, 1))
    assert now["train_loss"][0] == pytest.approx(then["train_loss"][0], rel=0.03)
    assert now["test_accuracy"][0] == pytest.approx(then["test_accuracy"][0], abs=0.01)
