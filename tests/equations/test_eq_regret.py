"""L20–L27: the regret of a path in J, what bounds the value function, and which discount a path looks as if it had."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from direct import scalar
from scipy.integrate import quad

import lossnav as ln


def _cosh(x):
    """log cosh 2x + x²/2: M = 5 where it is steepest, |L′|² ≥ 2·L everywhere."""
    return np.logaddexp(2 * x, -2 * x) - math.log(2) + x**2 / 2


def _slope(x):
    return 2 * np.tanh(2 * x) + x


def _bend(x):
    return 4 / np.cosh(2 * x) ** 2 + 1


COSH = ln.losses.Function(lambda x: _cosh(x[..., 0]), _slope, lambda x: _bend(x)[..., None], dim=1)


def _least(start, gamma, eta=1.0, k=1.0):
    """Minimise J of one parameter over paths that end free, on grids of their own (no lossnav)."""
    span = 14.0 if gamma == 0 else 14.0 / math.sqrt(gamma**2 / 4 + eta * k) + 4 * gamma
    costs = []
    for count in (1500, 3000):
        guess = start * np.exp(-np.linspace(0.0, 5.0, count + 1))
        costs.append(scalar(_cosh, _slope, _bend, guess, horizon=min(span, 30.0), eta=eta, k=k, gamma=gamma).action)
    return costs[1] + (costs[1] - costs[0]) / 3


# -------------------------------------------------------------------------------------------------------- L20, L22, L23


@pytest.mark.slow
def test_regret_identity_symbolically():
    """The integrand, with k L from Hamilton–Jacobi–Bellman, is |θ̇ − θ̇*|² and a derivative: any G(θ), any f(θ)."""
    t, gamma, eta = sp.symbols("t gamma eta", positive=True)
    x, y = (sp.Function(name)(t) for name in "xy")
    point = sp.Matrix([x, y])
    V = sp.Function("V")(x, y)
    a, b, c = (sp.Function(name)(x, y) for name in "abc")
    metric = sp.Matrix([[a, b], [b, c]])
    drift = sp.Matrix([sp.Function("f1")(x, y), sp.Function("f2")(x, y)])
    gradient = sp.Matrix([V.diff(x), V.diff(y)])
    price = metric.inv()
    loss = gamma * V - (drift.T * gradient)[0] + eta / 2 * (gradient.T * price * gradient)[0]  # k L
    moves = point.diff(t)
    spent = (((moves - drift).T * metric * (moves - drift))[0] / (2 * eta) + loss) * sp.exp(-gamma * t)
    best = drift - eta * price * gradient
    gap = ((moves - best).T * metric * (moves - best))[0] / (2 * eta) * sp.exp(-gamma * t)
    assert sp.simplify(spent + sp.diff(sp.exp(-gamma * t) * V, t) - gap) == 0
    # without the drift in the first term, or without the discount of V, it is not true
    assert sp.simplify(spent + sp.exp(-gamma * t) * sp.diff(V, t) - gap) != 0


def test_split_into_speed_and_direction_symbolically():
    """|v − w|² = (|v| − |w|)² + 2(|v||w| − ⟨v, w⟩), both at least 0 by Cauchy and Schwarz."""
    own, ideal, angle = sp.symbols("v w phi", positive=True)
    gap = own**2 + ideal**2 - 2 * own * ideal * sp.cos(angle)
    assert sp.simplify(gap - (own - ideal) ** 2 - 2 * own * ideal * (1 - sp.cos(angle))) == 0


def test_length_and_timing_symbolically():
    """|v|²/2η + kL = (|v|/√2η − √kL)² + √(2kL/η)|v|."""
    v, eta, k, L = sp.symbols("v eta k L", positive=True)
    split = (v / sp.sqrt(2 * eta) - sp.sqrt(k * L)) ** 2 + sp.sqrt(2 * k * L / eta) * v
    assert sp.simplify(split - v**2 / (2 * eta) - k * L) == 0


def test_a_mean_of_losses_at_the_ends_breaks_the_length():
    """One step from minimum to minimum of (θ² − 1)²: by its ends it is free, and its length is 4√2/3 (L23)."""
    well = ln.losses.Function(lambda x: (x[..., 0] ** 2 - 1) ** 2, lambda x: 4 * x * (x**2 - 1), dim=1)
    regret = ln.regret([[-1.0], [1.0]], ln.Objective(), well, value="ends")
    length = quad(lambda x: math.sqrt(2 * (x * x - 1) ** 2), -1, 1)[0]
    assert regret.shape == pytest.approx(length, rel=1e-9) and length == pytest.approx(4 * math.sqrt(2) / 3)
    assert float(well.value(np.array([-1.0]))) == float(well.value(np.array([1.0]))) == 0.0


def test_one_straight_step_is_timed_badly():
    """The factor is 1 in the limit of short steps alone: one step 1 → 0 of a bowl has 2/√3."""
    bowl = ln.losses.Quadratic([[1.0]], minimum=[0.0])
    factors = []
    for count in (1, 10, 100):
        path = np.exp(-np.linspace(0.0, 6.0, count + 1)[:, None]) if count > 1 else np.array([[1.0], [0.0]])
        regret = ln.regret(path, ln.Objective(), bowl)
        factors.append((regret.timing + regret.shape) / regret.shape)
    assert factors[0] == pytest.approx(2 / math.sqrt(3)) and factors[1] > factors[2] == pytest.approx(1, abs=1e-3)


# ------------------------------------------------------------------------------------------------------------------ L24


@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("start", [0.4, 3.0])
def test_bounds_hold_a_directly_minimised_cost(start, gamma):
    eta, k = 0.7, 1.3
    low, high = ln.value_bounds(ln.Objective(eta=eta, k=k, gamma=gamma), COSH, [start], smoothness=5.0, pl=1.0)
    least = _least(start, gamma, eta, k)
    assert low * (1 - 1e-6) <= least <= high * (1 + 1e-6)
    assert low < least < high  # strictly, where curvature varies


def test_bounds_meet_where_there_is_one_curvature():
    rng = np.random.default_rng(5)
    for _ in range(20):
        square = rng.normal(size=(3, 3))
        metric, h, floor = square @ square.T + 0.3 * np.eye(3), rng.uniform(0.2, 5), rng.normal()
        objective = ln.Objective(rng.uniform(0.3, 2), rng.uniform(0.3, 2), rng.uniform(0.1, 3), metric)
        loss = ln.losses.Quadratic(h * metric, minimum=rng.normal(size=3), offset=floor)
        theta = rng.normal(size=3)
        bounds = ln.value_bounds(objective, loss, theta, smoothness=h, pl=h, lowest=floor)
        assert bounds == pytest.approx([ln.value(objective, loss, theta)] * 2, rel=1e-9)


def test_bounds_of_random_bowls():
    """V of a quadratic from the algebraic Riccati equation lies between those of its extreme curvatures."""
    from scipy.linalg import eigh, solve_continuous_are

    rng = np.random.default_rng(8)
    for _ in range(40):
        a, b = rng.normal(size=(2, 3, 3))
        hessian, metric = a @ a.T + 0.05 * np.eye(3), b @ b.T + 0.2 * np.eye(3)
        eta, k, gamma = rng.uniform(0.2, 2, 3) * rng.integers(0, 2, 3) + [0.1, 0.1, 0.0]
        P = solve_continuous_are(-gamma / 2 * np.eye(3), np.eye(3), k * hessian, metric / eta)
        theta, spectrum = rng.normal(size=3), eigh(hessian, metric, eigvals_only=True)
        loss = ln.losses.Quadratic(hessian, minimum=[0.0, 0.0, 0.0])
        objective = ln.Objective(eta, k, gamma, metric)
        low, high = ln.value_bounds(objective, loss, theta, smoothness=spectrum[-1], pl=spectrum[0])
        assert low * (1 - 1e-9) <= theta @ P @ theta / 2 <= high * (1 + 1e-9)


def test_the_lower_bound_needs_its_smoothness_along_the_way():
    """|∇L|² ≤ 2ML at θ alone is not enough: flat there, steep on the way, and the path costs less than the bound."""
    start = 3.0
    here = _slope(start) ** 2 / (2 * _cosh(start))
    flat = ln.losses.Function(lambda x: np.logaddexp(2 * x[..., 0], -2 * x[..., 0]) - math.log(2), dim=1)
    there = (2 * math.tanh(6)) ** 2 / (2 * (np.logaddexp(6.0, -6.0) - math.log(2)))
    low, _ = ln.value_bounds(ln.Objective(), flat, [start], smoothness=1.001 * there)
    truth = quad(lambda x: math.sqrt(2 * (np.logaddexp(2 * x, -2 * x) - math.log(2))), 0, start)[0]
    assert low > 1.2 * truth
    assert ln.value_bounds(ln.Objective(), flat, [start], smoothness=4.0)[0] < truth
    with pytest.raises(ValueError, match="smoothness = "):
        ln.value_bounds(ln.Objective(), COSH, [start], smoothness=0.99 * here)


def test_the_upper_bound_needs_its_inequality_along_the_way():
    """From the shoulder of a double well gradient flow ends in the shallow one: μ of the start bounds nothing."""
    well = ln.losses.DoubleWell(d=-0.5)
    line = ln.losses.Section(well, 0)
    lowest = float(line.value(line.stationary_points()[-1]))
    start = -1.5
    mu = float(line.gradient([start])[0]) ** 2 / (2 * (float(line.value([start])) - lowest))
    _, high = ln.value_bounds(ln.Objective(), line, [start], smoothness=40.0, pl=0.999 * mu, lowest=lowest)
    root = lambda x: math.sqrt(2 * max(float(line.value([x])) - lowest, 0.0))
    truth = quad(root, start, line.stationary_points()[-1, 0], limit=200)[0]
    assert high < 0.8 * truth
    with pytest.raises(ValueError, match="pl = "):
        ln.value_bounds(ln.Objective(), line, [start], smoothness=40.0, pl=1.001 * mu, lowest=lowest)


def test_with_a_drift_towards_the_minimum_the_bound_would_be_wrong():
    bowl, decay = ln.losses.Quadratic([[2.0]], minimum=[0.0]), ln.drifts.weight_decay(1.5)
    low, _ = ln.value_bounds(ln.Objective(), bowl, [1.0], smoothness=2.0)
    assert ln.value(ln.Objective(drift=decay), bowl, [1.0]) < 0.7 * low
    with pytest.raises(ValueError, match=r"objective\.drift is set"):
        ln.value_bounds(ln.Objective(drift=decay), bowl, [1.0], smoothness=2.0)


def test_staying_is_an_upper_bound_only_for_the_impatient():
    assert ln.value_bounds(ln.Objective(gamma=2.0), COSH, [1.0], smoothness=5.0)[1] == pytest.approx(_cosh(1.0) / 2)
    assert ln.value_bounds(ln.Objective(), COSH, [1.0], smoothness=5.0)[1] == math.inf
    assert ln.value_bounds(ln.Objective(), COSH, [0.0], smoothness=5.0) == (0.0, 0.0)


# ------------------------------------------------------------------------------------------------------------- L25, L26


def test_regret_of_an_exponential_symbolically():
    """R/V = (q − r)²/r(γ + 2q), and it vanishes at γ̂ = ηkh/q − q."""
    q, r, gamma, t = sp.symbols("q r gamma t", positive=True)
    regret = sp.integrate(sp.exp(-(gamma + 2 * q) * t) * (q - r) ** 2 / 2, (t, 0, sp.oo))
    assert sp.simplify(regret / (r / 2) - (q - r) ** 2 / (r * (gamma + 2 * q))) == 0
    h = r**2 + gamma * r  # ηkh
    assert sp.simplify((h / r - r) - gamma) == 0


@pytest.mark.parametrize("gamma", [0.0, 0.8, 6.0])
def test_regret_of_an_exponential_path(gamma):
    h, q, dt = 1.7, 0.9, 0.002
    path = np.exp(-q * dt * np.arange(9000))[:, None]
    regret = ln.regret(path, ln.Objective(gamma=gamma), ln.losses.Quadratic([[h]], minimum=[0.0]), dt=dt)
    r = math.sqrt(gamma**2 / 4 + h) - gamma / 2
    assert regret.relative == pytest.approx((q - r) ** 2 / (r * (gamma + 2 * q)), rel=2e-3)


def test_standing_still_looks_optimal_to_the_impatient():
    """R/V → ηk|g|²/2γ²L for large γ, so that its least value over γ says nothing; R over the optimum's effort → 1."""
    h, start = np.array([1.0, 10.0]), np.array([1.0, 1.0])
    gradient, height = h * start, 0.5 * h @ start**2
    for gamma, accuracy in ((100.0, 0.02), (1e4, 1e-3)):
        r = h / (np.sqrt(gamma**2 / 4 + h) + gamma / 2)
        least = 0.5 * r @ start**2
        effort = 0.5 * np.sum(r**2 * start**2 / (gamma + 2 * r))
        staying = height / gamma - least
        bowl = ln.losses.Quadratic(np.diag(h), minimum=[0.0, 0.0])
        assert least == pytest.approx(ln.value(ln.Objective(gamma=gamma), bowl, start))
        assert staying / least == pytest.approx(gradient @ gradient / (2 * gamma**2 * height), rel=accuracy)
        assert staying / effort == pytest.approx(1.0, rel=3 * accuracy)


def test_effort_is_the_derivative_of_the_value_by_the_price():
    """K* = −∂V/∂ln η is what the optimum spends on motion (L25b)."""
    loss, start = ln.losses.Quadratic(np.diag([1.0, 10.0]), minimum=[0.0, 0.0]), [1.0, 1.0]
    for gamma in (0.0, 1.0):
        at = lambda u, g=gamma: ln.value(ln.Objective(eta=math.exp(u), gamma=g), loss, start)
        derivative = -(at(1e-4) - at(-1e-4)) / 2e-4
        path = ln.solve(ln.Objective(gamma=gamma), loss, start)
        effort = quad(lambda t, p=path, g=gamma: math.exp(-g * t) * float(p.kinetic(t)), 0, 60, limit=300)[0]
        r = np.sqrt(gamma**2 / 4 + np.array([1.0, 10.0])) - gamma / 2
        assert derivative == pytest.approx(0.5 * np.sum(r**2 / (gamma + 2 * r)), rel=1e-6)
        assert effort == pytest.approx(derivative, rel=1e-5)


def test_the_discount_of_a_path_needs_two_curvatures_and_the_length_of_its_steps():
    """With one curvature C = 1 for every γ (L26); by the policy at midpoints, for long steps, γ̂ comes out wrong."""
    rates = np.linspace(0.0, 10.0, 401)
    curvatures, dt, gamma = np.array([1.0, 10.0]), 2.0, 5.0
    alone = ln.solve(ln.Objective(gamma=gamma), ln.losses.Quadratic(2 * np.eye(2), minimum=[0.0, 0.0]), [1.0, -0.5])
    same = ln.trajectory.alignment(
        alone(0.1 * np.arange(20)),
        ln.Objective(),
        ln.losses.Quadratic(2 * np.eye(2), minimum=[0.0, 0.0]),
        rates,
        dt=0.1,
    )
    np.testing.assert_allclose(same, 1.0, atol=1e-12)
    bowl = ln.losses.Quadratic(np.diag(curvatures), minimum=[0.0, 0.0])
    r = np.sqrt(gamma**2 / 4 + curvatures) - gamma / 2
    path = ln.solve(ln.Objective(gamma=gamma), bowl, [1.0, 1.0])(dt / r.max() * np.arange(30))
    alignment = ln.trajectory.alignment(path, ln.Objective(), bowl, rates, dt=dt / r.max())
    assert rates[np.argmax(alignment)] == pytest.approx(gamma, abs=0.03)
    step, middle = np.diff(path, axis=0), (path[1:] + path[:-1]) / 2
    naive = []
    for rate in rates:
        wanted = -(np.sqrt(rate**2 / 4 + curvatures) - rate / 2) * middle
        naive.append(np.sum(step * wanted) / math.sqrt(np.sum(step**2) * np.sum(wanted**2)))
    assert rates[np.argmax(naive)] < 3.0
