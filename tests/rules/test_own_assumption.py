"""A user's own belief: a subclass with three methods, on arrays, in the report, as an optimizer, compiled."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lossnav as ln
from lossnav.rules.assumption import root


class Spread(ln.assume.Curvature):
    """h = √V + ½, with V an average of (g − m)² that is remembered as ``s``, and corrected."""

    memory = ("s",)

    def believed(self, look):
        gap = look.gradient - look.m
        return look.average("s", gap * gap, 0.9)

    def term(self, believed):
        return root(believed) + 0.5

    def words(self):
        return "the spread of gradients, and one half"


class Pace(ln.assume.Metric):
    """G = 1 + V, with V an average of |g|, not corrected."""

    memory = ("p",)

    def believed(self, look):
        return look.average("p", abs(look.gradient), 0.5, corrected=False)

    def term(self, believed):
        return 1.0 + believed

    def words(self):
        return "one and the mean size"


OBJECTIVE = ln.Objective(eta=0.7, gamma=0.4)
GRADIENTS = np.random.default_rng(1).normal(size=(30, 4)) + 0.3


def rule(metric=None):
    return ln.derive(OBJECTIVE, belief=ln.assume.Filter(0.8), curvature=Spread(), metric=metric, dt=0.1)


def walk(priced):
    """Return where the definitions lead: −Δt·(ηk/G)·m/(√(γ²/4 + ηkh/G) + γ/2)."""
    theta, m, s, p = np.ones(4), np.zeros(4), np.zeros(4), np.zeros(4)
    for n, g in enumerate(GRADIENTS, start=1):
        m = 0.8 * m + 0.2 * g
        s = 0.9 * s + 0.1 * (g - m) ** 2
        p = 0.5 * p + 0.5 * np.abs(g)
        h, price = np.sqrt(s / (1 - 0.9**n)) + 0.5, 1 + p if priced else 1.0
        fast = np.sqrt(0.04 + 0.7 * h / price) + 0.2
        theta = theta - 0.1 * (0.7 / price) * (m / (1 - 0.8**n)) / fast
    return theta


@pytest.mark.parametrize("priced", [False, True])
def test_on_arrays(priced):
    mine, theta = rule(Pace() if priced else None), np.ones(4)
    state = mine.init(theta)
    for g in GRADIENTS:
        step, state = mine(g, state, theta)
        theta = theta + step
    np.testing.assert_allclose(theta, walk(priced), rtol=1e-12)
    assert set(state.averages) == {"m", "s", "p"} if priced else {"m", "s"}


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_as_an_optimizer_that_is_saved_and_goes_on(fused, priced):
    mine = rule(Pace() if priced else None)
    weights = torch.nn.Parameter(torch.ones(4, dtype=torch.float64))
    optimizer = mine.optimizer([weights], fused=fused)
    for n, g in enumerate(GRADIENTS):
        weights.grad = torch.tensor(g)
        optimizer.step()
        if n == 9:
            saved = optimizer.state_dict()
            optimizer = mine.optimizer([weights], fused=fused)
            optimizer.load_state_dict(saved)
    np.testing.assert_allclose(weights.detach().numpy(), walk(priced), rtol=1e-12)


def test_in_the_report():
    page = rule(Pace())._repr_markdown_()
    assert "the spread of gradients, and one half" in page and "one and the mean size" in page
    assert "torch._foreach" in page and "h" in rule().latex[1]


@pytest.mark.parametrize("name", ["lr", "m", "x1", "s; import os"])
def test_names_of_averages_are_checked_before_they_stand_in_a_text(name):
    class Odd(Spread):
        memory = (name,)

    mine = ln.derive(OBJECTIVE, belief=ln.assume.Filter(0.8), curvature=Odd(), dt=0.1)
    with pytest.raises(ValueError, match="memory has the name"):
        _ = mine.source


def test_it_is_believed_of_the_curvature_and_not_of_the_price():
    with pytest.raises(ValueError, match="metric"):
        ln.derive(OBJECTIVE, metric=Spread(), dt=0.1)
