"""The figures of the chapter on trained networks show the numbers that they are given."""

from __future__ import annotations

import numpy as np
import pytest
from readable import assert_readable

from lossnav.figures import moving

N = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])
ROWS = np.stack([N**0.5, 1.1 * N**0.5])


def points(ax, marker):
    return [(line.get_xdata(), line.get_ydata()) for line in ax.lines if line.get_marker() == marker]


def test_motion_averages_what_varies_and_shows_what_was_predicted():
    loss, speed = np.linspace(2.0, 1.0, 200), np.tile([1.0, 3.0], 100)
    figure = moving.motion(loss, speed, 2.5, N, N**0.5, 2 * N**0.5)
    left, middle, right = figure.axes
    assert np.mean(left.lines[0].get_ydata()) == pytest.approx(1.5)
    np.testing.assert_allclose(middle.lines[0].get_ydata(), 2.0)
    np.testing.assert_allclose(middle.lines[1].get_ydata(), 2.5)
    np.testing.assert_allclose(right.lines[1].get_ydata(), 2 * N**0.5)
    assert_readable(figure)


def test_spectrum_adds_the_noise_of_an_octave_and_loses_none():
    figure = moving.spectrum([-0.5, 0.0, 0.9, 1.0, 4.0], [1.0, 2.0, 3.0, 3.0, 1.0], 0.1, 0.01, 0.9)
    bars = {round(bar.get_x() + bar.get_width() / 2, 4): bar.get_height() for bar in figure.axes[0].patches}
    assert sum(bars.values()) == pytest.approx(100)
    assert sorted(bars.values())[-1] == pytest.approx(60)  # 1.0 and 1.1, of one octave
    assert_readable(figure)


def test_diffusion_has_the_slope_of_a_power():
    figure = moving.diffusion(N, ROWS, ROWS**2, ROWS)
    for line, power in zip(figure.axes[1].lines, (0.5, 1.0, 0.5), strict=False):
        np.testing.assert_allclose(line.get_ydata(), power, rtol=1e-6)
    assert_readable(figure)


def test_sweeps_put_momentum_on_the_axis_of_what_is_missing_to_one():
    table = {
        "values": [0.5, 0.9], "speed": [[1.0, 2.0], [1.5, 2.5]], "absolute": [[1.0, 4.0], [4.0, 4.0]],
        "calibrated": [[1.0, 2.0]] * 2, "exponent": [[0.5, 0.6]] * 2, "expected": [[0.4, 0.7], [0.6, 0.7]],
    }  # fmt: skip
    figure = moving.sweeps({"beta": table, "eta": table})
    above, below = figure.axes[0], figure.axes[2]
    np.testing.assert_allclose(points(above, "o")[1], [[0.5, 0.1], [1.5, 2.5]])
    np.testing.assert_allclose(points(above, "x")[0][1], [2.0, 4.0])
    np.testing.assert_allclose(points(below, "x")[0][1], [0.5, 0.7])
    np.testing.assert_allclose(points(figure.axes[1], "o")[0][0], [0.5, 0.9])
    assert_readable(figure)


def test_a_deeper_network_shows_ratios_and_where_the_loss_falls():
    table = {
        "values": [0.01, 0.1], "speed": [[1.0, 1.3], [0.9, 1.1]], "still": [[1, 0], [1, 1]],
        "angle": [[0.4, 1.0], [0.5, 1.1]], "expected": [[0.4, 1.0], [0.6, 1.0]],
    }  # fmt: skip
    figure = moving.deeper({"eta": table, "beta": table})
    above, below = figure.axes[0], figure.axes[2]
    open_ones = [line.get_ydata().tolist() for line in above.lines if line.get_markerfacecolor() == "white"]
    assert open_ones == [[1.3], []]
    assert sorted(y for line in above.lines[:4] for y in line.get_ydata()) == [0.9, 1.0, 1.1, 1.3]
    np.testing.assert_allclose(points(below, "o")[1][1], [0.5, 1.1])
    np.testing.assert_allclose(points(below, "x")[0][1], [0.5, 1.0])
    np.testing.assert_allclose(points(figure.axes[3], "x")[0][0], [0.99, 0.9])
    assert_readable(figure)


def test_temperature_shows_both_ratios_and_the_noise():
    figure = moving.temperature([0.001, 0.01], [1.0, 0.9], [1.0, 1.4], [1.0, 1.5], 0.005)
    np.testing.assert_allclose(points(figure.axes[0], "D")[0][1], [1.0, 1.4])
    np.testing.assert_allclose(points(figure.axes[0], "o")[0][1], [1.0, 0.9])
    np.testing.assert_allclose(points(figure.axes[1], "o")[0][1], [1.0, 1.5])
    assert_readable(figure)


def test_modes_show_measured_and_predicted():
    rho = np.array([0.5, 1.0, 2.0])
    figure = moving.modes(rho, rho**0, rho**1, 2 * rho**0, 2 * rho)
    for ax, power in zip(figure.axes, (0, 1), strict=True):
        np.testing.assert_allclose(points(ax, "o")[0][1], rho**power)
        np.testing.assert_allclose(points(ax, "x")[0][1], 2 * rho**power)
    assert_readable(figure)


def test_rotation_draws_a_piece_for_each_step():
    turn = np.linspace(0, 6, 30)
    planes = {"mode 1": (np.cos(turn), -np.sin(turn)), "mode 2": (turn, turn)}
    lags = np.arange(5.0)
    figure = moving.rotation(planes, lags, np.ones((2, 3, 5)), np.zeros((2, 5)))
    assert len(figure.axes[0].lines) == 29 and len(figure.axes) == 4
    np.testing.assert_allclose(figure.axes[0].lines[3].get_xdata(), np.cos(turn)[3:5])
    assert len(figure.axes[2].lines) == 5
    assert_readable(figure)
