"""Eqs. 38–53: the quadratic loss in one dimension, symbolically and by direct minimisation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import sympy
from direct import quadratic, richardson, roots
from sympy import exp

import lossnav as ln
from lossnav.euler_lagrange import derive

T, HORIZON = sympy.symbols("t T", positive=True)
ETA, K, H, START, MU = sympy.symbols("eta k h theta_0 mu", positive=True)
GAMMA = sympy.Symbol("gamma", nonnegative=True)
PLUS, MINUS = sympy.symbols("c_+ c_-")
S = sympy.sqrt(GAMMA**2 / 4 + ETA * K * H)
FAST, SLOW = GAMMA / 2 + S, GAMMA / 2 - S  # s₊, s₋
GENERAL = MU + PLUS * exp(FAST * T) + MINUS * exp(SLOW * T)  # Eq. 44
STEPS = derive(1, loss=lambda theta: H / 2 * (theta[0] - MU) ** 2, eta=ETA, k=K, gamma=GAMMA)


def residual(path, steps=STEPS):
    """Return the Euler–Lagrange balance on an explicit path θ(t)."""
    [x], [v], [a] = steps.theta, steps.velocity, steps.acceleration
    at = path.subs(T, steps.t)
    return steps.balance[0].subs({a: at.diff(steps.t, 2), v: at.diff(steps.t), x: at}, simultaneous=True)


def direct_paths(h: float, mu: float, start: float, counts: tuple[int, int], **options: float):
    """Return minimisers of discretised J on a coarse and a fine grid."""
    return [quadratic(np.array([[h]]), np.array([mu]), np.array([start]), count=n, **options) for n in counts]


def vanishes(expression) -> bool:
    return sympy.simplify(sympy.expand(expression)) == 0


def test_quadratic_loss_has_curvature_h_and_minimum_mu() -> None:
    """Eq. 38, against the library's loss and its sympy form."""
    loss = ln.losses.Quadratic([[1.7]], minimum=[0.4])
    theta = np.linspace(-2, 2, 9)[:, None]
    np.testing.assert_allclose(loss.value(theta), 0.85 * (theta[:, 0] - 0.4) ** 2, atol=1e-15)
    [x] = STEPS.theta
    assert STEPS.loss.diff(x, 2) == H
    assert STEPS.loss.diff(x).subs(x, MU) == 0
    assert STEPS.loss.subs(x, MU) == 0


def test_integrand_of_the_quadratic_problem() -> None:
    """Eqs. 39, 40: the integrand is the Lagrangian; its integral along the optimum is the library's J."""
    [x], [v] = STEPS.theta, STEPS.velocity
    integrand = exp(-GAMMA * STEPS.t) * (v**2 / (2 * ETA) + K * H / 2 * (x - MU) ** 2)
    assert vanishes(STEPS.lagrangian - integrand)
    eta, k, gamma, h, mu, start = 0.7, 1.4, 0.3, 2.0, 0.5, -1.0
    traj = ln.solve(ln.Objective(eta, k, gamma), ln.losses.Quadratic([[h]], minimum=[mu]), [start])

    def along(t: float) -> float:
        return math.exp(-gamma * t) * (traj.velocity(t)[0] ** 2 / (2 * eta) + k * h / 2 * (traj(t)[0] - mu) ** 2)

    assert traj.action == pytest.approx(scipy.integrate.quad(along, 0, 60, epsabs=1e-13, limit=400)[0], rel=1e-10)


def test_equation_of_motion() -> None:
    """Eq. 41."""
    [x], [v], [a] = STEPS.theta, STEPS.velocity, STEPS.acceleration
    assert vanishes(STEPS.balance[0] - (a - GAMMA * v - ETA * K * H * (x - MU)))
    assert not vanishes(STEPS.balance[0] - (a + GAMMA * v - ETA * K * H * (x - MU)))  # friction would be +γ


def test_characteristic_polynomial_and_its_roots() -> None:
    """Eqs. 42, 43: inserting e^{st} leaves s² − γs − ηkh; one root on each side of zero."""
    s, c = sympy.symbols("s c")
    inserted = residual(MU + c * exp(s * T)) / (c * exp(s * STEPS.t))
    assert vanishes(inserted - (s**2 - GAMMA * s - ETA * K * H))
    assert set(sympy.solve(s**2 - GAMMA * s - ETA * K * H, s)) == {sympy.expand(FAST), sympy.expand(SLOW)} or all(
        vanishes((s**2 - GAMMA * s - ETA * K * H).subs(s, root)) for root in (FAST, SLOW)
    )
    for gamma in (0.0, 0.2, 7.0):
        values = {ETA: 0.7, K: 1.3, H: 2.1, GAMMA: gamma}
        low, high = roots(0.7, 1.3, gamma, 2.1)
        assert float(SLOW.subs(values)) == pytest.approx(low, rel=1e-12)
        assert float(FAST.subs(values)) == pytest.approx(high, rel=1e-12)
        assert low < 0 < high


def test_general_solution() -> None:
    """Eq. 44 solves (41) for all constants, and its two parts are independent."""
    assert vanishes(residual(GENERAL))
    assert not vanishes(residual(GENERAL.subs(GAMMA, -GAMMA)))
    parts = [exp(FAST * T), exp(SLOW * T)]
    wronskian = sympy.Matrix(2, 2, lambda i, j: parts[j].diff(T, i)).det()
    assert vanishes(wronskian.subs(T, 0) + 2 * S)  # nonzero


def test_initial_condition_removes_one_constant() -> None:
    """Eqs. 45, 46."""
    [minus] = sympy.solve(sympy.Eq(GENERAL.subs(T, 0), START), MINUS)
    assert vanishes(PLUS + minus - (START - MU))
    path = MU + (START - MU) * exp(SLOW * T) + PLUS * (exp(FAST * T) - exp(SLOW * T))
    assert vanishes(GENERAL.subs(MINUS, minus) - path)


def test_velocity() -> None:
    """Eq. 47."""
    assert vanishes(GENERAL.diff(T) - (PLUS * FAST * exp(FAST * T) + MINUS * SLOW * exp(SLOW * T)))


def test_sum_and_product_of_the_roots() -> None:
    """Eq. 48, and what it gives for the integrand: s² + ηkh = ±2Ss."""
    assert vanishes(FAST + SLOW - GAMMA)
    assert vanishes(FAST * SLOW + ETA * K * H)
    assert vanishes(FAST**2 + ETA * K * H - 2 * S * FAST)
    assert vanishes(SLOW**2 + ETA * K * H + 2 * S * SLOW)


def test_cross_term_of_the_integrand_vanishes() -> None:
    """Eq. 49."""
    braces = GENERAL.diff(T) ** 2 + ETA * K * H * (GENERAL - MU) ** 2
    by_hand = 2 * S * (FAST * PLUS**2 * exp(2 * FAST * T) - SLOW * MINUS**2 * exp(2 * SLOW * T))
    assert vanishes(braces - by_hand)
    assert sympy.expand(braces).coeff(PLUS, 1).coeff(MINUS, 1).simplify() == 0


def test_discounted_integrand() -> None:
    """Eq. 50: e^{−γt}(49)/2η has exponents ±2S, whatever γ is."""
    [x], [v] = STEPS.theta, STEPS.velocity
    inserted = STEPS.lagrangian.subs(STEPS.t, T).subs({v: GENERAL.diff(T), x: GENERAL}, simultaneous=True)
    by_hand = S / ETA * (FAST * PLUS**2 * exp(2 * S * T) - SLOW * MINUS**2 * exp(-2 * S * T))
    assert vanishes(inserted - by_hand)


def finite_cost(horizon):
    """Eq. 51."""
    return (FAST * PLUS**2 * (exp(2 * S * horizon) - 1) - SLOW * MINUS**2 * (1 - exp(-2 * S * horizon))) / (2 * ETA)


def test_cost_up_to_a_deadline_is_the_integral() -> None:
    """Eq. 51, symbolically."""
    integrand = S / ETA * (FAST * PLUS**2 * exp(2 * S * T) - SLOW * MINUS**2 * exp(-2 * S * T))
    assert vanishes(finite_cost(HORIZON).diff(HORIZON) - integrand.subs(T, HORIZON))
    assert vanishes(finite_cost(sympy.Integer(0)))


def test_free_end_minimises_the_finite_cost_and_rests() -> None:
    """Eq. 51: dJ_T/dc₊ = 0 with c₋ = x₀ − c₊ gives the printed c₊, and then θ̇(T) = 0."""
    x0 = START - MU
    growth = exp(-2 * S * HORIZON)
    best = x0 * (-SLOW) * growth / (FAST - SLOW * growth)
    cost = finite_cost(HORIZON).subs(MINUS, x0 - PLUS)
    assert vanishes(sympy.together(cost.diff(PLUS).subs(PLUS, best)))
    end = GENERAL.diff(T).subs(MINUS, x0 - PLUS).subs(PLUS, best).subs(T, HORIZON)
    assert vanishes(sympy.together(end * exp(S * HORIZON)))


@pytest.mark.parametrize(("gamma", "horizon"), [(0.0, 1.5), (0.4, 3.0), (2.0, 1.0)])
def test_finite_horizon_against_direct_minimisation(gamma: float, horizon: float) -> None:
    """Eq. 51 and the library's deadline: J and path of a free end, by sparse solves and Richardson."""
    eta, k, h, mu, start = 0.8, 1.5, 1.2, 0.3, -1.0
    coarse, fine = direct_paths(h, mu, start, (1000, 2000), horizon=horizon, eta=eta, k=k, gamma=gamma)
    cost = richardson(coarse.action, fine.action)
    low, high = roots(eta, k, gamma, h)
    damp = math.exp(-(high - low) * horizon)
    plus = (start - mu) * -low * damp / (high - low * damp)
    minus = start - mu - plus
    formula = (high * plus**2 * (1 / damp - 1) - low * minus**2 * (1 - damp)) / (2 * eta)
    assert formula == pytest.approx(cost, rel=1e-9)
    traj = ln.solve(ln.Objective(eta, k, gamma, horizon=horizon), ln.losses.Quadratic([[h]], minimum=[mu]), [start])
    assert traj.action == pytest.approx(cost, rel=1e-9)
    path = richardson(coarse.positions, fine.positions[::2])
    np.testing.assert_allclose(traj(coarse.times), path, atol=1e-8)
    assert abs(traj.velocity(horizon)[0]) < 1e-12  # transversality, imposed nowhere in the direct solve
    velocity = (3 * path[-1] - 4 * path[-2] + path[-3]) / (2 * coarse.times[1])
    assert abs(velocity[0]) < 1e-4


def test_cost_diverges_unless_the_growing_root_is_absent() -> None:
    """Eq. 52: 2s₊ − γ = 2S > 0, so J_T grows without bound for c₊ ≠ 0, and converges for c₊ = 0."""
    assert vanishes(2 * FAST - GAMMA - sympy.sqrt(GAMMA**2 + 4 * ETA * K * H))
    values = {ETA: 1, K: 1, H: 2, GAMMA: sympy.Rational(1, 10), MINUS: 1}
    spoilt = finite_cost(HORIZON).subs(values).subs(PLUS, sympy.Rational(1, 1000))
    assert sympy.limit(spoilt, HORIZON, sympy.oo) == sympy.oo
    settled = sympy.limit(finite_cost(HORIZON).subs(PLUS, 0).subs(values), HORIZON, sympy.oo)
    assert vanishes(settled - (-SLOW / (2 * ETA)).subs(values))


def test_decaying_path_and_its_cost_symbolically() -> None:
    """Eq. 53: solves (41), starts at θ₀, and costs r x₀²/2η."""
    path = MU + (START - MU) * exp(SLOW * T)
    assert vanishes(residual(path))
    assert vanishes(path.subs(T, 0) - START)
    [x], [v] = STEPS.theta, STEPS.velocity
    inserted = STEPS.lagrangian.subs(STEPS.t, T).subs({v: path.diff(T), x: path}, simultaneous=True)
    antiderivative = SLOW * (START - MU) ** 2 * exp(-2 * S * T) / (2 * ETA)  # → 0 as t → ∞
    assert vanishes(antiderivative.diff(T) - inserted)
    assert vanishes(-antiderivative.subs(T, 0) - (S - GAMMA / 2) * (START - MU) ** 2 / (2 * ETA))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 3.0])
def test_decaying_path_against_direct_minimisation(gamma: float) -> None:
    """Eq. 53: the optimum over a long horizon, the library's path and cost; other decay rates cost more."""
    eta, k, h, mu, start = 0.8, 1.5, 1.2, 0.3, -1.0
    low, high = roots(eta, k, gamma, h)
    horizon = 30 / (high - low)
    coarse, fine = direct_paths(h, mu, start, (4000, 8000), horizon=horizon, eta=eta, k=k, gamma=gamma)
    cost = richardson(coarse.action, fine.action)
    traj = ln.solve(ln.Objective(eta, k, gamma), ln.losses.Quadratic([[h]], minimum=[mu]), [start])
    assert traj.action == pytest.approx(cost, rel=1e-8)
    assert -low * (start - mu) ** 2 / (2 * eta) == pytest.approx(cost, rel=1e-8)
    early = coarse.times < horizon / 3
    path = richardson(coarse.positions, fine.positions[::2])[early]
    np.testing.assert_allclose(traj(coarse.times[early]), path, atol=1e-7)
    for rate in (-0.8 * low, -1.2 * low):  # J of any other exponential decay, in closed form
        assert (rate**2 / eta + k * h) * (start - mu) ** 2 / (2 * (gamma + 2 * rate)) > cost * 1.001
