"""What the theory says of SGD on real images, with nothing fitted; and of anisotropic noise in two dimensions.

MNIST on 14×14 pixels. Batches are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from resources import real
from torch.nn import functional as F

from lossnav import sgd

START = 0.02


@dataclass
class Regression:
    x: np.ndarray
    y: np.ndarray
    rho: np.ndarray
    q: np.ndarray
    minimum: np.ndarray

    @property
    def small(self) -> float:
        return 0.009 / self.rho[0]

    def noise(self, theta: np.ndarray) -> np.ndarray:
        """Variance over examples of the gradient along the steepest direction, for each output."""
        return np.mean((self.x @ theta - self.y) ** 2 * (self.x @ self.q[:, :1]) ** 2, axis=0)

    def run(self, theta, v, steps, *, eta, beta, batch, seed):
        """Return the end, the positions along q₁ of all outputs, |v|², and every 25th θ."""
        rng, place, squares, stops = np.random.default_rng(seed), [], [], []
        for k in range(steps + 1):
            place.append(self.q[:, 0] @ (theta - self.minimum))
            squares.append(float(np.sum(v**2)))
            if k % 25 == 0:
                stops.append(theta)
            if k < steps:
                rows = rng.integers(len(self.x), size=batch)
                x = self.x[rows]
                v = beta * v - x.T @ (x @ theta - self.y[rows]) / batch
                theta = theta + eta * v
        return theta, v, np.array(place), np.array(squares), stops


@pytest.fixture(scope="module")
def images() -> Regression:
    dataset = real("mnist")
    x = F.avg_pool2d(dataset.train.x[:10_000].double(), 2).flatten(1).numpy()
    x = np.c_[(x - x.mean()) / x.std(), np.ones(len(x))]
    y = np.eye(10)[dataset.train.y[:10_000].numpy()]
    rho, q = np.linalg.eigh(x.T @ x / len(x))
    return Regression(x, y, rho[::-1].clip(0), q[:, ::-1], np.linalg.lstsq(x, y, rcond=None)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "steps"), [(0.9, 400), (0.99, 1500)])
def test_spiral_along_the_steepest_direction(images, beta, steps):
    """Fig. 2: zeros at half periods, and distances from the mean as wide as predicted from the current noise."""
    eta, batch, h = images.small, 128, images.rho[0]
    start = images.minimum + START * images.q[:, :1]
    _, _, place, _, stops = images.run(start, 0 * start, steps, eta=eta, beta=beta, batch=batch, seed=3)
    variances = np.array([images.noise(theta) / batch for theta in stops])
    step, kick = np.array([[1 - eta * h, eta * beta], [-h, beta]]), np.array([eta, 1.0])
    law, width = np.zeros((10, 2, 2)), []
    for k in range(steps):
        law = step @ law @ step.T + variances[k // 25, :, None, None] * np.outer(kick, kick)
        width.append(np.sqrt(law[:, 0, 0]))
    mode = sgd.Mode(h, eta=eta, beta=beta)
    b0 = float(sgd.matched_velocity(0.0, -h * START, beta=beta))
    mean, _ = mode.mean(eta * np.arange(steps + 1), START, b0)
    z = (place[1:] - mean[1:, None]) / width
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.3
    if beta == 0.99:
        half = mode.half_period / eta
        zeros = [k for k in np.flatnonzero(np.diff(np.sign(place.mean(1)))) if k < 8.7 * half]
        assert len(zeros) in (8, 9)
        assert np.mean(np.diff(zeros)) == pytest.approx(half, rel=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("times", [(1, 0.99, 128), (1, 0.9, 32), (3, 0.5, 128)])
def test_speed_is_predicted_absolutely(images, times):
    """K16 with tr Σ at the minimum: within 5 %, whatever η, β and S."""
    eta, beta, batch = times[0] * images.small, *times[1:]
    residual = images.x @ images.minimum - images.y
    trace = np.sum(residual**2, axis=1) @ np.sum(images.x**2, axis=1) / len(images.x)
    settled = 200 + round(5 / (1 - beta))
    theta, v, *_ = images.run(images.minimum, 0 * images.minimum,
                              settled, eta=eta, beta=beta, batch=batch, seed=1)  # fmt: skip
    squares = images.run(theta, v, 2500, eta=eta, beta=beta, batch=batch, seed=2)[3]
    predicted = sgd.speed(0.0, eta=eta, beta=beta, batch=batch, gradient_variance=trace)
    assert eta**2 * squares.mean() / predicted == pytest.approx(1.0, abs=0.05)


def test_oscillator_follows_the_recursion_of_real_curvatures(images):
    """Without noise: < 1 % of |a₀| with the centred velocity, and an error that falls with η·ρ."""
    errors = []
    for eta in (images.small, images.small / 4):
        steps = round(3.6 / (images.rho[0] * eta))
        theta, v = sgd.simulate(images.rho[0], steps, eta=eta, beta=0.9, batch=1, noise=0.0, start=1.0)
        b0 = float((v[0, 0, 0] + v[0, 1, 0]) / 2)
        mean, _ = sgd.Mode(images.rho[0], eta=eta, beta=0.9).mean(eta * np.arange(steps + 1), 1.0, b0)
        errors.append(np.max(np.abs(mean - theta[0, :, 0])))
    assert errors[0] < 0.01 and errors[0] > 3 * errors[1]


def test_identity_holds_on_images(images):
    """E⟨θ, g⟩ = (η/2)(1 + β)E|v|² on a window that starts away from the minimum: the ends are part of it."""
    eta, beta, rng = images.small, 0.9, np.random.default_rng(0)
    theta, v, gradients = [images.minimum + START * images.q[:, :1]], [0 * images.minimum], []
    for _ in range(60):
        rows = rng.integers(len(images.x), size=64)
        gradients.append(images.x[rows].T @ (images.x[rows] @ theta[-1] - images.y[rows]) / 64)
        v.append(beta * v[-1] - gradients[-1])
        theta.append(theta[-1] + eta * v[-1])
    flat = [np.array(record).reshape(len(record), -1) for record in (theta, v, gradients)]
    assert sgd.fluctuation_dissipation(*flat, eta=eta, beta=beta).ratio == pytest.approx(1.0, abs=1e-8)


DRIFT, NOISE, HEAT = np.array([[2.5, -1.5], [-1.5, 2.5]]), np.diag([4.0, 1.0]), 2e4


def axis(matrix: np.ndarray) -> float:
    return float(np.degrees(np.arctan2(*np.linalg.eigh(matrix)[1][::-1, -1])) % 180)


@pytest.mark.parametrize("noise", [NOISE, np.eye(2)], ids=["anisotropic", "isotropic"])
def test_anisotropic_noise_turns_and_shifts_the_cloud(noise):
    """Fig. 3, from Euler's scheme, which the library does not use: 2000 paths, time step 2e-3."""
    rng, step, paths = np.random.default_rng(1), 2e-3, 2000
    size = np.sqrt(2 * step / HEAT * np.diag(noise))
    x, late, before = rng.normal(size=(paths, 2)) * 0.01, [], []
    for k in range(4000):
        x = x - step * x @ DRIFT + size * rng.normal(size=(paths, 2))
        if k >= 1500 and k % 100 == 0:  # a lag of 0.2
            late.append(x)
            before.append(late[-2] if len(late) > 1 else x)
    late, before = np.array(late[1:]), np.array(before[1:])
    process = sgd.OrnsteinUhlenbeck(DRIFT, noise, kappa=HEAT)
    sampled = np.einsum("tpi,tpj->ij", late, late) / late[..., 0].size
    expected = process.spread
    assert np.all(np.abs(sampled - expected) < 0.04 * np.sqrt(np.outer(np.diag(expected), np.diag(expected))))
    turns = np.mean(late[..., 1] * before[..., 0] - late[..., 0] * before[..., 1], axis=0)
    error = turns.std() / np.sqrt(paths)
    lagged = sgd.covariance(DRIFT, noise, HEAT, 0.2, 0.0, stationary=True)
    if noise is NOISE:
        assert abs(axis(sampled) - axis(expected)) < 2 < 10 < abs(axis(sampled) - axis(np.linalg.inv(DRIFT)))
        assert turns.mean() > 0 and turns.mean() == pytest.approx(lagged[1, 0] - lagged[0, 1], rel=0.1)
    else:
        assert abs(turns.mean()) < 3 * error
