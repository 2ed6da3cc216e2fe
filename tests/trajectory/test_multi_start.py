"""The multi-start search finds every stationary point of a loss without a formula, wherever it starts."""

import numpy as np
import pytest
from resources import draws
from wells import drifting

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
    points = stationary.points(ln.Objective(), SLICE, np.array([start]))
    assert np.allclose(points[:, 0], ROOTS, atol=1e-8)


def test_a_descent_from_anywhere_on_the_ridge_ends_in_a_minimum():
    starts = np.linspace(-0.5, 0.5, 101)[:, None]
    minima = multi_start.minima(SLICE, starts)
    assert len(minima.ends) == 101 and not len(minima.lost) and minima.bent
    assert np.max(np.min(np.abs(minima.ends - ROOTS[[0, 2]]), axis=1)) < 1e-9


def rotating(p):
    """(x³ − x − y, y + x/2): its roots are the saddle 0 and the sinks ±√½, and it is no gradient."""
    x, y = p[..., 0], p[..., 1]
    return np.stack([x**3 - x - y, y + x / 2], axis=-1)


def slopes(p):
    x = p[..., 0]
    ones = np.ones_like(x)
    return np.stack([np.stack([3 * x**2 - 1, -ones], -1), np.stack([ones / 2, ones], -1)], -2)


@pytest.mark.parametrize(("search", "places"), [
    (multi_start.roots, [-np.sqrt(0.5), 0.0, np.sqrt(0.5)]), (multi_start.sinks, [-np.sqrt(0.5), np.sqrt(0.5)]),
])  # fmt: skip
def test_each_root_of_a_rotating_field_is_found_from_far_away(search, places):
    starts = np.random.default_rng(0).uniform(-30, 30, size=(40, 2))
    ends = search(rotating, slopes, starts).ends
    ends = ends[np.abs(rotating(ends)).max(axis=1) < 1e-9]
    gaps = np.abs(ends[:, :1] - places)
    assert np.all(gaps.min(axis=1) < 1e-8) and np.all(gaps.min(axis=0) < 1e-8)
    assert search is multi_start.roots or len(ends) == 40


def test_under_a_drift_the_cheapest_place_to_rest_is_found():
    """On a line: among all changes of sign, on a fine grid, of ηG⁻¹∇(kL + |f|²/2η) − γf, the stable ones."""
    grid = np.linspace(-15, 15, 60_001)[:, None]
    missed, looked = 0, draws(60)
    for seed in range(looked):
        objective, loss, rng = drifting(seed)
        drift = objective.drift
        resting = objective.k * loss.value(grid) + drift(grid)[:, 0] ** 2 / (2 * objective.eta)
        force = objective.eta * np.gradient(resting, grid[:, 0]) - objective.gamma * drift(grid)[:, 0]
        stable = np.flatnonzero((force[1:-2] < 0) & (force[2:-1] >= 0)) + 1
        if not len(stable):  # carried away
            continue
        best = grid[stable[np.argmin(resting[stable])], 0]
        points = stationary.search(objective, loss, 3 * rng.normal(size=1)).points
        missed += not np.any(np.abs(points - best) < 5e-3)
    assert missed <= 0.02 * looked


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
    points = stationary.points(ln.Objective(gamma=1.0), beale, np.array([0.5, -0.5]))
    assert np.allclose(points, [[0.0, 1.0], [0.10053795, -2.64451359], [3.0, 0.5]], atol=1e-6)


def test_of_all_starts_it_says_how_many_fell_without_end():
    """Few were not enough, for the loss bends: those that were added count among them."""
    fall = ln.losses.Function(lambda x: 1 / (1 + np.exp(x[..., 0])) - np.exp(-((x[..., 0] + 3) ** 2)), dim=1)
    result = stationary.search(ln.Objective(gamma=0.5), fall, np.array([0.5]))
    assert result.bent and 200 < len(result.lost) < result.starts
