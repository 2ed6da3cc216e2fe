"""The example that all theory chapters share: what is drawn is what was given, on one landscape, from one start."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.patches import Ellipse

import lossnav as ln
from lossnav import figures
from lossnav.figures import example


def way(end):
    t = np.linspace(0, 1, 30)[:, None]
    return (1 - t) * np.array(example.START) + t * np.array(end)


def test_paths_stand_where_they_were_computed_and_the_first_is_dotted():
    first, stays = way((1.06, 0.0)), way((-0.93, 0.0))
    ax = example.bent(first, {"stays": {"rule": "gradient descent", "points": stays, "at": 0.5, "side": "left"}}).axes[
        0
    ]
    dotted, path = [line for line in ax.get_lines() if len(line.get_xdata()) > 1]
    assert dotted.get_linestyle() == ":" and np.array_equal(dotted.get_xydata(), first)
    assert np.array_equal(path.get_xydata(), stays)
    assert to_rgba(path.get_color()) == to_rgba(figures.COLOURS["gradient descent"])
    (text,) = ax.texts
    x, y = text.get_position()
    assert text.get_ha() == "right" and x < stays[:, 0].max() and y == pytest.approx(stays[14, 1], abs=0.02)


def test_clouds_are_one_standard_deviation():
    one = {"rule": "uncertain", "points": way((0, 0)), "at": 0.5, "side": "above"}
    ax = example.bent(way((1, 0)), {"one": one}, [[0.1, 0.2, 0.3, 0.4]]).axes[0]
    (cloud,) = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert cloud.center == (0.1, 0.2) and (cloud.width, cloud.height) == (0.6, 0.8)


def test_start_and_landscape_are_those_of_the_papers_figure():
    plan = ln.solve(ln.Objective(gamma=example.GAMMA), example.LANDSCAPE, example.START)
    assert plan.asymptote[0] > 0 > example.START[0]
    _, barrier, _ = example.LANDSCAPE.stationary_points()[:, 0]
    slope = example.LANDSCAPE.gradient(example.START)
    assert example.START[0] < barrier and slope[0] > 0, "gradient descent leads to the shallow valley"
