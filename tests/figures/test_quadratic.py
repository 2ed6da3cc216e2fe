"""The figures of the momentum chapter show what they were given, in the colour of the rule it belongs to."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from matplotlib.figure import Figure
from readable import assert_readable, drawn

import lossnav as ln
from lossnav import figures, rules
from lossnav.figures import momentum, quadratic

RULES = {"gradient descent": rules.gradient_descent, "ballistic": rules.ballistic, "newton": rules.newton}


@pytest.fixture(scope="module")
def bowls():
    loss = ln.losses.Quadratic(1.0, minimum=[1.0])
    gammas = {"ballistic": 0.0, "optimal": 1.0, "gradient descent": 10.0}
    return loss, {
        rule: (rf"$\gamma={gamma:g}$", ln.solve(ln.Objective(gamma=gamma), loss, [0.0]))
        for rule, gamma in gammas.items()
    }


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts if text.get_text()]


def test_traces_are_the_trajectories_and_their_losses(bowls):
    loss, curves = bowls
    times = np.linspace(0.0, 8.0, 81)
    figure = quadratic.traces(curves, times, loss)
    above, below = figure.axes
    for rule, rate in (("ballistic", 1.0), ("optimal", (np.sqrt(5) - 1) / 2), ("gradient descent", np.sqrt(26) - 5)):
        expected = 1 - np.exp(-rate * times)
        np.testing.assert_allclose(drawn(above, rule).get_ydata(), expected, atol=1e-12)
        np.testing.assert_allclose(drawn(below, rule).get_ydata(), (1 - expected) ** 2 / 2, atol=1e-12)
    assert {text for text, _ in curves.values()} <= set(texts(figure))
    assert_readable(figure)


def test_paths_bend_with_the_power_of_the_rates():
    loss = ln.losses.Quadratic(np.diag([1 / 9, 1.0]), minimum=[0.0, 0.0])
    curves = {
        rule: (f"{gamma:g}", ln.solve(ln.Objective(gamma=gamma), loss, [-3.0, -3.0]))
        for rule, gamma in (("gradient descent", 1000.0), ("optimal", 1.0), ("ballistic", 0.0))
    }
    figure = quadratic.paths(curves, np.linspace(0.0, 6.0, 200), loss, marks=[1.0, 2.0])
    for rule, power in (("ballistic", 3.0), ("gradient descent", 9.0)):
        x, y = np.array(drawn(figure.axes[0], rule).get_data()) / -3
        np.testing.assert_allclose(y, x**power, atol=1e-4)
    marks = [a for a in figure.axes[0].lines if a.get_marker() == figures.LINES["ballistic"][1]]
    np.testing.assert_allclose(marks[0].get_ydata(), -3 * np.exp([-1.0, -2.0]), atol=1e-12)
    assert_readable(figure)


def test_rates_of_the_ballistic_rule_spread_as_the_square_root():
    ratio = np.linspace(1.0, 4.0, 31)
    curves = {}
    for rule, gamma in (("gradient descent", 1e4), ("ballistic", 0.0)):
        r = rules.rates(ln.Objective(gamma=gamma), np.diag(ratio))
        curves[rule] = (rule, r / r[0])
    figure = quadratic.rates(ratio, curves)
    np.testing.assert_allclose(drawn(figure.axes[0], "ballistic").get_ydata(), np.sqrt(ratio), rtol=1e-12)
    np.testing.assert_allclose(drawn(figure.axes[0], "gradient descent").get_ydata(), ratio, rtol=1e-6)
    assert_readable(figure)


def phi(rule, h, gamma, dt):
    return -rule(ln.Objective(gamma=gamma), np.ones_like(h), np.diag(h), dt)


def test_preconditioner_shows_three_slopes_in_the_bands_of_their_rules():
    h = np.logspace(-4, 10, 141)
    limits = {rule: (rule, phi(law, h, 1.0, 1e-3)) for rule, law in RULES.items()}
    breaks = [0.25, 1e6]
    figure = quadratic.preconditioner(h, phi(ln.update, h, 1.0, 1e-3), limits, breaks)
    ax = figure.axes[0]
    curve = drawn(ax, "ink").get_ydata()
    slope = np.gradient(np.log(curve), np.log(h))
    for place, expected in ((1e-4, 0.0), (1e3, -0.5), (1e10, -1.0)):
        assert abs(slope[np.argmin(np.abs(np.log(h / place)))] - expected) < 0.02
    for rule, left, right in (("gradient descent", 1e-4, 0.25), ("ballistic", 0.25, 1e6), ("newton", 1e6, 1e10)):
        label = next(text for text in ax.texts if text.get_text() == rule)
        assert left < label.get_position()[0] < right
        assert np.all(drawn(ax, rule).get_ydata() >= curve * (1 - 1e-9))  # each rule oversteps
    assert_readable(figure)


def test_families_draw_each_member_once_and_name_it():
    h = np.logspace(-3, 3, 61)
    panels = {
        "discounting": [(f"g{gamma:g}", phi(ln.update, h, gamma, 0.1)) for gamma in (0.0, 1.0, 10.0)],
        "step": [(f"d{dt:g}", phi(ln.update, h, 1.0, dt)) for dt in (0.1, 10.0)],
    }
    figure = quadratic.preconditioner_families(h, panels)
    for ax, family in zip(figure.axes, panels.values(), strict=True):
        assert [text.get_text() for text in ax.texts] == [name for name, _ in family]
        for artist, (_, values) in zip(ax.lines, family, strict=True):
            np.testing.assert_array_equal(artist.get_ydata(), values)
    assert_readable(figure)


def test_regime_map_places_each_label_where_its_rule_is_right():
    discounting, stretch = np.logspace(-6, 4, 21), np.logspace(-3, 2, 16)
    a, x = np.meshgrid(discounting, stretch)
    exact = -np.expm1(-x)  # h φ, with η = k = h = 1 and r = √(1+a) − √a
    dt = x / (np.sqrt(1 + a) - np.sqrt(a))
    errors = {
        "gradient descent": ("gd", np.abs(dt / (2 * np.sqrt(a)) / exact - 1)),
        "ballistic": ("ballistic", np.abs(dt / exact - 1)),
        "newton": ("newton", np.abs(1 / exact - 1)),
    }
    figure = quadratic.regime_map(discounting, stretch, errors, tolerance=0.1)
    for text, error in errors.values():
        label = next(artist for artist in figure.axes[0].texts if artist.get_text() == text)
        column = np.argmin(np.abs(np.log(discounting / label.get_position()[0])))
        row = np.argmin(np.abs(np.log(stretch / label.get_position()[1])))
        assert error[row, column] < 0.1
    assert_readable(figure)


def test_orders_draw_guides_of_the_expected_slope_through_the_last_point():
    gammas = np.array([4.0, 8.0, 16.0])
    figure = quadratic.orders(gammas, [("a", "gradient descent", gammas**-3.0, -3), ("b", "optimal", gammas**-5.0, -5)])
    guides = [artist for artist in figure.axes[0].lines if artist.get_color() == figures.COLOURS["quiet"]]
    for guide, power in zip(guides, (-3, -5), strict=True):
        np.testing.assert_allclose(guide.get_ydata(), gammas**power, rtol=1e-12)
    assert_readable(figure)


def test_digits_and_curvature_sign():
    h = np.logspace(-14, 6, 41)
    figure = quadratic.digits(h, [("naive", "loss", np.linspace(0, 16, 41)), ("stable", "optimal", np.full(41, 16.0))])
    np.testing.assert_array_equal(drawn(figure.axes[0], "optimal").get_ydata(), 16.0)
    assert_readable(figure)
    h = np.linspace(-0.2499, 1.0, 101)
    values = np.array([-ln.update(ln.Objective(gamma=1.0), [1.0], [[c]], 2.0)[0] for c in h])
    figure = quadratic.curvature_sign(h, values, 1 / h, -0.25)
    ax = figure.axes[0]
    assert np.all(drawn(ax, "optimal").get_ydata() > 0)
    sides = [a for a in ax.lines if a.get_color() == figures.COLOURS["newton"]]
    assert len(sides) == 2  # the jump of 1/h at zero is not a line
    np.testing.assert_allclose(drawn(ax, "gradient descent").get_ydata(), [2.0], rtol=1e-3)  # ηkΔt/γ
    assert_readable(figure)


def test_future_average_shades_only_what_lies_ahead():
    loss = ln.losses.Quadratic(1.0, minimum=[0.0])
    path = ln.solve(ln.Objective(gamma=1.0), loss, [-1.0])
    times = np.linspace(0.0, 6.0, 121)
    figure = momentum.future_average(path, loss, times, path.velocity(times)[:, 0], now=2.0, discount=1.0)
    above, below = figure.axes
    shaded = above.collections[0].get_paths()[0].vertices
    assert shaded[:, 0].min() >= 2.0
    np.testing.assert_allclose(drawn(above, "loss").get_ydata(), -loss.gradient(path(times))[:, 0])
    np.testing.assert_allclose(drawn(below, "optimal").get_ydata(), path.velocity(times)[:, 0])
    assert_readable(figure)


def test_phase_planes_draw_the_policy_line_in_the_first_panel_only():
    paths = [np.array([[-1.0, 0.5], [0.0, 0.0]]), np.array([[-1.0, 0.0], [0.0, 0.4]])]
    figure = momentum.phase_planes(
        {"a": ("optimal", [[0, 1], [1, 0.6]]), "b": ("potential", [[0, 1], [-1, -0.6]])}, 0.5, paths
    )
    line = drawn(figure.axes[0], "optimal")
    np.testing.assert_allclose(line.get_ydata(), -0.5 * line.get_xdata())
    np.testing.assert_array_equal(drawn(figure.axes[1], "potential").get_data(), paths[1].T)
    assert_readable(figure)


def test_blow_up_keeps_the_runaway_out_of_the_upper_panel_and_shows_it_below():
    t = np.linspace(0.0, 20.0, 201)
    best = 1 - np.exp(-0.5 * t)
    runaway = best + 1e-6 * np.exp(1.5 * t)
    figure = momentum.blow_up(t, best, [("kick", runaway)], 1.5)
    above, below = figure.axes
    shown = drawn(above, "ink").get_ydata()
    assert np.nanmax(shown) < 2.0 < runaway.max()
    np.testing.assert_allclose(drawn(below, "ink").get_ydata(), runaway - best, rtol=1e-8)
    guide = drawn(below, "quiet")
    slope = np.polyfit(guide.get_xdata(), np.log(guide.get_ydata()), 1)[0]
    assert abs(slope - 1.5) < 1e-9
    assert_readable(figure)


def test_walks_mark_single_steps_of_short_walks_only():
    long, short = np.linspace([-1.2, 1.0], [1.0, 1.0], 100), np.linspace([-1.2, 1.0], [1.0, 1.0], 9)
    figure = momentum.walks(
        ln.losses.Rosenbrock(),
        {
            "gradient descent": ("gradient descent", "long", long),
            "newton": ("Newton", "short", short),
            "optimal": ("Eq. 6", "short", short),
        },
        (-1.6, 1.5, -0.6, 1.8),
    )
    markers = [
        sum(a.get_marker() == figures.LINES[rule][1] and len(a.get_xdata()) > 1 for a in ax.lines)
        for ax, rule in zip(figure.axes, ("gradient descent", "newton", "optimal"), strict=False)
    ]
    assert markers == [0, 1, 1]
    assert [ax.get_visible() for ax in figure.axes] == [True, True, True, False]
    assert_readable(figure)


def test_cost_lines_end_where_the_walk_diverged():
    steps = np.array([0.01, 0.1, 1.0])
    figure = momentum.cost_of_steps(
        steps, {"ballistic": ("ballistic", [5.0, 9.0, np.inf]), "optimal": ("Eq. 6", [4.0, 4.5, 7.0])}, 3.5
    )
    ax = figure.axes[0]
    np.testing.assert_array_equal(drawn(ax, "ballistic").get_xdata(), [0.01, 0.1])
    np.testing.assert_array_equal(drawn(ax, "optimal").get_ydata(), [4.0, 4.5, 7.0])
    assert "ballistic\ndiverges" in texts(figure)
    np.testing.assert_array_equal(drawn(ax, "ink").get_ydata(), 3.5)
    assert_readable(figure)


def test_rivals_are_drawn_as_given_and_named_in_the_legend():
    steps = np.array([0.01, 0.1, 1.0])
    costs = {
        "optimal": ("Eq. 6", [4.0, 4.5, 12.0]),
        "levenberg-marquardt": ("damped", [6.0, 5.0, 11.5]),
        "gradient descent": ("tuned", [6.1, 6.2, 9.0]),
    }
    figure = momentum.rivals(steps, costs, 3.5)
    ax = figure.axes[0]
    for rule, (_, values) in costs.items():
        np.testing.assert_array_equal(drawn(ax, rule).get_ydata(), values)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Eq. 6", "damped", "tuned"]
    np.testing.assert_array_equal(drawn(ax, "ink").get_ydata(), 3.5)
    assert_readable(figure)


@pytest.mark.parametrize("bad", ["steepest", ""])
def test_an_unknown_rule_is_named(bad):
    with pytest.raises(ValueError, match="rule"):
        quadratic.rates([1.0, 2.0], {bad: ("?", [1.0, 2.0])})
