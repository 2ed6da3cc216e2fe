"""The multi-start search finds every stationary point of a loss without a formula, wherever it starts."""

import numpy as np
import pytest

import lossnav as ln
from lossnav.trajectory import stationary

SLICE = ln.losses.Function(
    lambda x: (x[..., 0] ** 2 - 1) ** 2 - x[..., 0] / 2,
    lambda x: 4 * x * (x**2 - 1) - 0.5,
    lambda x: (12 * x**2 - 4)[..., None],
    dim=1,
)
ROOTS = np.sort(np.roots([4.0, 0.0, -4.0, -0.5]).real)


@pytest.mark.parametrize("start", [*ROOTS, -0.12151039, 0.0, -1.2, 0.4])
def test_all_stationary_points_are_found_from_ridge_and_valley(start):
    # -0.1215 lies where the curvature is negative and scipy's trust-exact steps to NaN
    found = stationary.points(ln.Objective(), SLICE, np.array([start]))
    assert np.allclose(found[:, 0], ROOTS, atol=1e-8)


def test_a_descent_from_anywhere_on_the_ridge_ends_in_a_stationary_point():
    for x in np.linspace(-0.5, 0.5, 101):
        ends = stationary._descend(SLICE, np.array([x]))
        assert all(np.min(np.abs(end[0] - ROOTS)) < 1e-6 for end in ends)
