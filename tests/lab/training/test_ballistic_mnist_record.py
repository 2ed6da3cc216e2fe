"""The recorded Fig. 2e: complete, and at the settings of its script. The chapter trains its first epoch again."""

from __future__ import annotations

from resources import RESULTS, recorded

from lossnav import records


def test_every_run_of_the_script_is_in_the_record():
    record = records.load(RESULTS / "ballistic-mnist.json")
    wanted = recorded("ballistic_mnist").experiments(record.config["epochs"], len(record.seeds))
    assert [(run["rule"], run["lr"], run["seed"]) for run in record.results] == [
        (one.optimizer, one.lr, one.seed) for one in wanted
    ]
    assert len(record.seeds) >= 3
    assert all(len(run["test_accuracy"]) == record.config["epochs"] >= 10 for run in record.results)
