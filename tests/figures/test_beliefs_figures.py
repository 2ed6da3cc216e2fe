"""The figures of the chapter on beliefs show what they were given, and their labels can be read."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib.axes import Axes
from readable import assert_readable

from lossnav import belief
from lossnav.figures import beliefs as pictures


def shows(ax: Axes, x: np.ndarray, y: np.ndarray) -> bool:
    """Whether some line of the panel has exactly these points."""
    return any(
        len(a.get_xdata()) == len(x) and np.allclose(a.get_xdata(), x) and np.allclose(a.get_ydata(), y, equal_nan=True)
        for a in ax.lines
    )


def test_noise_shows_markers_and_lines():
    h, smooth = np.geomspace(0.03, 30, 7), np.geomspace(0.03, 30, 50)
    windows = [
        (text, belief.averaged_variance(h, T), belief.averaged_variance(smooth, T))
        for text, T in (("at one\nmoment", 0.0), ("over $\\tau$", 1.0), ("over $30\\tau$", 30.0))
    ]
    figure = pictures.noise(h, windows, smooth, "no curvature left")
    for _, found, formula in windows:
        assert shows(figure.axes[0], h, found) and shows(figure.axes[0], smooth, formula)
    assert_readable(figure)


def test_smoother_puts_the_past_on_the_left():
    lags = np.linspace(4, -2.5, 400)
    memories = [belief.from_beta(np.exp(-1.0), gamma=gamma) for gamma in (0.0, 2.0, 10.0)]
    kernels = [(f"$\\gamma={m.gamma:.0f}$", m.smoother(lags)) for m in memories]
    x = np.linspace(0, 30, 50)
    share = np.array([belief.from_beta(np.exp(-1.0), gamma=g).causal_fraction for g in x])
    marks = [(m.gamma, m.causal_fraction) for m in memories]
    figure = pictures.smoother(lags, kernels, memories[0].average(lags), (x, share), marks)
    above, below = figure.axes
    for _, weights in kernels:
        assert shows(above, -lags, weights)
    held = np.where(lags < 0, np.nan, memories[0].average(lags))
    assert shows(above, -lags, held)
    assert shows(below, x, share)
    for place in marks:
        assert shows(below, np.array(place[:1]), np.array(place[1:]))
    assert_readable(figure)


def test_following_draws_each_plan_beside_its_aim():
    t = np.geomspace(3e-3, 3e4, 300)
    slow = {"aim": -1 - t / (t + 1e4), "rule": np.exp(-t) - 1}
    slow["weight"] = slow["rule"] - t / (t + 1e4)
    hasty = {"aim": -1 - t / (t + 1), "weight": -2 * t / (t + 1), "rule": np.exp(-t) - 1}
    figure = pictures.following(t, [("slow", slow), ("hasty", hasty)])
    for ax, lines in zip(figure.axes, (slow, hasty), strict=True):
        assert all(shows(ax, t, values) for values in lines.values())
    assert_readable(figure)


def test_root_draws_plans_on_lines():
    v, some = np.geomspace(1e-2, 1e2, 60), np.geomspace(3e-2, 60, 6)
    lines, found = [], []
    for gamma, rule in ((0.3, "ballistic"), (10.0, "optimal"), (100.0, "gradient descent")):
        model = belief.Beliefs(eta=100.0, gamma=gamma)
        lines.append((f"$\\gamma={gamma:g}$", rule, -model.step(np.ones(60), v, 1.0)))
        found.append(-model.step(np.ones(6), some, 1.0))
    figure = pictures.root(v, lines, (some, found))
    for (*_, speed), plans in zip(lines, found, strict=True):
        assert shows(figure.axes[0], v, speed) and shows(figure.axes[0], some, plans)
    assert_readable(figure)


def test_gains_shows_both_filters_and_their_ratio():
    n = np.arange(1, 3001)
    curves = [
        (f"$\\beta={b}$", belief.kalman_gains(b, 3000), belief.corrected_gains(b, 3000)) for b in (0.9, 0.99, 0.999)
    ]
    figure = pictures.gains(n, curves)
    above, below = figure.axes
    for _, exact, adam in curves:
        assert shows(above, n, exact) and shows(above, n, adam) and shows(below, n, adam / exact)
    assert_readable(figure)


def test_curvature_draws_the_median_ratio():
    rng = np.random.default_rng(0)
    stages = []
    for n, c in enumerate((1.0, 2.0, 40.0)):
        v = np.exp(rng.normal(-8 - n, 2, size=500))
        stages.append((f"stage {n}", v, c * v * np.exp(rng.normal(0, 0.2, size=500))))
    figure = pictures.curvature(stages)
    for ax, (_, v, h) in zip(figure.axes, stages, strict=True):
        assert shows(ax, v, h)
        ends = np.array([v.min(), v.max()])
        assert shows(ax, ends, np.median(h / v) * ends)
        assert f"{np.median(h / v):.2g}" in ax.texts[0].get_text()
    assert_readable(figure)
