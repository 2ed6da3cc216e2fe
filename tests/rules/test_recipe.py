"""Recipes: the step tends to the velocity with first order, is exact where the equation is linear, and knows limits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.integrate

import lossnav as ln
from lossnav.rules import recipe
from lossnav.rules.recipe import Filter, Memory, Plan, Recipe, State

INF = math.inf
THETA = np.array([[0.7, -1.2, 0.3], [1.5, 0.2, -0.4]])
STEEP = np.array([[1.0, 0.3, 2.0], [0.1, 0.5, 4.0]])


def slope(theta, t):
    """A smooth gradient that depends on place and time, not linear in either."""
    return STEEP * np.sin(theta - 0.4 * np.cos(1.3 * t)) + 0.3 * np.sin(2.1 * t)


def curve(theta, t):
    """A curvature with it, of both signs."""
    return STEEP * np.cos(theta - 0.4 * np.cos(1.3 * t))


def filters(mean, curvature, datum, corrected=True):
    return Memory(Filter(mean, corrected), Filter(curvature, corrected), datum)


NOISE = recipe.Draws(sample=np.array([[0.5, -0.3, 1.0], [0.8, -1.5, 0.2]]))
PRIOR = recipe.Prior(0.3, 0.1)
RULES = {
    "ballistic": Recipe(Plan(0.3, floor=0.05), Memory(curvature=Filter(1.5))),
    "ballistic, all options": Recipe(
        Plan(0.3, floor=0.05), filters(0.4, 1.5, recipe.SecondMoment()), recipe.Decoupled(0.2), maximize=True
    ),
    "Adam": Recipe(Plan(0.3, fading=0.05), filters(0.4, 1.5, recipe.SecondMoment()), recipe.Decoupled(0.2, exact=True)),
    "centred": Recipe(Plan(0.1, floor=0.1), filters(0.4, 1.5, recipe.Centred(), corrected=False)),
    "innovation, discounted, finite": Recipe(
        Plan(0.3, discount=0.4, floor=0.1, curvature_scale=3.0), filters(0.4, 1.5, recipe.Innovation())
    ),
    "innovation without a mean": Recipe(Plan(0.3, discount=0.4), filters(0.0, 1.5, recipe.Innovation())),
    "SGD": Recipe(Plan(0.5, discount=INF), Memory(Filter(0.7))),
    "no memory at all": Recipe(Plan(0.3, floor=0.1)),
    "Eq. 6 on a given curvature": Recipe(
        Plan.of(ln.Objective(gamma=5.0)), Memory(Filter(0.2), Filter(0.3, True), recipe.Given(0.5))
    ),
    "uncertain": Recipe(
        recipe.Newton(0.5, floor=1.5, radius=0.6), Memory(curvature=Filter(2.0), datum=recipe.SecondMoment(2.0)), PRIOR,
        blur=recipe.Blur(0.3, Filter(0.5)),
    ),
    "uncertain, blurred back to its prior": Recipe(
        recipe.Newton(0.5, floor=1.5), Memory(curvature=Filter(8.0)), PRIOR, blur=recipe.Blur(8.0)
    ),
    "uncertain, sampled": Recipe(
        recipe.Newton(0.5, floor=1.5), Memory(curvature=Filter(2.0), datum=recipe.Sampled(0.7)), PRIOR
    ),
}  # fmt: skip


def extras(rule, theta, t):
    given = curve(theta, t) if isinstance(rule.memory.datum, recipe.Given) else None
    return {"curvature": given, "draws": NOISE}


def stepped(rule, end, count, begin=None):
    """Return θ and the state after ``count`` steps to the time ``end``, from 0 or from (t, θ, state)."""
    start, theta, state = begin or (0.0, THETA, rule.init(THETA))
    rule = rule.at((end - start) / count)
    for n in range(count):
        t = start + n * rule.dt
        change, state = rule.update(slope(theta, t), state, theta, **extras(rule, theta, t))
        theta = theta + change
    return theta, state


def packed(theta, state):
    return np.concatenate([np.ravel(part) for part in (theta, *state)])


def opened(flat):
    cut = np.split(flat, np.cumsum([6, 6, 1, 6, 1, 6]))
    theta, mean, time, curvature, observed, drift, age = cut
    shaped = [part.reshape(THETA.shape) for part in (theta, mean, curvature, drift, age)]
    return shaped[0], State(shaped[1], float(time[0]), shaped[2], float(observed[0]), shaped[3], shaped[4])


def flowed(rule, end, begin=None):
    """Return θ and the state at ``end`` on the continuous clock."""
    begun, *where = begin or (0.0, THETA, rule.init(THETA))

    def flow(t, flat):
        theta, state = opened(flat)
        arguments = (slope(theta, t), state, theta)
        more = extras(rule, theta, t)
        return packed(rule.velocity(*arguments, **more), rule.state_rate(*arguments, **more))

    found = scipy.integrate.solve_ivp(flow, (begun, end), packed(*where), rtol=1e-9, atol=1e-11, max_step=0.05)
    assert found.success
    return opened(found.y[:, -1])


@pytest.mark.parametrize("name", RULES)
def test_steps_tend_to_the_continuous_rule_with_first_order(name):
    rule, begin = RULES[name], None
    if isinstance(rule.memory.datum, recipe.Innovation):  # its first look, which knows no mean, is over
        begin = (0.4, *flowed(rule, 0.4))
    theta, state = flowed(rule, 2.0, begin)
    assert np.abs(theta - THETA).max() > 0.1
    gaps, memories = [], []
    for count in (100, 200, 400):
        found, held = stepped(rule, 2.0, count, begin)
        gaps.append(np.abs(found - theta).max())
        memories.append(np.abs(held.curvature - state.curvature).max())
        assert held.time == pytest.approx(state.time) and held.observed == pytest.approx(state.observed)
    assert gaps[-1] < 0.01
    assert np.all(np.abs(orders(gaps) - 1) < 0.12), orders(gaps)
    if rule.memory.curvature.tau > 0:
        assert memories[-1] < 1e-7 or np.all(orders(memories) > 0.88), orders(memories)


def orders(errors):
    return np.log2(np.divide(errors[:-1], errors[1:]))


def test_the_first_innovation_costs_a_logarithm():
    """The first datum is g², of weight Δt/t in a corrected average at time t: its effect is Δt·log(1/Δt)."""
    rule = RULES["innovation, discounted, finite"]
    theta, _ = flowed(rule, 2.0)
    gaps = [np.abs(stepped(rule, 2.0, count)[0] - theta).max() for count in (100, 200, 400, 800)]
    found = orders(gaps)
    assert np.all((found > 0.7) & (found < 0.9)) and np.all(np.diff(found) > 0)


def test_a_weight_that_ignores_the_step_has_another_limit():
    """Negative control: β kept while Δt shrinks is a memory that shrinks with it, and the order is lost."""
    rule = RULES["Adam"]
    theta, _ = flowed(rule, 2.0)
    gaps = []
    for count in (100, 400):
        dt = 2.0 / count
        fixed = Memory(*(Filter.of_weight(0.9, corrected=True, dt=dt) for _ in range(2)))
        gaps.append(np.abs(stepped(replace(rule, memory=fixed), 2.0, count)[0] - theta).max())
    assert gaps[1] > 0.5 * gaps[0] > 1e-3


@pytest.mark.parametrize("name", [name for name in RULES if name != "innovation without a mean"])
def test_a_short_step_over_its_time_is_the_velocity(name):
    """From any state, not only along a path (an innovation without a mean is a difference in time, and needs one)."""
    rule = RULES[name]
    theta, state = stepped(rule, 1.0, 20)
    arguments = (slope(theta, 1.0), state, theta)
    velocity, rate = rule.velocity(*arguments, **extras(rule, theta, 1.0)), None
    rate = rule.state_rate(*arguments, **extras(rule, theta, 1.0))
    errors = []
    for dt in (1e-3, 1e-4):
        change, after = rule.at(dt).update(*arguments, **extras(rule, theta, 1.0))
        gaps = [np.abs(change / dt - velocity).max()]
        for field, now, then, tau in (
            ("mean", state.mean, after.mean, rule.memory.mean.tau),
            ("curvature", state.curvature, after.curvature, rule.memory.curvature.tau),
        ):
            if tau > 0:
                gaps.append(np.abs((then - now) / dt - getattr(rate, field)).max())
        errors.append(max(gaps))
    assert errors[1] < 0.15 * errors[0] + 1e-10 and errors[0] < 0.05


@pytest.mark.parametrize("corrected", [True, False])
def test_a_filter_is_exact_for_a_constant_datum_whatever_the_step(corrected):
    rule = Recipe(Plan(1.0, discount=INF), Memory(Filter(0.7, corrected), Filter(1.9, corrected)))
    g = np.array([2.0, -1.0])
    ends = []
    for count in (1, 7, 50):
        state = rule.init(g)
        for _ in range(count):
            _, state = rule.at(3.0 / count).update(g, state, g)
        ends.append(state)
    for state in ends:
        np.testing.assert_allclose(state.mean, -math.expm1(-3.0 / 0.7) * g, rtol=1e-13)
        np.testing.assert_allclose(state.curvature, -math.expm1(-3.0 / 1.9) * g**2, rtol=1e-13)


@pytest.mark.parametrize("gamma", [0.0, 0.6, 30.0])
def test_on_a_quadratic_steps_of_any_length_lie_on_the_continuous_path(gamma):
    """Eq. 6 is the exact flow of the linear equation: ``ln.update``'s step, and e^{−rt} at the end of any number."""
    h, objective = np.array([1e-6, 0.4, 7.0]), ln.Objective(eta=0.5, k=3.0, gamma=gamma)
    rule = Recipe(Plan.of(objective), Memory(datum=recipe.Given()))
    start = np.array([1.0, -2.0, 3.0])
    step, _ = rule.at(0.8).update(h * start, rule.init(start), start, curvature=h)
    np.testing.assert_allclose(step, ln.update(objective, h * start, np.diag(h), 0.8), rtol=1e-13)
    for count in (1, 3, 40):
        theta, state = start, rule.init(start)
        for _ in range(count):
            change, state = rule.at(4.0 / count).update(h * theta, state, theta, curvature=h)
            theta = theta + change
        left = np.exp(-4.0 * ln.rules.rates(objective, np.diag(h)))
        np.testing.assert_allclose(theta, left * start, rtol=1e-12, atol=1e-14)


def test_exact_decay_is_exponential_and_eulers_is_not():
    shrink = {exact: Recipe(Plan(0.0), decay=recipe.Decoupled(0.3, exact)) for exact in (True, False)}
    for exact, factor in ((True, math.exp(-0.6)), (False, 1 - 0.6)):
        rule = shrink[exact].at(2.0)
        change, _ = rule.update(np.ones(3), rule.init(np.ones(3)), np.ones(3))
        np.testing.assert_allclose(1 + change, factor, rtol=1e-14)


def test_adam_by_hand():
    adam = Recipe(Plan(1e-3, fading=1e-8), Memory(*(Filter.of_weight(b, corrected=True) for b in (0.9, 0.999))))
    grads = np.random.default_rng(0).normal(size=(50, 4)) * np.logspace(-3, 1, 4)
    theta, state, m, v = np.ones(4), adam.init(np.ones(4)), 0.0, 0.0
    for n, g in enumerate(grads, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        expected = -1e-3 * (m / (1 - 0.9**n)) / (np.sqrt(v / (1 - 0.999**n)) + 1e-8)
        step, state = adam.update(g, state, theta)
        np.testing.assert_allclose(step, expected, rtol=1e-12)
        theta = theta + step


@pytest.mark.parametrize("alpha", [0.0, 0.8])
def test_the_plan_discounts_a_forecast_that_fades(alpha):
    """v = −ηk ∫ e^{−s₊τ} e^{−ατ} dτ m: ε outside the root is a gradient that is believed to fade (theory, M2)."""
    eta_k, gamma, h = 1.5, 0.6, np.array([0.01, 0.5, 9.0])
    plan = replace(Plan.of(ln.Objective(eta=eta_k, gamma=gamma)), fading=alpha / math.sqrt(eta_k))
    rule = Recipe(plan, Memory(datum=recipe.Given()))
    fast = np.sqrt(gamma**2 / 4 + eta_k * h) + gamma / 2
    expected = [-eta_k * scipy.integrate.quad(lambda t, s=s: math.exp(-(s + alpha) * t), 0, INF)[0] for s in fast]
    velocity = rule.velocity(np.ones(3), rule.init(h), h, curvature=h)
    np.testing.assert_allclose(velocity, expected, rtol=1e-9)


def test_innovations_are_unbiased_in_steps():
    """The average of (g − m̂)² times its weight is the noise's variance from the second look on."""
    rule = Recipe(Plan(0.0), Memory(Filter.of_weight(0.8), Filter.of_weight(0.0), recipe.Innovation()))
    noise = np.random.default_rng(1).normal(size=(12, 200_000))
    state = rule.init(noise[0])
    for n, g in enumerate(noise):
        _, state = rule.update(g, state, g)
        if n > 0:
            assert state.curvature.mean() == pytest.approx(1.0, abs=5 * math.sqrt(2 / g.size))


def test_a_coordinate_without_gradients_stays():
    for plan in (Plan(1.0), Plan(1.0, curvature_scale=2.0), recipe.Newton(1.0, 1e-3)):
        rule = Recipe(plan)
        step, _ = rule.update([0.0, 1.0], rule.init([1.0, 1.0]), [1.0, 1.0])
        assert step[0] == 0 and step[1] < 0


def test_renewal_is_a_rate():
    """The share of weights that are drawn afresh until t is 1 − e^{−λt}, whatever the step; the prior gives them."""
    prior, generator = recipe.Prior(0.5, mean=3.0), np.random.default_rng(2)
    theta = np.zeros(100_000)
    for count in (1, 5):
        rule = Recipe(
            recipe.Newton(0.0, floor=4.0), Memory(curvature=Filter(INF)), prior, dt=1 / count,
            renewal=recipe.Renewal.of_probability(0.3, threshold=0.1, age=0.0),
        )  # fmt: skip
        state, now = rule.init(theta), theta
        for _ in range(count):
            draws = recipe.Draws(uniform=generator.random(theta.size), normal=generator.normal(size=theta.size))
            change, state = rule.update(theta, state, now, draws=draws)
            now = now + change
        fresh = now[now != 0]
        assert fresh.size / theta.size == pytest.approx(0.3, abs=5 * math.sqrt(0.3 * 0.7 / theta.size))
        assert fresh.mean() == pytest.approx(3.0, abs=0.02) and fresh.std() == pytest.approx(0.5, abs=0.02)
    learned = state._replace(curvature=np.full_like(theta, 0.5))  # more than 0.1 · 4
    assert not np.any(rule.update(theta, learned, theta, draws=draws)[0])


def test_nothing_is_changed_in_place():
    rule = RULES["uncertain"]
    theta, g = THETA.copy(), np.ones_like(THETA)
    state = rule.init(theta)
    _, after = rule.update(g, state, theta)
    assert all(np.all(part == 0) for part in state)
    assert np.array_equal(theta, THETA) and np.all(g == 1) and after.time == 1.0
    with pytest.raises(AttributeError):
        rule.dt = 2.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Filter(-1.0), "tau = -1"),
        (lambda: Filter(INF, corrected=True), "tau = inf.*corrected"),
        (lambda: Filter.of_weight(1.0), "beta = 1.0"),
        (lambda: Memory(datum=recipe.Centred()), "mean.tau = 0.*Centred"),
        (lambda: Plan(0.1, negative="zero"), "negative = 'zero'"),
        (lambda: Plan.of(ln.Objective(horizon=2.0)), "objective.horizon = 2"),
        (lambda: Plan.of(ln.Objective(metric=np.eye(2))), "objective.metric"),
        (lambda: Recipe("Adam"), "preconditioner = 'Adam'"),
        (lambda: Recipe(Plan(0.1), Memory(datum=recipe.Sampled())), "Newton where memory.datum is Sampled"),
        (lambda: Recipe(Plan(0.1), blur=recipe.Blur(1.0)), "Newton where blur is set"),
        (lambda: Recipe(recipe.Newton(1.0, 1.0), renewal=recipe.Renewal(1.0)), "decay is Decoupled"),
        (lambda: RULES["Adam"].at(0.0), "dt = 0"),
        (lambda: RULES["Adam"].update([1.0], RULES["Adam"].init([1.0, 2.0]), [1.0, 2.0]), r"gradient has shape \(1,\)"),
        (lambda: RULES["Adam"].update([1.0], RULES["Adam"].init([1.0, 2.0]), [1.0]), "state.mean has shape"),
        (lambda: RULES["Adam"].update([1.0], None, [1.0]), "state = None"),
        (lambda: RULES["Adam"].velocity([math.nan], RULES["Adam"].init([1.0]), [1.0]), "gradient = .*finite"),
        (lambda: RULES["Adam"].update([1.0], RULES["Adam"].init([1.0]), [1.0], curvature=[1.0]), "curvature is given"),
        (
            lambda: RULES["Eq. 6 on a given curvature"].update([1.0], RULES["Adam"].init([1.0]), [1.0]),
            "curvature = None.*first look",
        ),
        (lambda: RULES["uncertain, sampled"].update([1.0], RULES["Adam"].init([1.0]), [1.0]), "draws.sample = None"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()
