"""The fluctuation–dissipation identity on records: exact with batch gradients, and what it needs without them."""

from __future__ import annotations

import numpy as np
import pytest

from lossnav import sgd


def record(sampling: str, steps: int, *, eta=0.05, beta=0.9, decay=0.01, size=4, seed=0):
    """SGD on a small, wrongly specified regression with a quartic term; returns θ, v, batch and full gradients."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(32, 3)), rng.normal(size=32)

    def slope(theta, rows):
        residual = x[rows] @ theta - y[rows]
        return x[rows].T @ residual / len(rows) + 0.1 * theta**3

    theta, v = np.zeros(3), np.zeros(3)
    places, speeds, batches, full, order = [theta], [v], [], [], []
    for _ in range(steps):
        if sampling == "epochs" and not order:
            order = list(rng.permutation(32))
        rows = [order.pop() for _ in range(size)] if sampling == "epochs" else rng.integers(32, size=size)
        batches.append(slope(theta, rows))
        full.append(slope(theta, np.arange(32)))
        v = beta * v - batches[-1] - decay * theta
        theta = theta + eta * v
        places.append(theta)
        speeds.append(v)
    return np.array(places), np.array(speeds), np.array(batches), np.array(full)


SETTING = {"eta": 0.05, "beta": 0.9, "decay": 0.01}


@pytest.mark.parametrize("sampling", ["iid", "epochs"])
@pytest.mark.parametrize("steps", [1, 7, 400])
def test_identity_is_exact_with_the_gradients_of_the_batches(sampling, steps):
    theta, v, batches, _ = record(sampling, steps)
    identity = sgd.fluctuation_dissipation(theta, v, batches, **SETTING)
    assert identity.ratio == pytest.approx(1.0, abs=1e-10)


@pytest.mark.slow
def test_full_gradients_need_independent_batches():
    burn = 2000
    ratio = {}
    for sampling in ("iid", "epochs"):
        theta, v, _, full = record(sampling, 30_000)
        identity = sgd.fluctuation_dissipation(theta[burn:], v[burn:], full[burn:], **SETTING)
        ratio[sampling] = identity.ratio
        assert abs(identity.ends) < 0.02 * identity.kinetic
    assert ratio["iid"] == pytest.approx(1.0, abs=0.06)
    assert ratio["epochs"] < 0.9


def test_what_the_ends_leave_is_1_minus_beta_of_the_change():
    """A window that is not stationary: the ends matter, and to leading order are −(1 − β)Δ|θ|²/2ηK."""
    theta, v = sgd.simulate([0.1], 300, eta=0.05, beta=0.9, batch=1, noise=0.0, start=3.0, velocity=-0.3)
    identity = sgd.fluctuation_dissipation(theta[0], v[0], 0.1 * theta[0, :-1], eta=0.05, beta=0.9)
    change = float(theta[0, -1, 0] ** 2 - theta[0, 0, 0] ** 2) / (2 * 0.05 * 300)
    assert identity.ratio == pytest.approx(1.0, abs=1e-9)
    assert identity.ends == pytest.approx(-0.1 * change, rel=0.2) and identity.ends != pytest.approx(-change, rel=0.5)
    assert abs(identity.work / identity.kinetic - 1) > 1
