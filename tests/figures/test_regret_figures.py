"""The figures of the chapter on regret show what they were given, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from readable import assert_readable

from lossnav.figures import regret as pictures

GAMMA = np.geomspace(0.1, 10.0, 5)


def test_bars_are_sorted_and_stacked():
    bars = {"one": ("newton", 0.5, 0.2), "two": ("ballistic", 0.1, 0.0), "three": ("adam", 1.0, 1.0)}
    figure = pictures.parts({"x": bars})
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["three", "one", "two"]
    widths = np.array([bar.get_width() for bar in figure.axes[0].patches]).reshape(3, 2)
    np.testing.assert_allclose(widths, [[1.0, 1.0], [0.5, 0.2], [0.1, 0.0]])
    assert_readable(figure)


def test_boards_and_lines_draw_their_numbers():
    rows = {name: {"a": ("newton", GAMMA), "b": ("adam", 2 * GAMMA)} for name in ("x", "y", "z")}
    figure = pictures.board(rows, ["0", "1", "2", "3", "4"])
    np.testing.assert_allclose(figure.axes[1].lines[1].get_ydata(), 2 * GAMMA)
    assert_readable(figure)
    figure = pictures.over_discount(GAMMA, rows, logarithmic=False)
    np.testing.assert_allclose(figure.axes[2].lines[0].get_ydata(), GAMMA)
    assert figure.axes[0].get_yscale() == "linear"
    assert_readable(figure)


def test_networks_draw_every_seed_and_their_mean():
    cosines = np.array([[0.1, 0.5], [0.3, 0.9]])
    figure = pictures.networks({"a": ("newton", [0.1, 0.2], [0.05, 0.06])}, ["0", "∞"], {"a": ("newton", cosines)})
    np.testing.assert_allclose([line.get_ydata() for line in figure.axes[0].lines], [[0.1, 0.2], [0.05, 0.06]])
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), [0.2, 0.7])
    assert_readable(figure)
