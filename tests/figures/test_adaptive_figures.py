"""The figures of the experiment with beliefs show the numbers that they are given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lossnav import records
from lossnav.figures import adaptive
from lossnav.lab.training import History

EPSILONS = (0.0, 1e-3)


@pytest.fixture
def record():
    yield records.Record(
        command="python make.py", config={"epochs": 2, "rules": RULES}, seeds=[5, 6], data={"label": "some digits"},
        results={"tuned": TUNED, "tested": TESTED, "chosen": {}}, duration=1.0, device="none", revision="unknown",
        versions={},
    )  # fmt: skip
    plt.close("all")


RULES = {
    "sgd": {"usual": 0.1},
    "rmsprop": {"usual": 1e-3},
    **{
        f"{variance}, ε = {epsilon:g}": {"usual": 1e-3, "variance": variance, "epsilon": epsilon}
        for variance in ("uncentred", "centred", "innovation")
        for epsilon in EPSILONS
    },
}
TESTED = [
    {"rule": rule, "lr": 1.0, "seed": seed, "test_accuracy": [0.5, 0.9 - 0.01 * i - 0.002 * (seed - 5)]}
    for i, rule in enumerate(RULES)
    for seed in (5, 6)
]
TUNED = [
    {"rule": rule, "lr": options["usual"] * factor, "seed": seed, "test_loss": [9.0, 0.1 * factor + 0.02 * seed]}
    for rule, options in RULES.items()
    for factor in (1.0, 3.0)
    for seed in (0, 1)
] + [
    {"rule": "sgd", "lr": 1.0, "seed": seed, **({"diverged": 7} if seed else {"test_loss": [1, 1]})} for seed in (0, 1)
]


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_errors_are_means_over_fresh_seeds_at_each_discount(record):
    left, _ = adaptive.discounts(record).axes
    drawn = lines(left)
    np.testing.assert_allclose(drawn["SGD"].get_ydata(), 100 * (0.1 + 0.001))
    np.testing.assert_allclose(drawn["RMSprop"].get_ydata(), 100 * (0.11 + 0.001))
    np.testing.assert_allclose(drawn["uncentred"].get_ydata(), 100 * np.array([0.121, 0.131]))
    np.testing.assert_allclose(drawn["innovation"].get_ydata(), 100 * np.array([0.161, 0.171]))
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["0", "$10^{-3}$"]
    dots = [line for line in left.lines if line.get_marker() == "."]
    assert len(dots) == 6 and all(len(line.get_ydata()) == 2 for line in dots)


def test_losses_are_means_over_tuning_seeds_and_a_rate_that_diverged_is_not_drawn(record):
    _, right = adaptive.discounts(record).axes
    drawn = lines(right)
    assert list(drawn) == ["ε = 0", "ε = $10^{-3}$", "SGD", "RMSprop"]
    for line in drawn.values():
        np.testing.assert_allclose(line.get_xdata(), [1.0, 3.0])
        np.testing.assert_allclose(line.get_ydata(), [0.11, 0.31])


def test_a_race_shows_mean_losses_in_windows_and_every_seeds_last_error():
    def history(scale):
        return History(test_accuracy=[0.5, 1 - 0.01 * scale], step_loss=[scale / n for n in range(1, 11)])

    runs = {"adam": [history(1.0), history(3.0)], "belief": [history(4.0)], "belief, innovation": [history(2.0)]}
    left, right = adaptive.race(runs, "some digits", window=4).axes
    drawn = lines(left)
    assert list(drawn) == ["Adam", "Belief", "Belief, innovation"]
    inverse = 1 / np.arange(1, 11)
    np.testing.assert_allclose(drawn["Adam"].get_ydata(), 2 * np.array([inverse[:4].mean(), inverse[4:8].mean()]))
    np.testing.assert_allclose(drawn["Adam"].get_xdata(), [2, 6])
    assert drawn["Belief"].get_color() == drawn["Belief, innovation"].get_color()
    assert drawn["Belief"].get_linestyle() != drawn["Belief, innovation"].get_linestyle()
    dots = [np.asarray(line.get_xdata()) for line in right.lines if line.get_marker() == "."]
    np.testing.assert_allclose(dots[0], [1.0, 3.0])
    assert "some digits" in left.figure.get_suptitle()
    plt.close("all")
