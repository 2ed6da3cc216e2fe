"""The figures of schedules show what they were given, and their labels can be read."""

from __future__ import annotations

import numpy as np
from readable import assert_readable

from lossnav.figures import schedules as pictures

X = np.linspace(0.0, 1.0, 31)


def test_panels_draw_their_numbers():
    lines = {"one": ("newton", 1 - X), "two": ("optimal", X - 0.5)}
    figure = pictures.stacked(X, {"rates": lines, "weights": lines}, "time")
    assert [ax.get_title("left") for ax in figure.axes] == ["a   rates", "b   weights"]
    np.testing.assert_allclose(figure.axes[1].lines[1].get_ydata(), X - 0.5)
    assert_readable(figure)
    assert pictures.stacked(X, {"rates": lines}, "time").axes[0].get_ylabel() == "rates"
