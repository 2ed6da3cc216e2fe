"""Linear processes: their split and covariances against quadrature, their samples against their laws."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import quad_vec

from lossnav import sgd

A = np.array([[2.5, -1.5], [-1.5, 2.5]])
D = np.diag([4.0, 1.0])


def random_pair(seed: int, dim: int = 4, rank: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    drift = rng.normal(size=(dim, dim))
    drift += (0.3 - np.min(np.linalg.eigvals(drift).real)) * np.eye(dim)
    half = rng.normal(size=(dim, dim if rank is None else rank))
    return drift, half @ half.T


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rank", [None, 1])
def test_split_of_any_stable_drift(seed, rank):
    a, d = random_pair(seed, rank=rank)
    q, u = sgd.decompose(a, d)
    np.testing.assert_allclose((d + q) @ u, a, atol=1e-6 * np.abs(u).max())
    np.testing.assert_allclose(q, -q.T, atol=0)
    assert np.linalg.eigvalsh(u)[0] > 0


@pytest.mark.parametrize(("t", "s"), [(0.0, 1.0), (1e-6, 1e-6), (0.7, 0.7), (0.4, 2.0), (2.0, 0.4), (30.0, 31.0)])
def test_covariance_is_the_integral_over_the_noise_in_any_units(t, s):
    a, d = random_pair(7)
    unit = np.array([1e-7, 1.0, 1e4, 1e7])

    def integrand(u):
        return scipy.linalg.expm(-a * (t - u)) @ (2 * d) @ scipy.linalg.expm(-a * (s - u)).T

    expected, _ = quad_vec(integrand, 0.0, min(t, s), epsabs=1e-14, epsrel=1e-11, limit=2000)
    covariance = sgd.covariance(a * unit[:, None] / unit, d * np.outer(unit, unit), 3.0, t, s) / np.outer(unit, unit)
    np.testing.assert_allclose(3.0 * covariance, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_covariance_of_an_unstable_drift_exists_for_a_while():
    covariance = sgd.covariance([[-1.0]], [[1.0]], 1.0, 2.0, 2.0)
    assert covariance[0, 0] == pytest.approx(np.exp(4) - 1, rel=1e-12)
    with pytest.raises(ValueError, match="A has an eigenvalue with real part -1"):
        sgd.covariance([[-1.0]], [[1.0]], 1.0, 2.0, 2.0, stationary=True)


def test_stationary_covariance_depends_on_the_lag_alone():
    a, d = random_pair(3)
    late = sgd.covariance(a, d, 2.0, 80.0, 80.5)
    for t, s in ((0.0, 0.5), (7.0, 7.5)):
        np.testing.assert_allclose(sgd.covariance(a, d, 2.0, t, s, stationary=True), late, atol=1e-9)
    np.testing.assert_allclose(sgd.covariance(a, d, 2.0, 0.5, 0.0, stationary=True), late.T, atol=1e-9)


@pytest.mark.parametrize("dt", [0.01, 5.0])
def test_samples_have_the_laws_moments_whatever_the_step(dt):
    process = sgd.OrnsteinUhlenbeck(A, D, kappa=2.0, centre=[1.0, -1.0])
    paths = process.sample(dt, 3, start=[2.0, 0.0], paths=20_000, seed=1)
    for k in (1, 3):
        expected = sgd.covariance(A, D, 2.0, k * dt, k * dt)
        error = 4 * np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 20_000)
        assert np.all(np.abs(np.cov(paths[:, k].T) - expected) < error)
        gap = paths[:, k].mean(0) - process.mean(k * dt, [2.0, 0.0])
        assert np.all(np.abs(gap) < 4 * np.sqrt(np.diag(expected) / 20_000))
    lag = np.einsum("pi,pj->ij", paths[:, 2] - paths[:, 2].mean(0), paths[:, 3] - paths[:, 3].mean(0)) / 20_000
    np.testing.assert_allclose(lag, sgd.covariance(A, D, 2.0, 2 * dt, 3 * dt), atol=0.06)


def test_current_is_stationary_and_turns_with_the_circulation():
    """∇·J = 0 by differences, J against drift and diffusion of the density, and E[x×j] by quadrature."""
    process = sgd.OrnsteinUhlenbeck(A, D, kappa=1.5, centre=[0.2, -0.1])
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    half = np.linalg.cholesky(process.spread)
    z = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1)
    w = np.outer(weights, weights) / (2 * np.pi)
    x = process.centre + z @ half.T
    away, j = x - process.centre, process.flow(x)
    swept = np.sum(w * (away[..., 0] * j[..., 1] - away[..., 1] * j[..., 0]))
    assert swept == pytest.approx(process.circulation[0, 1]) and swept == pytest.approx(2 * 0.9 / 1.5)
    here, step = np.array([0.7, 0.4]), 1e-5
    grad = np.array([(process.density(here + e) - process.density(here - e)) / (2 * step) for e in step * np.eye(2)])
    direct = -A @ (here - process.centre) * process.density(here) - D @ grad / process.kappa
    np.testing.assert_allclose(process.current(here), direct, atol=1e-8)
    around = [(process.current(here + e) - process.current(here - e)) @ e for e in step * np.eye(2)]
    assert abs(sum(around)) / (2 * step**2) < 1e-8 < np.linalg.norm(direct)
    np.testing.assert_allclose(np.log(process.density(here) / process.density(process.centre)),
                               -1.5 * process.modified_loss(here), rtol=1e-12)  # fmt: skip


def test_regression_agrees_with_the_modes():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rho = np.array([2.0, 0.5, 0.1])
    options = {"eta": 0.1, "beta": 0.9, "batch": 8, "noise": 0.6, "decay": 0.03}
    process = sgd.regression(basis @ np.diag(rho) @ basis.T, **options)
    for q, law in zip(basis.T, sgd.stationary(rho, **options), strict=True):
        plane = np.array([np.r_[q, 0 * q], np.r_[0 * q, q]])
        np.testing.assert_allclose(plane @ process.spread @ plane.T, law, atol=1e-12)
    turns = [process.circulation[:3, 3:] @ q @ q for q in basis.T]
    np.testing.assert_allclose(turns, sgd.circulation(rho, **options), rtol=1e-9)


def test_regression_with_noise_of_another_basis_keeps_each_modes_law():
    """Correction 2: the variances along each q hold for any Σ; correlations between modes appear."""
    half = np.random.default_rng(2).normal(size=(3, 3))
    sigma, rho = half @ half.T, np.array([2.0, 0.5, 0.1])
    options = {"eta": 0.1, "beta": 0.9, "batch": 8}
    spread = sgd.regression(np.diag(rho), gradient_covariance=sigma, **options).spread
    law = sgd.stationary(rho, gradient_variance=np.diag(sigma), **options)
    np.testing.assert_allclose(np.diag(spread)[:3], law[:, 0, 0], rtol=1e-9)
    np.testing.assert_allclose(np.diag(spread)[3:], law[:, 1, 1], rtol=1e-9)
    assert np.abs(spread[0, 1]) > 0.01 * spread[0, 0] and np.abs(spread[1, 3]) > 0


@pytest.mark.parametrize(("call", "words"), [
    (lambda: sgd.decompose([[-1.0]], [[1.0]]), "A has an eigenvalue with real part -1"),
    (lambda: sgd.decompose(np.eye(2), np.diag([1.0, -1.0])), "D has the eigenvalue -1.*positive semidefinite"),
    (lambda: sgd.decompose(np.eye(2), np.diag([1e-20, -1e-20])), "D has the eigenvalue -1e-20.*positive semidefinite"),
    (lambda: sgd.decompose(np.eye(2), np.diag([1.0, 0.0])), "D does not reach every direction"),
    (lambda: sgd.regression([[1.0]], eta=3.0, beta=0.5, batch=1, noise=1.0), "eta = 3 and beta = 0.5.*unstable"),
    (lambda: sgd.regression([[0.0]], eta=0.3, beta=0.5, batch=1, gradient_covariance=[[1.0]]), "must be > 0"),
    (lambda: sgd.regression([[1.0]], eta=0.3, beta=0.5, batch=9, noise=1.0, population=9), "whole population"),
])  # fmt: skip
def test_what_has_no_stationary_density_says_why(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("unit", [1e-8, 1e-5, 1e6, 1e8])
def test_regression_in_any_unit_of_the_weights(unit):
    options = {"eta": 0.5 * unit, "beta": 0.5, "batch": 1}
    process = sgd.regression([[1 / unit]], gradient_covariance=[[1.0]], **options)
    law = sgd.stationary(1 / unit, gradient_variance=1.0, **options)
    np.testing.assert_allclose(process.spread, law, rtol=1e-9, atol=1e-9 * np.sqrt(np.prod(np.diag(law))))
    drawn = process.sample(unit, 1, paths=20_000, seed=0)[:, 0]
    np.testing.assert_allclose(drawn.var(axis=0), np.diag(law), rtol=0.05)


def test_a_singular_drift_has_no_stationary_law():
    rng = np.random.default_rng(0)
    for _ in range(40):
        half = rng.normal(size=(3, 2))
        with pytest.raises(ValueError, match="no law is stationary"):
            sgd.covariance(half @ half.T, np.eye(3), 1.0, 0.0, 0.0, stationary=True)
