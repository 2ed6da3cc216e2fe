"""Optimal paths that never rest: what ``solve`` says of them, and that the ring's optimum is what it is said to be."""

import time

import numpy as np
import pytest
from rings import loop, ring

import lossnav as ln
from lossnav.trajectory import cycles, wandering


def turning(rate, gamma=0.0, **options):
    return ln.Objective(gamma=gamma, drift=ln.drifts.rotation(rate), **options)


@pytest.mark.parametrize(("gamma", "method"), [(0.0, "auto"), (0.0, "bvp"), (0.5, "bvp")])
def test_solve_does_not_say_that_the_ring_has_no_optimum_or_a_resting_one(gamma, method):
    began = time.process_time()
    with pytest.raises(ln.NotConverged, match=r"need not come to rest.*trajectory\.cycles"):
        ln.solve(turning(1.0, gamma), ring(), [1.5, 0.5], method=method)
    assert time.process_time() - began < 60  # at gamma = 0 it used to look for a rest on a circle of them, for ever
    attempt = ln.solve(turning(1.0, gamma), ring(), [1.5, 0.5], method=method, throw=False)
    assert not attempt.converged and np.all(np.isnan(attempt.asymptote))
    assert np.linalg.norm(attempt(min(attempt.end / 2, 20.0))) == pytest.approx(1, abs=1e-2)  # on the ring


def test_gamma_zero_says_what_resting_and_going_round_cost():
    assert wandering.lowest_rest(turning(1.0), ring(), np.array([1.5, 0.5])) == pytest.approx(7 / 16, rel=1e-9)
    with pytest.raises(ln.NotConverged, match=r"resting costs 0\.4375 per unit of time"):
        ln.solve(turning(1.0), ring(), [1.5, 0.5])


def test_a_rest_that_stands_is_refused_if_the_cycle_is_cheaper():
    """Above the locking threshold there still is a place to rest, a minimum of L_eff at gamma = 0."""
    assert cycles.cycle(turning(0.5), ring(0.1), loop()).rate < 0.02
    with pytest.raises(ln.NotConverged, match="need not come to rest"):
        ln.solve(turning(0.5), ring(0.1), np.array([-0.99, 0.1]))


@pytest.mark.parametrize(("rate", "tilt", "start"), [(0.6, 0.2, [-0.99, 0.1]), (1.0, 0.0, [1.5, 0.5])])
def test_with_a_discount_the_path_that_goes_round_for_ever_is_the_answer(rate, tilt, start):
    """Beside a late deadline with a free end."""
    gamma = 0.5
    path = ln.solve(turning(rate, gamma), ring(tilt), start)
    assert path.at_infinity == "moves on" and path.is_minimum
    late = ln.solve(turning(rate, gamma, horizon=50.0), ring(tilt), start)
    assert path.action == pytest.approx(late.action, rel=1e-7)
    np.testing.assert_allclose(path([1.0, 5.0, 20.0]), late([1.0, 5.0, 20.0]), atol=1e-5)


def test_himmelblau_in_a_current_is_solved():
    """No place can be rested at; J beside that of a late deadline, and Ritz's (benchmarks.reference)."""
    loss = ln.losses.Function(
        lambda x: ((x[..., 0] ** 2 + x[..., 1] - 11) ** 2 + (x[..., 0] + x[..., 1] ** 2 - 7) ** 2) / 50, dim=2
    )
    path = ln.solve(turning(1.0, 0.5), loss, [0.0, 0.0])
    assert path.action == pytest.approx(5.258587, rel=1e-6)
    assert path.action == pytest.approx(ln.value(turning(1.0, 0.5, horizon=60.0), loss, [0.0, 0.0]), rel=1e-8)


@pytest.mark.parametrize(("gamma", "rate", "tilt"), [(0.0, 0.5, 0.25), (0.2, 0.5, 0.2), (1.0, 0.1, 0.2)])
def test_below_the_threshold_the_rest_is_returned(gamma, rate, tilt):
    path = ln.solve(turning(rate, gamma), ring(tilt), [-0.9, 0.3], rtol=1e-6)
    assert path.converged and path.asymptote[0] < 0
    np.testing.assert_allclose(path(400.0), path.asymptote, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.8])
def test_the_way_to_the_ring_is_that_of_one_radius_without_drift(gamma):
    """In coordinates that turn with the current there is none left: J is that of (r² − 1)² on a line."""
    start, rate = np.array([0.3, 0.2]), 0.7
    radius = float(np.linalg.norm(start))
    if gamma:
        line = ln.losses.DoubleWell(a=1.0, b=1.0, c=1.0, d=0.0)
        straight = ln.solve(ln.Objective(gamma=gamma), line, [radius, 0.0])
        expected, end = straight.action, straight.asymptote[0]
        assert end == pytest.approx(1.0)
    else:
        expected = np.sqrt(2) * abs(radius**3 / 3 - radius + 2 / 3)
    if gamma:
        path = ln.solve(turning(rate, gamma, horizon=30.0), ring(), start, rtol=1e-7)
    else:  # with a deadline solve would start from each of many places on a circle where one can rest
        path = ln.solve(turning(rate), ring(), start, throw=False)
    assert path.action == pytest.approx(expected, rel=1e-6 if gamma else 2e-4)
    angle = np.unwrap(np.arctan2(*path(path.times).T[::-1]))
    np.testing.assert_allclose(angle - angle[0], rate * path.times, atol=1e-4 if gamma else 3e-2)


def test_from_the_top_it_stays_if_and_only_if_gamma_is_at_least_four():
    """L ≥ 1 − 2r², and ∫e^{−γt}ẏ² ≥ (γ²/4)∫e^{−γt}y² for y(0) = 0: at γ ≥ 4 no path from 0 costs less than 1/γ."""
    rng = np.random.default_rng(0)
    for gamma in (3.0, 4.0, 4.5):
        horizon, costs = 60 / gamma, []
        t = np.linspace(0, horizon, 12_001)
        middle = (t[1:] + t[:-1]) / 2
        for _ in range(200):
            pace, size = rng.uniform(0.1, 0.75) * gamma, 10 ** rng.uniform(-6, 0)
            grown = np.minimum(size * np.sinh(np.minimum(pace * t, 40)), rng.uniform(0.3, 1.1))  # leaves, then stays
            slope, radius = np.diff(grown) / np.diff(t), (grown[1:] + grown[:-1]) / 2
            rates = slope**2 / 2 + (radius**2 - 1) ** 2
            tail = np.exp(-gamma * horizon) * (grown[-1] ** 2 - 1) ** 2 / gamma
            costs.append(np.sum(np.exp(-gamma * middle) * rates * np.diff(t)) + tail)
        if gamma < 4:
            assert min(costs) < (1 - 1e-4) / gamma
        else:
            assert min(costs) > (1 - 1e-5) / gamma
            assert ln.value(turning(1.0, gamma), ring(), np.zeros(2)) == pytest.approx(1 / gamma, rel=1e-4)


def test_nothing_is_asked_where_rest_is_all_there_is():
    start = np.array([1.0, 0.5])
    saturating = ln.drifts.Function(lambda x: -np.tanh(x), lambda x: np.diag(-1 / np.cosh(x) ** 2), dim=2)
    bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 1.0])
    for objective, loss in (
        (ln.Objective(gamma=1.0), ring()),
        (ln.Objective(gamma=1.0, drift=saturating), ring()),
        (turning(1.0, 0.5), bowl),
    ):
        assert wandering.turning(objective, loss, start) == 0
