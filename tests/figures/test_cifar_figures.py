"""The figures of the chapter on CIFAR-10 show the numbers that they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from readable import assert_readable

from lossnav import records
from lossnav.figures import cifar
from lossnav.lab.training import History

RATES = {"sgd": 0.1, "ballistic": 1e-3}


def record(results, seeds=(0, 1)):
    return records.new(
        command="python made_up.py", config={}, seeds=list(seeds), data={"label": "some pictures"}, results=results,
        duration=1.0, device="cpu",
    )  # fmt: skip


def run(model="cnn", rule="sgd", lr=0.1, seed=0, accuracy=(0.2, 0.4), **more):
    losses = [2 - a for a in accuracy]
    curves = {"train_loss": losses, "test_loss": losses, "test_accuracy": list(accuracy)}
    return {"model": model, "rule": rule, "lr": lr, "seed": seed, **curves, **more}


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def dots(ax):
    return [np.asarray(line.get_ydata()) for line in ax.lines if line.get_marker() == "."]


def test_views_put_each_image_where_it_belongs():
    stored = np.arange(2 * 3 * 4 * 4, dtype=np.uint8).reshape(2, 3, 4, 4)
    figure = cifar.views(stored, np.stack([stored[:, :, ::-1], stored[..., ::-1]]))
    ax = figure.axes[0]
    shown = np.asarray(ax.images[0].get_array())
    assert shown.shape == (3 * 4 + 2 * 2, 2 * 4 + 2, 3)
    np.testing.assert_allclose(shown[:4, 6:], np.moveaxis(stored[1], 0, -1) / stored.max())
    np.testing.assert_allclose(shown[12:, :4], np.moveaxis(stored[0, :, :, ::-1], 0, -1) / stored.max())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["stored", "epoch 1", "epoch 2"]
    assert_readable(figure)


def test_views_of_grey_images_are_grey():
    shown = np.asarray(cifar.views(np.full((3, 1, 8, 8), 4), np.zeros((1, 3, 1, 8, 8))).axes[0].images[0].get_array())
    assert shown.shape[2] == 3 and shown[:8, :8].min() == 1.0 and shown[10:, :8].max() == 0.0


def test_curves_are_means_over_seeds_with_bands_between_the_extremes():
    found = record([
        run(rule="ballistic", seed=0, accuracy=(0.2, 0.4)), run(rule="ballistic", seed=1, accuracy=(0.3, 0.6)),
        run(seed=0), run(seed=1),
    ])  # fmt: skip
    figure = cifar.curves(found)
    left, right = figure.axes
    assert list(lines(left)) == ["SGD", "ballistic"]
    np.testing.assert_allclose(lines(right)["ballistic"].get_ydata(), [25, 50])
    np.testing.assert_allclose(lines(left)["ballistic"].get_ydata(), [1.75, 1.5])
    band = right.collections[1].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(20) and band.max() == pytest.approx(60)
    assert figure.get_suptitle() == "some pictures, 2 seeds"


def test_a_race_shows_windowed_losses_and_the_last_accuracy_of_each_seed():
    def history(scale):
        return History(test_accuracy=[0.1, scale], step_loss=[scale * n for n in range(1, 8)])

    left, right = cifar.race({"sgd": [history(0.2), history(0.4)], "adam": [history(0.5)]}, "d", window=3).axes
    np.testing.assert_allclose(lines(left)["SGD"].get_ydata(), 0.3 * np.array([2, 5]))
    np.testing.assert_allclose(lines(left)["SGD"].get_xdata(), [1.5, 4.5])
    np.testing.assert_allclose(dots(right)[0], [20, 40])
    np.testing.assert_allclose(dots(right)[1], [50])


def test_basins_are_in_units_of_the_papers_rate_and_a_diverged_run_guesses():
    kinds = [(model, rule, factor) for model in ("vit", "cnn") for rule in RATES for factor in (10.0, 1.0)]
    results = [
        run(model, rule, lr=RATES[rule] * factor, seed=seed, accuracy=(0.3 + 0.1 * seed + 0.01 * (rule == "sgd"),))
        for model, rule, factor in kinds
        for seed in (0, 1)
    ]
    for one in results:
        if one["lr"] == 1.0:
            one.update(train_loss=[], test_accuracy=[], diverged=3)
    figure = cifar.basins(record(results), RATES)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a   CNN", "b   ViT"]
    for ax in figure.axes:
        np.testing.assert_allclose(lines(ax)["ballistic"].get_xdata(), [1.0, 10.0])
        np.testing.assert_allclose(lines(ax)["ballistic"].get_ydata(), [35, 35])
        np.testing.assert_allclose(lines(ax)["SGD"].get_ydata(), [36, 10])
        np.testing.assert_allclose(dots(ax)[0], [31, 41])


def test_lengths_are_lines_and_the_best_ratios_stand_right_of_them():
    ratios = {"vit": [9.0, 8.0], "resnet": [5.0], "cnn": [100.0, 50.0, 20.0]}
    figure = cifar.lengths(ratios, {"vit": 30.0, "cnn": 200.0})
    ax = figure.axes[0]
    drawn = lines(ax)
    assert list(drawn) == ["CNN", "ResNet", "ViT"]
    np.testing.assert_allclose(drawn["CNN"].get_ydata(), [100, 50, 20])
    np.testing.assert_allclose(drawn["ViT"].get_xdata(), [1, 2])
    marks = [line for line in ax.lines if line.get_linestyle() == "None"]
    np.testing.assert_allclose([line.get_ydata()[0] for line in marks], [200, 30])
    assert all(3 < line.get_xdata()[0] < ax.get_xlim()[1] for line in marks)
    assert [line.get_marker() for line in marks] == [drawn[n].get_marker() for n in ("CNN", "ViT")]


def test_transfer_marks_each_network_in_its_row():
    figure = cifar.transfer({"one way": {"cnn": 1.0, "vit": 3.0}, "another": {"resnet": -0.5}})
    ax = figure.axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["one way", "another"]
    found = {(line.get_label(), round(float(line.get_ydata()[0]))): float(line.get_xdata()[0])
             for line in ax.lines if line.get_marker() in "osD"}  # fmt: skip
    assert found == {("CNN", 0): 1.0, ("ViT", 0): 3.0, ("ResNet", 1): -0.5}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["CNN", "ResNet", "ViT"]


def test_gains_lie_between_the_two_rules_and_the_histogram_counts_every_weight():
    roots = {"before": np.array([0.0, 0.0, 1e-3, 2e-3]), "after": np.full(10, 3e-2)}
    above, below = cifar.gains([0.0, 1e-2, math.inf], (5e-4, 0.1), roots, eps=0.0).axes
    drawn = lines(above)
    x = np.asarray(drawn["γ = 0, ballistic"].get_xdata())
    np.testing.assert_allclose(drawn["γ = 0, ballistic"].get_ydata(), 5e-4 / x)
    np.testing.assert_allclose(drawn["γ = ∞, SGD"].get_ydata(), 0.1)
    middle = np.asarray(drawn["γ = 0.01"].get_ydata())
    np.testing.assert_allclose(middle * (0.005 + np.hypot(0.005, x)), 1.5e-3)
    counts = [patch.get_data().values.sum() for patch in below.patches]
    np.testing.assert_allclose(counts, [50, 100])
    assert [text.get_text() for text in below.get_legend().get_texts()] == ["before (50 % are 0)", "after (0 % are 0)"]


def test_discounts_stand_in_order_and_runs_of_a_seed_are_joined():
    results = [
        run(rule="navigator", seed=seed, gamma=gamma, accuracy=(0.4 + 0.1 * place + 0.01 * seed,))
        for seed in (1, 0)
        for place, gamma in ((2, "inf"), (0, 0.0), (1, 0.03))
    ]
    above, below = cifar.discounts(record(results)).axes
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["0", "0.03", "∞"]
    np.testing.assert_allclose(dots(above), [[41, 40], [51, 50], [61, 60]])
    np.testing.assert_allclose(above.lines[0].get_ydata(), [40, 50, 60])
    np.testing.assert_allclose(above.lines[1].get_ydata(), [41, 51, 61])
    np.testing.assert_allclose(dots(below)[2], [1.39, 1.4])


def test_what_cannot_be_told_from_the_lowest_discount_is_shaded():
    results = [run(rule="navigator", seed=seed, gamma=gamma, accuracy=(0.4 + 0.02 * seed,))
               for seed in (0, 1) for gamma in (0.0, 1.0)]  # fmt: skip
    above, below = cifar.discounts(record(results), tells=3.0).axes
    (band,) = above.patches
    assert (band.get_y(), band.get_height()) == pytest.approx((38.0, 6.0)) and not below.patches


def test_choices_stand_in_pairs_beside_a_bar_of_what_can_be_told():
    found = {"cnn": {"sgd": ([40.0, 42.0], [44.0, 46.0]), "adam": ([50.0, 50.0], [51.0, 51.0])}}
    found["vit"] = {"sgd": ([30.0, 30.0], [29.0, 29.0])}
    figure = cifar.choices(found, {"cnn": 2.5, "vit": 4.0})
    cnn, vit = figure.axes
    assert [tick.get_text() for tick in cnn.get_xticklabels()] == ["SGD", "Adam"]
    marks = [
        line
        for line in cnn.lines
        if len(line.get_xdata()) == 1 and line.get_xdata()[0] > -0.5 and line.get_marker() != "."
    ]
    np.testing.assert_allclose([line.get_ydata()[0] for line in marks], [41, 45, 50, 51])
    joined = [line.get_ydata() for line in cnn.lines if len(line.get_xdata()) == 2 and line.get_marker() == "None"]
    np.testing.assert_allclose(joined[:2], [[41, 45], [50, 51]])
    for ax, low, length in ((cnn, 40.0, 2.5), (vit, 29.0, 4.0)):
        (bar,) = ax.containers
        np.testing.assert_allclose(bar.lines[2][0].get_segments()[0][:, 1], [low, low + length])


@pytest.mark.parametrize("networks", [("cnn",), ("cnn", "resnet", "vit")])
def test_axis_names_and_legends_do_not_touch(networks):
    results = [run(model, rule, lr, s) for model in networks for rule, lr in RATES.items() for s in (0, 1)]
    figure = cifar.basins(record(results), RATES)
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent()
    labels = [ax.xaxis.label.get_window_extent() for ax in figure.axes if ax.get_xlabel()]
    assert len(labels) == 1 and not labels[0].overlaps(legend)
    assert legend.x0 >= 0 and legend.x1 <= figure.bbox.x1
