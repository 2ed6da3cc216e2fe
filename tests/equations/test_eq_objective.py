"""Eqs. 1, 17–27, 34–37: the objective, from one step to the continuum, and its Euler–Lagrange equations."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import sympy
from direct import measured_order, quadratic, roots, spd
from sympy.calculus.euler import euler_equations

import lossnav as ln
from lossnav.euler_lagrange import derive

RNG = np.random.default_rng(20)
HESSIAN, METRIC = spd(RNG, 3), spd(RNG, 3)
GRADIENT, DRIFT = RNG.normal(size=(2, 3))


def minimised(cost) -> np.ndarray:
    """Return the argmin over Δθ ∈ R³ by a general-purpose minimiser."""
    return scipy.optimize.minimize(cost, np.zeros(3), method="BFGS", options={"gtol": 1e-10}).x


def local_loss(step: np.ndarray, hessian: np.ndarray = HESSIAN) -> float:
    return GRADIENT @ step + step @ hessian @ step / 2


def smooth(t):  # a test path in the plane, its velocity, and a loss and a drift along it
    return np.stack([np.exp(-t), np.sin(t)]), np.stack([-np.exp(-t), np.cos(t)])


def smooth_loss(theta):
    return theta[0] ** 4 + np.cos(theta[1])


def smooth_drift(theta):
    return np.stack([np.sin(theta[1]), -theta[0]])


def continuum(eta: float, k: float, gamma: float, horizon: float, drift: bool = False) -> float:
    def integrand(t: float) -> float:
        theta, velocity = smooth(t)
        slip = velocity - smooth_drift(theta) * drift
        return math.exp(-gamma * t) * (slip @ slip / (2 * eta) + k * smooth_loss(theta))

    return scipy.integrate.quad(integrand, 0.0, horizon, epsabs=1e-13, epsrel=1e-13, limit=200)[0]


def test_integrand_is_the_librarys_cost_rate() -> None:
    """Eqs. 1, 25, 34, 35: written out by hand, symbolically and in Objective."""
    drift = ln.drifts.Linear(RNG.normal(size=(2, 2)), offset=[0.3, -0.1])
    metric = spd(RNG, 2)
    objective = ln.Objective(eta=0.6, k=1.7, gamma=0.3, metric=metric, drift=drift)
    loss = ln.losses.Rosenbrock(b=2.0)
    theta, velocity, t = RNG.normal(size=2), RNG.normal(size=2), 0.8
    slip = velocity - drift(theta)
    valley = (1 - theta[0]) ** 2 + 2 * (theta[1] - theta[0] ** 2) ** 2
    by_hand = math.exp(-0.3 * t) * (slip @ metric @ slip / 1.2 + 1.7 * valley)
    steps = ln.euler_lagrange(objective, loss).derivation
    values = dict(zip((*steps.theta, *steps.velocity, steps.t), (*theta, *velocity, t), strict=True))
    assert float(steps.lagrangian.subs(values)) == pytest.approx(by_hand, rel=1e-12)
    assert math.exp(-0.3 * t) * objective.cost_rate(loss, theta, velocity) == pytest.approx(by_hand, rel=1e-12)
    growing = by_hand * math.exp(0.6 * t)  # the wrong sign of γ
    assert float(steps.lagrangian.subs(values)) != pytest.approx(growing, rel=1e-3)


def test_expectation_acts_on_the_loss_alone() -> None:
    """Eqs. 1, 26, 34: a path is planned open-loop, so E J[θ; L̂] = J[θ; E L̂]."""
    objective = ln.Objective(gamma=0.7)
    hessians, centres = [spd(RNG, 2) for _ in range(5)], RNG.normal(size=(5, 2))
    samples = [ln.losses.Quadratic(h, minimum=c) for h, c in zip(hessians, centres, strict=True)]
    mean_h = np.mean(hessians, axis=0)
    mean_g = np.mean([-h @ c for h, c in zip(hessians, centres, strict=True)], axis=0)
    level = np.mean([c @ h @ c / 2 for h, c in zip(hessians, centres, strict=True)])
    mean = ln.losses.Quadratic(mean_h, gradient=mean_g, offset=level)
    t = np.linspace(0.0, 60.0, 6001)
    traj = ln.solve(objective, mean, [1.0, -1.0])
    theta, velocity = traj(t), traj.velocity(t)

    def cost(loss) -> float:
        return float(scipy.integrate.simpson(np.exp(-0.7 * t) * objective.cost_rate(loss, theta, velocity), x=t))

    assert np.mean([cost(loss) for loss in samples]) == pytest.approx(traj.action, rel=1e-7)
    # Closed-loop, with a path of its own for each sample, it would be cheaper.
    own = np.mean([ln.value(objective, loss, [1.0, -1.0]) for loss in samples])
    assert own < traj.action - 1e-3


def test_one_step_minimisers() -> None:
    """Eqs. 17, 23, 24: the step that minimises the one-step cost, exactly and to first order in η."""
    for eta in (0.5, 1e-3):
        plain = minimised(lambda d, eta=eta: eta * local_loss(d) + d @ d / 2)
        np.testing.assert_allclose(plain, -np.linalg.solve(np.eye(3) / eta + HESSIAN, GRADIENT), atol=1e-7)
    eta = 1e-3
    bent = minimised(lambda d: eta * local_loss(d) + d @ METRIC @ d / 2)
    np.testing.assert_allclose(bent / eta, -np.linalg.solve(METRIC, GRADIENT), rtol=2e-2)
    assert np.max(np.abs(bent / eta + METRIC @ GRADIENT)) > 0.1  # the metric, not its inverse, would be wrong
    f = 1e-3 * DRIFT
    carried = minimised(lambda d: eta * local_loss(d) + (d - f) @ METRIC @ (d - f) / 2)
    np.testing.assert_allclose(carried, f - eta * np.linalg.solve(METRIC, GRADIENT), atol=2e-5)
    np.testing.assert_allclose(carried, np.linalg.solve(METRIC + eta * HESSIAN, METRIC @ f - eta * GRADIENT), atol=1e-8)


def test_many_steps_with_one_step_left_is_the_one_step_cost() -> None:
    """Eqs. 17, 18: N = 1."""
    x, y, eta = sympy.symbols("x y eta", positive=True)
    loss = sympy.Function("L")
    path = [x, y]
    total = sum((path[n + 1] - path[n]) ** 2 / (2 * eta) + loss(path[n + 1]) for n in range(1))
    assert sympy.simplify(total - ((y - x) ** 2 / (2 * eta) + loss(x + (y - x)))) == 0


@pytest.mark.parametrize("rho", [1.0, 0.8, 0.3])
def test_many_step_minimiser_shrinks_by_the_same_factor_each_step(rho: float) -> None:
    """Eqs. 18, 21: minimising Σρⁿ[…] gives θ_{n+1} = mθ_n, ρm² − (1+ρ+η_d h)m + 1 = 0, the smaller root."""
    eta, h, count = 0.4, 1.3, 400
    weights = rho ** np.arange(count)
    diagonal = weights * (1 / eta + h) + np.r_[weights[1:], 0.0] / eta
    off = -weights[1:] / eta
    right = np.zeros(count)
    right[0] = 1.0 / eta
    scale = weights**-0.5  # symmetric scaling keeps tiny weights from spoiling the solve
    bands = np.zeros((3, count))
    bands[1] = diagonal * scale**2
    bands[0, 1:] = bands[2, :-1] = off * scale[1:] * scale[:-1]
    path = scale * scipy.linalg.solve_banded((1, 1), bands, right * scale)
    factor = min(np.roots([rho, -(1 + rho + eta * h), 1.0]).real)
    np.testing.assert_allclose(path[:10], factor ** np.arange(1, 11), rtol=1e-9)
    myopic = 1 / (1 + eta * h)  # ρ → 0: the regularised Newton factor, the slowest of all
    assert factor < myopic


def test_myopic_discount_is_the_one_step_rule() -> None:
    rho, eta, h = 1e-9, 0.4, 1.3
    factor = 2 / ((1 + rho + eta * h) + math.sqrt((1 + rho + eta * h) ** 2 - 4 * rho))
    assert factor == pytest.approx(1 / (1 + eta * h), rel=1e-8)


@pytest.mark.parametrize(
    ("eta", "k", "gamma", "drift"),
    [(0.7, 1.0, 0.0, False), (0.7, 2.5, 0.0, False), (0.7, 2.5, 0.4, False), (0.7, 2.5, 0.4, True)],
    ids=["eq19", "eq20", "eq21", "eq25"],
)
def test_sum_becomes_integral_with_order_one(eta: float, k: float, gamma: float, drift: bool) -> None:
    """Eqs. 19–21, 25: Δt·Σ of the one-step costs with η_d = ηΔt² (and f_d = fΔt) tends to the integral."""
    horizon, errors = 3.0, []
    exact = continuum(eta, k, gamma, horizon, drift)
    for count in (400, 800, 1600):
        dt = horizon / count
        theta, _ = smooth(dt * np.arange(count + 1))
        slip = np.diff(theta, axis=1) - dt * smooth_drift(theta[:, :-1]) * drift
        one_step = np.sum(slip**2, axis=0) / (2 * eta * dt**2) + k * smooth_loss(theta[:, 1:])
        discount = np.exp(-gamma * dt * np.arange(1, count + 1))
        errors.append(abs(dt * np.sum(discount * one_step) - exact))
    assert measured_order(errors) == pytest.approx(1.0, abs=0.02)
    unscaled = np.sum(slip**2) / (2 * eta) * dt + dt * np.sum(discount * k * smooth_loss(theta[:, 1:]))
    assert abs(unscaled - exact) > 0.1  # η in place of ηΔt²: the kinetic term vanishes


@pytest.mark.parametrize(("gamma", "k"), [(0.0, 1.0), (0.0, 2.0), (0.9, 2.0)])
def test_discrete_minimiser_tends_to_the_continuous_one_with_order_one(gamma: float, k: float) -> None:
    """Eqs. 20–22: −log m/Δt → r with η_d = ηkΔt², ρ = e^{−γΔt}; error O(Δt)."""
    eta, h, errors = 0.8, 1.5, []
    low, _ = roots(eta, k, gamma, h)
    for dt in (0.02, 0.01, 0.005):
        rho, stiff = math.exp(-gamma * dt), eta * k * dt**2 * h
        factor = min(np.roots([rho, -(1 + rho + stiff), 1.0]).real)
        errors.append(abs(-math.log(factor) / dt + low))
    order = measured_order(errors)
    assert order == pytest.approx(1.0 if gamma else 2.0, abs=0.05)  # at γ = 0 the O(Δt) term vanishes


def test_long_horizon_tends_to_the_infinite_one_exponentially() -> None:
    """Eq. 22: with T → ∞ the free-end optimum tends to the decaying path; the gap in θ̇(0) falls as e^{−2ST}."""
    eta, k, gamma, h = 0.7, 1.4, 0.6, 2.0
    low, high = roots(eta, k, gamma, h)
    loss = ln.losses.Quadratic([[h]], minimum=[0.0])
    infinite = ln.optimal_velocity(ln.Objective(eta, k, gamma), loss, [1.0])[0]
    assert infinite == pytest.approx(low, rel=1e-12)
    gaps = []
    for horizon in (2.0, 3.0):
        paths = [
            quadratic(np.array([[h]]), np.zeros(1), np.ones(1), horizon=horizon, count=n, eta=eta, k=k, gamma=gamma)
            for n in (2000, 4000)
        ]
        start = [(-3 * p.positions[0, 0] + 4 * p.positions[1, 0] - p.positions[2, 0]) / (2 * p.times[1]) for p in paths]
        direct = start[1] + (start[1] - start[0]) / 3
        objective = ln.Objective(eta, k, gamma, horizon=horizon)
        solved = ln.optimal_velocity(objective, loss, [1.0])[0]
        assert solved == pytest.approx(direct, abs=1e-7)
        later = [p.positions[len(p.times) // 4, 0] for p in paths]
        step = ln.update(objective, [h], [[h]], horizon / 4)[0]
        assert 1 + step == pytest.approx(later[1] + (later[1] - later[0]) / 3, abs=1e-7)
        gaps.append(abs(solved - infinite))
    assert math.log(gaps[0] / gaps[1]) == pytest.approx(high - low, rel=1e-2)  # 2S


def test_plane_objective_is_the_sum_of_its_coordinates() -> None:
    """Eq. 27: (2) in D = 2, written out."""
    steps = derive(2)
    a, b = steps.velocity
    by_hand = sympy.exp(-steps.gamma * steps.t) * ((a**2 + b**2) / (2 * steps.eta) + steps.k * steps.loss)
    assert sympy.simplify(steps.lagrangian - by_hand) == 0


@pytest.mark.parametrize("metric", [None, "general"])
def test_general_lagrangian(metric: str | None) -> None:
    """Eqs. 34, 35: e^{−γt}{(θ̇−f)ᵀG(θ̇−f)/2η + kL}, in components."""
    steps = derive(2, metric=metric, drift="general")
    slips = [v - f for v, f in zip(steps.velocity, steps.drift, strict=True)]
    kinetic = sum(steps.metric[i, j] * slips[i] * slips[j] for i in range(2) for j in range(2)) / (2 * steps.eta)
    assert sympy.expand(steps.lagrangian - sympy.exp(-steps.gamma * steps.t) * (kinetic + steps.k * steps.loss)) == 0


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_first_variation_of_j_vanishes_on_the_solution(gamma: float) -> None:
    """Eq. 36: J[θ+εφ] − J[θ] is of second order in ε, for φ that vanishes at both ends; not so off the solution."""
    loss, objective = ln.losses.DoubleWell(), ln.Objective(gamma=gamma)
    end = np.array([1.0, 0.1])
    traj = ln.solve(objective, loss, [0.2, 0.5], horizon=3.0, endpoint=end)
    nodes, weights = np.polynomial.legendre.leggauss(120)
    t, weights = 1.5 * (1 + nodes), 1.5 * weights
    bump, rate = (t * (3 - t) * np.sin(2 * t)), (3 - 2 * t) * np.sin(2 * t) + 2 * t * (3 - t) * np.cos(2 * t)
    aside = np.stack([bump, -0.5 * bump], axis=-1), np.stack([rate, -0.5 * rate], axis=-1)

    def cost(eps: float, amplitude: float = 0.0) -> float:
        theta = traj(t) + (eps + amplitude) * aside[0]
        velocity = traj.velocity(t) + (eps + amplitude) * aside[1]
        return float(np.sum(weights * np.exp(-gamma * t) * objective.cost_rate(loss, theta, velocity)))

    def slope(amplitude: float) -> float:
        return (cost(1e-3, amplitude) - cost(-1e-3, amplitude)) / 2e-3

    assert abs(slope(0.0)) < 1e-4
    assert abs(slope(0.05)) > 0.1


@pytest.mark.slow
def test_chain_rule_form_of_the_euler_lagrange_equations() -> None:
    """Eqs. 36, 37: L_vv θ̈ + L_vθ θ̇ + L_vt = L_θ, for general metric and drift, against sympy's own operator."""
    steps = derive(2, metric="general", drift="general")
    lagrangian, factor = steps.lagrangian, steps.eta * sympy.exp(steps.gamma * steps.t)
    for i, (x, v) in enumerate(zip(steps.theta, steps.velocity, strict=True)):
        row = sympy.diff(lagrangian, v, steps.t) - sympy.diff(lagrangian, x)
        for y, w, a in zip(steps.theta, steps.velocity, steps.acceleration, strict=True):
            row += sympy.diff(lagrangian, v, w) * a + sympy.diff(lagrangian, v, y) * w
        assert sympy.simplify(factor * row - steps.balance[i]) == 0
        [oracle] = euler_equations(steps.in_time(lagrangian), [steps.in_time(x)], [steps.t])
        gap = steps.in_time(factor * row) + steps.in_time(factor) * oracle.lhs.doit()
        assert sympy.simplify(sympy.expand(gap)) == 0
    assert sympy.simplify(factor * row.subs(steps.gamma, -steps.gamma) - steps.balance[i]) != 0
