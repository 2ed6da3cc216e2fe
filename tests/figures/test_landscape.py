"""The ground of figures: contours at the heights that they claim, and shades that are darkest where it is lowest."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import lossnav as ln
from lossnav.figures import landscape

WELL = ln.losses.DoubleWell()
RIGHT = WELL.stationary_points()[-1, 0]


def test_contours_mark_heights_of_the_loss_from_its_lowest_value_in_the_window():
    _, ax = plt.subplots()
    landscape.contours(ax, WELL, (-1.4, 1.4), (-0.7, 0.7))
    lines = ax.collections[-1]
    for level, shape in zip(lines.levels, lines.get_paths(), strict=True):
        if len(shape.vertices):
            assert np.allclose(WELL.value(shape.vertices), level, atol=2e-3)
    assert lines.levels[0] == pytest.approx(WELL.value([RIGHT, 0.0]), abs=1e-3)


@pytest.mark.parametrize("scale", [None, np.log])
def test_the_ground_is_darkest_at_the_bottom_and_its_lines_are_heights(scale):
    _, ax = plt.subplots()
    landscape.ground(ax, WELL.value, (-1.4, 1.4, -0.7, 0.7), scale)
    shades, lines = ax.collections
    assert np.all(np.diff(shades.to_rgba(shades.get_array())[:, 0]) > 0)
    low = shades.levels[0] if scale is None else np.exp(shades.levels[0]) - 0.1
    assert low == pytest.approx(WELL.value([RIGHT, 0.0]) if scale is None else 0.0, abs=1e-2)
    assert np.allclose(np.ptp(np.diff(lines.levels)), 0.0) == (scale is np.log)


def test_a_minimum_that_nobody_knows_is_not_marked():
    assert np.array_equal(landscape.known_minimum(WELL), WELL.stationary_points()[0])
    with pytest.raises(ValueError, match="no known minimum"):
        landscape.known_minimum(ln.losses.Function(lambda x: (x**2).sum(-1), dim=2))
