"""Utility-based perturbed gradient descent, against one written weight by weight."""

from __future__ import annotations

import math

import pytest
import torch

from lossnav import models
from lossnav.lab.ensemble import Ensemble
from lossnav.lab.streams.utility import UtilityPerturbed


def several(size):
    return Ensemble([models.mlp(6, (5,), outputs=3, seed=seed).double() for seed in range(size)])


def batches(size, count):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(count, size, 8, 6, generator=generator, dtype=torch.float64)
    return x, torch.randint(3, (count, size, 8), generator=generator)


def follow(ensemble, rule, x, y):
    for inputs, labels in zip(x, y, strict=True):
        rule.zero_grad()
        ensemble.losses(inputs, labels).sum().backward()
        rule.step()
    return [p.detach().clone() for p in ensemble.parameters()]


@pytest.mark.parametrize("protect", [False, True])
def test_it_is_the_rule_written_weight_by_weight(protect):
    lr, noise, decay, steps = 0.3, 0.05, 0.9, 4
    x, y = batches(2, steps)
    ours = several(2)
    followed = follow(ours, UtilityPerturbed(ours, lr, noise, protect=protect, decay=decay, seed=7), x, y)

    theirs = several(2)
    weights = list(theirs.parameters())
    averages = [torch.zeros_like(p) for p in weights]
    generator = torch.Generator().manual_seed(7)
    for step in range(steps):
        gradients = torch.autograd.grad(theirs.losses(x[step], y[step]).sum(), weights)
        draws = torch.randn(sum(p.numel() for p in weights), generator=generator).double()
        draws = [z.view_as(p) for z, p in zip(draws.split([p.numel() for p in weights]), weights, strict=True)]
        for member in range(2):
            best = -math.inf
            for u, g, p in zip(averages, gradients, weights, strict=True):
                for place in torch.cartesian_prod(*(torch.arange(n) for n in p.shape[1:])).reshape(-1, p.ndim - 1):
                    at = (member, *place.tolist())
                    u[at] = decay * u[at] - (1 - decay) * g[at] * p[at].detach()
                    best = max(best, float(u[at]) / (1 - decay ** (step + 1)))
            with torch.no_grad():
                for u, g, p, z in zip(averages, gradients, weights, draws, strict=True):
                    useless = 1 - torch.sigmoid(u[member] / (1 - decay ** (step + 1)) / best)
                    pull = lr * g[member] * (useless if protect else 1)
                    p[member] -= pull + noise * z[member] * useless
    for mine, literal in zip(followed, weights, strict=True):
        torch.testing.assert_close(mine, literal.detach(), rtol=1e-10, atol=1e-12)


def test_members_do_not_see_each_other():
    x, y = batches(2, 5)
    pair = several(2)
    together = follow(pair, UtilityPerturbed(pair, 0.3, 0.0, seed=0, protect=True), x, y)
    for member in range(2):
        alone = Ensemble([models.mlp(6, (5,), outputs=3, seed=member).double()])
        index = slice(member, member + 1)
        for single, stacked in zip(
            follow(alone, UtilityPerturbed(alone, 0.3, 0.0, seed=0, protect=True), x[:, index], y[:, index]),
            together,
            strict=True,
        ):
            torch.testing.assert_close(single[0], stacked[member])


def test_useless_weights_get_the_noise():
    """With zero gradients for a while u decays, but its order stays: the largest U = sigmoid(1) is shaken least."""
    ensemble = several(1)
    rule = UtilityPerturbed(ensemble, lr=0.0, noise=1.0, decay=0.0, seed=0)
    weights = list(ensemble.parameters())
    for p in weights:
        p.grad = torch.zeros_like(p)
    weights[0].data.fill_(1.0)
    weights[0].grad.flatten()[0] = -1.0  # the only useful weight
    moves = []
    for _ in range(400):
        before = weights[0].detach().clone()
        rule.step()
        moves.append((weights[0].detach() - before).flatten())
        weights[0].data.fill_(1.0)
    spread = torch.stack(moves).std(0)
    assert spread[0] == pytest.approx(1 - torch.sigmoid(torch.tensor(1.0)).item(), rel=0.15)
    assert spread[1:].mean() == pytest.approx(0.5, rel=0.05)


def test_it_continues_from_its_state():
    x, y = batches(2, 6)
    whole = several(2)
    expected = follow(whole, UtilityPerturbed(whole, 0.3, 0.05, seed=1), x, y)
    part = several(2)
    rule = UtilityPerturbed(part, 0.3, 0.05, seed=1)
    follow(part, rule, x[:3], y[:3])
    later = UtilityPerturbed(part, 0.3, 0.05, seed=99)
    later.load_state_dict(rule.state_dict())
    for mine, theirs in zip(follow(part, later, x[3:], y[3:]), expected, strict=True):
        assert torch.equal(mine, theirs)
