"""Rules derived from prices of motion: against their definitions, and as optimizers of one step in two languages."""

from __future__ import annotations

import drive
import mpmath
import numpy as np
import pytest
import scipy.linalg
import torch

import lossnav as ln

P, A = ln.prices, ln.assume
GRADIENTS = np.random.default_rng(0).normal(size=(30, 5)) * 10 ** np.random.default_rng(1).uniform(-3, 1, (30, 5))
GRADIENTS[:, 0] = 0.0  # a dead one moves nothing, and spoils nothing
MEAN, MOMENT = A.Filter(0.9), A.SecondMoment(0.9, floor=1e-8)
DEAR = P.Acceleration(0.1, 0.5)


def walk(rule):
    return drive.walk(rule, GRADIENTS, np.ones(5))


def defined(step):
    """Return where θ ← θ + step(m̂, V̂) leads, with Adam's two averages."""
    theta, m, v, places = np.ones(5), np.zeros(5), np.zeros(5), []
    for n, g in enumerate(GRADIENTS, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.9 * v + 0.1 * g * g
        theta = theta + step(m / (1 - 0.9**n), v / (1 - 0.9**n) + 1e-8)
        places.append(theta)
    return np.array(places)


def soft(x, edge):
    return np.sign(x) * np.maximum(np.abs(x) - edge, 0)


CASES = {
    "sign descent": ({"objective": ln.Objective(price=P.Norm("linf", limit=0.5))}, lambda m, h: -0.05 * np.sign(m)),
    "Sophia": (
        {"objective": ln.Objective(price=P.Box(0.5)), "curvature": MOMENT, "exact": True},
        lambda m, h: -np.clip(m / h, -0.05, 0.05),
    ),
    "clipped descent": (
        {"objective": ln.Objective(k=2.0, gamma=0.8, price=P.Box(0.5, 3.0))},
        lambda m, h: -0.1 * np.clip(3.0 * 2.0 / 0.8 * m, -0.5, 0.5),
    ),
    "clipped RMSprop": (
        {"objective": ln.Objective(k=2.0, price=P.Box(0.5, 3.0)), "curvature": MOMENT},
        lambda m, h: -0.1 * np.clip(np.sqrt(6.0 / h) * m, -0.5, 0.5),
    ),
    "soft threshold": (
        {"objective": ln.Objective(k=2.0, gamma=0.8, price=P.Toll(0.3, 3.0))},
        lambda m, h: -0.1 * 3.0 * 2.0 / 0.8 * soft(m, 0.3 * 0.8 / 2.0),
    ),
}


def assert_optimizers_go_through(rule, places):
    """In torch's operations and in C."""
    for fused in (False, True):
        found = drive.drive(rule.optimizer, GRADIENTS, fused=fused)
        np.testing.assert_allclose(found, places, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_limits_and_tolls_give_the_rules_that_they_are_said_to(name):
    options, step = CASES[name]
    rule = ln.derive(belief=MEAN, dt=0.1, **options)
    places, state = walk(rule)
    np.testing.assert_allclose(places, defined(step), rtol=1e-9, atol=1e-12)
    assert_optimizers_go_through(rule, places)
    assert "of one coordinate each" in rule._repr_markdown_() and state.step == 30


def test_a_limit_holds_however_far_the_minimum_is():
    """The way of a step has its digits where the distance m/h is 1e14 of them, on arrays and in ``update``."""
    dt = 1e-3
    for price in (P.Box(2.0), P.Norm("linf", limit=2.0)):
        far = ln.Objective(price=price)
        rule = ln.derive(far, curvature=A.SecondMoment(0.9), dt=dt, exact=True)
        for size in (1e-25, 1e-14, 1e-9):
            step, _ = rule([size, -size], rule.init([0.0, 0.0]), [0.0, 0.0])
            np.testing.assert_allclose(step, [-2 * dt, 2 * dt], rtol=1e-14)
        np.testing.assert_allclose(ln.update(far, [1.0], [[1e-20]], dt), [-2 * dt], rtol=1e-14)
    for norm in ("l2", [(slice(None), "spectral", (2, 1))]):
        far = ln.Objective(price=P.Norm(norm, limit=1.0))
        step = ln.update(far, [3.0, -4.0], 1e-20 * np.eye(2), dt)
        np.testing.assert_allclose(step, [-0.6 * dt, 0.8 * dt], rtol=1e-14)
    near = ln.Objective(gamma=0.3, price=P.Box(0.5, 3.0))
    with mpmath.workdps(40):  # r = √(γ²/4 + ηkh) − γ/2, and x(1 − e^{−rt}) where the limit is far
        r = mpmath.sqrt(mpmath.mpf(0.3) ** 2 / 4 + 3) - mpmath.mpf(0.3) / 2
        expected = float(mpmath.mpf("0.01") * mpmath.expm1(-r * mpmath.mpf(1e-12)))
    np.testing.assert_allclose(ln.update(near, [0.01], [[1.0]], 1e-12), [expected], rtol=1e-13)


@pytest.mark.parametrize("options", [{"fused": True}, {"foreach": True}], ids=str)
def test_a_gradient_below_the_toll_moves_nothing(options):
    objective = ln.Objective(k=2.0, gamma=0.8, price=P.Toll(0.3, 3.0))
    weights = torch.nn.Parameter(torch.zeros(40))
    optimizer = ln.derive(objective, belief=A.Filter(0.9), dt=0.1).optimizer([weights], **options)
    for _ in range(20):
        weights.grad = torch.linspace(-0.11, 0.11, 40)
        optimizer.step()
    assert not weights.any()


def test_an_exact_clipped_step_is_that_of_update():
    price = P.Box(0.5, 3.0)
    rule = ln.derive(ln.Objective(gamma=0.3, price=price), curvature=A.Known(np.diag([1.0, 4.0])), dt=0.7, exact=True)
    g = np.array([2.0, -0.1])
    step, _ = rule(g, rule.init([0.0, 0.0]), [0.0, 0.0])
    np.testing.assert_allclose(
        step, ln.update(rule.objective.__class__(gamma=0.3, price=price), g, np.diag([1.0, 4.0]), 0.7)
    )


@pytest.mark.parametrize("exact", [False, True])
def test_each_coordinate_may_have_a_free_rule_of_its_own(exact):
    etas, curvature, g = [0.5, 3.0], np.array([1.0, 2.0]), np.array([0.1, 0.2])
    rule = ln.derive(
        ln.Objective(gamma=1.0, price=P.Box(2.0, etas)), curvature=A.Known(np.diag(curvature)), dt=0.1, exact=exact
    )
    step, _ = rule(g, rule.init(g), g)
    rates = np.sqrt(0.25 + etas * curvature) - 0.5
    wanted = -g / curvature * (-np.expm1(-rates * 0.1) if exact else 0.1 * rates)
    np.testing.assert_allclose(step, wanted, rtol=1e-12)
    assert "a generated optimizer must have" in rule._repr_markdown_()


@pytest.mark.parametrize("price", [P.Box(0.5, 3.0), P.Box(0.5), P.Norm("linf", limit=0.5), P.Toll(0.05, 3.0)], ids=str)
def test_an_exact_step_where_no_curvature_is_left_is_that_of_a_steady_gradient(price):
    """Innovation forgets all curvature where gradients repeat, and V of a moment alone where one is zero."""
    objective, g = ln.Objective(k=2.0, gamma=0.8, price=price), np.array([0.01, -0.3])
    flat = ln.derive(objective, dt=0.1)
    rule = ln.derive(objective, belief=MEAN, curvature=A.Innovation(0.0), dt=0.1, exact=True)
    _, state = rule(g, rule.init(g), g)
    np.testing.assert_allclose(rule(g, state, g)[0], flat(g, flat.init(g), g)[0], rtol=1e-9)
    with pytest.raises(ValueError, match=r"curvature is -0\.001, but it must be >= 0 beside price"):
        known = ln.derive(objective, curvature=A.Known(np.diag([-1e-3, 1.0])), dt=0.1, exact=True)
        known(g, known.init(g), g)


@pytest.mark.parametrize("options", [{"fused": True}, {"foreach": True}], ids=str)
def test_full_speed_is_no_nan_where_no_curvature_is_left(options):
    rule = ln.derive(ln.Objective(price=P.Box(0.5)), belief=MEAN, curvature=A.SecondMoment(0.0), dt=0.1, exact=True)
    weights = torch.nn.Parameter(torch.zeros(2))
    optimizer = rule.optimizer([weights], **options)
    for g in ([300.0, -300.0], [0.0, 0.0]):
        weights.grad = torch.tensor(g)
        optimizer.step()
    np.testing.assert_allclose(weights.detach(), [-0.05 - 1 / 300, 0.05 + 1 / 300], rtol=1e-6)


def test_a_spectral_limit_gives_the_polar_factor():
    rule = ln.derive(ln.Objective(price=P.Norm("spectral", limit=0.5)), dt=0.1)
    g = np.random.default_rng(2).normal(size=(4, 3))
    step, _ = rule(g, rule.init(g), g)
    np.testing.assert_allclose(step, -0.05 * scipy.linalg.polar(g)[0], atol=1e-12)
    assert "singular values" in rule._repr_markdown_()


def test_a_price_of_acceleration_gives_a_rule_with_a_velocity():
    """W9 by matrix exponentials of each step, with the curvature that is believed then."""
    objective = ln.Objective(k=1.3, gamma=0.5, price=DEAR)
    rule = ln.derive(objective, curvature=A.SecondMoment(0.9), dt=0.1, exact=True)
    places, state = walk(rule)
    theta, v, V = np.ones(5), np.zeros(5), np.zeros(5)
    for n, g in enumerate(GRADIENTS, start=1):
        V = 0.9 * V + 0.1 * g * g
        kappa, friction = ln.rules.acceleration_gains(objective, V / (1 - 0.9**n))
        for i in range(5):
            flow = np.array([[0, 1, 0], [-kappa[i] * V[i] / (1 - 0.9**n), -friction[i], -kappa[i] * g[i]], [0, 0, 0]])
            step, v[i] = (scipy.linalg.expm(0.1 * flow) @ [0.0, v[i], 1.0])[:2]
            theta[i] += step
        np.testing.assert_allclose(places[n - 1], theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.averages["velocity"], v, rtol=1e-8, atol=1e-12)
    patient = ln.derive(ln.Objective(price=P.Acceleration(0.1)), curvature=A.SecondMoment(0.9), dt=0.1, exact=True)
    assert np.all(np.isfinite(walk(patient)[0]))  # γ = 0 and a dead gradient
    with pytest.raises(ValueError, match="has none yet"):
        rule.optimizer([torch.nn.Parameter(torch.ones(1))])


@pytest.mark.parametrize("fused", [False, True])
def test_its_simple_form_averages_the_weights_of_a_walker(fused):
    """W8: the walker is the rule at η = 1/c; θ̇ = b₀(z − θ), b₀ = √(γ²/4 + c/m) − γ/2."""
    rule = ln.derive(ln.Objective(gamma=0.5, price=DEAR), curvature=A.SecondMoment(0.9), dt=0.1, form="ema")
    places, state = walk(rule)
    walker = ln.derive(ln.Objective(2.0, gamma=0.5), curvature=A.SecondMoment(0.9), dt=0.1)
    np.testing.assert_array_equal(places, walk(walker)[0])
    weights = torch.nn.Parameter(torch.ones(5, dtype=torch.float64))
    optimizer, average = rule.optimizer([weights], fused=fused), np.ones(5)
    assert torch.equal(optimizer.average()[0], weights.detach())
    rate = np.sqrt(0.25**2 + 5.0) - 0.25
    for g, place in zip(GRADIENTS, places, strict=True):
        weights.grad = torch.tensor(g)
        optimizer.step()
        average = place + (average - place) * np.exp(-rate * 0.1)
        np.testing.assert_allclose(optimizer.average()[0].numpy(), average, rtol=1e-12)
    np.testing.assert_allclose(state.averages["average"], average, rtol=1e-12)
    with pytest.raises(ValueError, match="averages no weights"):
        walker.optimizer([weights]).average()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"objective": ln.Objective(price=P.Norm("l2", limit=1.0)), "curvature": MOMENT}, "curvature"),
        ({"objective": ln.Objective(price=P.Linear(1.0))}, "jumps"),
        ({"objective": ln.Objective(price=P.Box(1.0)), "curvature": MOMENT}, "exact"),
        ({"objective": ln.Objective(price=P.Acceleration(1.0)), "form": "ema"}, "speed"),
        ({"objective": ln.Objective(), "form": "ema"}, "form"),
        ({"objective": ln.Objective(gamma=1.0, price=P.Toll(0.1)), "metric": A.RootMeanSquare(0.9)}, "metric"),
        ({"objective": ln.Objective(gamma=1.0, price=P.Toll(0.1)), "belief": A.Filter(0.9, fading=0.1)}, "belief"),
        ({"objective": ln.Objective(price=DEAR, metric=np.eye(2))}, "metric"),
    ],
)
def test_what_does_not_go_together(given, words):
    with pytest.raises(ValueError, match=words):
        ln.derive(dt=0.1, **given)


def test_a_toll_without_a_discount_or_curvature_has_no_plan():
    with pytest.raises(ln.NoMinimiser):
        ln.derive(ln.Objective(price=P.Toll(0.1)), dt=0.1)


def test_rules_without_a_price_look_as_ever():
    assert "price" not in repr(ln.derive(ln.Objective(gamma=1.0), dt=0.1)).replace("price of", "")


def test_a_rule_says_what_is_charged():
    (half, whole) = (ln.derive(ln.Objective(price=P.Box(limit)), dt=0.1) for limit in (0.5, 1.0))
    assert "price=Box(limit=0.5)" in repr(half) and repr(half) != repr(whole)
    assert "γ = 0, k = 1" in half._repr_markdown_()  # no η: none is in the price


@pytest.mark.parametrize(("price", "law"), [
    (P.Acceleration(0.1, 0.5), lambda h: np.sqrt(5.0 + 2 * np.sqrt(1.3 * h / 0.1))),
    (P.Acceleration(0.1), lambda h: np.sqrt(2) * (1.3 * h / 0.1) ** 0.25),  # dear: 1 − β₁ ∝ V^¼
])  # fmt: skip
def test_to_first_order_acceleration_gives_momentum_whose_memory_is_that_of_the_curvature(price, law):
    """(W9) without a discount: β₁ = e^{−K₂Δt}, K₂² = c/m + 2√(kh/m), and a rate of √(k/mh)·Δt/K₂ per gradient."""
    rule = ln.derive(ln.Objective(k=1.3, price=price), belief=A.Filter(0.5), curvature=MOMENT, dt=0.1)
    places, state = walk(rule)
    theta, m, v, V = np.ones(5), np.zeros(5), np.zeros(5), np.zeros(5)
    for n, g in enumerate(GRADIENTS, start=1):
        m, V = 0.5 * m + 0.5 * g, 0.9 * V + 0.1 * g * g
        h = V / (1 - 0.9**n) + 1e-8
        beta = np.exp(-0.1 * law(h))
        v = beta * v - (1 - beta) * np.sqrt(1.3 / 0.1 / h) / law(h) * m / (1 - 0.5**n)
        theta = theta + 0.1 * v
        np.testing.assert_allclose(places[n - 1], theta, rtol=1e-9, atol=1e-12)
    assert state.averages["velocity"][0] == 0.0
    assert_optimizers_go_through(rule, places)


@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_the_first_order_is_that_of_the_exact_step(gamma):
    """Halving Δt quarters what one step of each leaves between them."""
    known = A.Known(np.diag([1.0, 4.0]))
    gaps = []
    for dt in (0.02, 0.01):
        rules = [
            ln.derive(ln.Objective(gamma=gamma, price=DEAR), curvature=known, dt=dt, exact=exact)
            for exact in (True, False)
        ]
        theta = np.ones(2)
        states = [rule.init(theta) for rule in rules]
        states = [state._replace(averages={**state.averages, "velocity": np.array([0.3, -0.2])}) for state in states]
        steps = [rule([2.0, -0.1], state, theta)[0] for rule, state in zip(rules, states, strict=True)]
        gaps.append(np.abs(steps[0] - steps[1]))
    np.testing.assert_allclose(gaps[0] / gaps[1], 4.0, rtol=0.05)


@pytest.mark.parametrize("asked", ["gain", "limits", "regime"])
def test_a_rule_under_a_price_has_no_gains_of_the_free_one(asked):
    """Nobody has given it an η: the gains were those of η = 1."""
    heavy = ln.Objective(gamma=0.1, price=ln.prices.Acceleration(m=1.0))
    rule = ln.derive(heavy, curvature=ln.assume.Known([[2.0]]), dt=0.1)
    with pytest.raises(ValueError, match=rf"{asked} is asked of a rule under price = Acceleration"):
        getattr(rule, asked)()


class Cosh(P.Price):
    """φ = Σ cosh v_i − 1, with the two methods that must be there."""

    smooth = True

    def value(self, v):
        return (np.cosh(np.asarray(v)) - 1).sum(-1)

    def velocity(self, p):
        return np.arcsinh(p)


def test_a_price_of_a_users_own_has_its_rule_and_says_what_it_lacks():
    """With a gradient that stays, V = −∇L·k/γ asks for sinh v = −kg/γ."""
    objective = ln.Objective(k=3.0, gamma=2.0, price=Cosh())
    g, rule = np.array([0.3, -2.0]), ln.derive(objective, dt=0.1)
    np.testing.assert_allclose(np.sinh(rule(g, rule.init(g), g)[0] / 0.1), -1.5 * g, rtol=1e-12)
    with pytest.raises(ValueError, match="it has no `softened`"):
        ln.solve(objective, ln.losses.DoubleWell(), [0.0, 1.0])
    with pytest.raises(ValueError, match="has no formula"):
        ln.euler_lagrange(objective, ln.losses.DoubleWell()).latex  # noqa: B018
