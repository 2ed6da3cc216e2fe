"""What a collection of optimizers (``pytorch-optimizer``) asks of each of its own, asked of ours.

Adapted from its ``test_optimizers.py``, ``test_gradients.py`` and ``test_general_optimizer_parameters.py``, 7a076d2, by
hyojin Kim and contributors (Apache-2.0); what ``test_optim_contract.py`` asks, too, stands there alone. What ours do
not pass stands in a table, with the reason, and is checked, too.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

import lossnav as ln
from lossnav import optim

RULES = {
    "Ballistic": partial(optim.Ballistic, lr=5e-1),
    "Ballistic, paper": partial(optim.Ballistic, lr=1e-1, bias_correction=False),
    "Ballistic, momentum": partial(optim.Ballistic, lr=5e-1, momentum=0.9),
    "Ballistic, decay": partial(optim.Ballistic, lr=5e-1, weight_decay=1e-3),
    "Belief": partial(optim.Belief, lr=5e-1),
    "Belief, SGD": partial(optim.Belief, lr=5e-1, discount=float("inf")),
    "Belief, centred": partial(optim.Belief, lr=5e-1, variance="centred"),
    "Belief, innovation": partial(optim.Belief, lr=5e-1, variance="innovation"),
    "Belief, discounted": partial(optim.Belief, lr=5e-1, discount=0.1),
    **{
        f"matrix, {kind}": partial(optim.BallisticMatrix, lr=5e-1, curvature=kind)
        for kind in ("polar", "eigenbasis", "kronecker", "likelihood", "bound", "diagonal")
    },
    "Navigator": partial(optim.Navigator, lr=5e-1),
    "Navigator, descent": partial(optim.Navigator, lr=5e-1, gamma=float("inf")),
    "Navigator, gamma=1": partial(optim.Navigator, lr=5e-1, gamma=1.0),
    "Uncertain": partial(optim.Uncertain, lr=5e-1),
    "Uncertain, forgetting": partial(optim.Uncertain, lr=5e-1, forgetting=0.5),
    "Uncertain, wide": partial(optim.Uncertain, lr=5e-1, prior_variance=10.0),
    "Uncertain, wide, no clip": partial(optim.Uncertain, lr=5e-1, prior_variance=10.0, clip=None),
}
DERIVED = ln.derive(ln.Objective(), belief=ln.assume.Filter(0.9), curvature=ln.assume.SecondMoment(0.999), dt=0.5)
RULES["derived"] = lambda params, **more: DERIVED.optimizer(params, **more)

SLOW = {
    "Uncertain, wide, no clip": "Newton's step on g² for a curvature, of all examples, has nothing that bounds it "
    "where g² is small: the trust region is there for that, and by default",
}
"""Rules that do not bring the loss below two thirds of its beginning, and why."""
STEPS = 40


def environment():
    rng = np.random.RandomState(42)
    x = rng.randn(100, 2) * 2
    x[:50] -= 2
    x[50:] += 2
    return torch.tensor(x, dtype=torch.float32), torch.tensor([0.0] * 50 + [1.0] * 50).reshape(100, 1)


def fallen(model, optimizer, context, steps=STEPS):
    """Return the loss at the beginning over that at the end."""
    x, y = environment()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with context:
            losses.append(binary_cross_entropy_with_logits(model(x).float(), y))
        losses[-1].backward()
        optimizer.step()
    return (losses[0] / losses[-1]).item()


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("form", ["foreach", "one by one", "bfloat16", "bfloat16, one by one"])
def test_the_loss_falls(name, form):
    torch.manual_seed(42)
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    model.to(torch.bfloat16 if "bfloat16" in form else torch.float32)
    optimizer = RULES[name](model.parameters(), foreach="one by one" not in form)
    ratio = fallen(model, optimizer, torch.autocast("cpu", torch.bfloat16, "bfloat16" in form))
    assert (ratio > 1.5) is (name not in SLOW), f"{ratio:.3f}"


def simple(value=0.0):
    p = nn.Parameter(torch.full((1, 1), value))
    p.grad = torch.zeros(1, 1)
    return p


def has_no_prior(name):
    return name.startswith("Uncertain") and "wide" not in name


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("shape", [(1, 1), ()])
def test_a_zero_with_a_zero_gradient_stays(name, shape):
    p = nn.Parameter(torch.zeros(shape))
    p.grad = torch.zeros(shape)
    optimizer = RULES[name]([p])
    if has_no_prior(name):  # a single zero has neither a spread nor a size for the variance of its prior
        with pytest.raises(ValueError, match=r"prior_variance = 'init', but the values .* must be a number > 0 here"):
            optimizer.step()
        return
    optimizer.step()
    assert p.item() == 0


@pytest.mark.parametrize("name", RULES)
def test_groups_of_which_some_have_no_gradient(name):
    """With a graph behind the gradients, as second derivatives need it."""
    value = 1.0 if has_no_prior(name) else 0.0
    p1, p2, p3, p4 = (simple(value) for _ in range(4))
    p2.requires_grad_(False), p4.requires_grad_(False)
    p2.grad = p4.grad = None
    optimizer = RULES[name]([{"params": [p1, p2]}, {"params": [p3]}, {"params": [p4]}])
    p1.grad, p3.grad = torch.autograd.grad((p1 + p3).pow(2).sum(), [p1, p3], create_graph=True)
    assert optimizer.step(lambda: 0.1) == 0.1
    optimizer.zero_grad(set_to_none=True)
    assert p2.item() == p4.item() == value and torch.isfinite(p1) and torch.isfinite(p3)
