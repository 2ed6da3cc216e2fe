"""The benchmark of the chapter: SGD and Adam wear out, the remedies do not."""

from __future__ import annotations

import pytest

from lossnav import continual, data, training
from lossnav.lab.streams import contenders, networks

SEEDS = tuple(range(8))
SETTINGS = {
    "sgd": {"lr": 0.15},
    "adam": {"lr": 5e-3},
    "l2": {"lr": 0.15, "weight_decay": 0.01},
    "uncertain": {"lr": 1e-3, "temperature": 3e-4, "clip": 0.1},
}


@pytest.mark.slow
def test_plasticity_is_lost_by_sgd_and_adam_and_kept_by_uncertain():
    """In means over seeds, whose standard errors are 0.042 for SGD and at most 0.016 for the remedies."""
    stream = continual.Permuted(data.load("digits"), SEEDS, examples=960)
    assert stream.steps == 60

    def learn(rule):
        nets = networks.perceptrons(stream.inputs, (32, 32, 32), 10, seeds=SEEDS)
        built = contenders.CONTENDERS[rule].build(nets, SETTINGS[rule], 0)
        return continual.run(nets, built, stream, tasks=30, progress=False)

    runs = dict(zip(SETTINGS, training.in_parallel(learn, SETTINGS), strict=True))
    change = {rule: (run.last() - run.first()).mean().item() for rule, run in runs.items()}
    assert change["sgd"] < -0.08 and change["adam"] < -0.1
    assert abs(change["uncertain"]) < 0.05 and abs(change["l2"]) < 0.08 and change["l2"] > change["sgd"] + 0.06
    assert all(run.finite.all() for run in runs.values())
    assert runs["uncertain"].first().mean() > 0.6
