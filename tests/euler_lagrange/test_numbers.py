"""Numbers without a formula: derivatives of a path from its positions, and of the highest order from the others."""

from __future__ import annotations

import numpy as np
import pytest

import lossnav as ln
from lossnav.euler_lagrange import numeric


class Polynomial:
    """θ(t) = (t − 1)ⁿ and 2(t − 1)ⁿ + t."""

    def __init__(self, degree: int, count: int = 41):
        self.times, self.end, self.degree = np.linspace(0.0, 2.0, count), 2.0, degree

    def __call__(self, t):
        power = (t - 1) ** self.degree
        return np.stack([power, 2 * power + t], axis=-1)


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 6])
def test_derivatives_of_polynomials_up_to_the_sixth_degree_are_exact(degree):
    path, t = Polynomial(degree), np.array([0.4, 0.9, 1.6])
    theta, velocity, second, apart = numeric._differences(path, t, np.full(3, 0.1))
    slope, bend = degree * (t - 1) ** (degree - 1), degree * (degree - 1) * (t - 1) ** (degree - 2)
    np.testing.assert_allclose(theta, path(t))
    np.testing.assert_allclose(velocity, np.stack([slope, 2 * slope + 1], axis=-1), atol=1e-12)
    np.testing.assert_allclose(second, np.stack([bend, 2 * bend], axis=-1), atol=1e-11)
    # The rule of fourth order beside it is off by θ⁽⁶⁾h⁴/90.
    off = 720 * 0.1**4 / 90 * np.sqrt(5) if degree == 6 else 0.0
    np.testing.assert_allclose(apart, np.full(3, off), atol=1e-10)


@pytest.mark.parametrize(("count", "inner"), [(41, slice(3, -3)), (9, slice(3, -3)), (8, slice(1, -1))])
def test_a_path_is_looked_at_inside_its_grid(count, inner):
    path = Polynomial(2, count)
    times, spacing = numeric.sample_times(path, None)
    np.testing.assert_array_equal(times, path.times[inner])
    assert np.all(times - 3 * spacing > 0) and np.all(times + 3 * spacing < 2.0)


def test_the_highest_derivative_is_that_of_each_point():
    loss, dim = ln.losses.Quadratic([[2.0, 0.3], [0.3, 1.0]], minimum=[0.0, 1.0]), 2
    speed = ln.euler_lagrange(ln.Objective(gamma=0.4, price=ln.prices.Power(3.0)), loss)
    heavy = ln.euler_lagrange(ln.Objective(gamma=0.4, price=ln.prices.Acceleration(2.0, speed=0.5)), loss)
    points = np.random.default_rng(1).normal(size=(4, 2, 3, dim))
    for found, count in ((speed.acceleration, 2), (heavy.snap, 4)):
        many = found(*points[:count])
        assert many.shape == (2, 3, dim)
        for at in np.ndindex(2, 3):
            np.testing.assert_allclose(found(*points[:count, *at]), many[at], rtol=1e-12)
    with pytest.raises(ValueError, match="must be asked for snap, for they are of fourth order"):
        heavy.acceleration([1.0, 1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="must be asked for acceleration, for they are of second order"):
        speed.snap(*points[:, 0, 0])


def test_functions_of_one_parameter_have_no_index():
    drift = ln.drifts.Function(lambda x: -np.sin(x), dim=1)
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.4, drift=drift)
    loss = ln.losses.Function(lambda x: np.cosh(x).sum(-1), dim=1)
    theta, velocity = np.random.default_rng(2).normal(size=(2, 9, 1))
    f, slope = -np.sin(theta), -np.cos(theta)
    expected = 0.4 * (velocity - f) + 0.7 * 1.3 * np.sinh(theta) + f * slope
    np.testing.assert_allclose(ln.euler_lagrange(objective, loss).acceleration(theta, velocity), expected, atol=1e-7)
