"""The figures of uncertain weights show what they were given, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from readable import assert_readable

from lossnav import figures
from lossnav.figures import uncertainty as pictures
from lossnav.figures.uncertainty import Curve

T = np.linspace(0, 6, 121)


def test_half_plane_draws_ways_and_normalised_densities() -> None:
    mean = np.linspace(-1, 1, 101)
    spread = np.sqrt(1.04 - mean**2 / 2) / 2
    figure = pictures.half_plane({"arc": ("uncertain", mean, spread), "chord": ("loss", mean, np.full(101, 0.2))})
    plane, bells = figure.axes
    arc = next(a for a in plane.lines if a.get_color() == figures.COLOURS["uncertain"] and len(a.get_xdata()) == 101)
    np.testing.assert_allclose(arc.get_ydata(), spread)
    assert len(bells.lines) == 5
    for bell, at in zip(bells.lines, (0, 25, 50, 75, 100), strict=True):
        x, density = (np.asarray(v) for v in bell.get_data())
        assert np.trapezoid(density, x) == pytest.approx(1.0, abs=2e-2)
        assert np.trapezoid(density * x, x) == pytest.approx(mean[at], abs=2e-2)
    assert_readable(figure)


def test_panels_draw_curves_switches_and_checks() -> None:
    fall, rise = np.exp(-T), 1 - np.exp(-T)
    checks = (T[::20], (fall[::20], rise[::20]))
    figure = pictures.panels(
        T,
        [
            ("fall", [Curve("one", "uncertain", fall), Curve("two", "uncertain", fall / 2, 0.2, "below")]),
            ("rise", [Curve("three", "optimal", rise + 1, 0.4, "left"), Curve("", "loss", rise + 0.5)]),
        ],
        events=(2.0,),
        level=1.0,
        checks=checks,
        ylabels=("$v$", "$w$"),
        logarithmic=(True, False),
    )
    first, second = figure.axes
    one, two = (a for a in first.lines if a.get_color() == figures.COLOURS["uncertain"])
    np.testing.assert_allclose(one.get_ydata(), fall)
    assert one.get_linestyle() != two.get_linestyle()  # told apart without colour
    assert first.get_yscale() == "log" and second.get_yscale() == "linear"
    points = next(a for a in second.lines if a.get_linestyle() == "None")
    np.testing.assert_allclose(points.get_ydata(), rise[::20])
    assert sum(np.allclose(a.get_xdata(), 2.0) for a in first.lines) == 1
    assert [ax.get_title(loc="left")[0] for ax in figure.axes] == ["a", "b"]
    assert [ax.get_ylabel() for ax in figure.axes] == ["$v$", "$w$"]
    assert_readable(figure)


def test_panels_in_columns_drop_the_spare_place() -> None:
    figure = pictures.panels(
        T,
        [(str(n), [Curve("", "loss", T * n)]) for n in range(1, 4)],
        columns=2,
        limits={0: (-1.0, 9.0)},
        ylabels=("y",),
    )
    assert len(figure.axes) == 3
    assert figure.axes[0].get_ylim() == (-1.0, 9.0)
    assert [ax.get_xlabel() != "" for ax in figure.axes] == [False, True, True]
    with pytest.raises(ValueError, match="side"):
        pictures.panels(T, [("", [Curve("x", "loss", T, 0.5, "beside")])])


def test_ticks_of_a_short_logarithmic_axis_are_plain_numbers() -> None:
    figure = pictures.panels(T, [("", [Curve("", "loss", np.exp(T / 2))])], logarithmic=(True,))
    words = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert words == ["1", "3", "10", "30"]
    figure = pictures.panels(T, [("", [Curve("", "loss", 10 ** (2 * T - 6))])], logarithmic=(True,))
    words = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert "1" in words and "3" not in words and "$10^{-6}$" in words


def test_before_after_draws_one_line_a_seed() -> None:
    before, after = np.array([1.0, 2.0, 3.0]), np.array([10.0, 40.0, 20.0])
    figure = pictures.before_after(
        [("first", "sum", {"one": (before, after), "two": (after, before)}), ("second", "", {"one": (before, after)})]
    )
    ax = figure.axes[0]
    pairs = [a.get_ydata() for a in ax.lines if len(a.get_xdata()) == 2]
    np.testing.assert_allclose(pairs, [*zip(before, after, strict=True), *zip(after, before, strict=True)])
    assert len(figure.axes) == 2 and all(ax.get_yscale() == "log" for ax in figure.axes)
    assert_readable(figure)
