"""The figures of continual learning show the numbers they are given."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from scipy.stats import ttest_rel

from lossnav import records
from lossnav.figures import continual as pictures
from lossnav.lab.streams.contenders import CONTENDERS


def record(lower_is_better=False, rules=tuple(CONTENDERS)):
    """A record with numbers of its own for every rule; 'uncertain' is the last and the best or the worst."""
    generator = np.random.default_rng(0)
    results = {}
    for rank, name in enumerate(rules):
        scores = 0.5 + 0.02 * rank + 0.05 * generator.standard_normal((5, 20))
        tuning = [{"setting": {"lr": k}, "mean": 0.4 + 0.01 * k, "last": 0.0, "finite": k < 4} for k in range(5)]
        best = {"lr": 0 if lower_is_better else 3}
        label = CONTENDERS[name].label
        results[name] = {"label": label, "tuning": tuning, "best": best, "scores": scores.tolist(), "finite": [True]}
    config = {"score": "squared error" if lower_is_better else "online accuracy", "lower_is_better": lower_is_better,
              "tasks": 200, "settings": 5, "tuning_tasks": 50}  # fmt: skip
    return records.new(command="python made_up.py", config=config, seeds=[1, 2, 3, 4, 5], data={"label": "made up"},
                       results=results, duration=1.0, device="cpu")  # fmt: skip


def test_scores_are_means_with_bands_from_worst_to_best():
    values = np.array([[0.1, 0.2, 0.3, 0.6], [0.3, 0.4, 0.5, 0.6]])
    ax = pictures.scores({"sgd": values, "adamw": values + 0.1}, title="some digits", block=10).axes[0]
    drawn = {line.get_label(): line for line in ax.lines}
    np.testing.assert_allclose(drawn["SGD"].get_ydata(), [20, 30, 40, 60])
    np.testing.assert_allclose(drawn["AdamW"].get_xdata(), [5, 15, 25, 35])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(10) and band.max() == pytest.approx(60)


def test_no_two_rules_look_alike():
    values = np.ones((1, 3))
    ax = pictures.scores(dict.fromkeys(CONTENDERS, values), title="").axes[0]
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in ax.lines}
    assert len(looks) == len(CONTENDERS)


def test_scores_may_be_averaged_and_errors_are_no_percentages():
    ax = pictures.scores({"l2": np.array([[1.0, 3.0, 8.0]])}, title="", window=2, percent=False).axes[0]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2.0, 5.5])
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [1.0, 2.0])


@pytest.mark.parametrize("lower", [False, True])
def test_comparison_draws_tenths_and_paired_intervals(lower):
    shown = record(lower)
    left, right = pictures.comparison(shown).axes
    scale = 1 if lower else 100
    order = [text.get_text() for text in left.get_yticklabels()]
    assert order[-1] == ("SGD" if lower else "Uncertain")  # the best is on top
    names = {contender.label: name for name, contender in CONTENDERS.items()}
    for row, text in enumerate(order):
        values = scale * np.array(shown.results[names[text]]["scores"])
        points = [float(line.get_xdata()[0]) for line in left.lines if list(line.get_ydata()) == [row]]
        np.testing.assert_allclose(points, [values[:, :2].mean(), values[:, -2:].mean()])
        if text != "Uncertain":
            best = scale * np.array(shown.results["uncertain"]["scores"])
            test = ttest_rel(best.mean(1), values.mean(1))  # scipy's own interval of paired differences
            low, high = sorted((-1 if lower else 1) * x for x in test.confidence_interval(0.95))
            spans = [line.get_xdata() for line in right.lines if list(line.get_ydata()) == [row, row]]
            np.testing.assert_allclose(spans[0], [low, high])


def test_labels_stay_inside():
    for figure in (pictures.comparison(record()), pictures.tuning(record())):
        figure.draw_without_rendering()
        for ax in figure.axes:
            for text in [*ax.texts, *ax.get_yticklabels(), ax.title, ax._left_title, ax.xaxis.label]:
                box = text.get_window_extent()
                assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1, text.get_text()


def test_tuning_shows_every_setting_and_marks_the_chosen_one():
    for lower in (False, True):
        ax = pictures.tuning(record(lower)).axes[0]
        scale = 1 if lower else 100
        row = [line for line in ax.lines if list(line.get_ydata()) == [0]]
        assert len(row) == 5
        crossed = [line for line in row if line.get_marker() == "x"]
        assert len(crossed) == 1 and crossed[0].get_xdata()[0] == pytest.approx(scale * (0.43 if lower else 0.40))
        filled = [line.get_xdata()[0] for line in row if line.get_markersize() == 8]
        assert filled == pytest.approx([scale * (0.40 if lower else 0.43)])
