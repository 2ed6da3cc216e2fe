"""The figures of the geometry chapter show what they were given."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np

import lossnav as ln
from lossnav import figures
from lossnav.figures import geometry as pictures

BOWL = ln.losses.Quadratic(4 * np.eye(2), minimum=[0.0, -0.5])


def test_bowls_draw_the_paths_and_ellipses_of_equal_price():
    metric = np.diag([1 / 50, 1.0])
    path = ln.solve(ln.Objective(gamma=1.0, metric=metric), BOWL, [1.5, 1.5])
    share = np.linspace(0, 1, 50)
    figure = pictures.bowls(BOWL, {"a": {"optimal": ("path", path)}}, {"a": metric}, share)
    lines = {artist.get_color(): artist.get_xydata() for artist in figure.axes[0].lines if len(artist.get_xdata()) > 1}
    np.testing.assert_allclose(lines[figures.COLOURS["optimal"]], path(share * path.times[-1]))
    ring = lines[figures.COLOURS["loss"]]
    ring = ring - ring[:-1].mean(axis=0)
    assert np.ptp(np.einsum("ni,ij,nj->n", ring, metric, ring)) < 1e-9


def test_spectra_draw_every_eigenvalue():
    values = {("log", 0): np.ones(4), ("brier", 0): np.array([-0.3, 0.1, 0.5, 1.0])}
    figure = pictures.spectra(values)
    for ax, h in zip(figure.axes, values.values(), strict=True):
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), h)


def test_turning_labels_stay_inside_and_curves_are_those_given():
    angles, pace = np.linspace(0, 90, 10), np.stack([np.linspace(1, 0.1, 10), np.linspace(1, 10, 10)], axis=1)
    turn = np.linspace(79, 0, 10)
    figure = pictures.turning(angles, pace, {"ballistic": ("mean", turn), "loss": ("product", turn + 40)})
    above, below = figure.axes
    np.testing.assert_array_equal(above.lines[0].get_ydata(), pace[:, 1])
    np.testing.assert_array_equal(below.lines[0].get_ydata(), turn)
    figure.draw_without_rendering()
    for ax in figure.axes:
        for text in ax.texts:
            box = text.get_window_extent()
            assert box.x0 >= 0 and box.x1 <= figure.bbox.x1, text.get_text()


def test_learning_draws_medians_above_the_lowest_loss_of_each_split():
    rng = np.random.default_rng(0)
    runs = {
        ("log", rule): [(np.sort(rng.random(6) + 0.1)[::-1], 1e-3, np.zeros(2)) for _ in range(3)]
        for rule in ("newton", "ballistic metric")
    }
    losses = {rule: np.array([run[0] for run in one]) for (_, rule), one in runs.items()}
    floor = np.minimum(*(v.min(axis=1) for v in losses.values()))[:, None]
    figure = pictures.learning(runs)
    for curve, values in zip(figure.axes[0].lines, losses.values(), strict=True):
        excess = np.median(values - floor, axis=0)[:-1]
        np.testing.assert_allclose(curve.get_ydata()[:-1], excess, rtol=1e-6, atol=1e-3)
