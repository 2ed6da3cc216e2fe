"""Eqs. 12–14 and 133–142: beliefs. Sympy from the Lagrangian, direct minimisation of discretised J, and simulation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import scipy.stats
import sympy
from direct import measured_order, spd

from lossnav import belief
from lossnav.trajectory.beliefs import Beliefs, Exact, Prior, Simplified

T = sympy.Symbol("t", positive=True)
ETA, K, C, LAMBDA = sympy.symbols("eta k c lambda_b", positive=True)
GAMMA, ALPHA_M, ALPHA_V = sympy.symbols("gamma alpha_m alpha_V", nonnegative=True)
SIGMA_M, SIGMA_V, NOISE_M, NOISE_V = sympy.symbols("sigma_m sigma_V s_m s_V", positive=True)
G, Q = sympy.symbols("g q", real=True)
STATE, SPEED = sympy.symbols("delta m V", real=True), sympy.symbols("ddelta dm dV", real=True)

PRIORS = sum(
    (SPEED[i] + decay * STATE[i]) ** 2 / (2 * diffusion**2)
    for i, decay, diffusion in ((1, ALPHA_M, SIGMA_M), (2, ALPHA_V, SIGMA_V))
)
SEEN = {
    "exact": (G - STATE[1]) ** 2 / (2 * STATE[2]) + sympy.log(STATE[2]) / 2,
    "simplified": (G - STATE[1]) ** 2 / (2 * NOISE_M**2) + (Q - STATE[2]) ** 2 / (2 * NOISE_V**2),
}
BELIEVED = STATE[1] * STATE[0] + C * STATE[2] * STATE[0] ** 2 / 2

NUMBERS = {
    ETA: 2.0,
    K: 0.8,
    C: 1.3,
    LAMBDA: 1.7,
    GAMMA: 0.5,
    ALPHA_M: 0.2,
    ALPHA_V: 0.1,
    SIGMA_M: 1.1,
    SIGMA_V: 0.5,
    NOISE_M: 0.7,
    NOISE_V: 0.9,
}
MODELS = {
    kind: Beliefs(2.0, 0.8, 0.5, 1.3, Prior(0.2, 1.1), Prior(0.1, 0.5), seen, 1.7)
    for kind, seen in (("exact", Exact()), ("simplified", Simplified(0.7, 0.9)))
}


def lagrangian(kind: str) -> sympy.Expr:
    """The integrand of J without its discount, written here once, by hand."""
    return SPEED[0] ** 2 / (2 * ETA) + K * BELIEVED + LAMBDA * (SEEN[kind] + PRIORS)


def euler_lagrange(kind: str) -> list[sympy.Expr]:
    """What d/dt ∂ℒ/∂ẋ = ∂ℒ/∂x says of the accelerations, by sympy alone; g and q are functions of time there."""
    paths = [sympy.Function(str(x))(T) for x in STATE]
    there = {**dict(zip(SPEED, (x.diff(T) for x in paths), strict=True)), **dict(zip(STATE, paths, strict=True))}
    total = sympy.exp(-GAMMA * T) * lagrangian(kind)
    back = [(x.diff(T), speed) for x, speed in zip(paths, SPEED, strict=True)]
    back += list(zip(paths, STATE, strict=True))
    accelerations = sympy.symbols("a0:3")
    equations = []
    for x, speed in zip(STATE, SPEED, strict=True):
        left = total.diff(speed).subs(there).diff(T)
        here = (left - total.diff(x).subs(there)) * sympy.exp(GAMMA * T)
        twice = [(y.diff(T, 2), a) for y, a in zip(paths, accelerations, strict=True)]
        equations.append(sympy.expand(sympy.simplify(here.subs(twice).subs(back))))
    solved = sympy.solve(equations, accelerations, dict=True)[0]
    return [sympy.simplify(solved[a]) for a in accelerations]


EULER_LAGRANGE = functools.cache(euler_lagrange)
POINT = {STATE[0]: -0.4, STATE[1]: 0.9, STATE[2]: 0.6, SPEED[0]: 0.3, SPEED[1]: -0.2, SPEED[2]: 0.15, G: 1.4, Q: 0.5}


def same(one: sympy.Expr, other: sympy.Expr) -> bool:
    return sympy.simplify(sympy.expand(one - other)) == 0


# --- the local model and its motivation


def test_believed_loss_is_linear_in_the_beliefs_and_quadratic_in_the_weight() -> None:
    """Eq. 12: slope m and curvature cV at θ₀, by differences; its average over beliefs is its value at their mean."""
    model, step = Beliefs(curvature_scale=1.3), 1e-4
    loss = [float(model.expected_loss([d, 0.9, 0.6])) for d in (-step, 0.0, step)]
    assert (loss[2] - loss[0]) / (2 * step) == pytest.approx(0.9, rel=1e-9)
    assert (loss[2] - 2 * loss[1] + loss[0]) / step**2 == pytest.approx(1.3 * 0.6, rel=1e-6)
    rng = np.random.default_rng(0)
    m, v = rng.normal(1.0, 0.5, 4000), rng.gamma(3.0, 0.2, 4000)
    each = model.expected_loss([np.full(4000, -0.7), m, v])
    assert float(each.mean()) == pytest.approx(float(model.expected_loss([-0.7, m.mean(), v.mean()])), rel=1e-12)


def test_prior_is_an_ornstein_uhlenbeck_process() -> None:
    """Eq. 13: simulated in small steps; the density of its paths gives the prior's part of J as Δt → 0."""
    prior, rng, dt, count = Prior(0.7, 0.5), np.random.default_rng(1), 0.01, 200
    x = np.full(20_000, 1.2)
    for _ in range(count):
        x = x - prior.decay * x * dt + prior.diffusion * math.sqrt(dt) * rng.normal(size=x.size)
    span = count * dt
    assert x.mean() == pytest.approx(1.2 * math.exp(-0.7 * span), abs=0.01)
    assert x.var() == pytest.approx(0.5**2 * (1 - math.exp(-1.4 * span)) / 1.4, rel=0.03)
    fine = np.linspace(0, 2, 20_001)
    exact = float(np.trapezoid((np.cos(fine) + 0.7 * np.sin(fine)) ** 2 / (2 * 0.5**2), fine))
    errors = []
    for n in (200, 400, 800):
        t = np.linspace(0, 2, n + 1)
        h, path = t[1], np.sin(t)
        law = scipy.stats.norm(path[:-1] * (1 - 0.7 * h), 0.5 * math.sqrt(h))
        constant = n * (0.5 * math.log(2 * math.pi) + math.log(0.5 * math.sqrt(h)))
        errors.append(abs(-float(np.sum(law.logpdf(path[1:]))) - constant - exact))
    assert measured_order(errors) == pytest.approx(1.0, abs=0.1)
    assert float(prior.cost(np.sin(1.0), np.cos(1.0))) == pytest.approx(
        (math.cos(1) + 0.7 * math.sin(1)) ** 2 / 0.5, rel=1e-12
    )


@functools.cache
def euler_maruyama(around: str) -> tuple[np.ndarray, ...]:
    """Hidden weights in small steps: 4,000 particles in 3-D, nothing of lossnav in it."""
    rng = np.random.default_rng(2)
    hessian, g, noise, tau, dt = spd(rng, 3, low=0.5), np.array([0.7, -0.3, 1.1]), 0.4, 0.8, 0.004
    z = np.zeros((4000, 3))
    offset = g if around == "minimum" else np.zeros(3)
    shots, last = [], 6.0 / np.linalg.eigvalsh(hessian)[0] * tau
    for n in range(int(last / dt) + 400):
        z = z - dt / tau * (z @ hessian + offset) + math.sqrt(2 * noise / tau * dt) * rng.normal(size=z.shape)
        if n * dt > last and n % 100 == 0:
            shots.append(z.copy())
    return hessian, g, np.array([noise]), np.concatenate(shots)


def test_quadratic_model_from_mean_and_covariance_of_gradients() -> None:
    """Eq. 133: the statistics of observed gradients predict the loss away from θ, with c = 1/D."""
    hessian, g, noise, z = euler_maruyama("current")
    gradients = g + z @ hessian
    mean, covariance = gradients.mean(axis=0), np.cov(gradients, rowvar=False)
    away = np.random.default_rng(3).normal(size=(20, 3))
    true = away @ g + np.einsum("ni,ij,nj->n", away, hessian, away) / 2
    guess = away @ mean + np.einsum("ni,ij,nj->n", away, covariance / noise[0], away) / 2
    assert np.max(np.abs(guess - true)) < 0.05 * np.ptp(true)
    wrong = away @ mean + np.einsum("ni,ij,nj->n", away, covariance, away) / 2  # the factor c matters
    assert np.max(np.abs(wrong - true)) > 0.2 * np.ptp(true)


def test_hidden_weights_forget_their_place_at_the_rate_of_their_curvature() -> None:
    """Eq. 134: the library's process has the autocorrelation e^{−Ht/τ} of the one in small steps."""
    hessian, g, _, z = euler_maruyama("current")
    run = belief.simulate(hessian, g, noise=0.4, tau=0.8, dt=0.25, steps=41, particles=2000, seed=5)
    np.testing.assert_allclose(np.cov(run.positions[0], rowvar=False), np.cov(z, rowvar=False), atol=0.06)
    pairs = np.einsum("tpi,tpj->ij", run.positions[1:], run.positions[:-1])
    before = np.einsum("tpi,tpj->ij", run.positions[:-1], run.positions[:-1])
    regression = pairs @ np.linalg.inv(before)
    np.testing.assert_allclose(regression, scipy.linalg.expm(-hessian * 0.25 / 0.8), atol=0.01)


def test_gradient_at_hidden_weights() -> None:
    """Eq. 135, by differences of the quadratic loss."""
    rng = np.random.default_rng(4)
    hessian, g = spd(rng, 3), rng.normal(size=3)
    run = belief.simulate(hessian, g, steps=2, particles=5, seed=0)

    def loss(x: np.ndarray) -> float:
        return float(x @ g + x @ hessian @ x / 2)

    for x, gradient in zip(run.positions[0], run.gradients[0], strict=True):
        expected = [(loss(x + 1e-4 * e) - loss(x - 1e-4 * e)) / 2e-4 for e in np.eye(3)]
        np.testing.assert_allclose(gradient, expected, atol=1e-7)


def test_stationary_law_of_the_hidden_weights() -> None:
    """Eq. 136: x ~ N(θ, DH⁻¹), in small steps; Gaussian by its fourth moment."""
    hessian, _, noise, z = euler_maruyama("current")
    covariance = np.cov(z, rowvar=False)
    expected = noise[0] * np.linalg.inv(hessian)
    assert np.max(np.abs(covariance - expected)) < 0.04 * np.max(expected)
    assert np.max(np.abs(z.mean(axis=0))) < 0.03
    assert np.all(np.abs(scipy.stats.kurtosis(z)) < 0.1)


def test_covariance_of_gradients_is_proportional_to_the_hessian() -> None:
    """Eq. 137, in small steps; with a drift along the whole gradient the covariance stays and the mean is zero."""
    hessian, g, noise, z = euler_maruyama("current")
    gradients = g + z @ hessian
    assert np.max(np.abs(np.cov(gradients, rowvar=False) - noise[0] * hessian)) < 0.04 * noise[0] * np.max(hessian)
    np.testing.assert_allclose(gradients.mean(axis=0), g, atol=0.02)
    *_, z = euler_maruyama("minimum")
    gradients = g + z @ hessian
    assert np.max(np.abs(np.cov(gradients, rowvar=False) - noise[0] * hessian)) < 0.04 * noise[0] * np.max(hessian)
    np.testing.assert_allclose(gradients.mean(axis=0), 0.0, atol=0.02)


# --- the posterior and the equations of motion


@pytest.mark.parametrize("kind", ["exact", "simplified"])
def test_surprise_is_minus_the_log_of_the_densities(kind: str) -> None:
    """Eqs. 138, 141: differences of scipy's log densities of the data and of the transitions, per unit of time."""
    model, dt = MODELS[kind], 1e-4

    def by_densities(m: float, v: float, dm: float, dv: float, g: float, q: float) -> float:
        if kind == "exact":
            log_likelihood = scipy.stats.norm.logpdf(g, m, math.sqrt(v))
        else:
            log_likelihood = scipy.stats.norm.logpdf(g, m, 0.7) + scipy.stats.norm.logpdf(q, v, 0.9)
        moves = ((m, dm, 0.2, 1.1), (v, dv, 0.1, 0.5))
        prior = [scipy.stats.norm.logpdf(x + d * dt, x * (1 - a * dt), s * math.sqrt(dt)) for x, d, a, s in moves]
        flat = [scipy.stats.norm.logpdf(0.0, 0.0, s * math.sqrt(dt)) for *_, s in moves]
        return -log_likelihood - (sum(prior) - sum(flat)) / dt

    def by_library(m: float, v: float, dm: float, dv: float, g: float, q: float) -> float:
        data = (g, None) if kind == "exact" else (g, q)
        return float(model.surprise([0.3, m, v], [9.0, dm, dv], *data))

    one, other = (0.9, 0.6, -0.2, 0.15, 1.4, 0.5), (-0.3, 1.7, 0.6, -0.4, 0.2, 2.0)
    assert by_library(*one) - by_library(*other) == pytest.approx(by_densities(*one) - by_densities(*other), rel=1e-6)


@pytest.mark.parametrize("kind", ["exact", "simplified"])
def test_equations_of_motion_from_the_lagrangian(kind: str) -> None:
    """Eqs. 139, 142: sympy's own derivative of the integrand gives the printed equations, and the library's numbers."""
    delta, m, v = STATE
    rates = [GAMMA * x for x in SPEED]
    on_mean, on_variance = {
        "exact": ((G - m) / v, -(1 / v - (G - m) ** 2 / v**2) / 2),
        "simplified": ((G - m) / NOISE_M**2, (Q - v) / NOISE_V**2),
    }[kind]
    printed = [
        rates[0] + ETA * K * (m + C * v * delta),
        rates[1] + ALPHA_M * (ALPHA_M + GAMMA) * m + SIGMA_M**2 * (K * delta / LAMBDA - on_mean),
        rates[2] + ALPHA_V * (ALPHA_V + GAMMA) * v + SIGMA_V**2 * (K * C * delta**2 / (2 * LAMBDA) - on_variance),
    ]
    derived = EULER_LAGRANGE(kind)
    assert all(same(one, other) for one, other in zip(derived, printed, strict=True))
    numbers = [float(x.subs({**NUMBERS, **POINT})) for x in derived]
    state, speed = [POINT[x] for x in STATE], [POINT[x] for x in SPEED]
    data = (POINT[G],) if kind == "exact" else (POINT[G], POINT[Q])
    np.testing.assert_allclose(MODELS[kind].acceleration(state, speed, *data), numbers, rtol=1e-12)
    rate = float(lagrangian(kind).subs({**NUMBERS, **POINT}))
    assert float(MODELS[kind].cost_rate(state, speed, *data)) == pytest.approx(rate, rel=1e-12)


def test_variance_equations_of_both_models_match() -> None:
    """Eq. 140: the exact equation has the simplified form with s_V² = 2V² and q = (g−m)²: Var (g−m)² for a Gaussian."""
    _, m, v = STATE
    exact, simplified = EULER_LAGRANGE("exact")[2], EULER_LAGRANGE("simplified")[2]
    assert same(exact, simplified.subs({NOISE_V: sympy.sqrt(2) * sympy.Abs(v), Q: (G - m) ** 2}))
    assert not same(exact, simplified.subs({NOISE_V: sympy.Abs(v), Q: (G - m) ** 2}))
    draws = np.random.default_rng(6).normal(0.4, math.sqrt(0.6), 400_000)
    assert np.var((draws - 0.4) ** 2) == pytest.approx(2 * 0.6**2, rel=0.02)
    assert Exact().noises(0.6)[1] ** 2 == pytest.approx(2 * 0.6**2)


# --- the plan


def seen_gradient(t: np.ndarray) -> np.ndarray:
    return 1.0 + 0.6 * np.sin(2 * t)


def seen_square(t: np.ndarray) -> np.ndarray:
    return 0.8 + 0.3 * np.cos(t)


def minimise_directly(kind: str, start: np.ndarray, horizon: float, count: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Newton on J summed over ``count`` steps (midpoints), all three ends free; needs a positive definite Hessian."""
    a, b = sympy.symbols("a0:3", real=True), sympy.symbols("b0:3", real=True)
    h, middle = sympy.symbols("h middle", positive=True)
    there = dict(zip(SPEED, [(y - x) / h for x, y in zip(a, b, strict=True)], strict=True))
    there |= dict(zip(STATE, [(y + x) / 2 for x, y in zip(a, b, strict=True)], strict=True))
    cell = (h * sympy.exp(-GAMMA * middle) * lagrangian(kind)).subs(there).subs(NUMBERS)
    ends = [*a, *b]
    partials = [cell.diff(x) for x in ends]
    names = (*ends, h, middle, G, Q)
    value, pull = sympy.lambdify(names, cell), sympy.lambdify(names, partials)
    second_partials = sympy.lambdify(names, [p.diff(x) for p in partials for x in ends])
    dt = horizon / count
    middles = dt * (np.arange(count) + 0.5)
    data = (dt, middles, seen_gradient(middles), seen_square(middles))
    x = np.tile(start, (count + 1, 1))
    places = 3 * np.arange(count)[:, None] + np.arange(6)

    def spread(entries: list) -> np.ndarray:
        return np.stack([np.broadcast_to(entry, count) for entry in entries], axis=-1).ravel()

    for _ in range(60):
        cells = (*x[:-1].T, *x[1:].T, *data)
        gradient = np.zeros(3 * (count + 1))
        np.add.at(gradient, places.ravel(), spread(pull(*cells)))
        rows, columns = np.repeat(places, 6, axis=1).ravel(), np.tile(places, (1, 6)).ravel()
        hessian = scipy.sparse.csc_matrix((spread(second_partials(*cells)), (rows, columns)))
        step = np.zeros(3 * (count + 1))
        step[3:] = -scipy.sparse.linalg.spsolve(hessian[3:, 3:].tocsc(), gradient[3:])
        while np.any(x[:, 2] + step[2::3] <= 0):
            step *= 0.5
        x = x + step.reshape(-1, 3)
        if np.max(np.abs(step)) < 1e-10:
            break
    else:
        raise AssertionError("the reference minimisation did not converge")
    assert np.linalg.eigvalsh(hessian[3:, 3:].toarray())[0] > 0, "a saddle"
    return dt * np.arange(count + 1), x, float(np.sum(value(*x[:-1].T, *x[1:].T, *data)))


@pytest.mark.parametrize("kind", ["exact", "simplified"])
def test_plan_by_direct_minimisation(kind: str) -> None:
    """Eqs. 139, 142: minimising the discretised J reproduces the boundary-value plan, with an error of order two."""
    start, horizon = np.array([0.0, 0.9, 0.7]), 1.0
    square: Callable | None = None if kind == "exact" else seen_square
    path = belief.plan(MODELS[kind], 0.9, 0.7, gradient=seen_gradient, square=square, horizon=horizon, tol=1e-8)
    assert path.converged and path.is_minimum
    errors, costs = [], []
    for count in (25, 50, 100):
        t, x, action = minimise_directly(kind, start, horizon, count)
        errors.append(float(np.max(np.abs(path(t).T - x))))
        costs.append(abs(action - path.action))
    assert measured_order(errors) == pytest.approx(2.0, abs=0.1)
    assert measured_order(costs) == pytest.approx(2.0, abs=0.1)
    assert errors[-1] < 1e-3


def planned(eta: float, gamma: float, rate: float, *, g: float = 1.0, q: float = 1.0) -> tuple[float, float]:
    """θ̇(0) of a whole plan over Eq. 14, and over the rule that keeps γ; cV = 1, so √(ηkcV) = √η."""
    memory = belief.from_beta(math.exp(-rate), gamma=gamma, noise=0.01)
    prior = Prior(0.0, memory.diffusion)
    model = Beliefs(eta=eta, gamma=gamma, mean=prior, variance=prior, observation=Simplified(0.01, 0.01))
    speed = float(belief.plan(model, 1.0, 1.0, gradient=g, square=q, tol=1e-8).velocity(0.0)[0])
    return speed / -math.sqrt(eta), speed / float(model.step(1.0, 1.0, 1.0))


@pytest.mark.slow
def test_adam_like_rule_holds_in_its_regime_and_not_outside() -> None:
    """Eq. 14, against whole plans: γ² ≪ 4ηkcV and slow beliefs make it right, and either failing makes it wrong."""
    inside = planned(100.0, 1.0, 0.001, g=2.0)
    assert inside[0] == pytest.approx(0.951, abs=1e-3) and inside[1] == pytest.approx(1.0, abs=2e-4)
    overdamped = planned(1.0, 10.0, 0.001, g=2.0)
    assert overdamped[0] == pytest.approx(0.099, abs=1e-3) and overdamped[1] == pytest.approx(1.0, abs=2e-4)
    hasty = planned(100.0, 1.0, 10.0, q=1.5)  # beliefs as fast as the weight
    assert hasty[0] == pytest.approx(0.84, abs=5e-3) and hasty[1] == pytest.approx(0.88, abs=5e-3)
    # What is left goes away with γ/√(ηkcV), linearly, and with the rate of the beliefs, linearly.
    gaps = [1 - planned(100.0, gamma, 1e-4, g=2.0)[0] for gamma in (0.2, 0.1)]
    assert measured_order(gaps) == pytest.approx(1.0, abs=0.05)
    gaps = [abs(1 - planned(100.0, 1.0, rate, g=2.0)[1]) for rate in (0.02, 0.01)]
    assert measured_order(gaps) == pytest.approx(1.0, abs=0.1)


def test_root_of_the_variance_belongs_to_the_ballistic_weight() -> None:
    """Eq. 14: θ̇ ∝ V^{−1/2} where the weight is ballistic, and does not depend on V where it is overdamped."""

    def slope(gamma: float) -> float:
        memory = belief.from_beta(math.exp(-1e-3), gamma=gamma, noise=0.01)
        prior = Prior(0.0, memory.diffusion)
        model = Beliefs(eta=100.0, gamma=gamma, mean=prior, variance=prior, observation=Simplified(0.01, 0.01))
        speeds = [-float(belief.plan(model, 1.0, v, gradient=1.0, square=v).velocity(0.0)[0]) for v in (0.8, 1.25)]
        return math.log(speeds[1] / speeds[0]) / math.log(1.25 / 0.8)

    assert slope(0.2) == pytest.approx(-0.5, abs=0.01)
    assert slope(300.0) == pytest.approx(0.0, abs=0.01)


def test_averages_of_the_rule_are_leaky() -> None:
    """Eq. 14: on the branch that decays, a belief follows its data as an average with β = e^{−ρΔt} and gain κ."""
    memory = belief.memory(0.3, 20.0, 2.0, 1.0, dt=0.1)
    prior = Prior(0.3, 2.0)
    # A large weight of the posterior leaves the beliefs to themselves: m̈ − γṁ = Am − Bg from m(0) = 2.
    model = Beliefs(1.0, 1.0, 20.0, mean=prior, variance=prior, observation=Simplified(1.0, 1.0), weight=1e8)
    path = belief.plan(model, 2.0, 1.0, gradient=0.5, square=0.7, tol=1e-8)
    for x, start, datum in ((1, 2.0, 0.5), (2, 1.0, 0.7)):
        one_step = memory.beta * start + (1 - memory.beta) * memory.gain * datum
        assert float(path(0.1)[x]) == pytest.approx(one_step, rel=1e-5)
