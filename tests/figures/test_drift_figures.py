"""The figures of the drift chapter show what they were given, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.quiver import Quiver
from readable import assert_readable, drawn

import lossnav as ln
from lossnav import figures
from lossnav.figures import drift as pictures

START, T = np.array([1.5, 1.5]), np.linspace(0, 4, 200)
BOWL = ln.losses.Quadratic(4 * np.eye(2), minimum=[0.0, -0.5])
SPAN = (-2.3, 2.3, -2.3, 2.3)


def solved(field) -> ln.Trajectory:
    return ln.solve(ln.Objective(gamma=0.5, drift=field), BOWL, START)


def test_sails_end_where_the_trajectories_do():
    turning, decaying = ln.drifts.rotation(10.0), ln.drifts.weight_decay(10.0)
    paths = [solved(turning), solved(decaying)]
    alone = np.exp(-T)[:, None] * START
    both = [
        pictures.Sail("sail", BOWL, field, path, alone) for field, path in zip((turning, decaying), paths, strict=True)
    ]
    figure = pictures.sails(both, T, SPAN, (0.0, -0.000185), (-0.04, 0.07, -0.045, 0.008))
    for ax, path in zip(figure.axes[:2], paths, strict=True):
        np.testing.assert_allclose(drawn(ax, "optimal").get_xydata(), path(T))
        ends = [a.get_xydata()[0] for a in ax.lines if len(a.get_xdata()) == 1]
        assert any(np.allclose(end, path.asymptote) for end in ends)
    words = " ".join(text.get_text() for text in figure.axes[2].texts)
    assert f"{abs(paths[0].asymptote[1]):.6f}" in words and "0.000185" in words
    assert_readable(figure)


def test_arrows_point_along_the_field():
    figure, ax = plt.subplots()
    pictures.arrows(ax, ln.drifts.Linear([[0.0, 0.0], [1.0, 0.0]]), SPAN, 8)
    quiver = next(artist for artist in ax.collections if isinstance(artist, Quiver))
    u, v = np.asarray(quiver.U), np.asarray(quiver.V)
    assert np.all(u == 0) and np.all(np.sign(v) == np.sign(quiver.X))
    # twice the field, √2 times the arrow, and none longer than its cell
    order = np.argsort(np.abs(quiver.X))
    assert abs(v[order[-1]]) <= 4.6 / 8
    assert abs(v[order[-1]] / v[order[0]]) == pytest.approx(np.sqrt(abs(quiver.X[order[-1]] / quiver.X[order[0]])))
    pictures.arrows(ax, lambda x: [float(x[0] > 0), 0.0], SPAN, 4)  # zero in half of the plane
    figure.draw_without_rendering()


def test_signs_draws_both_claims_and_the_checks():
    right, wrong = np.exp(-T) - 0.25, 1.5 * np.exp(-T) - 0.9
    when = np.array([0.5, 2.0])
    figure = pictures.signs(
        T, [("right", "optimal", right), ("wrong", "ballistic", wrong)], (when, np.interp(when, T, right)), -0.5
    )
    np.testing.assert_allclose(drawn(figure.axes[0], "optimal").get_ydata(), right)
    np.testing.assert_allclose(drawn(figure.axes[0], "ballistic").get_ydata(), wrong)
    assert_readable(figure)


def test_overtaking_takes_the_resting_cost_off():
    x = np.linspace(0, 8, 81)
    best, other, drifting = 6 * (1 - np.exp(-3 * x)) + 0.25 * x, 6 * (1 - np.exp(-3 * x)) + 0.5 * x, 9 * x
    figure = pictures.overtaking(
        x, {"optimal": ("best", best), "newton": ("to the\nminimum", other), "loss": ("alone", drifting)}, 0.25, 6.0
    )
    above, below = figure.axes
    np.testing.assert_allclose(drawn(above, "optimal").get_ydata(), best)
    np.testing.assert_allclose(drawn(below, "optimal").get_ydata(), best - 0.25 * x)
    np.testing.assert_allclose(drawn(below, "loss").get_ydata(), drifting - 0.25 * x)
    assert_readable(figure)
    for ax in figure.axes:
        for text in ax.texts:
            assert 0 <= text.get_position()[1] <= ax.get_ylim()[1], "a label outside its panel squeezes the panel"


def test_ends_draws_one_arc_per_rate():
    angle = np.linspace(0, np.pi, 60)
    arcs = {}
    for q, size in ((1, 0.8), (4, 0.2)):
        arc = size / 2 * np.stack([np.sin(angle), -1 - np.cos(angle)], axis=-1)
        arcs[f"$q={q}$"] = (arc, arc[20], arc[0])
    figure = pictures.ends([0.0, -1.0], arcs, [[0.3, -0.4]])
    curves = [a.get_xydata() for a in figure.axes[0].lines if len(a.get_xdata()) == 60]
    assert len(curves) == 2
    np.testing.assert_allclose(curves[0], arcs["$q=1$"][0])
    assert_readable(figure)


def test_wrong_way_marks_both_ends():
    path = solved(ln.drifts.rotation(2.0))(T)
    paths = {"optimal": ("optimal", path), "ballistic": ("(115)", 0.6 * path)}
    figure = pictures.wrong_way(BOWL, ln.drifts.rotation(2.0), paths, path[::40], SPAN)
    np.testing.assert_allclose(drawn(figure.axes[0], "ballistic").get_xydata(), 0.6 * path)
    assert_readable(figure)
    with pytest.raises(ValueError, match="no known minimum"):
        pictures.wrong_way(ln.losses.Function(lambda x: (x**2).sum(-1), dim=2), ln.drifts.rotation(1.0), {}, path, SPAN)


def test_decomposition_draws_all_fields_to_one_scale():
    whole = ln.drifts.Linear([[-1.0, -1.0], [1.0, -1.0]])
    parts = [("$f$", whole), ("gradient", ln.drifts.weight_decay(1.0)), ("rest", ln.drifts.rotation(0.25))]
    figure = pictures.decomposition(parts, [("$L$", BOWL.value)], SPAN, points=6)
    arrows = [next(a for a in ax.collections if isinstance(a, Quiver)) for ax in figure.axes[:3]]
    longest = [float(np.max(np.hypot(a.U, a.V))) for a in arrows]
    assert longest[0] / longest[1] == pytest.approx(2**0.25)  # square roots of √2 and of 4
    assert longest[1] / longest[2] == pytest.approx(2.0)
    assert [ax.get_title(loc="left")[0] for ax in figure.axes] == list("abcd")


def test_shares_shows_both_shapes():
    ratio = np.array([1.0, 2.0, 10.0])
    smooth = np.geomspace(1, 10, 40)
    figure = pictures.shares((ratio, [0.84, 0.55, 0.04]), (smooth, np.linspace(1, 0.04, 40)), (1.0, "disc"))
    np.testing.assert_allclose(drawn(figure.axes[0], "optimal").get_ydata(), [0.84, 0.55, 0.04])
    assert_readable(figure)


def ring(tilt):
    return ln.losses.Function(lambda x: (np.sum(x**2, axis=-1) - 1) ** 2 + tilt * x[..., 0], dim=2)


def test_plane_draws_the_optimal_path_in_its_colour_whether_it_rests_or_not():
    angle = np.linspace(0, 9, 300)
    going = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + np.exp(-angle))[:, None]
    resting = going[:120]
    current = ln.drifts.rotation(0.3)
    figure = figures.orbits.plane(
        [
            figures.orbits.Orbit("weak", ring(0.05), current, going, resting),
            figures.orbits.Orbit("strong", ring(0.1), current, None, resting),
        ],
        (-1.6, 2.2, -1.6, 1.6),
    )
    left, right = figure.axes
    np.testing.assert_allclose(drawn(left, "optimal").get_xydata(), going)
    np.testing.assert_allclose(drawn(left, "newton").get_xydata(), resting)
    np.testing.assert_allclose(drawn(right, "optimal").get_xydata(), resting)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a   weak", "b   strong"]
    assert_readable(figure)


def test_locking_draws_theory_and_plane():
    tilt = np.linspace(0.002, 0.08, 30)
    going = np.where(tilt < 0.055, -3 * tilt**2, np.nan)
    fine = np.linspace(1e-3, 0.6, 40)
    curves = {
        r"$\gamma=0$": ("optimal", fine, 1.27 * np.sqrt(fine), [0.1, 0.4], [0.4, 0.81]),
        r"$\gamma=0.5$": ("momentum", fine, np.minimum(2 * fine, 1.2 * np.sqrt(fine) - 0.03), [0.1], [0.2]),
    }
    figure = figures.orbits.locking((tilt, 0.045 - tilt, going, going, 0.055), curves, (fine, 2 * fine))
    above, below = figure.axes
    np.testing.assert_allclose(drawn(above, "newton").get_ydata(), 1e3 * (0.045 - tilt))
    np.testing.assert_allclose(drawn(below, "optimal").get_ydata(), 1.27 * np.sqrt(fine))
    open_circles = [a.get_xydata() for a in below.lines if a.get_marker() == "o"]
    np.testing.assert_allclose(open_circles[0], [[0.1, 0.4], [0.4, 0.81]])
    assert_readable(figure)
