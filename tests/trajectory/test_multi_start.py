"""The multi-start search finds every stationary point of a loss without a formula, wherever it starts."""

import numpy as np
import pytest

import lossnav as ln
from lossnav.trajectory import multi_start, stationary

SLICE = ln.losses.Function(
    lambda x: (x[..., 0] ** 2 - 1) ** 2 - x[..., 0] / 2,
    lambda x: 4 * x * (x**2 - 1) - 0.5,
    lambda x: (12 * x**2 - 4)[..., None],
    dim=1,
)
ROOTS = np.sort(np.roots([4.0, 0.0, -4.0, -0.5]).real)


@pytest.mark.parametrize("start", [*ROOTS, -0.12151039, 0.0, -1.2, 0.4])
def test_all_stationary_points_are_found_from_ridge_and_valley(start):
    # -0.1215 lies where the curvature is negative
    found = stationary.points(ln.Objective(), SLICE, np.array([start]))
    assert np.allclose(found[:, 0], ROOTS, atol=1e-8)


def test_a_descent_from_anywhere_on_the_ridge_ends_in_a_minimum():
    starts = np.linspace(-0.5, 0.5, 101)[:, None]
    found = multi_start.minima(SLICE, starts)
    assert len(found.ends) == 101 and not len(found.lost) and found.bent
    assert np.max(np.min(np.abs(found.ends - ROOTS[[0, 2]]), axis=1)) < 1e-9


def test_each_root_of_a_rotating_field_is_found_from_far_away():
    """field = (x³ − x − y, y + x/2): its roots are 0 and ±√½, and it is no gradient."""

    def field(p):
        x, y = p[..., 0], p[..., 1]
        return np.stack([x**3 - x - y, y + x / 2], axis=-1)

    def slopes(p):
        x = p[..., 0]
        one = np.ones_like(x)
        return np.stack([np.stack([3 * x**2 - 1, -one], -1), np.stack([one / 2, one], -1)], -2)

    starts = np.random.default_rng(0).uniform(-30, 30, size=(40, 2))
    ends = multi_start.roots(field, slopes, starts).ends
    ends = ends[np.abs(field(ends)).max(axis=1) < 1e-9]
    gaps = np.abs(ends[:, :1] - [-np.sqrt(0.5), 0.0, np.sqrt(0.5)])
    assert np.all(gaps.min(axis=1) < 1e-8) and np.all(gaps.min(axis=0) < 1e-8)


def test_a_sliding_valley_is_no_rest():
    """Beale's function falls to 0.4517 along θ₁ → −∞: small slopes beside steep walls are no stationary points."""
    beale = ln.losses.Function(
        lambda x: (
            (1.5 - x[0] + x[0] * x[1]) ** 2
            + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2
            + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2
        ),
        dim=2,
    )
    found = stationary.points(ln.Objective(gamma=1.0), beale, np.array([0.5, -0.5]))
    assert np.allclose(found, [[0.0, 1.0], [0.10053795, -2.64451359], [3.0, 0.5]], atol=1e-6)
