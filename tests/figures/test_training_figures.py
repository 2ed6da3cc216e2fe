"""The figures of training runs show the numbers they are given."""

from __future__ import annotations

import numpy as np
import pytest

from lossnav import records
from lossnav.figures import training as figures
from lossnav.lab.training import History


def histories(rates, epochs=4):
    return [
        History([r / n for n in range(1, epochs + 1)], [0.0] * epochs, [1 - r / 10 / n for n in range(1, epochs + 1)],
                [1.0] * epochs, [3 * r / n for n in range(1, 21)])
        for r in rates
    ]  # fmt: skip


def lines(ax):
    return {line.get_label(): np.asarray(line.get_ydata()) for line in ax.lines if not line.get_label().startswith("_")}


def test_curves_are_means_with_bands_from_worst_to_best():
    figure = figures.curves({"sgd": histories([1.0, 3.0]), "ballistic": histories([0.5, 0.7])}, "some digits")
    left, right = figure.axes
    np.testing.assert_allclose(lines(left)["SGD"], 2.0 / np.arange(1, 5))
    np.testing.assert_allclose(lines(right)["ballistic"], 100 * (1 - 0.06 / np.arange(1, 5)))
    band = left.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(0.25) and band.max() == pytest.approx(3.0)
    assert "some digits, 2 seeds" in figure.get_suptitle()


def test_legend_of_many_rules_fits():
    rules = ("sgd", "rmsprop", "adam", "belief", "belief, innovation")
    figure = figures.curves({rule: histories([1.0, 2.0], epochs=2) for rule in rules}, "digits")
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
    assert [tick for tick in figure.axes[0].get_xticks() if tick % 1] == []


def test_first_steps():
    figure = figures.first_steps(0.99, {"ballistic": histories([1.0]), "ballistic, corrected": histories([2.0])}, 10)
    left, right = figure.axes
    lengths = np.asarray(left.lines[0].get_ydata())
    assert lengths[0] == pytest.approx(10.0) and lengths[-1] == pytest.approx((1 - 0.99**10) ** -0.5)
    np.testing.assert_allclose(lines(right)["ballistic, bias-corrected"], 6 / np.arange(1, 11))


def test_later_losses_are_averaged_in_windows_that_cover_every_step_once():
    figure = figures.first_steps(0.99, {"ballistic": histories([1.0])}, 20)
    drawn = figure.axes[1].lines[0]
    middles, values = np.asarray(drawn.get_xdata()), np.asarray(drawn.get_ydata())
    widths = np.array(_widths(middles))
    assert widths.sum() == 20 and widths[-1] > 1
    np.testing.assert_allclose((values * widths).sum(), (3 / np.arange(1, 21)).sum())


def _widths(middles):
    """Widths of adjacent windows with these middles, the first of which holds step 1 alone."""
    edge, widths = 0.5, []
    for middle in middles:
        widths.append(2 * (middle - edge))
        edge = middle + widths[-1] / 2
    return widths


def test_sensitivity_leaves_gaps_where_every_run_diverged():
    results = [
        {"rule": "sgd", "factor": f, "seed": s, "test_accuracy": [0.5, 0.9 + s / 100], "train_loss": [1, 0.1 + s / 10]}
        for f in (-0.5, 0.0) for s in (0, 1)
    ]  # fmt: skip
    results += [{"rule": "sgd", "factor": 0.5, "seed": s, "diverged": 7} for s in (0, 1)]
    record = records.new(command="python made_up.py", config={"rates": {"sgd": 0.1}, "epochs": 2}, seeds=[0, 1],
                         data={"label": "d"}, results=results, duration=1.0, device="cpu")  # fmt: skip
    above, below = figures.sensitivity(record).axes
    np.testing.assert_allclose(lines(above)["SGD"], [9.5, 9.5, np.nan])
    np.testing.assert_allclose(lines(below)["SGD"], [0.15, 0.15, np.nan])
    np.testing.assert_allclose(above.lines[0].get_xdata(), 10.0 ** np.array([-0.5, 0, 0.5]))


def test_diagonal_shows_every_path_from_its_start():
    path = np.linspace([-2.0, 1.0], [0.0, 0.0], 9)
    figure = figures.diagonal([(a, np.eye(2), {"gradient descent": path, "ballistic": 2 * path}) for a in (0, 45)])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a   turned by 0°", "b   turned by 45°"]
    for ax in figure.axes:
        np.testing.assert_allclose(lines(ax)["ballistic"], 2 * path[:, 1])
        assert ax.get_xlim()[0] < -4 and ax.get_ylim()[1] > 2
