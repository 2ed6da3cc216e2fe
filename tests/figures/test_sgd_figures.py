"""The figures of SGD's limiting dynamics show what they were given, readably."""

from __future__ import annotations

import numpy as np
from readable import assert_readable

from lossnav import sgd
from lossnav.figures import COLOURS
from lossnav.figures import sgd as figures

RNG = np.random.default_rng(0)


def coloured(ax, name):
    return [artist for artist in ax.lines if artist.get_color() == COLOURS[name]]


def test_regimes_and_spirals_draw_both_ways():
    oscillator, steps = RNG.normal(size=(2, 40)), RNG.normal(size=(2, 9))
    figure = figures.regimes({"ζ = 2": (oscillator, steps), "ζ = 1": (oscillator, steps)})
    for ax in figure.axes:
        np.testing.assert_array_equal(coloured(ax, "ink")[0].get_xydata().T, oscillator)
        np.testing.assert_array_equal(coloured(ax, "sgd")[0].get_xydata().T, steps)
    run = [RNG.normal(size=30) for _ in range(4)]
    figure = figures.spirals({"β = 0.9": (*run, np.full(30, 0.5))})
    plane, course = figure.axes
    np.testing.assert_array_equal(coloured(plane, "sgd")[0].get_xydata().T, run[:2])
    np.testing.assert_array_equal(coloured(course, "ink")[0].get_ydata(), run[2])
    band = course.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == np.max(run[2]) + 1.0 and band[:, 1].min() == np.min(run[2]) - 1.0


def test_clouds_have_the_ellipse_of_the_law_and_arrows_with_the_current():
    law, flow = np.diag([4.0, 0.25]), np.array([[0.0, 1.0], [-1 / 16, 0.0]])
    figure = figures.clouds({"ρ = 1": (RNG.normal(size=(50, 2)), law, flow)})
    (ax,) = figure.axes
    one, two = coloured(ax, "ink")
    for artist, size in ((one, 1), (two, 2)):
        x = artist.get_xydata()
        np.testing.assert_allclose(np.einsum("pi,ij,pj->p", x, np.linalg.inv(law), x), size**2)
    arrows = [(np.array(note.xy), np.array(note.xyann)) for note in ax.texts]
    assert len(arrows) == 8
    for head, tail in arrows:
        middle, way = (head + tail) / 2, head - tail
        assert middle[0] * way[1] - middle[1] * way[0] < 0, "clockwise"


def test_current_turns_as_its_matrix_says():
    process = sgd.OrnsteinUhlenbeck([[2.5, -1.5], [-1.5, 2.5]], np.diag([4.0, 1.0]), kappa=100.0, centre=[1.0, 2.0])
    path = process.sample(0.05, 400, seed=1)[0]
    flow = -process.skew @ process.curvature
    figure = figures.current(path, process.drift, process.curvature, flow, process.centre)
    right = figure.axes[1]
    for note in right.texts:
        middle, way = (np.array(note.xy) + note.xyann) / 2 - process.centre, np.array(note.xy) - note.xyann
        assert middle[0] * way[1] - middle[1] * way[0] > 0, "counter-clockwise"
        assert abs(way @ process.curvature @ middle) < 1e-6, "along a level set"


def test_slices_variances_speeds_and_displacements():
    x, y = np.linspace(-1, 1, 9), np.linspace(-1, 1, 7)
    figure = figures.slices(x, y, {"loss": x**2 + y[:, None] ** 2, "other": x * y[:, None]}, RNG.normal(size=(5, 2)))
    assert len(figure.axes) == 2 and all(len(coloured(ax, "sgd")) == 1 for ax in figure.axes)
    rho = np.geomspace(0.1, 10, 6)
    figure = figures.variances(rho, np.ones(6), rho, (np.ones(6), rho), 1 / rho)
    assert_readable(figure)
    left, right = figure.axes
    np.testing.assert_array_equal(coloured(right, "sgd")[0].get_ydata(), rho)
    assert left.get_xscale() == right.get_yscale() == "log"
    figure = figures.speeds(np.array([1.0, 2.0]), np.array([1.01, 1.96]), ["one", "two"])
    (ax,) = figure.axes
    np.testing.assert_allclose(coloured(ax, "sgd")[0].get_xdata(), [1.01, 0.98])
    n = np.geomspace(1, 1000, 30)
    figure = figures.displacement(n, {"a": n**0.5, "b": n}, (n[:5], n[:5]))
    assert_readable(figure)
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "simulated"]
    figure = figures.correlations(n, {"a": np.cos(n), "b": np.exp(-n)})
    assert len(figure.axes[0].get_legend().get_texts()) == 2


def test_walks_draw_their_paths_and_distances():
    n = np.array([1.0, 10.0, 100.0])
    path = np.cumsum(np.random.default_rng(0).normal(size=(50, 2)), axis=0)
    figure = figures.walks({"a": path, "b": path[::-1]}, n, {"a": n, "b": n**0.5})
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xydata(), path)
    np.testing.assert_allclose(figure.axes[1].lines[1].get_ydata(), n**0.5)
    assert figure.axes[1].get_xscale() == figure.axes[1].get_yscale() == "log"
