"""The figure of exponents shows what it was given, and its labels can be read."""

from __future__ import annotations

import numpy as np
import pytest
from readable import assert_inside, assert_large_enough

from lossnav.figures import exponents as pictures

P = [0.0, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0]
NEAR = 1 + np.outer(np.square(np.array(P) - 0.5), [1.0, 2.0, 3.0])


def test_lines_are_means_strokes_are_seeds_and_a_wide_panel_is_logarithmic():
    panels = {
        "near": ("cost", {"one": NEAR, "two": 2 * NEAR, "three": 3 * NEAR}),
        "far": ("loss", {"one": NEAR, "two": NEAR * np.logspace(0, 3, 7)[:, None]}),
        "last": ("loss", {"one": NEAR}),
    }
    figure = pictures.compared(P, panels)
    near, far, last, empty = figure.axes
    assert [ax.get_title("left") for ax in figure.axes[:3]] == ["a   near", "b   far", "c   last"]
    assert [ax.get_yscale() for ax in (near, far, last)] == ["linear", "log", "linear"]
    assert [ax.get_ylabel() for ax in (near, far, last)] == ["cost", "loss", "loss"] and not empty.get_visible()
    _, mean, *seeds = near.lines
    np.testing.assert_allclose(mean.get_ydata(), NEAR.mean(1))
    np.testing.assert_allclose(mean.get_xdata(), P)
    np.testing.assert_allclose([one.get_ydata() for one in seeds[:3]], NEAR.T)
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in near.get_legend().get_lines()}
    assert len(looks) == 3 and all(len({*part}) == 3 for part in zip(*looks, strict=True))  # nothing rests on colour
    figure.draw_without_rendering()
    for ax in (near, far, last):  # nothing is drawn behind a legend
        lowest = ax.get_legend().get_window_extent().y0
        assert all(ax.transData.transform(line.get_xydata())[:, 1].max() < lowest for line in ax.lines[1:])
    assert_large_enough(figure)
    assert_inside(figure)


def test_one_panel_fills_the_figure_and_a_fourth_line_has_no_room():
    (ax,) = pictures.compared(P, {"x": ("cost", {"y": NEAR})}).axes
    assert ax.get_title("left") == "x"
    with pytest.raises(ValueError, match="panels\\['x'\\] has 4 lines, but a panel has room for 3"):
        pictures.compared(P, {"x": ("cost", dict.fromkeys("abcd", NEAR))})
