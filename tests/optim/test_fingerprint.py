"""``fingerprint`` reads torch's optimizers from their steps, with hyperparameters that were drawn."""

from __future__ import annotations

import json
import random
from functools import partial

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from resources import draws

import lossnav as ln
from lossnav.optim.fingerprint import laws, measures
from lossnav.optim.fingerprint.play import Player

RNG = np.random.default_rng(34)
SEEDS = range(draws(1))


def draw(low, high):
    return round(float(RNG.uniform(low, high)), 3)


def case(name, make, law, rate, decay="none", **numbers):
    return pytest.param(make, law, rate, decay, numbers, id=name)


def drawn():
    """Each optimizer of torch with drawn options, the law that it is to obey, and its numbers."""
    o = torch.optim
    for seed in SEEDS:
        lr, b1, b2, wd = draw(1e-3, 0.1), draw(0.3, 0.97), draw(0.8, 0.999), draw(0.01, 0.5)
        yield case(f"SGD {seed}", lambda p, lr=lr: o.SGD(p, lr), "the gradient", "constant", gain=lr)
        yield case(
            f"decayed SGD {seed}", lambda p, lr=lr, wd=wd: o.SGD(p, lr, weight_decay=wd), "the gradient", "constant",
            "coupled or decoupled", gain=lr, decay_rate=wd,
        )  # fmt: skip
        yield case(
            f"heavy ball {seed}", lambda p, lr=lr, b=b1, wd=wd: o.SGD(p, lr, b, weight_decay=wd), "a filter",
            "constant", "coupled", beta1=b1, gain=lr / (1 - b1), decay_rate=wd,
        )  # fmt: skip
        yield case(
            f"Nesterov {seed}", lambda p, lr=lr, b=b1: o.SGD(p, lr, b, nesterov=True), "a filter and the gradient",
            "constant", beta1=b1, share=1 - b1, gain=lr / (1 - b1),
        )  # fmt: skip
        betas = {"betas": (b1, b2)}
        yield case(
            f"Adam {seed}", lambda p, lr=lr, more=betas: o.Adam(p, lr, **more),
            "a filter over a power of an average of g²", "bias-corrected", beta1=b1, beta2=b2, power=0.5, gain=lr,
        )  # fmt: skip
        yield case(
            f"Adam, L2 {seed}", lambda p, more=betas, wd=wd: o.Adam(p, weight_decay=wd, **more),
            "a filter over a power of an average of g²", "bias-corrected", "coupled", beta1=b1, decay_rate=wd,
        )  # fmt: skip
        yield case(
            f"AdamW {seed}", lambda p, lr=lr, more=betas, wd=wd: o.AdamW(p, lr, weight_decay=wd, **more),
            "a filter over a power of an average of g²", "bias-corrected", "decoupled", beta2=b2, decay_rate=lr * wd,
        )  # fmt: skip
        yield case(
            f"AMSGrad {seed}", lambda p, more=betas: o.Adam(p, amsgrad=True, **more),
            "a filter over a power of the largest average of g²", "bias-corrected", beta1=b1, beta2=b2,
        )  # fmt: skip
        yield case(
            f"NAdam {seed}", lambda p, more=betas: o.NAdam(p, **more),
            "a filter and the gradient over a power of an average of g²", None, beta1=b1, beta2=b2, power=0.5,
        )  # fmt: skip
        slow = round(1 - (1 - b2) / 20, 5)
        yield case(
            f"RAdam {seed}", lambda p, b=b1, s=slow: o.RAdam(p, betas=(b, s)),
            "a filter over a power of an average of g²", "a schedule", beta1=b1, beta2=slow, power=0.5,
        )  # fmt: skip
        yield case(
            f"RMSprop {seed}", lambda p, lr=lr, b=b2: o.RMSprop(p, lr, b),
            "the gradient over a power of an average of g²", "constant", beta2=b2, power=0.5, gain=lr,
        )  # fmt: skip
        yield case(
            f"centred RMSprop {seed}", lambda p, b=b2: o.RMSprop(p, alpha=b, centered=True),
            "the gradient over a power of the variance of g", "constant", beta2=b2, power=0.5,
        )  # fmt: skip
        yield case(
            f"RMSprop, momentum {seed}", lambda p, b=b2, m=b1: o.RMSprop(p, alpha=b, momentum=m),
            "a filter of quotients over a power of an average of g²", "constant", beta1=b1, beta2=b2,
        )  # fmt: skip
        yield case(
            f"Adagrad {seed}", lambda p, lr=lr: o.Adagrad(p, lr), "the gradient over a power of the sum of g²",
            "constant", power=0.5, gain=lr,
        )  # fmt: skip
        yield case(
            f"Adadelta {seed}", lambda p, lr=lr, b=b2: o.Adadelta(p, lr, rho=b),
            "the gradient times a root of its own squared steps over its own", "constant", beta2=b2,
            floor=np.log10(1e-6 * lr**2),  # of large gradients the rate and ε are one number
        )  # fmt: skip
        yield case(
            f"Adamax {seed}", lambda p, lr=lr, more=betas: o.Adamax(p, lr, **more),
            "a filter over a power of a maximum of |g|", "numerator corrected", beta1=b1, beta2=b2, gain=lr,
        )  # fmt: skip
        yield case(
            f"ASGD {seed}", lambda p, wd=wd: o.ASGD(p, lambd=wd / 10), "the gradient", "a schedule",
            "coupled or decoupled", decay_rate=wd / 10,
        )  # fmt: skip
        up, down = draw(1.05, 1.5), draw(0.3, 0.9)
        yield case(
            f"Rprop {seed}", lambda p, up=up, down=down: o.Rprop(p, etas=(down, up)),
            "a size of its own that signs rule", "constant", grows=up, shrinks=down,
        )  # fmt: skip
        kappa = draw(0.5, 0.95)
        yield case(
            f"Adafactor {seed}", lambda p, k=kappa: o.Adafactor(p, beta2_decay=-k),
            "the gradient over a power of rows ⊗ columns of an ever longer average of g²", "relative to |θ|",
            kappa=kappa,
        )  # fmt: skip
        yield case(
            f"Muon {seed}", lambda p, b=b1, wd=wd: o.Muon(p, momentum=b, weight_decay=wd),
            "a filter with its singular values made alike", "constant", "decoupled", beta1=b1, share=1 - b1,
            decay_rate=1e-3 * wd,
        )  # fmt: skip


@pytest.mark.parametrize(("make", "law", "rate", "decay", "numbers"), list(drawn()))
def test_torchs_optimizers_are_read_with_their_numbers(make, law, rate, decay, numbers):
    reading = ln.fingerprint(make, timed=False)
    assert (reading.law, reading.rate, reading.decay) == (law, rate or reading.rate, decay), str(reading)
    rough = 0.02 if "singular" in law else 1e-4
    wanted = {**numbers, "decay_rate": numbers.get("decay_rate", 0.0)}
    found = {name: reading.numbers.get(name, reading.decay_rate) for name in wanted}
    assert found == pytest.approx(wanted, rel=rough, abs=rough)
    assert reading.deterministic and not reading.closure and not reading.refused
    assert reading.symmetries["sign"] < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("eps", [0.01, 0.1, 1.0])
def test_a_large_epsilon_is_no_share_of_the_newest_gradient(eps):
    """Beside it a law with one number more has a residual that is a little smaller."""
    for kind, law in (("Adam", "a filter over"), ("RMSprop", "the gradient over")):
        reading = ln.fingerprint(lambda p, kind=kind: getattr(torch.optim, kind)(p, eps=eps), timed=False)
        assert reading.law == f"{law} a power of an average of g²" and reading.numbers["gain"] > 0, str(reading)


class Projected(torch.optim.SGD):
    """Leaves the part along the weights out of a gradient that is nearly perpendicular to them, and of no other."""

    @torch.no_grad()
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            if abs(torch.cosine_similarity(p.flatten(), p.grad.flatten(), dim=0)) < 0.02:
                p.grad -= (p.grad * p).sum() / (p * p).sum() * p
        return super().step(closure)


def test_a_term_that_few_steps_have_is_no_filter():
    found = ln.fingerprint(lambda params: Projected(params, 1e-3), timed=False)
    assert not found.law and "the nearest, the gradient, is off by 0.2" in found.family


@pytest.mark.parametrize(
    ("kind", "why"), [("LBFGS", "called 20 times in a step, at weights up to"), ("SparseAdam", "not support dense")]
)
def test_what_is_no_function_of_a_gradient_is_refused_with_what_it_did(kind, why):
    reading = ln.fingerprint(getattr(torch.optim, kind))
    assert why in reading.refused and str(reading) == f"refused: {reading.refused}" and not reading.law
    with pytest.raises(ValueError, match="no steps to draw"):
        reading.plot()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_who_climbs_is_said_to(kind):
    down, up = (ln.fingerprint(partial(kind, lr=0.1, maximize=uphill), timed=False) for uphill in (False, True))
    assert str(up) == f"{down}, uphill" and up.numbers["gain"] == pytest.approx(-0.1, rel=1e-6)


def test_an_l2_term_is_one_uphill_too():
    climber = ln.fingerprint(
        partial(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.2, maximize=True), timed=False
    )
    assert climber.decay == "coupled" and climber.decay_rate == pytest.approx(0.2, rel=1e-6)


def test_the_name_of_a_class_says_nothing():
    class Lion(torch.optim.SGD):
        """No lion."""

    reading = ln.fingerprint(lambda p: Lion(p, 0.1), timed=False)
    assert str(reading) == "gradient descent"
    assert reading == ln.fingerprint(lambda p: torch.optim.SGD(p, 0.1))  # its cost is no part of what it is


class Signs(torch.optim.Optimizer):
    """sign(β₁m + (1 − β₁)g) with an average by β₂, as the optimizer Lion."""

    def __init__(self, params, betas):
        super().__init__(params, {"betas": betas})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            beta1, beta2 = self.param_groups[0]["betas"]
            m = self.state[p].setdefault("m", torch.zeros_like(p))
            p -= 0.01 * torch.sign(beta1 * m + (1 - beta1) * p.grad)
            m.lerp_(p.grad, 1 - beta2)


@pytest.mark.parametrize("betas", [(0.9, 0.99), (0.85, 0.85), (0.6, 0.95)])
def test_signs_of_a_filter_are_read_by_what_turns_them(betas):
    reading = ln.fingerprint(lambda p: Signs(p, betas), timed=False)
    assert reading.law == "the sign of a filter" and reading.rate == "constant" and reading.gradient_degree == 0
    assert [reading.numbers["beta1"], reading.numbers["beta2"]] == pytest.approx(betas, abs=1e-3)


class Polar(Signs):
    """lr·t^fading times the orthogonal factor of (1 − share)m + share·g, m an average of g by β."""

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            beta, share, fading = self.param_groups[0]["betas"]
            state = self.state[p] or {"m": torch.zeros_like(p), "t": 0}
            self.state[p] = {"m": beta * state["m"] + (1 - beta) * p.grad, "t": state["t"] + 1}
            u, _, v = torch.linalg.svd((1 - share) * self.state[p]["m"] + share * p.grad, full_matrices=False)
            p -= 0.01 * self.state[p]["t"] ** fading * u @ v


@pytest.mark.parametrize("fading", [0, -0.5])
@pytest.mark.parametrize(("beta", "share"), [(0, 0), (0.05, 0), (0.3, 0.7), (0.9, 0.1), (0.99, 0.5), (0.995, 0)])
def test_the_filter_of_an_orthogonal_factor_is_read_short_and_long(beta, share, fading):
    reading = ln.fingerprint(lambda p: Polar(p, (beta, share, fading)), timed=False)
    assert reading.law == "a filter with its singular values made alike"
    assert [reading.numbers["beta1"], reading.numbers["share"]] == pytest.approx([beta, share], abs=1e-4)
    assert reading.rate == ("a schedule" if fading else "constant")


@pytest.mark.parametrize(("beta", "nesterov"), [(0.15, False), (0.312, True), (0.4, True), (0.9, False), (0.995, True)])
def test_a_few_rough_iterations_are_no_schedule(beta, nesterov):
    """Muon's leave a third between singular values, so a step's length depends on the gradients."""
    reading = ln.fingerprint(lambda p: torch.optim.Muon(p, momentum=beta, nesterov=nesterov), timed=False)
    assert reading.rate == "constant" and reading.numbers["beta1"] == pytest.approx(beta, abs=0.01)
    assert reading.numbers["share"] == pytest.approx((1 - beta) * nesterov, abs=0.01)


def test_the_first_steps_tell_what_a_short_memory_hides_later():
    """.3¹⁴ is below the accuracy of a law: late steps are the same with and without the correction of this bias."""
    assert ln.fingerprint(lambda p: torch.optim.Adamax(p, betas=(0.3, 0.93)), timed=False).rate == "numerator corrected"
    assert ln.fingerprint(lambda p: torch.optim.SGD(p, momentum=0.3), timed=False).rate == "constant"


class Powers(Signs):
    """−g/V^p of a rotated, or a row's, or a trusting kind."""

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            kind = self.param_groups[0]["betas"]
            scale = {
                "row": p.grad.norm(dim=-1, keepdim=True),
                "sign": p.grad.abs(),
                "tensor": p.grad.norm(),
                "trust": p.grad.norm() / p.norm(),
            }
            p -= 0.01 * p.grad / (scale[kind] + 1e-30)


def test_reach_trust_and_turns_are_told_apart():
    row, tensor, trust = (ln.fingerprint(lambda p, k=k: Powers(p, k), timed=False) for k in ("row", "tensor", "trust"))
    assert (row.reach, tensor.reach, trust.reach) == ("row", "tensor", "tensor")
    assert (row.law, tensor.law, tensor.rate, trust.rate) == ("", "the gradient", "its own", "relative to |θ|")
    assert row.symmetries["right"] < 1e-9 < 0.05 < row.symmetries["left"] and tensor.symmetries["turn"] < 1e-9
    assert (tensor.gradient_degree, trust.weight_degree) == pytest.approx((0, 1), abs=1e-6)
    assert "none of the listed" in str(row) and "its row" in str(row)


def test_a_law_is_judged_on_gradients_that_it_was_not_fitted_to():
    """With as many directions as there are weights any step fits; a wrong law must not."""
    player = Player(torch.optim.Adamax)
    plays = tuple((g, player.pure(measures.weights(s), g)) for s in (1, 2) for g in [1e3 * measures.gradients(s, 40)])
    adam = next(law for law in laws.LAWS if law.name == "a filter over a power of an average of g²")
    assert laws.fitted(adam, plays).residual > 0.1
    assert laws.search(plays, 1e-6, 1e-3).residual < 1e-9


def factored(v):
    return np.outer(v.mean(axis=1), v.mean(axis=0)) / v.mean()


def squares_by_hand(g, s, beta1, beta2, kappa, floor):
    """Yield, step by step, what each law divides by a power of; by the updates that the papers print."""
    m, v, mean, size, total, largest, top, yogi, longer, own, centred, whole = (0.0,) * 12
    before = np.zeros_like(s[0])
    for t, (gradient, step) in enumerate(zip(g, s, strict=True), start=1):
        square, last = gradient * gradient, v
        m = beta1 * m + (1 - beta1) * gradient
        mean = beta2 * mean + (1 - beta2) * gradient
        v = beta2 * v + (1 - beta2) * square
        size = beta2 * size + (1 - beta2) * abs(gradient)
        centred = beta2 * centred + (1 - beta2) * (gradient - m) ** 2
        whole = beta2 * whole + (1 - beta2) * float(np.sum(square))
        longer = longer + t**-kappa * (square - longer)
        own = beta2 * own + (1 - beta2) * before * before
        total, largest = total + square, np.maximum(largest, v)
        top = np.maximum(beta2 * top, abs(gradient))
        yogi = (1 - beta2) * square if t == 1 else yogi - (1 - beta2) * np.sign(yogi - square) * square

        yield {
            "an average of g²": v, "the sum of g²": total, "a maximum of |g|": top * top,
            "the largest average of g²": largest, "an average of (g − m)²": centred, "an average of |g|": size * size,
            "the variance of g": v - mean * mean, "an average of past g²": last + 0 * v,
            "a signed average of g²": yogi, "an average of |G|²": whole,
            "rows ⊗ columns of an average of g²": factored(v),
            "rows ⊗ columns of an ever longer average of g²": factored(longer),
            "its own squared steps": v / (own + 10.0**floor),
        }  # fmt: skip
        before = step


def test_laws_divide_by_what_they_say():
    rng = np.random.default_rng(5)
    g, s = rng.normal(size=(2, 12, 3, 4))
    numbers = {"beta1": 0.7, "beta2": 0.9, "kappa": 0.8, "floor": -6.0}
    by_hand = list(squares_by_hand(g, s, **numbers))
    assert set(by_hand[0]) == set(laws.SQUARES)
    for name, square in laws.SQUARES.items():
        wanted = np.stack([np.broadcast_to(each[name], g[0].shape) for each in by_hand])
        found = np.broadcast_to(square(g, s, **numbers), g.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13, err_msg=name)
    law = laws.Law(("beta1", "g"), "an average of g²", after=True)
    quotients = g / np.stack([each["an average of g²"] for each in by_hand]) ** 0.3
    filtered, mean = [], 0.0
    for quotient in quotients:
        mean = 0.7 * mean + 0.3 * quotient
        filtered.append(mean)
    found = law.directions((g, s), {**numbers, "power": 0.3})
    np.testing.assert_allclose(found, [filtered, quotients], rtol=1e-10)
    law = laws.Law(("beta1", "beta3"), "the sum of g²")
    slow = laws.average(g, 0.99) / np.cumsum(g * g, axis=0) ** 0.3
    fast = np.stack([0.3 * sum(0.7 ** (t - i) * g[i] for i in range(t + 1)) for t in range(len(g))])
    found = law.directions((g, s), {**numbers, "beta3": 0.99, "power": 0.3})
    np.testing.assert_allclose(found, [fast / np.cumsum(g * g, axis=0) ** 0.3, slow], rtol=1e-10)


def test_bytes_are_those_of_the_averages_and_the_response_is_the_filter():
    reading = ln.fingerprint(lambda p: torch.optim.SGD(p, 0.1, momentum=0.5), timed=False)
    assert reading.state_bytes == pytest.approx(4.0, abs=0.01)
    assert ln.fingerprint(torch.optim.Adam, timed=False).state_bytes == pytest.approx(8.0, abs=0.01)
    on = [0.1 * sum(0.5**k for k in range(n)) for n in range(1, 21)]
    off = [on[-1] * 0.5**n for n in range(1, 21)]
    assert reading.response == pytest.approx([*on, *off], rel=1e-9)
    axes = reading.plot()
    assert len(axes.lines[0].get_xdata()) == 40
    plt.close(axes.figure)
    json.dumps(reading.to_dict())
    assert list(reading.to_frame()["response"]) == list(reading.response)


class Drawn(Signs):
    """Descent whose rate each step draws, from the generator of that name."""

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            drawn = {"torch": lambda: float(torch.rand(())), "numpy": np.random.random, "python": random.random}
            p -= 0.01 * drawn[self.param_groups[0]["betas"]]() * p.grad


@pytest.mark.parametrize("kind", ["torch", "numpy", "python"])
def test_what_draws_at_random_is_seen_and_read_the_same_twice(kind):
    states = np.random.get_state()[1].copy(), random.getstate(), torch.get_rng_state()  # noqa: NPY002
    first, second = (ln.fingerprint(lambda p: Drawn(p, kind), timed=False) for _ in range(2))
    assert not first.deterministic and first == second and str(first) == "gradient descent, a rate that it draws"
    assert np.array_equal(np.random.get_state()[1], states[0]) and random.getstate() == states[1]  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), states[2])


class Shaken(Signs):
    """An optimizer of torch, its steps with noise of a size, or with a decay of its own beside them."""

    def __init__(self, params, betas):
        super().__init__(params, betas)
        self.inner = betas[0](params)

    @torch.no_grad()
    def step(self):
        _, noise, decay = self.param_groups[0]["betas"]
        for p in self.param_groups[0]["params"]:
            p *= 1 - decay
        self.inner.step()
        for p in self.param_groups[0]["params"]:
            p += noise * torch.randn_like(p)


def adam(params):
    return torch.optim.Adam(params, lr=0.01, betas=(0.8, 0.97))


def descent(params):
    return torch.optim.SGD(params, lr=0.01)


@pytest.mark.parametrize(
    ("inner", "noise", "decay", "words"),
    [
        (adam, 1e-7, 0, "Adam, β₁ = 0.8, β₂ = 0.97, p = 0.5, bias-corrected, decay not seen, it draws at random"),
        (adam, 1e-7, 1e-3, "Adam, β₁ = 0.8, β₂ = 0.97, p = 0.5, bias-corrected, decay decoupled, it draws at random"),
        (descent, 1e-5, 0, "gradient descent, decay not seen, it draws at random"),
        (descent, 1e-3, 0, "gradient descent, decay not seen, it draws at random"),
        (descent, 1e-3, 1e-3, "gradient descent, decay coupled or decoupled, it draws at random"),
        (descent, 1.0, 0, "not seen through what it draws: the nearest, the gradient, is off by 10 %; "
                          "a step depends on its own gradients alone"),
        (lambda p: Powers(p, "sign"), 1e-4, 0, "the sign of the gradient, decay not seen, it draws at random"),
        (torch.optim.Rprop, 1e-4, 0, "not seen through what it draws: "),
        (lambda p: Powers(p, "row"), 1e-5, 0, "not seen through what it draws: "),
    ],
)  # fmt: skip
def test_what_noise_decides_is_not_said(inner, noise, decay, words):
    reading = ln.fingerprint(lambda p: Shaken(p, (inner, noise, decay)), timed=False)
    assert str(reading).startswith(words) and (reading.law == "" or str(reading) == words)
    assert reading.residual_small < 0.05 or np.isnan(reading.residual_small)
    assert all(defect > 2 * reading.noise for defect in reading.symmetries.values() if defect > 0.05)
    assert reading.counts == (inner is adam)


class Odd(Signs):
    """Of what a list of laws invites to misread."""

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            kind, state = self.param_groups[0]["betas"], self.state[p]
            t = state["t"] = state.get("t", 0) + 1
            m = state["m"] = 0.9 * state.get("m", torch.zeros_like(p)) + 0.1 * torch.sign(p.grad)
            step = {"signs added up": m, "signs times weights": torch.sign(p.grad) * p.abs()}.get(kind, p.grad)
            p -= 0.01 * step * (1 - t / 10 if kind == "stops" and t < 10 else kind != "stops")
            p *= 1 - 0.01 * (kind == "late decay" and t > 20)
            p -= 1e-3 * torch.sign(p) * (kind == "decay by a length")


@pytest.mark.parametrize("kind", ["signs added up", "signs times weights"])
def test_what_only_depends_on_signs_need_not_grow_by_a_factor(kind):
    assert measures.growth(Player(torch.optim.Rprop)) == pytest.approx((1.2, 0.5))
    assert measures.growth(Player(lambda p: Odd(p, kind))) is None


@pytest.mark.slow
def test_signs_that_are_added_up_are_a_filter_of_quotients():
    reading = ln.fingerprint(lambda p: Odd(p, "signs added up"), timed=False)
    assert reading.law.startswith("a filter of quotients")
    assert [reading.numbers[name] for name in ("beta1", "beta2", "power")] == pytest.approx([0.9, 0, 0.5], abs=1e-6)


def test_no_law_is_said_of_what_stands_still():
    assert str(ln.fingerprint(lambda p: Odd(p, "stops"))) == "refused: it makes no step after the first 13"


def test_a_step_that_waits_is_not_flat():
    steps = np.random.default_rng(0).normal(size=(40, 3, 4)) * (np.arange(40) % 4 == 3)[:, None, None]
    assert measures.flatness(steps) == measures.flatness(steps[3::4]) > 0.5


def test_a_decay_that_sets_in_within_forty_steps_is_seen():
    reading = ln.fingerprint(lambda p: Odd(p, "late decay"), timed=False)
    assert (reading.law, reading.decay) == ("the gradient", "decoupled")
    assert reading.decay_rate == pytest.approx(0.01, rel=1e-6)


@pytest.mark.slow
def test_a_decay_of_another_kind_is_no_filter():
    """Beside it a law with one number more has two thirds of the residual."""
    reading = ln.fingerprint(lambda p: Odd(p, "decay by a length"), timed=False)
    assert (reading.law, reading.decay) == ("the gradient", "of another kind")


def test_the_cost_is_measured_only_if_asked():
    assert np.isnan(ln.fingerprint(torch.optim.Adam, timed=False).cost)
    assert 0.5 < ln.fingerprint(torch.optim.SGD).cost < 2 < ln.fingerprint(torch.optim.Muon).cost


def test_ours_are_read_as_what_they_derive():
    ours = ln.fingerprint(lambda p: ln.optim.Ballistic(p, lr=0.01, beta=0.99, bias_correction=True), timed=False)
    assert ours.law == "the gradient over a power of an average of g²" and ours.numbers["power"] == pytest.approx(0.5)


@pytest.mark.parametrize(("given", "words"), [({"make_optimizer": 3}, "make_optimizer"), ({"timed": 1}, "timed = 1")])
def test_wrong_arguments_are_named(given, words):
    with pytest.raises(ValueError, match=words):
        ln.fingerprint(**{"make_optimizer": torch.optim.Adam, **given})
