"""The problem of uncertain weights as an objective and a loss: derivatives, and the cost it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lossnav as ln
from lossnav import uncertainty as un
from lossnav.problem.functions import differences

SETTING = un.Problem(eta=0.7, k=1.3, gamma=0.4, entropy=0.6, prior_variance=2.5)
LOSSES = {
    "quadratic": ln.losses.Quadratic([[2.0, 0.5], [0.5, 0.7]], minimum=[1.0, -0.5], offset=0.3),
    "well": ln.losses.DoubleWell(),
    "wells": un.Wells([[0.3, 0.0], [-1.0, 0.4]], [1.0, 0.4], [0.6, 0.3], bowl=0.4, bowl_centre=[0.0, 0.2]),
}
POINTS = np.random.default_rng(0).uniform(-1, 1, size=(7, 4))


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_those_of_the_value(name):
    stay = SETTING.loss(LOSSES[name])
    np.testing.assert_allclose(stay.gradient(POINTS), differences.first(stay.value, POINTS, 1e-3), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(stay.hessian(POINTS), differences.second(stay.value, POINTS, 3e-4), rtol=1e-5, atol=1e-5)
    assert stay.hessian(POINTS[0]).shape == (4, 4) and np.isscalar(stay.value(POINTS[0]))


def test_curvature_is_seen_next_to_a_large_mean():
    """Steps of differences are small beside the standard deviation, not beside the mean."""
    wells = un.Wells([[1e3]], [1.0], [1e-3])
    place = np.array([1e3, math.log(1e-8)])
    exact = 1e6 * (1 + 1e-2) ** -1.5  # d·w/(w²+v)^{3/2}
    assert SETTING.loss(wells).hessian(place)[0, 0] == pytest.approx(exact + SETTING.temperature / 2.5, rel=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_the_cost_is_that_of_the_problem(name):
    objective, stay, average = SETTING.objective(2, horizon=3.0), SETTING.loss(LOSSES[name]), un.average(LOSSES[name])
    mean, ell = np.split(POINTS, 2, axis=-1)
    mean_rate, log_rate = np.split(POINTS[::-1], 2, axis=-1)
    v = np.exp(ell)
    expected = SETTING.cost_rate(average, mean, v, mean_rate, v * log_rate)
    np.testing.assert_allclose(objective.cost_rate(stay, POINTS, POINTS[::-1]), expected, rtol=1e-13)
    assert (objective.horizon, objective.eta, objective.gamma) == (3.0, 0.7, 0.4)


def test_equations_of_motion_are_those_of_the_objective():
    """Eqs. 15, 16 as functions against what sympy derives from the Lagrangian of the objective."""
    objective, stay = SETTING.objective(2), SETTING.loss(LOSSES["quadratic"])
    velocity = POINTS[::-1]
    derived = ln.euler_lagrange(objective, stay).acceleration(POINTS, velocity)
    parts = [x for pair in (POINTS, velocity) for x in np.split(pair, 2, axis=-1)]
    by_hand = un.log_acceleration(SETTING, un.average(LOSSES["quadratic"]), *parts)
    np.testing.assert_allclose(derived, np.concatenate(by_hand, axis=-1), rtol=1e-10)


def test_the_place_of_rest_is_stationary_and_none_is_invented():
    stay = SETTING.loss(LOSSES["quadratic"])
    (place,) = stay.stationary_points()
    assert np.max(np.abs(stay.gradient(place))) < 1e-12 and np.linalg.eigvalsh(stay.hessian(place))[0] > 0
    assert SETTING.loss(LOSSES["wells"]).stationary_points() is None
    for setting, bend in ((un.Problem(), 1.0), (un.Problem(entropy=1.0), 0.0), (un.Problem(entropy=1.0), -1.0)):
        assert setting.loss(ln.losses.Quadratic([[bend]], minimum=[0.0])).stationary_points().shape == (0, 2)
