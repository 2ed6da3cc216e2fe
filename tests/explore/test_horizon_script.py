"""The horizon's script against lossnav.rules, against mpmath, and its regime plane against root finding."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.optimize

import lossnav as ln
from lossnav import rules

H = np.array([1 / 9, 1.0])
CASES = [(gamma, dt) for gamma in (0.0, 0.3, 1.0, 10.0) for dt in (0.01, 0.5, 3.0, 200.0, math.inf)]


def step(horizon, name: str, g, gamma: float, dt: float) -> np.ndarray:
    given = {"h": list(H), "g": list(g), "gamma": gamma, "dt": None if math.isinf(dt) else dt}
    values = horizon(f"M.{name}(given.h, given.g, given.gamma, given.dt ?? Infinity)", given)
    return np.array([float(v.replace("Infinity", "inf")) if isinstance(v, str) else v for v in values])


def test_optimal_step_agrees_with_the_package(horizon):
    g = H * [-3.0, 2.0]
    cases = [(gamma, None if math.isinf(dt) else dt) for gamma, dt in CASES]
    steps = horizon(
        "given.cases.map(([gamma, dt]) => M.optimalStep(given.h, given.g, gamma, dt ?? Infinity))",
        {"cases": cases, "h": list(H), "g": list(g)},
    )
    for (gamma, dt), values in zip(CASES, steps, strict=True):
        expected = ln.update(ln.Objective(gamma=gamma), g, np.diag(H), dt)
        np.testing.assert_allclose(values, expected, rtol=1e-13)


def test_gain_and_rate_to_the_last_digits(horizon):
    cases = list(itertools.product([1e-12, 1.0, 1e6], [1e-8, 1.0, 1e6], [1e-6, 1.0, 1e4]))
    pairs = horizon("given.map(([h, gamma, dt]) => [M.groups(h, gamma, 1).progress, M.gain(h, gamma, dt)])", cases)
    for (h, gamma, dt), pair in zip(cases, pairs, strict=True):
        with mpmath.workdps(60):
            rate = mpmath.sqrt(mpmath.mpf(gamma) ** 2 / 4 + mpmath.mpf(h)) - mpmath.mpf(gamma) / 2
            gain = (1 - mpmath.exp(-rate * mpmath.mpf(dt))) / mpmath.mpf(h)
        np.testing.assert_allclose(pair, [float(rate), float(gain)], rtol=1e-13, err_msg=str((h, gamma, dt)))


@pytest.mark.parametrize(("gamma", "dt"), [(0.5, 0.1), (2.0, 4.0)])
def test_limits_agree_with_the_package(horizon, gamma, dt):
    g, objective = H * [1.5, -3.0], ln.Objective(gamma=gamma)
    for name, rule in (("descentStep", rules.gradient_descent), ("ballisticStep", rules.ballistic)):
        expected = rule(objective, g, np.diag(H), dt)
        np.testing.assert_allclose(step(horizon, name, g, gamma, dt), expected, rtol=1e-13)
    np.testing.assert_allclose(
        step(horizon, "newtonStep", g, gamma, dt), rules.newton(objective, g, np.diag(H)), rtol=1e-13
    )


def test_limits_that_diverge_do_so_along_minus_the_gradient(horizon):
    g = np.array([0.0, -2.0])
    np.testing.assert_array_equal(step(horizon, "descentStep", g, 0.0, 1.0), [0.0, np.inf])
    np.testing.assert_array_equal(step(horizon, "ballisticStep", -g, 1.0, math.inf), [0.0, -np.inf])


@pytest.mark.parametrize(
    ("limit", "gamma", "dt"), [("newtonStep", 1.0, 400.0), ("descentStep", 1e4, 0.1), ("ballisticStep", 1e-5, 1e-4)]
)
def test_each_limit_is_reached_in_its_corner(horizon, limit, gamma, dt):
    g = H * [-3.0, 2.0]
    optimal = step(horizon, "optimalStep", g, gamma, dt)
    assert np.linalg.norm(step(horizon, limit, g, gamma, dt) - optimal) < 2e-4 * np.linalg.norm(optimal)


@pytest.mark.parametrize("q", [1e-3, 5e-3, 0.1, 3.0, 40.0, 1e3])
def test_regime_plane_marks_where_a_limit_is_off_by_the_tolerance(horizon, q):
    # One direction, h = 1, γ = 2√q; the error of each limit as a function of Δt, from the package's own steps.
    tolerance, gamma = 0.1, 2 * math.sqrt(q)
    objective = ln.Objective(gamma=gamma)
    r = float(rules.rates(objective, [[1.0]])[0])

    def excess(rule, x):
        return float(rule(objective, [-1.0], [[1.0]], x / r)[0] / ln.update(objective, [-1.0], [[1.0]], x / r)[0]) - 1

    bounds = horizon("M.validity(given[0], given[1])", [q, tolerance])
    assert excess(rules.newton, bounds["newton"]) == pytest.approx(tolerance, rel=1e-9)
    for name, rule in (("descent", rules.gradient_descent), ("ballistic", rules.ballistic)):
        if excess(rule, 1e-9) >= tolerance:
            assert bounds[name] == 0
            continue
        expected = scipy.optimize.brentq(lambda x, rule=rule: excess(rule, x) - tolerance, 1e-9, 5.0, xtol=1e-13)
        assert bounds[name] == pytest.approx(expected, abs=1e-8)


def test_groups_and_error(horizon):
    found = horizon("[M.groups(1/9, 2, 3), M.error([3, 4], [0, 5]), M.error([0, 0], [0, 0]), M.error([1, 0], [0, 0])]")
    assert found[0]["damping"] == pytest.approx(9.0)
    assert found[0]["progress"] == pytest.approx(3 * (math.sqrt(1 + 1 / 9) - 1))
    assert found[1] == pytest.approx(math.sqrt(10) / 5)
    assert found[2:] == [0, "Infinity"]


def test_numbers_are_written_the_same_way_everywhere(horizon):
    texts = horizon(
        "[-0.0001, -1.5, 12.346].map((v) => M.fixed(v, 2))"
        ".concat([0, 0.0370, 182, 5.5e-5, 123456, Infinity].map(M.compact))"
    )
    assert texts == ["0.00", "−1.50", "12.35", "0", "0.0370", "182", "5.5·10⁻⁵", "1.2·10⁵", "∞"]
