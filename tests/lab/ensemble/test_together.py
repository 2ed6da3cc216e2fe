"""Seeds trained together have the curves of seeds trained one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from lossnav import ensemble, models, optim, training

RULES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "ballistic": lambda p: optim.Ballistic(p, lr=5e-4, bias_correction=True),
}
SEEDS = (3, 0, 11, 5, 8, 2, 7, 1)


def members(digits, hidden=(32, 32)):
    return [models.mlp(digits.inputs, hidden, seed=seed) for seed in SEEDS]


@pytest.mark.parametrize("rule", RULES)
def test_eight_seeds_together_have_the_curves_of_eight_runs(digits, rule):
    options = {"epochs": 3, "batch_size": 100, "clip": 1.0, "device": "cpu", "progress": False}  # 1437 = 14·100 + 37
    together, alone = members(digits), members(digits)
    histories = ensemble.train(together, digits, RULES[rule], seeds=SEEDS, **options)
    for history, mine, model, seed in zip(histories, together, alone, SEEDS, strict=True):
        single = training.train(model, digits, RULES[rule](model.parameters()), seed=seed, **options)
        assert len(history.step_loss) == 45
        for key in ("step_loss", "train_loss", "test_loss"):
            np.testing.assert_allclose(getattr(history, key), getattr(single, key), atol=1e-5)
        np.testing.assert_allclose(history.test_accuracy, single.test_accuracy, atol=1.01 / len(digits.test))
        for p, q in zip(mine.parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(p, q, rtol=0, atol=2e-5)
        assert history.settings.keys() == {*single.settings, "together"}
        assert {k for k, v in single.settings.items() if history.settings[k] != v} == {"arithmetic"}  # the reason
        assert history.step_loss[-1] < history.step_loss[0] - 0.1  # it learns


def test_a_rule_that_takes_rows_and_columns_together_is_refused(digits):
    """It would take the networks for rows: in a stream of three tasks it unlearned what it does alone."""
    with pytest.raises(ValueError, match=r"^rule = BallisticMatrix takes the rows"):
        ensemble.train(members(digits), digits, optim.BallisticMatrix, epochs=1, seeds=SEEDS, progress=False)


def test_a_member_that_diverges_ends_and_hurts_no_other(digits):
    broken, fine = members(digits), members(digits)
    with torch.no_grad():
        for layer in (1, 3):
            broken[2][layer].weight.mul_(1e30)
    options = {"epochs": 2, "seeds": SEEDS, "device": "cpu", "progress": False}
    found = ensemble.train(broken, digits, RULES["sgd"], **options)
    expected = ensemble.train(fine, digits, RULES["sgd"], **options)
    assert "diverged" in found[2].settings and found[2].train_loss == []
    assert len(found[2].step_loss) == found[2].settings["diverged"] + 1 and not np.isfinite(found[2].step_loss[-1])
    for index in {*range(8)} - {2}:
        assert found[index].step_loss == expected[index].step_loss and "diverged" not in found[index].settings


@pytest.mark.parametrize("name", ["train", "test"])
def test_an_empty_split_is_named(digits, name):
    split = getattr(digits, name)
    empty = replace(digits, **{name: replace(split, x=split.x[:0], y=split.y[:0])})
    with pytest.raises(ValueError, match=rf"^dataset\.{name} has no examples"):
        ensemble.train(members(digits), empty, RULES["sgd"], epochs=1, seeds=SEEDS, progress=False)


class Overflows(nn.Sequential):
    """Outputs that are infinite in a test, where the bias of the last layer says so."""

    def forward(self, x):
        outputs = super().forward(x)
        return outputs if self.training else torch.where(self[-1].bias.max() > 5, torch.inf, outputs)


def test_a_test_loss_that_is_not_finite_ends_a_member_as_it_ends_a_run(digits):
    members = [Overflows(nn.Flatten(), nn.Linear(64, 10)) for _ in range(2)]
    with torch.no_grad():
        members[1][-1].bias += 10
    fine, broken = ensemble.train(members, digits, RULES["sgd"], seeds=(0, 1), epochs=1, device="cpu", progress=False)
    assert "diverged" not in fine.settings and len(fine.test_loss) == 1
    assert broken.settings["diverged"] == len(broken.step_loss) == 12 and broken.test_loss == []


def test_convolutions_and_other_losses(digits):
    small = digits.head(64, 40)
    nets = [models.cnn(1, 8, seed=seed) for seed in (0, 1)]
    alone = [models.cnn(1, 8, seed=seed) for seed in (0, 1)]
    options = {"epochs": 1, "batch_size": 32, "device": "cpu", "progress": False}

    def smooth(logits, y):
        return -torch.log_softmax(logits, -1).gather(-1, y.unsqueeze(-1)).mean() * 0.5

    histories = ensemble.train(nets, small, RULES["adam"], seeds=(0, 1), loss=smooth, **options)
    for history, model, seed in zip(histories, alone, (0, 1), strict=True):
        single = training.train(model, small, RULES["adam"](model.parameters()), seed=seed, loss=smooth,
                                precision="float32", memory_format="contiguous", **options)  # fmt: skip
        np.testing.assert_allclose(history.step_loss, single.step_loss, atol=1e-5)
