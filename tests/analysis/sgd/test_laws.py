"""Stationary law, speed, circulation and displacement: against matrix recursions, simulations and each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from lossnav import sgd

RHO = np.array([2.0, 0.4, 0.03])
NOISE = np.array([0.7, 1.1, 0.2])  # of no relation to RHO
SETTINGS = [(0.1, 0.9, 0.0), (0.3, 0.0, 0.02), (0.05, 0.99, 0.0), (1.2, 0.5, 0.1)]


def steps_matrix(h: float, eta: float, beta: float) -> np.ndarray:
    return np.array([[1 - eta * h, eta * beta], [-h, beta]])


def lyapunov(h: float, eta: float, beta: float, variance: float) -> np.ndarray:
    """The stationary covariance of the recursion, from scipy's solver of P = MPMᵀ + N."""
    kick = np.array([eta, 1.0])
    return scipy.linalg.solve_discrete_lyapunov(steps_matrix(h, eta, beta), variance * np.outer(kick, kick))


@pytest.mark.parametrize(("eta", "beta", "decay"), SETTINGS)
def test_discrete_law_solves_the_recursion(eta, beta, decay):
    law = sgd.stationary(
        RHO, eta=eta, beta=beta, batch=4, gradient_variance=NOISE, decay=decay, form="discrete"
    )  # fmt: skip
    for matrix, rho, sigma in zip(law, RHO, NOISE, strict=True):
        np.testing.assert_allclose(matrix, lyapunov(rho + decay, eta, beta, sigma / 4), rtol=1e-9)


@pytest.mark.parametrize(("eta", "beta", "decay"), SETTINGS)
@pytest.mark.parametrize("n", [1, 2, 17, 400])
def test_discrete_displacement_from_powers_of_the_step(eta, beta, decay, n):
    expected = 0.0
    for rho, sigma in zip(RHO, NOISE, strict=True):
        p = lyapunov(rho + decay, eta, beta, sigma / 4)
        expected += 2 * (p - np.linalg.matrix_power(steps_matrix(rho + decay, eta, beta), n) @ p)[0, 0]
    options = {"eta": eta, "beta": beta, "batch": 4, "gradient_variance": NOISE, "decay": decay}
    assert sgd.displacement(RHO, n, form="discrete", **options) == pytest.approx(expected, rel=1e-9)
    if n == 1:
        assert sgd.speed(RHO, form="discrete", **options) == pytest.approx(expected, rel=1e-9)


def test_flat_directions_wander_at_the_rate_of_their_noise():
    """From v alone: θ_n − θ_0 = ηΣv_k with correlations β^k, and the continuous twin of it."""
    eta, beta, sigma, n = 0.1, 0.9, 1.7, np.array([1, 5, 300])
    lag = np.subtract.outer(np.arange(300), np.arange(300))
    memory = beta ** np.abs(lag)
    exact = [eta**2 * sigma / (4 * (1 - beta**2)) * memory[:k, :k].sum() for k in n]
    options = {"eta": eta, "beta": beta, "batch": 4, "gradient_variance": [sigma]}
    np.testing.assert_allclose(sgd.displacement([0.0], n, form="discrete", **options), exact, rtol=1e-12)
    slow = sgd.displacement([1e-13], n, form="discrete", **options)
    np.testing.assert_allclose(slow, exact, rtol=1e-9)  # 1/h would have left nothing of it
    flat = sgd.displacement([0.0], n, form="sde", **options)
    np.testing.assert_allclose(sgd.displacement([1e-13], n, form="sde", **options), flat, rtol=1e-9)
    assert flat[-1] == pytest.approx(exact[-1], rel=0.01)
    with pytest.raises(ValueError, match=r"rho \+ decay is 0 in 1 of 1 directions"):
        sgd.stationary([0.0], **options)


@pytest.mark.parametrize(("eta", "beta", "decay"), SETTINGS[:3])
def test_continuous_displacement_is_twice_the_variance_less_what_is_remembered(eta, beta, decay):
    options = {"eta": eta, "beta": beta, "batch": 4, "gradient_variance": NOISE, "decay": decay}
    n = np.array([0, 1, 30, 2000])
    law = sgd.stationary(RHO, **options)
    expected = np.zeros(4)
    for rho, p in zip(RHO, law, strict=True):
        left = [sgd.Mode(rho + decay, eta=eta, beta=beta).propagator(eta * k)[0, 0] for k in n]
        expected += 2 * p[0, 0] * (1 - np.array(left))
    np.testing.assert_allclose(sgd.displacement(RHO, n, **options), expected, rtol=1e-10, atol=1e-14)
    assert sgd.displacement(RHO, 10**7, **options) == pytest.approx(2 * law[:, 0, 0].sum(), rel=1e-9)


def test_riemann_sum_term_by_term():
    eta, beta, n = 0.1, 0.9, 40
    total = n * NOISE.sum()
    for k in range(1, n):
        for rho, sigma in zip(RHO, NOISE, strict=True):
            total += 2 * (n - k) * sigma * float(sgd.Mode(rho, eta=eta, beta=beta).autocorrelation(eta * k))
    expected = eta**2 * total / (4 * (1 - beta**2))
    options = {"eta": eta, "beta": beta, "batch": 4, "gradient_variance": NOISE}
    displacement = sgd.displacement(RHO, [[n, 0], [1, n]], form="riemann", **options)
    np.testing.assert_allclose(displacement, [[expected, 0], [sgd.speed(RHO, **options), expected]], rtol=1e-12)


@pytest.mark.parametrize("form", ["discrete", "sde"])
def test_simulations_follow_their_laws(form):
    """Variances, step, displacement and circulation of 4000 paths, within four standard errors."""
    options = {"eta": 0.1, "beta": 0.8, "batch": 2, "noise": 0.5, "decay": 0.05, "form": form}
    rho, n = np.array([1.5, 0.2]), 25
    theta, v = sgd.simulate(rho, n, paths=4000, seed=5, **options)
    law = sgd.stationary(rho, **options)
    for k in (0, n):
        for l in range(2):
            sampled = np.cov(theta[:, k, l], v[:, k, l])
            error = np.sqrt(np.outer(np.diag(law[l]), np.diag(law[l])) + law[l] ** 2) / np.sqrt(4000)
            assert np.all(np.abs(sampled - law[l]) < 4 * error)
    square = np.sum((theta[:, n] - theta[:, 0]) ** 2, axis=1)
    expected = float(sgd.displacement(rho, n, **options))
    assert abs(square.mean() - expected) < 4 * square.std() / np.sqrt(4000)
    if form == "discrete":
        np.testing.assert_allclose(theta[:, 1:] - theta[:, :-1], 0.1 * v[:, 1:], atol=1e-12)
        swept = (theta[:, :-1] * v[:, 1:] - v[:, :-1] * theta[:, 1:]) / 0.1
        mean, error = swept.mean((0, 1)), swept.mean(1).std(0) / np.sqrt(4000)
        assert np.all(np.abs(mean - sgd.circulation(rho, **options)) < 4 * error)
        assert np.all(mean < 0), "clockwise"


def test_simulation_from_a_start_follows_the_mean():
    theta, v = sgd.simulate(
        [2.0, 0.1], 200, eta=0.05, beta=0.9, batch=1, noise=0.0, start=[1.0, -2.0], velocity=0.5, form="sde"
    )
    t = 0.05 * np.arange(201)
    for l, (h, a0) in enumerate(((2.0, 1.0), (0.1, -2.0))):
        a, b = sgd.Mode(h, eta=0.05, beta=0.9).mean(t, a0, 0.5)
        np.testing.assert_allclose(theta[0, :, l], a, atol=1e-12)
        np.testing.assert_allclose(v[0, :, l], b, atol=1e-11)


def test_batches_without_replacement_are_quieter_by_the_finite_population():
    """Variance of the mean of S of N numbers, from all subsets of a small N."""
    from itertools import combinations

    values = np.array([0.3, -1.0, 2.0, 0.7, -0.4])
    for size in (1, 2, 4, 5):
        means = [np.mean(part) for part in combinations(values, size)]
        ratio = sgd.speed(0.0, eta=1.0, beta=0.0, batch=size, gradient_variance=np.var(values), population=5)
        assert ratio == pytest.approx(np.var(means), abs=1e-15)


@pytest.mark.parametrize(("batch", "largest"), [(1, 0.0974), (8, 0.661), (64, 2.384)])
def test_variance_ends_before_stability(batch, largest):
    """Gaussian inputs in one dimension, β = .9: second moments of the recursion with random curvature, exactly."""
    beta = 0.9

    def radius(eta):
        mean, spread = steps_matrix(1.0, eta, beta), np.array([[-eta, 0.0], [-1.0, 0.0]])
        return max(abs(np.linalg.eigvals(np.kron(mean, mean) + 2 / batch * np.kron(spread, spread))))

    options = {"beta": beta, "batch": batch, "noise": 1.0, "form": "discrete", "curvature_variance": 2.0}
    for eta in (0.9 * largest, 0.999 * largest, 1.001 * largest, 1.1 * largest):
        if radius(eta) < 1:
            assert np.all(np.isfinite(sgd.stationary(1.0, eta=eta, **options)))
        else:
            with pytest.raises(ValueError, match="no stationary variance"):
                sgd.stationary(1.0, eta=eta, **options)
    assert radius(0.999 * largest) < 1 < radius(1.001 * largest)


@pytest.mark.parametrize("curvature", [0.3, 1.0, 2.5])
def test_noise_that_grows_with_the_distance_solves_its_own_second_moments(curvature):
    eta, beta, batch, nu = 0.3, 0.8, 8, 0.7
    mean, spread, kick = steps_matrix(curvature, eta, beta), np.array([[-eta, 0.0], [-1.0, 0.0]]), np.array([eta, 1.0])
    p = np.zeros((2, 2))
    for _ in range(5000):
        p = mean @ p @ mean.T + nu / batch * spread @ p @ spread.T + 0.4 / batch * np.outer(kick, kick)
    law = sgd.stationary(
        curvature, eta=eta, beta=beta, batch=batch, gradient_variance=0.4, form="discrete", curvature_variance=nu
    )  # fmt: skip
    np.testing.assert_allclose(law, p, rtol=1e-10)


@pytest.mark.parametrize("form", ["sde", "discrete"])
def test_unstable_settings_are_refused_in_words(form):
    options = {"beta": 0.5, "batch": 4, "noise": 1.0, "form": form}
    for call in (sgd.stationary, sgd.speed, sgd.circulation, lambda r, **o: sgd.displacement(r, 3, **o),
                 lambda r, **o: sgd.simulate(r, 3, **o)):  # fmt: skip
        call(1.0, eta=2.999, **options)
        with pytest.raises(ValueError, match=r"eta = 3, beta = 0.5 and rho \+ decay = 1 are unstable.*must be < 2"):
            call(1.0, eta=3.0, **options)
    with pytest.raises(ValueError, match="exactly one"):
        sgd.speed(1.0, eta=0.1, beta=0.5, batch=4)


def test_exponent_of_a_power():
    n = np.array([3, 10, 200])
    assert sgd.exponent(n, 5.0 * n**0.7) == pytest.approx(0.7, rel=1e-12)
