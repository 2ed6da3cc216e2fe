"""The figures of schedules show what they were given, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from readable import assert_readable

from lossnav import figures
from lossnav.figures import schedules as pictures

X = np.linspace(0.0, 1.0, 31)


@pytest.fixture(autouse=True)
def style():
    figures.use_style()
    yield
    plt.close("all")


def test_panels_and_differences_draw_their_numbers():
    lines = {"one": ("newton", 1 - X), "two": ("optimal", X - 0.5)}
    figure = pictures.stacked(X, {"rates": lines, "weights": lines}, "time")
    assert [ax.get_title("left") for ax in figure.axes] == ["a   rates", "b   weights"]
    np.testing.assert_allclose(figure.axes[1].lines[1].get_ydata(), X - 0.5)
    assert_readable(figure)
    assert pictures.stacked(X, {"rates": lines}, "time").axes[0].get_ylabel() == "rates"
    rows = {"one": ("newton", [0.1, 0.3]), "two": ("optimal", [-0.2, 0.0])}
    figure = pictures.differences({"a case": rows, "another": rows, "a third": rows}, "difference")
    first = figure.axes[0]
    np.testing.assert_allclose(first.lines[0].get_xdata(), [0.1, 0.3])
    np.testing.assert_allclose(first.lines[1].get_xdata(), [0.2, 0.2])
    assert [ax.get_visible() for ax in figure.axes] == [True, True, True, False]
    assert_readable(figure)
