"""Rules derived from assumptions against torch's optimizers and ours, on the same noisy gradients for 1,000 steps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lossnav as ln
from lossnav import assume

ADAM = {"belief": assume.Filter(0.9, fading=1e-8), "curvature": assume.SecondMoment(0.999)}
START = np.array([[0.7, -1.2, 0.3], [1.5, 0.2, -0.4]])


def adamw(gamma):
    """lr = ηkΔt/(γ + j) and jΔt = lr·λ, with lr = 1e-3 and λ = 0.1, under the metric √V + ε and without curvature."""
    j = 1e-4
    objective = ln.Objective(eta=1e-3 * (gamma + j), gamma=gamma, drift=ln.drifts.weight_decay(j))
    return ln.derive(objective, belief=assume.Filter(0.9), metric=assume.RootMeanSquare(0.999, eps=1e-8), dt=1.0)


def of(optimizer, **options):
    return lambda params: optimizer(params, **options)


PLAIN, DISCOUNTED = ln.Objective(), ln.Objective(gamma=0.04)
PAIRS = {
    "SGD": (ln.derive(ln.Objective(eta=0.01, gamma=1.0), dt=1.0), of(torch.optim.SGD, lr=0.01)),
    "SGD with momentum": (
        ln.derive(ln.Objective(eta=0.1, gamma=1.0), belief=assume.Filter(0.9, corrected=False), dt=1.0),
        of(torch.optim.SGD, lr=0.01, momentum=0.9),
    ),
    "SGD, weight decay apart": (
        ln.derive(ln.Objective(eta=0.01, gamma=1.0, drift=ln.drifts.weight_decay(0.1)), dt=1.1),
        of(ln.optim.Belief, lr=0.01, discount=float("inf"), betas=(0.0, 0.9), weight_decay=11.0),
    ),
    "RMSprop": (
        ln.derive(
            PLAIN, belief=assume.Filter(0.0, fading=1e-8), curvature=assume.SecondMoment(0.99, corrected=False), dt=1e-3
        ),
        of(torch.optim.RMSprop, lr=1e-3, alpha=0.99, eps=1e-8),
    ),
    "Adam": (ln.derive(PLAIN, **ADAM, dt=1e-3), of(torch.optim.Adam, lr=1e-3)),
    "Adam in other units": (
        ln.derive(
            ln.Objective(eta=4.0, k=9.0), belief=assume.Filter(0.9, fading=0.15 * 6 * 2),
            curvature=assume.SecondMoment(0.999, scale=4.0), dt=1e-3,
        ),
        of(torch.optim.Adam, lr=3e-3, eps=0.15),
    ),
    "AdamW": (adamw(0.3), of(torch.optim.AdamW, lr=1e-3, weight_decay=0.1)),
    "AdamW of another discount": (adamw(7.0), of(torch.optim.AdamW, lr=1e-3, weight_decay=0.1)),
    "Ballistic": (
        ln.derive(PLAIN, curvature=assume.SecondMoment(0.99, floor=1e-6, corrected=False), dt=1e-3),
        of(ln.optim.Ballistic, lr=1e-3, beta=0.99, eps=1e-6),
    ),
    "Belief, centred, discounted": (
        ln.derive(
            DISCOUNTED, belief=assume.Filter(0.9), curvature=assume.SecondMoment(0.999, centred=True), dt=1e-3
        ),
        of(ln.optim.Belief, lr=1e-3, discount=0.02, variance="centred"),
    ),
    "Belief, finite time": (
        ln.derive(DISCOUNTED, belief=assume.Filter(0.9), curvature=assume.SecondMoment(0.999), dt=0.3, exact=True),
        of(ln.optim.Belief, lr=0.3, discount=0.02, curvature_scale=1.0),
    ),
}  # fmt: skip


def gradients(count=1000):
    rng = np.random.default_rng(3)
    return rng.normal(size=(count, *START.shape)) * [[1.0, 0.1, 3.0], [0.5, 1.0, 0.01]] + 0.2


@pytest.mark.parametrize("name", PAIRS)
def test_assumptions_give_the_optimizer(name):
    rule, made = PAIRS[name]
    weights = torch.nn.Parameter(torch.tensor(START))
    optimizer, theta, state = made([weights]), START, rule.init(START)
    for g in gradients():
        weights.grad = torch.tensor(g)
        optimizer.step()
        step, state = rule(g, state, theta)
        theta = theta + step
    moved = np.abs(theta - START).max()
    assert moved > 1e-2
    np.testing.assert_allclose(theta, weights.detach().numpy(), rtol=0, atol=1e-12 * max(1.0, moved))


def test_other_assumptions_give_another_optimizer():
    ways = []
    for rule in (PAIRS["Adam"][0], PAIRS["AdamW"][0], PAIRS["RMSprop"][0]):
        theta, state = START, rule.init(START)
        for g in gradients(50):
            step, state = rule(g, state, theta)
            theta = theta + step
        ways.append(theta)
    assert min(np.abs(ways[0] - ways[1]).max(), np.abs(ways[0] - ways[2]).max()) > 1e-4


def test_a_curvature_from_outside_is_what_navigator_takes():
    rule = ln.derive(ln.Objective(gamma=0.5), curvature=assume.Hutchinson(0.9), dt=0.2, exact=True)
    curvatures = gradients(200)[100:] + 0.5  # of both signs
    weights = torch.nn.Parameter(torch.tensor(START))
    looks = iter(curvatures)
    optimizer = ln.optim.Navigator(
        [weights],
        lr=0.2,
        gamma=0.5,
        eta_k=1.0,
        beta=0.9,
        eps=0.0,
        curvature=lambda parameter, gradient: torch.tensor(next(looks)),
    )
    theta, state = START, rule.init(START)
    for g, h in zip(gradients(100), curvatures, strict=True):
        weights.grad = torch.tensor(g)
        optimizer.step()
        step, state = rule(g, state, theta, curvature=h)
        theta = theta + step
    np.testing.assert_allclose(theta, weights.detach().numpy(), rtol=0, atol=1e-12 * np.abs(theta).max())
    with pytest.raises(ValueError, match="curvature is given"):
        PAIRS["Adam"][0](START, PAIRS["Adam"][0].init(START), START, curvature=START)
