"""Eqs. 28–31, 54–65 and the staying-or-crossing results: the double well, by direct minimisation and shooting."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import sympy
from direct import Path, measured_order, quadratic, richardson, scalar

import lossnav as ln
from lossnav.euler_lagrange import derive
from lossnav.trajectory import phase_plane

SLOPE_D = -0.5
SECTION = ln.losses.Section(ln.losses.DoubleWell(), axis=0)
LEFT, BARRIER, RIGHT = np.sort(np.roots([4.0, 0.0, -4.0, SLOPE_D]).real)


def value(x):
    return (x**2 - 1) ** 2 + SLOPE_D * x


def slope(x):
    return 4 * x * (x**2 - 1) + SLOPE_D


def bend(x):
    return 12 * x**2 - 4


def minimise(start: float, end: float, horizon: float, count: int, **options) -> Path:
    guess = end + (start - end) * np.exp(-4 * np.linspace(0, 1, count + 1) * horizon / 4)
    guess[-1] = end
    return scalar(value, slope, bend, guess, horizon=horizon, fixed_end=True, **options)


def test_landscape_of_figure_1() -> None:
    """Eq. 28, with gradient and Hessian by sympy; the printed code's factor 2a instead of 4a must not pass."""
    a, b, c, d = 1.3, 0.8, 0.7, -0.4
    x, y = sympy.symbols("x y")
    formula = a * (x**2 - b) ** 2 + c * y**2 + d * x
    loss = ln.losses.DoubleWell(a, b, c, d)
    for point in np.random.default_rng(3).normal(size=(5, 2)):
        at = dict(zip((x, y), point, strict=True))
        assert loss.value(point) == pytest.approx(float(formula.subs(at)), rel=1e-12)
        gradient = [float(formula.diff(s).subs(at)) for s in (x, y)]
        np.testing.assert_allclose(loss.gradient(point), gradient, rtol=1e-12)
        hessian = [[float(formula.diff(s, r).subs(at)) for s in (x, y)] for r in (x, y)]
        np.testing.assert_allclose(loss.hessian(point), hessian, rtol=1e-12)
        assert abs(2 * a * point[0] * (point[0] ** 2 - b) + d - gradient[0]) > 1e-3
    assert pytest.approx(LEFT, abs=1e-6) == -0.930403
    assert pytest.approx(RIGHT, abs=1e-6) == 1.057454


def figure_1(count: int) -> float:
    """Return J of Eq. 29 for the paper's start (−0.6, 0.55), fixed end (1 + 1/16, 0), T = 4, γ = 0.1."""
    options = {"horizon": 4.0, "gamma": 0.1, "fixed_end": True, "left_rule": True}
    first = scalar(value, slope, bend, np.linspace(-0.6, 1 + 1 / 16, count + 1), **options)
    second = scalar(lambda y: y**2, lambda y: 2 * y, lambda y: 2 + 0 * y, np.linspace(0.55, 0.0, count + 1), **options)
    return first.action + second.action


def test_sum_of_figure_1_tends_to_the_integral_with_order_one() -> None:
    """Eq. 29: 49 intervals give J = 0.678286, the continuum 0.619463; the library minimises the continuum."""
    assert figure_1(49) == pytest.approx(0.678286, abs=2e-6)
    objective = ln.Objective(gamma=0.1)
    traj = ln.solve(objective, ln.losses.DoubleWell(), [-0.6, 0.55], horizon=4.0, endpoint=[1 + 1 / 16, 0.0])
    assert traj.action == pytest.approx(0.619463, abs=2e-6)
    errors = [abs(figure_1(n) - traj.action) for n in (400, 800, 1600)]
    assert measured_order(errors) == pytest.approx(1.0, abs=0.03)
    t, dt = np.linspace(0.0, 4.0, 1600, endpoint=False), 4.0 / 1600
    lengths = np.sum((traj(t + dt) - traj(t)) ** 2, axis=1)
    np.testing.assert_allclose(lengths / (2 * dt**2), traj.kinetic(t + dt / 2), rtol=1e-5, atol=1e-5)
    summed = np.sum(np.exp(-0.1 * t) * (lengths / (2 * dt) + dt * traj.potential(t)))
    assert summed == pytest.approx(figure_1(1600), rel=1e-5)  # the sum's own least, but for the square of a difference


def test_kinetic_and_potential_terms_add_up_to_j() -> None:
    """Eqs. 30, 31: Δt Σ e^{−γt}(K_n + U_n) is J; the library's terms are their continuum limits, with 1/ηΔt²."""
    path = minimise(-0.6, 1.0, 4.0, 4000, gamma=0.1, eta=0.7, k=1.2)
    dt = path.times[1]
    x = path.positions[:, 0]
    kinetic = np.diff(x) ** 2 / (2 * 0.7 * dt**2)
    potential = 1.2 * value(x)
    weights = np.exp(-0.1 * path.times)
    middle = np.exp(-0.1 * (path.times[:-1] + dt / 2))
    trapezoid = dt * (np.sum(weights * potential) - (weights[0] * potential[0] + weights[-1] * potential[-1]) / 2)
    assert dt * np.sum(middle * kinetic) + trapezoid == pytest.approx(path.action, rel=1e-12)
    traj = ln.solve(ln.Objective(0.7, 1.2, 0.1), SECTION, [-0.6], horizon=4.0, endpoint=[1.0])
    np.testing.assert_allclose(traj.kinetic(path.times[:-1] + dt / 2), kinetic, atol=2e-5)
    np.testing.assert_allclose(traj.potential(path.times), potential, atol=2e-5)
    assert np.max(np.abs(np.diff(x) ** 2 / 2 - kinetic)) > 0.1  # the printed term without 1/ηΔt²


def test_tilted_well_and_its_slope() -> None:
    """Eqs. 54–56: the shifted loss is ≥ 0 and 0 at its minimum; slope exact; near ±√b it is 8abδ + d + O(δ²)."""
    a, b, x, delta = sympy.symbols("a b x delta", positive=True)
    d = sympy.Symbol("d", negative=True)
    loss = a * (x**2 - b) ** 2 + d * x
    assert sympy.expand(loss.diff(x) - (4 * a * x * (x**2 - b) + d)) == 0
    for sign in (1, -1):
        near = sympy.series(loss.diff(x).subs(x, sign * sympy.sqrt(b) + delta), delta, 0, 2).removeO()
        assert sympy.simplify(near - (8 * a * b * delta + d)) == 0
    grid = np.linspace(-3, 3, 100_001)
    shifted = value(grid) - value(RIGHT)
    assert shifted.min() >= 0
    assert abs(grid[shifted.argmin()] - RIGHT) < 1e-4


@pytest.mark.parametrize("side", [1, -1])
def test_first_order_minima(side: int) -> None:
    """Eq. 57: θ_± ≈ ±√b − d/8ab, error O(d²); the opposite sign of the shift is only O(d)."""
    a, b, errors, wrong = 1.3, 0.8, [], []
    for d in (-0.04, -0.02, -0.01):
        exact = scipy.optimize.brentq(lambda x, d=d: 4 * a * x * (x**2 - b) + d, side * 0.7, side * 1.1, xtol=1e-15)
        errors.append(abs(side * math.sqrt(b) - d / (8 * a * b) - exact))
        wrong.append(abs(side * math.sqrt(b) + d / (8 * a * b) - exact))
        points = ln.losses.DoubleWell(a, b, 1.0, d).stationary_points()[:, 0]
        assert np.min(np.abs(points - exact)) < 1e-12
    assert measured_order(errors) == pytest.approx(2.0, abs=0.05)
    assert measured_order(wrong) == pytest.approx(1.0, abs=0.05)


def test_equation_of_motion_of_a_general_loss() -> None:
    """Eqs. 58–60."""
    steps = derive(1)
    [x], [v], [a] = steps.theta, steps.velocity, steps.acceleration
    integrand = sympy.exp(-steps.gamma * steps.t) * (v**2 / (2 * steps.eta) + steps.k * steps.loss)
    assert sympy.simplify(steps.lagrangian - integrand) == 0
    motion = a - steps.gamma * v - steps.eta * steps.k * steps.loss.diff(x)
    assert sympy.simplify(steps.balance[0] - motion) == 0
    assert sympy.simplify(derive(1, gamma=0).balance[0] - motion.subs(steps.gamma, 0)) == 0


def test_energy_is_conserved_only_without_discount_symbolically() -> None:
    """Eq. 61: along (59), d/dt(θ̇²/2η − kL) = γθ̇²/η."""
    steps = derive(1)
    [x], [v] = steps.theta, steps.velocity
    [acceleration] = sympy.solve(steps.balance[0], steps.acceleration[0])
    energy = v**2 / (2 * steps.eta) - steps.k * steps.loss
    change = energy.diff(x) * v + energy.diff(v) * acceleration
    assert sympy.simplify(change - steps.gamma * v**2 / steps.eta) == 0


def test_energy_along_a_computed_path() -> None:
    """Eq. 61: constant on the minimiser of discretised J at γ = 0, and on the library's; not constant at γ > 0."""
    for gamma, low, high in ((0.0, 0.0, 5e-6), (0.3, 0.1, 10.0)):
        path = minimise(-0.5, 0.9, 3.0, 6000, gamma=gamma)
        x, dt = path.positions[:, 0], path.times[1]
        middle = (x[1:] + x[:-1]) / 2
        energy = (np.diff(x) / dt) ** 2 / 2 - value(middle)
        assert low <= np.ptp(energy) <= high
        traj = ln.solve(ln.Objective(gamma=gamma), SECTION, [-0.5], horizon=3.0, endpoint=[0.9])
        t = np.linspace(0, 3, 301)
        assert low <= np.ptp(traj.kinetic(t) - traj.potential(t)) <= high


def test_cost_in_terms_of_the_energy() -> None:
    """Eq. 62: J = ∫(2kL + E) dt on a path of energy E, between fixed ends, γ = 0."""
    eta, k = 0.7, 1.2
    coarse, fine = (minimise(-0.5, 0.9, 3.0, n, eta=eta, k=k) for n in (2000, 4000))
    cost = richardson(coarse.action, fine.action)
    traj = ln.solve(ln.Objective(eta, k), SECTION, [-0.5], horizon=3.0, endpoint=[0.9])
    t = np.linspace(0.0, 3.0, 2001)
    energy = float(np.mean(traj.kinetic(t) - traj.potential(t)))
    from_energy = scipy.integrate.simpson(2 * k * value(traj(t)[:, 0]) + energy, x=t)
    assert from_energy == pytest.approx(cost, rel=1e-6)
    assert traj.action == pytest.approx(cost, rel=1e-7)
    assert abs(energy) > 1e-3  # so that the term counts


@functools.cache
def settled(start: float, eta: float, k: float) -> tuple[float, float]:
    """Return J and |θ̇(0)| of the direct minimiser into the right-hand minimum over a long time, L shifted to min 0."""
    best, horizon = [], 9.0
    for count in (6000, 12000):
        path = scalar(
            lambda x: value(x) - value(RIGHT),
            slope,
            bend,
            np.linspace(start, RIGHT, count + 1),
            horizon=horizon,
            eta=eta,
            k=k,
            fixed_end=True,
        )
        first = path.positions[:3, 0]
        best.append((path.action, abs(-3 * first[0] + 4 * first[1] - first[2]) / (2 * path.times[1])))
    return richardson(best[0][0], best[1][0]), richardson(best[0][1], best[1][1])


@pytest.mark.parametrize(("start", "eta", "k"), [(-0.6, 1.0, 1.0), (0.2, 0.6, 1.5), (1.6, 1.0, 1.0)])
def test_cost_of_the_infinite_path_is_an_integral_over_theta(start: float, eta: float, k: float) -> None:
    """Eq. 63: E = 0 and J = √(2k/η) |∫√L dθ|, by quadrature against direct minimisation and the library."""
    cost, _ = settled(start, eta, k)
    area = scipy.integrate.quad(lambda x: math.sqrt(max(value(x) - value(RIGHT), 0.0)), start, RIGHT, epsabs=1e-12)[0]
    assert math.sqrt(2 * k / eta) * abs(area) == pytest.approx(cost, rel=1e-6)
    law = phase_plane.feedback(ln.Objective(eta, k), SECTION, RIGHT, (-0.9, 2.0))
    assert float(law.excess(start)) == pytest.approx(cost, rel=1e-6)
    assert ln.solve(ln.Objective(eta, k), SECTION, [start]).excess == pytest.approx(cost, rel=1e-6)


@pytest.mark.parametrize(("start", "eta", "k", "sign"), [(-0.6, 1.0, 1.0, 1), (0.2, 0.6, 1.5, 1), (1.6, 1.0, 1.0, -1)])
def test_first_order_law(start: float, eta: float, k: float, sign: int) -> None:
    """Eqs. 64, 65: θ̇ = ±√(2ηkL), plus to the left of the minimum."""
    _, speed = settled(start, eta, k)
    law = sign * math.sqrt(2 * eta * k * (value(start) - value(RIGHT)))
    assert abs(law) == pytest.approx(speed, rel=2e-6)
    assert ln.optimal_velocity(ln.Objective(eta, k), SECTION, [start])[0] == pytest.approx(law, rel=1e-6)
    field = phase_plane.feedback(ln.Objective(eta, k), SECTION, RIGHT, (-0.9, 2.0))
    assert float(field.speed(start)) == pytest.approx(law, rel=1e-8)


def test_crossing_takes_a_finite_time_to_any_place_short_of_the_minimum() -> None:
    """Eq. 64: ∫dθ/√(2ηkL), which diverges like a logarithm at the minimum only; the library's path agrees."""
    traj = ln.solve(ln.Objective(), SECTION, [-0.6])

    def duration(stop: float) -> float:
        return scipy.integrate.quad(lambda x: 1 / math.sqrt(2 * (value(x) - value(RIGHT))), -0.6, stop, epsabs=1e-12)[0]

    for stop in (BARRIER, 0.9):
        assert traj(duration(stop))[0] == pytest.approx(stop, abs=1e-6)
    rate = math.sqrt(bend(RIGHT))  # each factor e closer costs the same time, 1/rate
    gain = [duration(RIGHT - 10.0**-n) for n in (3, 4, 5)]
    np.testing.assert_allclose(np.diff(gain), math.log(10) / rate, rtol=1e-3)
    # The crossing leaves even the shallow minimum at once: its speed there is not zero.
    assert math.sqrt(2 * (value(LEFT) - value(RIGHT))) > 1.4


# Beyond the numbered equations: when is it optimal to stay? (ours)


def stable_orbit(gamma: float, target: float, away: float, stop: float) -> tuple[np.ndarray, np.ndarray, object]:
    """Shoot backwards in time along the stable manifold of ``target`` until θ = stop or θ̇ = 0."""
    rate = math.sqrt(gamma**2 / 4 + bend(target)) - gamma / 2
    x = math.copysign(1e-5, away)
    curve = 24 * target / 2 / (-3 * rate - gamma)  # second order of the manifold: error O(x³)
    start = [target + x, -rate * x + curve * x**2]

    def backwards(_, state):
        return [-state[1], -(gamma * state[1] + slope(state[0]))]

    def arrived(_, state):
        return state[0] - stop

    def halted(_, state):
        return state[1]

    arrived.terminal = halted.terminal = True
    return scipy.integrate.solve_ivp(
        backwards, (0, 200), start, method="DOP853", rtol=1e-12, atol=1e-14, events=[arrived, halted], dense_output=True
    )


def speed_at(orbit, theta: float) -> float:
    """Return θ̇ where the orbit, monotone in θ, passes θ."""
    sign = math.copysign(1.0, orbit.y[0, -1] - orbit.y[0, 0])
    t = scipy.optimize.brentq(lambda t: sign * (orbit.sol(t)[0] - theta), 0.0, orbit.t[-1], xtol=1e-14)
    return float(orbit.sol(t)[1])


def test_heteroclinic_discount() -> None:
    """γ_het = 0.5390310809: shooting in time from both minima to the barrier, against the library."""

    def gap(gamma: float) -> float:
        arriving = stable_orbit(gamma, RIGHT, -1.0, BARRIER).y[1, -1]
        rate = math.sqrt(gamma**2 / 4 + bend(LEFT)) + gamma / 2
        x = 1e-5
        start = [LEFT + x, rate * x + 24 * LEFT / 2 / (3 * rate - gamma) * x**2]
        event = lambda _, state: state[0] - BARRIER
        event.terminal = True
        leaving = scipy.integrate.solve_ivp(
            lambda _, s: [s[1], gamma * s[1] + slope(s[0])],
            (0, 200),
            start,
            method="DOP853",
            rtol=1e-12,
            atol=1e-14,
            events=event,
        )
        return leaving.y[1, -1] - arriving

    shot = scipy.optimize.brentq(gap, 0.3, 0.8, xtol=1e-12)
    assert shot == pytest.approx(0.5390310809, abs=2e-9)
    assert phase_plane.heteroclinic_discount(ln.Objective(), SECTION) == pytest.approx(shot, abs=2e-9)
    scaled = phase_plane.heteroclinic_discount(ln.Objective(eta=2.0, k=1.5), SECTION)
    assert scaled == pytest.approx(shot * math.sqrt(3.0), rel=1e-8)


INDIFFERENCE = {
    0.54: -0.9065,
    0.6: -0.6995,
    0.664610: -0.6000,
    0.8: -0.4746,
    1.0: -0.3689,
    1.5: -0.2428,
    2.0: -0.1851,
    3.0: -0.1360,
}


@pytest.mark.parametrize("gamma", INDIFFERENCE)
def test_indifference_point(gamma: float) -> None:
    """θ_s, where staying and crossing start at the same speed (theory §7.1), by shooting in time."""
    stay = stable_orbit(gamma, LEFT, 1.0, RIGHT)
    cross = stable_orbit(gamma, RIGHT, -1.0, LEFT)
    low, high = cross.y[0, -1], stay.y[0, -1]  # where each orbit has slowed to zero
    margin = 1e-7 * (high - low)
    point = scipy.optimize.brentq(lambda x: speed_at(cross, x) + speed_at(stay, x), low + margin, high - margin)
    assert point == pytest.approx(INDIFFERENCE[gamma], abs=6e-5)
    assert phase_plane.indifference_point(ln.Objective(gamma=gamma), SECTION) == pytest.approx(point, abs=1e-7)


def test_no_indifference_below_the_threshold_and_the_barrier_above_the_upper_one() -> None:
    assert phase_plane.indifference_point(ln.Objective(gamma=0.538), SECTION) is None
    assert phase_plane.indifference_point(ln.Objective(gamma=3.95), SECTION) == pytest.approx(BARRIER, abs=1e-9)
    assert 2 * math.sqrt(-bend(BARRIER)) == pytest.approx(3.9019, abs=1e-4)


COSTS = {
    0.1: (4.949810, -3.037537),
    0.3: (1.722638, 0.212316),
    0.5: (1.073049, 0.720094),
    0.6: (0.909429, 0.803218),
    0.7: (0.791893, 0.837340),
    0.8: (0.703182, 0.839736),
    1.0: (0.577717, None),
}


@pytest.mark.parametrize("gamma", COSTS)
def test_cost_of_staying_and_of_crossing(gamma: float) -> None:
    """J from θ₁ = −0.6 into either minimum, by direct minimisation, against the library's phase plane and solver."""
    laws = [
        phase_plane.feedback(ln.Objective(gamma=gamma), SECTION, LEFT, (-1.5, -0.2)),
        phase_plane.feedback(ln.Objective(gamma=gamma), SECTION, RIGHT, (-0.92, 1.5)),
    ]
    direct = []
    for law, target, printed in zip(laws, (LEFT, RIGHT), COSTS[gamma], strict=True):
        if printed is None:  # no extremal starts at −0.6: the orbit has turned before it gets there
            assert law.reach[0] > -0.6
            assert np.isnan(law.action(-0.6))
            continue
        costs = []
        for count in (3000, 6000):
            horizon = 12.0
            guess = target + (-0.6 - target) * np.exp(-2 * np.linspace(0, horizon, count + 1))
            path = scalar(
                lambda x, c=target: value(x) - value(c),
                slope,
                bend,
                guess,
                horizon=horizon,
                gamma=gamma,
                fixed_end=True,
            )
            costs.append(path.action + value(target) / gamma)
        direct.append(richardson(*costs))
        assert direct[-1] == pytest.approx(printed, abs=1.5e-6)
        assert float(law.action(-0.6)) == pytest.approx(direct[-1], abs=1e-6)
    assert ln.value(ln.Objective(gamma=gamma), SECTION, [-0.6]) == pytest.approx(min(direct), abs=1e-6)


def test_finite_deadline_makes_crossing_worth_it_only_if_it_is_late_enough() -> None:
    """γ = 0.1, free end, start −0.6: crossing wins iff T > 2.2271, by direct minimisation."""

    def lead(horizon: float) -> float:
        ends = []
        for target in (LEFT, RIGHT):
            guess = target + (-0.6 - target) * np.exp(-3 * np.linspace(0, horizon, 801))
            ends.append(scalar(value, slope, bend, guess, horizon=horizon, gamma=0.1).action)
        return ends[0] - ends[1]

    threshold = scipy.optimize.brentq(lead, 2.0, 2.5, xtol=1e-6)
    assert threshold == pytest.approx(2.2271, abs=2e-4)
    for horizon, sign in ((2.15, -1), (2.3, 1)):
        end = ln.solve(ln.Objective(gamma=0.1, horizon=horizon), SECTION, [-0.6]).asymptote[0]
        assert math.copysign(1.0, end) == sign


def test_transverse_coordinate_separates() -> None:
    """θ₂ obeys the quadratic problem, whatever θ₁ does (Fig. 1)."""
    traj = ln.solve(ln.Objective(gamma=0.1), ln.losses.DoubleWell(), [-0.6, 0.55])
    path = quadratic(np.array([[2.0]]), np.zeros(1), np.array([0.55]), horizon=14.0, count=7000, gamma=0.1)
    early = path.times < 5
    np.testing.assert_allclose(traj(path.times[early])[:, 1], path.positions[early, 0], atol=1e-6)


@pytest.mark.parametrize(("place", "outwards"), [(1.1, False), (1.25, True)])
def test_without_discount_a_path_may_leave_for_infinity(place: float, outwards: bool) -> None:
    """L = θ²e^{−θ²}, γ = 0: the length ∫√2L dθ to 0 and that to infinity are equal at √(2 ln 2)."""
    inner, outer = (
        scipy.integrate.quad(lambda x: math.sqrt(2) * x * math.exp(-(x**2) / 2), *ends)[0]
        for ends in ((0, place), (place, np.inf))
    )
    assert (outer < inner) == outwards == (place > math.sqrt(2 * math.log(2)))


def test_at_a_large_discount_the_barrier_itself_is_a_place_to_stay() -> None:
    """From γ_bar on both curves begin there, and none leaves it: J = kL(θ_b)/γ. Below, the crossing plan is cheaper."""
    well = ln.losses.Section(ln.losses.DoubleWell(), axis=0)
    barrier = well.stationary_points()[1]
    for gamma, stays in ((6.0, True), (3.0, False)):
        path = ln.solve(ln.Objective(gamma=gamma), well, barrier)
        resting = well.value(barrier) / gamma
        assert (abs(path.asymptote[0] - barrier[0]) < 1e-6) == stays
        assert path.action == pytest.approx(resting, rel=1e-9) if stays else path.action < resting - 1e-3


def test_the_value_function_solves_its_equation_and_not_with_the_other_root():
    """γV = kL + f·∇V − η|∇V|²/2 in both wells of Figure 1, V from solutions of its own; and the law is f − η∇V."""
    well, objective, width = ln.losses.DoubleWell(), ln.Objective(eta=0.7, k=1.3, gamma=0.4), 1e-3
    for place in ([-0.6, 0.55], [0.4, -0.3], [1.3, 0.2]):
        beside = np.array(place) + width * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        values = np.array([ln.value(objective, well, start) for start in beside])
        gradient = np.array([values[0] - values[1], values[2] - values[3]]) / (2 * width)
        best = ln.value(objective, well, place)
        height = objective.k * float(well.value(place))
        assert objective.gamma * best == pytest.approx(height - objective.eta * gradient @ gradient / 2, abs=2e-5)
        np.testing.assert_allclose(ln.optimal_velocity(objective, well, place), -objective.eta * gradient, atol=2e-4)


def test_a_loss_without_a_bottom_has_a_best_path_up_to_a_quarter_of_the_squared_discount():
    """L = −|h|θ²/2: ηk|h| < γ²/4 has one (the existence theorem's hypothesis is not necessary), more has none."""
    below, above = (ln.losses.Quadratic([[-h]], minimum=[0.0]) for h in (0.24, 0.26))
    path = ln.solve(ln.Objective(gamma=1.0), below, [1.0])
    assert path.action == pytest.approx((-0.5 + np.sqrt(0.25 - 0.24)) / 2, rel=1e-6)
    with pytest.raises(ln.NoMinimiser):
        ln.solve(ln.Objective(gamma=1.0), above, [1.0])
