"""γ = 0: a path that deviates for ever falls behind without bound, for all that V(θ_T) may pay back."""

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_are, solve_continuous_lyapunov


def problem(seed, dim):
    rng = np.random.default_rng(seed)
    a, jacobian = rng.normal(size=(2, dim, dim))
    return a @ a.T / dim + 0.05 * np.eye(dim), jacobian, rng


@pytest.mark.parametrize("seed", range(40))
def test_the_share_that_comes_back_is_below_one_for_any_linear_drift(seed):
    hessian, jacobian, _ = problem(seed, 1 + seed % 4)
    identity = np.eye(len(hessian))
    matrix = solve_continuous_are(jacobian, identity, hessian, identity)  # eta = k = 1
    reach = solve_continuous_lyapunov(jacobian - matrix, -identity)
    share = np.max(np.linalg.eigvals(matrix @ reach).real)
    assert 0 < share < 1
    assert np.min(np.linalg.eigvalsh(np.linalg.inv(matrix) - reach)) > 0


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_reached_and_not_exceeded(seed):
    """½xᵀPx against the deviation's cost, for random deviations and for the one that steers furthest."""
    hessian, jacobian, rng = problem(seed, 3)
    identity = np.eye(3)
    matrix = solve_continuous_are(jacobian, identity, hessian, identity)
    law = jacobian - matrix
    reach = solve_continuous_lyapunov(law, -identity)
    shares, vectors = np.linalg.eig(matrix @ reach)
    best = int(np.argmax(shares.real))
    dt, steps = 0.01, 3000
    forward, kick = expm(law * dt), np.linalg.solve(law, expm(law * dt) - identity)

    def ratio(deviation):
        x = np.zeros(3)
        for e in deviation:
            x = forward @ x + kick @ e
        return (x @ matrix @ x) / (dt * np.sum(deviation**2))

    powers = [expm(law.T * dt * (steps - 1 - n + 0.5)) for n in range(steps)]
    steered = ratio(np.array([power @ vectors[:, best].real for power in powers]))
    assert steered == pytest.approx(shares[best].real, rel=1e-3)
    for _ in range(3):
        assert ratio(rng.normal(size=(steps, 3))) < shares[best].real


def test_on_a_round_bowl_half_comes_back():
    for rate in (0.0, 1.0, 7.0):
        jacobian = rate * np.array([[0.0, -1.0], [1.0, 0.0]])
        matrix = solve_continuous_are(jacobian, np.eye(2), 3 * np.eye(2), np.eye(2))
        reach = solve_continuous_lyapunov(jacobian - matrix, -np.eye(2))
        np.testing.assert_allclose(matrix @ reach, np.eye(2) / 2, atol=1e-9)
