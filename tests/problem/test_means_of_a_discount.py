"""Means of e^{−zu} over u in [0, 1] against integrals in forty digits."""

import mpmath
import numpy as np
import pytest

from lossnav.problem.functions.roots import exp_mean, exp_moment

RATES = [sign * 10.0**power for power in (-12, -4, -1, -0.01, 0.2, 0.5, 0.6, 1, 2) for sign in (-1, 1)]


@pytest.mark.parametrize("order", [0, 1, 2, 7])
@pytest.mark.parametrize("z", [0.0, *RATES])
def test_moments_keep_every_digit(z, order):
    with mpmath.workdps(40):
        exact = mpmath.quad(lambda u: (1 - u) ** order * mpmath.exp(-z * u), [0, 0.01, 0.1, 0.9, 0.99, 1])
    assert exp_moment(z, order) == pytest.approx(float(exact), rel=1e-14)
    if order == 0:
        assert exp_mean(z) == pytest.approx(float(exact), rel=1e-14)


def test_of_an_array_each_is_its_own_and_of_none_none():
    z = np.array([[1e-9, 50.0], [-3.0, 1.0]])
    np.testing.assert_array_equal(exp_moment(z, 1).ravel(), [exp_moment(x, 1) for x in z.ravel()])
    assert exp_moment(np.empty((0, 1)), 1).shape == (0, 1)
