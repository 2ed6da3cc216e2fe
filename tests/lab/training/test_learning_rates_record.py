"""The recorded sweep that the MNIST chapter shows: complete, and what the script gives today."""

from __future__ import annotations

from itertools import product

import pytest
from resources import RESULTS, real, recorded

from lossnav import experiment, records


@pytest.fixture(scope="module")
def script():
    return recorded("learning_rates")


@pytest.fixture(scope="module")
def record():
    return records.load(RESULTS / "learning-rates.json")


def test_every_rule_has_the_same_number_of_rates_and_seeds(script, record):
    found = [(run["rule"], round(2 * run["factor"]), run["seed"]) for run in record.results]
    assert sorted(found) == sorted(product(script.RATES, script.STEPS, record.seeds))
    assert record.config["rates"] == script.RATES
    assert len(record.seeds) >= 3
    for run in record.results:
        assert run["lr"] == pytest.approx(script.RATES[run["rule"]] * 10 ** run["factor"], rel=1e-5)
        assert "diverged" in run or len(run["test_accuracy"]) == record.config["epochs"]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["sgd", "ballistic"])
def test_a_run_made_now_equals_the_recorded_one(script, record, rule):
    """The first epoch, on whatever processor: sums are rounded differently, so the curves agree but not their bits."""
    now = experiment.run(script.one(rule, 0, seed=1, epochs=1), dataset=real("mnist")).results[0]
    then = next(r for r in record.results if (r["rule"], r["factor"], r["seed"]) == (rule, 0.0, 1))
    assert now["train_loss"][0] == pytest.approx(then["train_loss"][0], rel=0.03)
    assert now["test_accuracy"][0] == pytest.approx(then["test_accuracy"][0], abs=0.01)
