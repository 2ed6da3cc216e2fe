"""The simulation of hidden weights, and the two readings under which gradient noise says nothing of curvature."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.integrate

from lossnav import belief

H = np.diag([0.2, 1.0, 5.0])
G = np.array([0.5, -1.0, 2.0])


def test_runs_are_seeded_and_at_steady_state_from_the_first_row() -> None:
    first, second = (belief.simulate(H, G, steps=3, particles=4, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.positions, second.positions)
    assert not np.allclose(first.positions, belief.simulate(H, G, steps=3, particles=4, seed=8).positions)
    run = belief.simulate(H, G, noise=0.3, dt=2.0, steps=5, particles=20_000, seed=0)
    for row in run.positions:
        np.testing.assert_allclose(row.var(axis=0), 0.3 / np.diag(H), rtol=0.05)


def test_covariance_of_a_snapshot_is_d_times_the_hessian() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    hessian = turn @ H @ turn.T
    run = belief.simulate(hessian, G, noise=0.3, tau=2.0, dt=50.0, steps=20, particles=4000, seed=1)
    np.testing.assert_allclose(run.covariance(), 0.3 * hessian, atol=0.02)
    np.testing.assert_allclose(run.gradients.mean(axis=(0, 1)), G, atol=0.02)


def test_weights_that_gather_at_the_minimum_have_no_mean_gradient() -> None:
    run = belief.simulate(H, G, dt=20.0, steps=20, particles=4000, seed=2, centre="minimum")
    np.testing.assert_allclose(run.gradients.mean(axis=(0, 1)), 0.0, atol=0.03)
    np.testing.assert_allclose(np.diag(run.covariance()), np.diag(H), rtol=0.03)


def test_increments_do_not_show_the_curvature() -> None:
    run = belief.simulate(H, G, noise=0.4, tau=0.5, dt=1e-3, steps=200, particles=400, seed=3)
    np.testing.assert_allclose(run.increment_covariance(), 2 * 0.4 / 0.5 / 1e-3 * np.eye(3), rtol=0.02, atol=20.0)


@pytest.mark.parametrize("dim", [1, 2])
def test_covariances_are_matrices_also_of_one_weight(dim: int) -> None:
    run = belief.simulate(2.0 * np.eye(dim), np.ones(dim), noise=1.5, dt=20.0, steps=20, particles=4000, seed=5)
    for found in (run.covariance(), run.averaged_covariance(1)):
        np.testing.assert_allclose(found, 3.0 * np.eye(dim), atol=0.1)
    assert run.increment_covariance().shape == (dim, dim)


@pytest.mark.parametrize("window", [1, 10, 200])
def test_averages_over_a_window_lose_the_curvature(window: int) -> None:
    run = belief.simulate(H, G, noise=0.4, tau=0.5, dt=0.02, steps=2000, particles=400, seed=4)
    variances = np.diag(run.averaged_covariance(window))
    if window == 1:
        np.testing.assert_allclose(variances, 0.4 * np.diag(H), rtol=0.05)
        return
    expected = belief.averaged_variance(np.diag(H), window * 0.02, noise=0.4, tau=0.5)
    np.testing.assert_allclose(variances, expected, rtol=0.06)


def test_variance_of_an_average_is_the_integral_of_the_autocorrelation() -> None:
    for h, window in ((0.2, 3.0), (5.0, 0.7), (1e-5, 1.0), (40.0, 9.0)):

        def correlation(u: float, h=h, window=window) -> float:
            return 2 / window * (1 - u / window) * 0.4 * h * np.exp(-h * u / 0.5)

        integral, _ = scipy.integrate.quad(correlation, 0, window, epsabs=1e-14)
        assert float(belief.averaged_variance(h, window, noise=0.4, tau=0.5)) == pytest.approx(integral, rel=1e-6)
    assert float(belief.averaged_variance(2.0, 0.0)) == 2.0
    late = belief.averaged_variance([0.5, 5.0], 1e6, noise=0.4, tau=0.5)
    np.testing.assert_allclose(late, 2 * 0.4 * 0.5 / 1e6, rtol=1e-5)


def test_variance_of_an_average_keeps_every_digit_for_any_window() -> None:
    windows = np.append(np.geomspace(1e-9, 1e9, 37), [0.9e-3, 1e-3, 1.1e-3])
    with mpmath.workdps(60):
        exact = [float(2 * (x - 1 + mpmath.exp(-x)) / x**2) for x in map(mpmath.mpf, windows.tolist())]
    np.testing.assert_allclose([belief.averaged_variance(1.0, x) for x in windows.tolist()], exact, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("noise", 0.0),
        ("tau", -1.0),
        ("dt", 0.0),
        ("steps", 0),
        ("particles", 2.5),
        ("centre", "nowhere"),
        ("hessian", -H),
        ("gradient", [1.0]),
    ],
)
def test_bad_arguments_are_named(name: str, value) -> None:
    with pytest.raises(ValueError, match=name):
        belief.simulate(**({"hessian": H, "gradient": G, "seed": 0} | {name: value}))
    run = belief.simulate(H, G, steps=4, particles=2, seed=0)
    for window in (0, 5, 1.5):
        with pytest.raises(ValueError, match="window = "):
            run.averaged_covariance(window)
    with pytest.raises(ValueError, match="curvature = "):
        belief.averaged_variance(0.0, 1.0)
