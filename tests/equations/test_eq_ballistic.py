"""Eqs. 32, 33: the ballistic direction and its stochastic heuristic."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from direct import quadratic, spd

import lossnav as ln


def test_ballistic_direction() -> None:
    """Eq. 32: without discount the optimal path leaves along −H^{−1/2}g, by direct minimisation of J."""
    rng = np.random.default_rng(32)
    hessian, centre = spd(rng, 3), rng.normal(size=3)
    start = np.array([1.0, -0.5, 2.0])
    g = hessian @ (start - centre)
    speeds = []
    for count in (8000, 16000):
        path = quadratic(hessian, centre, start, horizon=30.0, count=count)
        speeds.append((-3 * path.positions[0] + 4 * path.positions[1] - path.positions[2]) / (2 * path.times[1]))
    direct = speeds[1] + (speeds[1] - speeds[0]) / 3
    h, u = np.linalg.eigh(hessian)
    expected = -u @ np.diag(h**-0.5) @ u.T @ g
    np.testing.assert_allclose(direct, expected, rtol=1e-5)
    objective = ln.Objective(gamma=0.0)
    np.testing.assert_allclose(
        ln.optimal_velocity(objective, ln.losses.Quadratic(hessian, minimum=centre), start), expected, rtol=1e-10
    )
    np.testing.assert_allclose(ln.update(objective, g, hessian, 1e-7) / 1e-7, expected, rtol=1e-5)
    diagonal = -g / np.sqrt(np.diag(hessian))  # what the heuristic keeps of H^{−1/2}
    assert np.linalg.norm(diagonal - expected) > 0.05 * np.linalg.norm(expected)


def test_ballistic_heuristic_is_the_librarys_optimizer() -> None:
    """Eq. 33, step by step in numpy, ε inside the root, no bias correction; ε outside it fails."""
    rng = np.random.default_rng(33)
    lr, beta, eps = 3e-3, 0.97, 1e-4
    gradients = rng.normal(size=(25, 6)) * 10.0 ** rng.integers(-4, 2, size=6)
    theta, v = rng.normal(size=6), np.zeros(6)
    weight = torch.nn.Parameter(torch.tensor(theta))
    optimizer = ln.optim.Ballistic([weight], lr=lr, beta=beta, eps=eps, bias_correction=False)
    elsewhere = theta.copy()
    for g in gradients:
        v = beta * v + (1 - beta) * g**2
        theta = theta - lr * g / np.sqrt(v + eps)
        elsewhere = elsewhere - lr * g / (np.sqrt(v) + eps)
        weight.grad = torch.tensor(g)
        optimizer.step()
        np.testing.assert_allclose(weight.detach().numpy(), theta, rtol=1e-12)
    assert np.max(np.abs(elsewhere - theta)) > 1e-3


def test_first_step_of_the_heuristic_is_large() -> None:
    """Eq. 33 from v = 0: |Δθ| = η/√(1−β), 31.6 η at β = 0.999."""
    weight = torch.nn.Parameter(torch.tensor([2.0], dtype=torch.float64))
    optimizer = ln.optim.Ballistic([weight], lr=1e-3, beta=0.999, eps=0.0, bias_correction=False)
    weight.grad = torch.tensor([5.0], dtype=torch.float64)
    optimizer.step()
    assert 2.0 - weight.item() == pytest.approx(1e-3 / math.sqrt(1e-3), rel=1e-10)


def test_heuristic_is_the_ballistic_rule_when_curvature_is_the_gradients_variance() -> None:
    """Eqs. 32, 33: for a diagonal H and noisy gradients of variance cH, −g/√v tends to −H^{−1/2}g/√c."""
    rng = np.random.default_rng(34)
    h, c, beta = np.array([0.2, 1.0, 9.0]), 0.5, 0.9995
    v = np.zeros(3)
    for noise in rng.normal(size=(40_000, 3)):
        v = beta * v + (1 - beta) * c * h * noise**2
    g = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(-g / np.sqrt(v), -(h**-0.5) * g / math.sqrt(c), rtol=0.1)
