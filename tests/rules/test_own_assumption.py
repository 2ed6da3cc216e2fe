"""A user's own belief: a subclass with three methods, on arrays, in the report, as an optimizer, compiled."""

from __future__ import annotations

import re

import drive
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
    places, state = drive.walk(rule(Pace() if priced else None), GRADIENTS, np.ones(4))
    np.testing.assert_allclose(places[-1], walk(priced), rtol=1e-12)
    assert set(state.averages) == {"m", "s", "p"} if priced else {"m", "s"}


class Always(ln.assume.Curvature):
    """h = 3, whatever gradients are."""

    def believed(self, look):
        return 3.0

    def term(self, believed):
        return believed

    def words(self):
        return "three"


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_one_that_remembers_nothing(fused, decay):
    objective = ln.Objective(eta=0.7, gamma=0.4, drift=ln.drifts.weight_decay(decay) if decay else None)
    fixed = ln.derive(objective, curvature=Always(), dt=0.1)
    fast = np.sqrt((0.2 + decay) ** 2 + 0.7 * 3) + 0.2
    expected = np.ones(4)
    for g in GRADIENTS:
        expected = expected - 0.1 * (decay * (decay + 0.4) * expected + 0.7 * g) / fast
    places, _ = drive.walk(fixed, GRADIENTS, np.ones(4))
    np.testing.assert_allclose(places[-1], expected, rtol=1e-12)
    weights = torch.nn.Parameter(torch.ones(4, dtype=torch.float64))
    optimizer = fixed.optimizer([weights], fused=fused)
    for g in GRADIENTS:
        weights.grad = torch.tensor(g)
        optimizer.step()
    np.testing.assert_allclose(weights.detach().numpy(), expected, rtol=1e-12)


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


class Rarity(Spread):
    """h = 3/2V + ½, with V an average of |g|."""

    def believed(self, look):
        return look.average("s", abs(look.gradient), 0.9)

    def term(self, believed):
        return 3.0 / (2.0 * believed) + 0.5


@pytest.mark.parametrize("fused", [False, True])
def test_what_is_believed_may_divide(fused):
    mine = ln.derive(OBJECTIVE, belief=ln.assume.Filter(0.8), curvature=Rarity(), dt=0.1)
    weights = torch.nn.Parameter(torch.ones(4, dtype=torch.float64))
    optimizer = mine.optimizer([weights], fused=fused)
    theta, m, s = np.ones(4), np.zeros(4), np.zeros(4)
    for n, g in enumerate(GRADIENTS, start=1):
        weights.grad = torch.tensor(g)
        optimizer.step()
        m, s = 0.8 * m + 0.2 * g, 0.9 * s + 0.1 * np.abs(g)
        h = 1.5 * (1 - 0.9**n) / s + 0.5
        theta = theta - 0.07 * (m / (1 - 0.8**n)) / (np.sqrt(0.04 + 0.7 * h) + 0.2)
    np.testing.assert_allclose(weights.detach().numpy(), theta, rtol=1e-12)
    np.testing.assert_allclose(drive.walk(mine, GRADIENTS, np.ones(4))[0][-1], theta, rtol=1e-12)


def test_in_the_report():
    page = rule(Pace())._repr_markdown_()
    assert "the spread of gradients, and one half" in page and "one and the mean size" in page
    assert "torch._foreach" in page and "h" in rule().latex[1]


def test_another_term_of_a_listed_belief_is_another_formula():
    class Cubed(ln.assume.SecondMoment):
        def term(self, believed):
            return believed**3

    cubed, square = (ln.derive(ln.Objective(), curvature=kind(0.9), dt=0.1) for kind in (Cubed, ln.assume.SecondMoment))
    signs = ln.derive(ln.Objective(), curvature=ln.assume.Hutchinson(0.9, floor=0.1), dt=0.1)
    assert "h" in cubed.latex[1] and "V" not in cubed.latex[1] and "h = 1·V" not in cubed._repr_markdown_()
    assert "V" in square.latex[1] and "h = 1·V" in square._repr_markdown_()
    assert "V" in signs.latex[1] and "h = 1·(V + 0.1)" in signs._repr_markdown_()


def own(memory=("s",), average="s", term=lambda s: s, price=lambda p: p):
    """Return a rule with assumptions made of these."""

    class Curvature(Spread):
        def believed(self, look):
            size = abs(look.gradient)
            return look.average(average, size * (size + 0.1), 0.9) + look.blend(size, size + 0.1, 0.5)

    class Metric(Pace):
        pass

    Curvature.memory, Curvature.term, Metric.term = memory, staticmethod(term), staticmethod(price)
    return ln.derive(OBJECTIVE, belief=ln.assume.Filter(0.8), curvature=Curvature(), metric=Metric(), dt=0.1)


WRONG = [(name,) for name in ("lr", "m", "p", "x1", "lambda", "s; import os", "min", "seen_m")]


@pytest.mark.parametrize("memory", [*WRONG, "spread"])
def test_names_of_averages_are_checked_before_they_stand_in_a_text(memory):
    with pytest.raises(ValueError, match=r"^memory (has the name|= 'spread', but it must be a tuple)"):
        own(memory)


@pytest.mark.parametrize(("memory", "average"), [((), "s"), (("s",), "q"), (("s",), "m"), (("s",), "p")])
@pytest.mark.parametrize("way", ["arrays", "torch", "C"])
def test_what_is_averaged_is_named(way, memory, average):
    mine, weights = own(memory, average), torch.nn.Parameter(torch.ones(4))
    with pytest.raises(ValueError, match=rf"^memory = {re.escape(str(memory))}, but believed\(\) averages '{average}'"):
        mine(GRADIENTS[0], mine.init(np.ones(4)), np.ones(4)) if way == "arrays" else mine.optimizer(
            [weights], fused=way == "C"
        )


class Remembering(Spread):
    """What a name holds may be asked for before and after it moves, and used later; words of C are names, too."""

    memory = ("int", "exp", "i")

    def believed(self, look):
        old = look.kept("int") * 2.0
        new = look.average("int", look.gradient * look.gradient, 0.8)
        look.keep("exp", look.kept("int"))
        between = look.kept("exp")
        look.keep("exp", look.average("i", abs(look.gradient - 0.5 * old), 0.0, corrected=False))
        return root(old) + new + abs(between) * 3.0 + abs(look.kept("exp")) + root(between * between + 1.0)


TERMS = {
    "powers": lambda x: x**0.5 + x**0.75 + (x + 1) ** 2,
    "numpy": lambda x: np.float64(2.0) * np.sqrt(x),
    "divided": lambda x: 0.1 / (x + 0.1),
    "quotients": lambda x: (x * x / (x + 1)) / (x / (x + 0.5)),
    "one list in two ways": lambda x: (r := root(x)) + (r + 0.3) * x + root(r) + (r + 0.3) * r + abs((r + 0.1) - r),
    "divided by one list in two ways": lambda x: 0.1 / ((r := root(x)) + 0.3) / r,
}


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("which", [*TERMS, "what it was"])
def test_operations_give_an_optimizer_the_step_on_arrays(which, fused):
    mine = own(term=TERMS.get(which, root), price=TERMS.get(which, root))
    if which == "what it was":
        mine = ln.derive(OBJECTIVE, belief=ln.assume.Filter(0.8), curvature=Remembering(), dt=0.1)
    weights = drive.drive(mine.optimizer, GRADIENTS, fused=fused)
    np.testing.assert_allclose(weights, drive.walk(mine, GRADIENTS, np.ones(4))[0], rtol=1e-10)


@pytest.mark.parametrize("term", [np.log1p, torch.sqrt, lambda s: s.clip(1), lambda s: s if s > 1 else 1.0])
def test_an_operation_without_a_generated_step_is_refused_with_those_that_have_one(term):
    mine = own(term=term)
    with pytest.raises(ValueError, match=r"\*\*, abs, ln\.assume\.root and the methods of Look"):
        _ = mine.source
    assert "No torch optimizer is generated" in mine._repr_markdown_()


def test_a_curvature_that_falls_below_zero_has_no_plan_on_arrays_and_as_an_optimizer():
    mine = own(term=lambda s: -s)
    with pytest.raises(ln.NoMinimiser, match="negative"):
        mine(GRADIENTS[0], mine.init(np.ones(4)), np.ones(4))
    with pytest.raises(ln.NoMinimiser, match="negative"):
        _ = mine.source


@pytest.mark.parametrize("curvature", [Spread, "x", Pace()])
def test_what_is_no_instance_is_refused_with_what_may_be_one(curvature):
    with pytest.raises(ValueError, match=r"^curvature = .*None or an instance of .* or your own assume\.Curvature"):
        ln.derive(OBJECTIVE, curvature=curvature)


def test_it_is_believed_of_the_curvature_and_not_of_the_price():
    with pytest.raises(ValueError, match="metric"):
        ln.derive(OBJECTIVE, metric=Spread(), dt=0.1)


def test_a_metric_below_zero_has_no_plan():
    """It was taken as a price of nothing: steps of 1e300."""
    mine = own(price=lambda p: -1.0 - p)
    with pytest.raises(ln.NoMinimiser, match="metric G = -"):
        mine(GRADIENTS[0], mine.init(np.ones(4)), np.ones(4))
    with pytest.raises(ValueError, match="no step is generated"):
        _ = own(price=lambda p: 0 * p).source
