"""Averaged losses against sampling, quadrature and differences."""

from __future__ import annotations

import numpy as np
import pytest

import lossnav as ln
from lossnav import uncertainty as un

WELLS = un.Wells([[0.5, -0.3], [-1.0, 1.0]], [1.0, 2.0], [0.4, 0.7], bowl=0.3, bowl_centre=[0.2, 0.1])


def well_loss() -> ln.losses.Function:
    """The same wells as a plain function; gradient and Hessian by the library's differences."""

    def value(x):
        bowl = 0.15 * np.sum((x - np.array([0.2, 0.1])) ** 2, axis=-1)
        for centre, depth, width in (([0.5, -0.3], 1.0, 0.4), ([-1.0, 1.0], 2.0, 0.7)):
            bowl = bowl - depth * np.exp(-np.sum((x - np.array(centre)) ** 2, axis=-1) / (2 * width**2))
        return bowl

    return ln.losses.Function(value, dim=2)


AVERAGES = {
    "wells": WELLS,
    "quadratic": un.average(ln.losses.Quadratic([[2.0, 0.4], [0.4, 0.5]], minimum=[0.3, -1.0])),
    "double well": un.average(ln.losses.DoubleWell()),
}


@pytest.mark.parametrize("name", AVERAGES)
def test_derivatives_agree_with_differences_and_with_the_heat_equation(name: str) -> None:
    average, rng, step = AVERAGES[name], np.random.default_rng(0), 1e-4
    for _ in range(4):
        mu, v = rng.normal(size=2), rng.uniform(0.1, 1.0, 2)
        for axis, e in enumerate(step * np.eye(2)):
            up, middle, down = (average.value(mu + s * e, v) for s in (1, 0, -1))
            assert average.mean_gradient(mu, v)[axis] == pytest.approx((up - down) / (2 * step), abs=1e-6)
            by_v = (average.value(mu, v + e) - average.value(mu, v - e)) / (2 * step)
            assert average.variance_gradient(mu, v)[axis] == pytest.approx(by_v, abs=1e-6)
            assert by_v == pytest.approx((up - 2 * middle + down) / step**2 / 2, abs=1e-5)


def test_wells_agree_with_quadrature_and_with_sampling() -> None:
    mu, v = np.array([0.1, 0.2]), np.array([0.3, 0.8])
    by_nodes = un.Hermite(well_loss(), order=60)
    assert WELLS.value(mu, v) == pytest.approx(by_nodes.value(mu, v), abs=1e-7)
    np.testing.assert_allclose(WELLS.mean_gradient(mu, v), by_nodes.mean_gradient(mu, v), atol=1e-5)
    np.testing.assert_allclose(WELLS.variance_gradient(mu, v), by_nodes.variance_gradient(mu, v), atol=1e-4)
    draws = mu + np.sqrt(v) * np.random.default_rng(1).normal(size=(400_000, 2))
    assert WELLS.value(mu, v) == pytest.approx(well_loss().value(draws).mean(), abs=5e-3)
    # and without uncertainty it is the loss itself
    assert WELLS.value(mu, [0.0, 0.0]) == pytest.approx(well_loss().value(mu), rel=1e-12)


def test_averages_take_batches() -> None:
    rng = np.random.default_rng(2)
    mu, v = rng.normal(size=(3, 4, 2)), rng.uniform(0.1, 1, (3, 4, 2))
    for average in AVERAGES.values():
        assert average.value(mu, v).shape == (3, 4)
        for part in (average.value, average.mean_gradient, average.variance_gradient):
            np.testing.assert_allclose(part(mu, v)[2, 1], part(mu[2, 1], v[2, 1]), rtol=1e-12)


def test_a_quartic_of_three_weights_has_its_second_derivatives_from_few_places() -> None:
    sizes = []

    def value(x):
        sizes.append(x.size)
        return (x**4).sum(-1) / 4 + x.prod(-1)

    potential = un.Potential(un.average(ln.losses.Function(value, dim=3)), temperature=0.5)
    theta = np.random.default_rng(4).normal(size=(2, 6))
    mu, v = theta[:, :3], np.exp(theta[:, 3:])
    # E[θ⁴] = μ⁴ + 6μ²v + 3v², and of independent weights E[θ₁θ₂θ₃] is that of the means
    expected = np.zeros((2, 6, 6))
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        expected[:, i, i] = 3 * (mu[:, i] ** 2 + v[:, i])
        expected[:, j, k] = expected[:, k, j] = mu[:, i]
        expected[:, i, i + 3] = expected[:, i + 3, i] = 3 * mu[:, i] * v[:, i]
        expected[:, i + 3, i + 3] = 1.5 * mu[:, i] ** 2 * v[:, i] + 3 * v[:, i] ** 2
    np.testing.assert_allclose(potential.hessian(theta), expected, rtol=1e-5, atol=1e-4)
    assert sum(sizes) < 2 * 1000 * 14 * 3  # 1000 nodes a place, and a Hessian by differences takes 13


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: un.average(3.0), "loss"),
        (lambda: un.Hermite(ln.losses.Function(lambda x: x.sum(-1), dim=4)), "3"),
        (lambda: un.Wells([0.0], [1.0], [1.0]), "centres"),
        (lambda: un.Wells([[0.0]], [-1.0], [1.0]), "depths"),
        (lambda: un.Wells([[0.0]], [1.0, 2.0], [1.0]), "depths"),
        (lambda: un.Wells([[0.0]], [1.0], [0.0]), "widths"),
        (lambda: un.Wells([[0.0]], [1.0], [1.0], bowl=-1.0), "bowl"),
        (lambda: un.Wells([[0.0]], [1.0], [1.0], bowl_centre=[1.0, 2.0]), "bowl_centre"),
    ],
)
def test_errors_name_the_argument(make, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make()
