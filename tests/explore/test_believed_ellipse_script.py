"""The script of the believed ellipse against the library: its beliefs, its steps, and an optimizer that is fed such."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest
import torch

import lossnav as ln
from lossnav import explore

SETTINGS = [
    {"gradient": [0.3, -0.7], "angle": angle, "turn": turn, "ratio": ratio, "gamma": gamma}
    for angle, turn, ratio, gamma in itertools.product((-90.0, 20.0), (0.0, 33.0, 60.0), (1.0, 1.7, 3.0), (0.0, 2.5))
]


def test_beliefs_and_steps_are_pythons(module):
    pairs = module(explore.BelievedEllipse)("given.map((s) => [M.believed(s), M.steps(s)])", SETTINGS)
    for setting, (beliefs, steps) in zip(SETTINGS, pairs, strict=True):
        widget = oracles.BelievedEllipse(**setting)
        for name, belief in widget.beliefs().items():
            a, b, d = beliefs[name]
            np.testing.assert_allclose([[a, b], [b, d]], belief[:2, :2], atol=1e-12, err_msg=name)
            np.testing.assert_allclose(steps[name], widget.steps()[name], atol=2e-8, err_msg=name)


def test_the_angle_between_two_steps_is_that_of_their_scalar_product(module):
    pairs = np.random.default_rng(0).normal(size=(40, 2, 2))
    angles = module(explore.BelievedEllipse)("given.map(([u, v]) => M.angleBetween(u, v))", pairs.tolist())
    u, v = pairs.swapaxes(0, 1)
    cosines = np.sum(u * v, axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    np.testing.assert_allclose(angles, np.degrees(np.arccos(cosines)), atol=1e-6)
    assert max(angles) > 150 and min(angles) < 30


def test_exponents_are_slopes_of_the_step(module):
    cases = [[h, gamma] for h in (0.25, 2.25) for gamma in (0.0, 0.5, 10.0)]
    exponents = module(explore.BelievedEllipse)("given.map(([h, gamma]) => M.exponent(h, gamma))", cases)
    for (h, gamma), exponent in zip(cases, exponents, strict=True):
        near = [-ln.update(ln.Objective(gamma=gamma), [1.0], [[h * f]], 1e-9)[0] for f in (0.999, 1.001)]
        assert exponent == pytest.approx(np.diff(np.log(near))[0] / np.log(1.001 / 0.999), abs=1e-6)


@pytest.mark.parametrize(("belief", "curvature"), [("eigenbasis", "eigenbasis"), ("kronecker", "kronecker")])
def test_an_optimizer_that_sees_such_gradients_makes_the_step(belief, curvature):
    """Averages over many gradients of these rows give the drawn direction, whatever averages know of it."""
    widget = oracles.BelievedEllipse((0.3, 0.7), 35.0, 40.0, 3.0)
    rng, weight = np.random.default_rng(0), torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
    options = {"betas": (0.0, 0.999), "curvature": curvature, "every": 100, "watch": 1, "eps_relative": 1e-9}
    optimizer = ln.optim.BallisticMatrix([weight], lr=1.0, **options)
    draws = rng.multivariate_normal(np.zeros(4), widget.covariance(), 3000)
    draws[-1] = [*widget.gradient, 0.0, 0.0]
    for draw in draws:
        before = weight.detach().clone()
        weight.grad = torch.tensor(draw.reshape(2, 2))
        optimizer.step()
    x, y = (before - weight.detach())[0].numpy()
    a, b = widget.steps()[belief]
    assert np.degrees(np.arctan2(a * y - b * x, a * x + b * y)) == pytest.approx(0, abs=3)
    assert widget.off()[belief] > 8  # far from the full belief, beside what averages leave open
