"""A continuum of minima: where the paths come down to it, against problems of one parameter and formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lossnav as ln


def ring(level=0.0):
    return ln.losses.Function(lambda x: ((x**2).sum(-1) - 1) ** 2 + level, dim=2)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 3.0])
def test_the_way_to_a_ring_of_minima_is_radial(gamma):
    """Off the centre it is the path of one parameter, the radius, in a well at 1."""
    start = np.array([1.5, 0.5])
    radius = float(np.linalg.norm(start))
    path = ln.solve(ln.Objective(gamma=gamma), ring(), start, max_seconds=60)
    well = ln.losses.Section(ln.losses.DoubleWell(a=1.0, b=1.0, d=0.0))
    alone = ln.solve(ln.Objective(gamma=gamma), well, [radius])
    t = np.array([0.0, 0.3, 1.0, 4.0, 200.0])
    assert path.at_infinity == "rests" and path.is_minimum and path.action == pytest.approx(alone.action, rel=1e-7)
    np.testing.assert_allclose(path(t), alone(t) * start / radius, atol=1e-6)
    np.testing.assert_allclose(path.asymptote, start / radius, atol=1e-6)
    if gamma == 0:  # J = ∫ √(2L) dr
        assert path.action == pytest.approx(math.sqrt(2) * (radius**3 / 3 - radius + 2 / 3), rel=1e-7)


def test_resting_in_a_valley_costs_what_its_level_says():
    raised, plain = (ln.solve(ln.Objective(gamma=0.5), ring(level), [1.5, 0.5]) for level in (2.0, 0.0))
    assert raised.action - plain.action == pytest.approx(2.0 / 0.5) and raised.excess == pytest.approx(plain.excess)


@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_a_straight_valley_is_that_of_the_quadratic(gamma):
    normal, start = np.array([1.0, 2.0]), [1.5, 0.5]
    line = ln.losses.Function(lambda x: (x @ normal - 1.0) ** 2, dim=2)
    exact = ln.losses.Quadratic(2 * np.outer(normal, normal), gradient=-2 * normal, offset=1.0)
    objective = ln.Objective(gamma=gamma, metric=np.diag([1.0, 3.0]))
    path, true = ln.solve(objective, line, start, max_seconds=60), ln.solve(objective, exact, start)
    assert path.action == pytest.approx(true.action, rel=1e-6)
    np.testing.assert_allclose(path([0.2, 1.0, 50.0]), true([0.2, 1.0, 50.0]), atol=1e-6)


def test_at_gamma_0_a_minimum_below_the_valley_counts_alone():
    def both(x):
        height = ((x**2).sum(-1) - 1) ** 2
        return height / (1 + height) - 1.5 * np.exp(-4 * ((x[..., 0] - 3) ** 2 + x[..., 1] ** 2))

    path = ln.solve(ln.Objective(), ln.losses.Function(both, dim=2), [2.8, 0.2], max_seconds=60)
    assert path.asymptote[0] == pytest.approx(3.0, abs=0.2)
