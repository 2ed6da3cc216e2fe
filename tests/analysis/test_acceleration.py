"""Accelerated methods: what they keep, from their steps and from companion matrices, and their textbook rates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lossnav import acceleration

H = np.geomspace(0.01, 1.0, 9)


@pytest.mark.parametrize("name", acceleration.METHODS)
def test_walk_takes_the_steps_of_the_definition(name):
    method = acceleration.tuned(name, 0.01, 1.0)
    theta = before = np.linspace(1.0, 2.0, 9)
    for n, iterate in enumerate(method.walk(H, theta, 40)):
        assert iterate == pytest.approx(theta, rel=1e-9), n
        ahead = theta + method.momentum * (theta - before)
        place = ahead if method.lookahead else theta
        theta, before = ahead - method.rate * H * place, theta


@pytest.mark.parametrize("name", acceleration.METHODS)
def test_kept_is_the_spectral_radius(name):
    method = acceleration.tuned(name, 0.02, 0.7)
    for h, radius in zip(H, method.kept(H), strict=True):
        # the step of (θₙ, θₙ₋₁), column by column
        columns = []
        for theta, before in np.eye(2):
            ahead = theta + method.momentum * (theta - before)
            columns.append([ahead - method.rate * h * (ahead if method.lookahead else theta), theta])
        assert radius == pytest.approx(np.max(np.abs(np.linalg.eigvals(np.array(columns).T))), abs=1e-7)


@pytest.mark.parametrize("kappa", [1.0, 9.0, 400.0])
def test_textbook_rates(kappa):
    h = np.geomspace(1 / kappa, 1.0, 101)
    worst = {name: acceleration.tuned(name, 1 / kappa, 1.0).kept(h).max() for name in acceleration.METHODS}
    root = math.sqrt(kappa)
    assert worst["gradient descent"] == pytest.approx((kappa - 1) / (kappa + 1), abs=1e-12)
    assert worst["heavy ball"] == pytest.approx((root - 1) / (root + 1), abs=1e-6)
    assert worst["nesterov"] == pytest.approx(1 - 1 / root, abs=1e-6)


def test_no_rate_and_momentum_do_better_than_the_heavy_balls():
    h = np.geomspace(0.01, 1.0, 41)
    best = acceleration.tuned("heavy ball", 0.01, 1.0).kept(h).max()
    others = [
        acceleration.Method(rate, beta).kept(h).max()
        for rate in np.linspace(0.2, 4.0, 77)
        for beta in np.linspace(0, 0.98, 50)
    ]
    assert min(others) > best - 1e-12
    assert min(others) < best + 0.02


def test_negative_curvature_grows():
    assert np.all(acceleration.tuned("heavy ball", 0.1, 1.0).kept([-0.1, -3.0]) > 1)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="momentum = 1"):
        acceleration.Method(0.1, 1.0)
    with pytest.raises(ValueError, match=r"largest = 0\.5"):
        acceleration.tuned("nesterov", 1.0, 0.5)
    with pytest.raises(ValueError, match=r"weight\(t\)"):
        acceleration.lowest_variation(lambda t: -t, 1.0, 0.0, 1.0)
    assert acceleration.conjugate_time(1.0, 2.0) == math.inf


@pytest.mark.parametrize("ratio", [3.0, 100.0, 1e4])
@pytest.mark.parametrize("name", acceleration.METHODS)
def test_an_underestimate_is_borne_up_to_an_edge(name, ratio):
    """Both ends believed too small: κ/(κ + 1) times, for descent and heavy ball; (1 + 2β)/(2 + 2β), for Nesterov."""
    beta = acceleration.tuned(name, 1.0, ratio).momentum
    edge = (1 + 2 * beta) / (2 + 2 * beta) if name == "nesterov" else ratio / (ratio + 1)
    for factor, stable in ((edge * (1 + 1e-6), True), (edge * (1 - 1e-6), False)):
        worst = acceleration.tuned(name, factor, factor * ratio).kept(np.geomspace(1.0, ratio, 50)).max()
        assert (worst < 1) == stable
