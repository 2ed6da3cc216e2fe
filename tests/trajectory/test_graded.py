"""Graded time grids: derivatives, order, and infinite times with slow modes in few calls, against other channels."""

import math

import numpy as np
import pytest
import scipy
from test_drifting import problem as random_problem

import lossnav as ln
from benchmarks import landscapes
from lossnav.trajectory import newton, phase_plane, riccati, stationary
from lossnav.trajectory.mesh import Clock
from lossnav.trajectory.nodal import account
from lossnav.trajectory.transcription import Transcription


def logistic_one_by_one(features, labels, penalty):
    signed = features * (2.0 * labels - 1)[:, None]

    def value(t):
        return np.logaddexp(0, -(signed @ t)).mean() + penalty / 2 * (t @ t)

    def gradient(t):
        return -(signed / (1 + np.exp(np.minimum(signed @ t, 700)))[:, None]).mean(0) + penalty * t

    def hessian(t):
        p = 1 / (1 + np.exp(np.minimum(signed @ t, 700)))
        return (signed.T * (p * (1 - p))) @ signed / len(signed) + penalty * np.eye(len(t))

    return ln.losses.Function(value, gradient, hessian, dim=features.shape[1])


def as_function(loss):
    """The same loss as a user would give it: nothing is known of its form."""
    return ln.losses.Function(loss.value, loss.gradient, loss.hessian, dim=loss.dim)


@pytest.mark.parametrize("gamma", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("drift", [None, ln.drifts.Linear([[-0.1, 0.3], [0.0, -0.2]], [0.1, 0.0])])
def test_second_order_then_fourth_and_sixth(gamma, drift):
    """J, path and velocity of two modes 200 times apart, on grids of one clock: the error is a series in (Δs)²."""
    loss = ln.losses.Quadratic([[4.0, 0.3], [0.3, 0.05]], minimum=[1.0, -1.0])
    objective = ln.Objective(gamma=gamma, drift=drift)
    end = riccati.local_value(objective, loss, np.zeros(2))
    exact = riccati.follow(objective, loss, np.zeros(2), "riccati")
    slow = -end.growth
    span, level, clock = 15 / slow, float(loss.value(end.fixed)), Clock(0.5, min(3 / slow, 2 / max(gamma, 1e-9)))
    first = 2 ** math.ceil(math.log2(3 * clock.length(span)))
    deviations = {}
    for steps in (first, 2 * first, 4 * first):
        p = Transcription(objective, loss, span, steps, terminal=end, level=level, mesh=clock)
        result = newton.minimise(p, end.follow(np.zeros(2), p.times))
        assert result.converged and result.definite
        stride = steps // first
        t = p.times[::stride]
        excess = account(p, result.action, result.path)[1]
        speed = p.velocities(result.path, result.loss_gradient)[::stride] - exact.velocity(t)
        deviations[steps] = [np.atleast_1d(excess - exact.excess), (result.path[::stride] - exact(t)), speed]
    raw = [[np.max(np.abs(part)) for part in deviations[steps]] for steps in (first, 2 * first, 4 * first)]
    assert np.allclose(np.log2(np.divide(raw[:-1], raw[1:])), 2.0, atol=0.1)
    pairs = [(deviations[2 * n], deviations[n]) for n in (first, 2 * first)]
    once = [[fine + (fine - rough) / 3 for fine, rough in zip(*pair, strict=True)] for pair in pairs]
    errors = [[np.max(np.abs(part)) for part in parts] for parts in once]
    assert np.allclose(np.log2(np.divide(errors[0], errors[1])), 4.0, atol=0.5)
    twice = [np.max(np.abs(fine + (fine - rough) / 15)) for fine, rough in zip(once[1], once[0], strict=True)]
    assert np.all(np.array(twice) < np.array(errors[1]) / 10)


@pytest.mark.parametrize("turn", [1e-2, 1.0, 30.0, 1e4, 1e9])
def test_asked_halfway_paths_are_of_second_order_whatever_the_discount(turn):
    """γΔt is ``turn`` on the coarsest grid, where nodes alone leave first order from γΔt = 10 on."""
    loss, start = ln.losses.Quadratic([[1.0, 0.2], [0.2, 0.6]], minimum=[1.0, -1.0]), np.zeros(2)
    slow = lambda gamma: riccati.local_value(ln.Objective(gamma=gamma), loss, start)
    gamma = scipy.optimize.brentq(lambda g: g * 10 / -slow(g).growth / 64 - turn, 1e-6, 1e6)
    objective, end = ln.Objective(gamma=gamma), slow(gamma)
    exact = riccati.follow(objective, loss, start, "riccati")
    orders = {}
    for halfway in (False, True):
        errors = []
        for steps in (64, 128, 256):
            p = Transcription(objective, loss, 10 / -end.growth, steps, terminal=end, halfway=halfway)
            found = newton.minimise(p, end.follow(start, p.times))
            assert found.converged and found.definite
            speed = p.velocities(found.path, found.loss_gradient)
            action = p.smoothed(found.path, speed[:-1], speed[1:]) / exact.action - 1
            errors.append([np.max(np.abs(found.path - exact(p.times))),
                           np.max(np.abs(speed - exact.velocity(p.times))) / gamma, abs(action)])  # fmt: skip
        orders[halfway] = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(orders[True][:, 0] > 1.9)
    if turn != 30:  # there errors of both kinds cancel in the velocity on one of the grids
        assert np.all(orders[True][:, 1:] > 1.8)
    if turn > 100:
        assert np.all(orders[False] < 1.1)


@pytest.mark.parametrize("gamma", [1e2, 1e4, 1e8, 1e12])
def test_the_short_horizon_takes_no_more_steps_than_its_way(gamma):
    """Against V of one parameter, integrated outwards from the rest; equal steps that resolve γ would be 80γ²."""
    loss, start = ln.losses.Function(lambda x: np.cosh(x[..., 0]) + 0.2 * np.sin(3 * x[..., 0]), dim=1), 2.0
    slope, curvature = lambda x: np.sinh(x) + 0.6 * np.cos(3 * x), lambda x: np.cosh(x) - 1.8 * np.sin(3 * x)
    path = ln.solve(ln.Objective(gamma=gamma), loss, [start])
    assert len(path.times) <= 1025
    rest = float(path.asymptote[0])
    assert abs(slope(rest)) < 1e-8
    # γV = L − p²/2 with p = V′, hence γp = L′ − pp′; with q = γp it is q = L′ − qq′/γ².
    bend = gamma**2 * (math.sqrt(0.25 + curvature(rest) / gamma**2) - 0.5) if gamma < 1e6 else curvature(rest)
    if gamma < 1e3:
        way = scipy.integrate.solve_ivp(lambda x, q: gamma**2 * (slope(x) - q) / q, (rest + 1e-6, start), [1e-6 * bend],
                                        method="LSODA", rtol=1e-11, atol=1e-13)  # fmt: skip
        q = float(way.y[0, -1])
    else:  # a series in 1/γ²
        q = slope(start) * (1 - curvature(start) / gamma**2)
    assert path.velocity(0.0)[0] == pytest.approx(-q / gamma, rel=1e-7)
    assert gamma * path.action == pytest.approx(loss.value([start]) - (q / gamma) ** 2 / 2, rel=1e-9)
    # The time that gradient flow takes to the half of the way, and corrections of 1/γ².
    half = (start + rest) / 2
    pull = (lambda x: slope(x)) if gamma > 1e3 else (lambda x: slope(x) * (1 - curvature(x) / gamma**2))
    time = scipy.integrate.quad(lambda x: gamma / pull(x), half, start)[0]
    assert path(time)[0] == pytest.approx(half, abs=1e-7 if gamma > 1e3 else 1e-5)


@pytest.mark.parametrize(("bent", "most"), [(None, 2049), ("along", 2049), ("across", 32769)])
def test_a_short_horizon_follows_gradient_flow_through_switches_and_under_a_metric(bent, most):
    """To within ηkh/γ² = 1e-8 but for the last 1/γ before a switch; G across the way makes the scheme one of Δt."""
    gamma, rng = 1e4, np.random.default_rng(3)
    bowls = [ln.losses.Quadratic(np.diag(rng.uniform(0.3, 2, 2)), minimum=rng.normal(size=2)) for _ in range(3)]
    scales = {None: np.ones_like, "along": lambda x: 1 + x**2 / 2, "across": lambda x: 1 + x[::-1] ** 2 / 2}[bent]
    metric = (lambda x: np.diag(scales(x))) if bent else None
    marks = [0.0, 0.7 * gamma, 1.5 * gamma, 4 * gamma]
    task = bowls[0] if bent else ln.task.Phases(list(zip(marks[:3], bowls, strict=True)))
    path = ln.solve(ln.Objective(gamma=gamma, metric=metric), task, [1.0, -1.5])
    place, found, expected = np.array([1.0, -1.5]), [], []
    for low, high, bowl in zip(marks[:-1], marks[1:], [bowls[0]] * 3 if bent else bowls, strict=True):
        pull = lambda _, x, bowl=bowl: -bowl.gradient(x) / gamma / scales(x)
        times = np.linspace(low, high, 30)[1:-1]
        way = scipy.integrate.solve_ivp(pull, (low, high), place, t_eval=[*times, high], rtol=1e-11, atol=1e-13)
        found += [path(times), gamma * path.velocity(times)]
        expected += [way.y.T[:-1], gamma * np.array([pull(0, x) for x in way.y.T[:-1]])]
        place = way.y[:, -1]
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected), rtol=0, atol=2e-7)
    assert path.converged and len(path.times) <= most


def test_a_steady_slip_costs_what_it_costs_however_long_the_steps():
    """Held against a drift at γΔt ≫ 1, where midpoint and trapezoid would place the rest wrongly."""
    objective = ln.Objective(gamma=0.4, drift=ln.drifts.Linear([[0.21]], [0.5]))
    loss = ln.losses.Quadratic([[0.44]], minimum=[0.0])
    end = riccati.local_value(objective, loss, np.zeros(1))
    p = Transcription(objective, loss, 400.0, 16, terminal=end, mesh=Clock(20.0, 100.0))
    assert np.max(objective.gamma * p.dt) > 5
    at_rest = np.repeat(end.fixed[None], 17, axis=0)
    assert p.residual(p.gradient(at_rest)[1:]) < 1e-14
    rate = float(objective.cost_rate(loss, end.fixed, np.zeros(1)))
    assert p.action(at_rest) == pytest.approx(rate / 0.4, rel=1e-12)


def test_a_logistic_regression_with_slow_modes_in_few_calls():
    """30 parameters; 218,000 calls on grids of equal steps."""
    loss = logistic_one_by_one(*landscapes.patients(), 0.01)
    traj = ln.solve(ln.Objective(gamma=0.1), loss, np.zeros(30))
    assert traj.converged and traj.is_minimum and loss.calls <= 11_000
    height, speed = loss.value(np.zeros(30)), traj.velocity(0.0)
    assert 0.1 * traj.action == pytest.approx(height - speed @ speed / 2, rel=1e-8)  # the energy identity
    assert np.max(np.abs(loss.gradient(traj.asymptote))) < 1e-9
    h = 1e-3  # ∇V = −θ̇/η: the value function falls along the path as its velocity says
    before, after = (ln.value(ln.Objective(gamma=0.1), loss, traj(t)) for t in (0.0, 2 * h))
    assert (before - after) / (2 * h) == pytest.approx(float(traj.velocity(h) @ traj.velocity(h)), rel=1e-5)


def test_few_parameters_as_collocation_and_equal_steps_have_it():
    features, labels = landscapes.patients()
    loss = landscapes.logistic(features[:, :2], labels, 0.01)
    objective, start = ln.Objective(gamma=0.1), np.array([1.0, -1.0])
    traj = ln.solve(objective, loss, start)
    t = np.array([0.0, 0.1, 1.0, 5.0, 20.0, 60.0])
    collocated = ln.solve(objective, loss, start, method="bvp")
    assert traj.action == pytest.approx(collocated.action, rel=1e-7)
    assert np.allclose(traj(t), collocated(t), atol=2e-6)
    uniform = ln.solve(objective, loss, start, steps=2**12)
    assert traj.action == pytest.approx(uniform.action, rel=1e-7)
    assert np.allclose(traj(t), uniform(t), atol=1e-7)
    assert np.allclose(traj.velocity(t), uniform.velocity(t), atol=1e-6)
    assert len(traj.times) < 2**10


@pytest.mark.parametrize(
    ("ratio", "gamma", "most"),
    [(1e2, 0.0, 256), (1e2, 0.02, 256), (1e2, 0.5, 2048), (1e4, 0.0, 512), (1e4, 0.02, 512), (10.0, 4.0, 2**13)],
)
def test_a_wide_spectrum_against_the_closed_form(ratio, gamma, most):
    """2,048, 2,048, 16,384, 32,768, 65,536 and more on grids of equal steps."""
    rng = np.random.default_rng(7)
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    bowl = ln.losses.Quadratic(basis @ np.diag(np.geomspace(1 / ratio, 1.0, 4)) @ basis.T, minimum=rng.normal(size=4))
    objective, start = ln.Objective(gamma=gamma), rng.normal(size=4)
    exact = ln.solve(objective, bowl, start)
    traj = ln.solve(objective, as_function(bowl), start)
    assert traj.excess == pytest.approx(exact.excess, rel=1e-7)
    rates = riccati.local_value(objective, bowl, start).closed
    t = np.concatenate([[0.0], np.geomspace(0.1, 10, 7) / np.min(np.linalg.eigvalsh(-rates))])
    size = float(np.max(np.abs(exact(t))))
    assert np.max(np.abs(traj(t) - exact(t))) < 1e-7 * size
    assert np.max(np.abs(traj.velocity(t) - exact.velocity(t))) < 1e-6 * size
    assert len(traj.times) <= most + 1


@pytest.mark.parametrize(
    ("name", "value", "start", "span"),
    [
        ("kink", lambda x: np.sqrt(1e-4 + x[..., 0] ** 2), 4.0, (-0.1, 4.5)),  # convex: slow for long, then very fast
        ("plateau", lambda x: np.log(1 + x[..., 0] ** 2), 5.0, (-0.1, 5.5)),  # not convex, one rest
        ("bump", lambda x: x[..., 0] ** 2 / 200 + np.logaddexp(0, 30 * (x[..., 0] - 2)) / 30, 4.0, (-1.0, 4.5)),
    ],
)
def test_paths_that_grow_fast_late_are_not_missed(name, value, start, span):
    loss, objective = ln.losses.Function(value, dim=1), ln.Objective(gamma=0.5)
    traj = ln.solve(objective, loss, [start])
    rest = stationary.points(objective, loss, np.array([start]))[0, 0]
    law = phase_plane.feedback(objective, loss, rest, span)
    assert traj.converged
    assert traj.action == pytest.approx(float(law.action(start)), rel=2e-6), name
    for t in (0.0, 1.0, 3.0):
        assert traj.velocity(t)[0] == pytest.approx(float(law.speed(traj(t)[0])), rel=1e-3, abs=1e-4)


TURNING = (
    ln.Objective(gamma=0.2, drift=ln.drifts.Linear([[0.0, 3.0], [-3.0, 0.0]])),
    ln.losses.Quadratic(np.diag([0.02, 0.05]), minimum=[1.0, 0.5]),
    [3.0, 1.0],
)


@pytest.mark.parametrize(
    ("problem", "t"),
    [(random_problem(1117, "general", 1), [0.0, 1.0, 4.0, 100.0, 1000.0]), (TURNING, np.linspace(0.0, 60.0, 50))],
    ids=["a drift near half the discount: thousands of units of time", "turns on a slow approach"],
)
def test_slow_approaches_under_a_drift_as_riccati_has_them(problem, t):
    exact, traj = ln.solve(*problem), ln.solve(*problem, method="action", rtol=1e-7)
    assert exact.method == "riccati" and len(traj.times) < 2**17
    assert traj.action == pytest.approx(exact.action, rel=1e-6)
    assert np.max(np.abs(traj(t) - exact(t))) < 1e-5


@pytest.mark.slow
def test_under_a_strong_discount_one_of_many_wells_is_reached_in_few_calls():
    """Equal steps that resolve the discount would be γ/h times as many as the way takes, for each of 25 wells."""
    height = lambda x: (0.05 * x**2 + 0.3 * np.sin(2 * x) ** 2).sum(-1)
    slope = lambda x: 0.1 * x + 0.6 * np.sin(4 * x)
    loss, start, gamma = ln.losses.Function(height, slope, dim=2), np.array([2.3, 1.9]), 30.0
    path = ln.solve(ln.Objective(gamma=gamma), loss, start, max_calls=4000)
    # The loss is a sum, and each V has the slope p: γV = L − p²/2, hence γp = L′ − pp′, outwards from the bottom.
    bottom = scipy.optimize.brentq(slope, 1.3, 1.7)
    stiff = 4 * (0.1 + 2.4 * math.cos(4 * bottom))
    near = 1e-6 * np.array([1.0, 0.5 * stiff / (gamma + math.sqrt(gamma**2 + stiff))])
    ways = [scipy.integrate.solve_ivp(lambda x, p: (slope(x) - gamma * p) / p, (bottom + near[0], x), near[1:],
                                      method="LSODA", rtol=1e-10, atol=1e-13) for x in start]  # fmt: skip
    slopes = np.array([way.y[0, -1] for way in ways])
    assert path.action == pytest.approx((height(start) - slopes @ slopes / 2) / gamma, rel=1e-8)
    np.testing.assert_allclose(path.velocity(0.0), -slopes, rtol=1e-6)
