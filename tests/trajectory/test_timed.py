"""Paths under a loss that depends on time: against dynamic programming and the exact answer of linear systems."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from rings import ring

import lossnav as ln
from lossnav.problem.task import Driven, Phases
from lossnav.trajectory import blocks
from lossnav.trajectory.transcription import Transcription

HERE = ln.losses.Quadratic([[1.0, 0.2], [0.2, 2.0]], minimum=[0.0, 1.0], offset=0.3)
THERE = ln.losses.Quadratic([[3.0, -0.5], [-0.5, 1.0]], minimum=[1.0, -1.0])
METRIC = np.array([[2.0, 0.3], [0.3, 1.0]])
START = [2.0, 2.0]


def best_state(cost, guess):
    return scipy.optimize.minimize(cost, guess, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13})


@pytest.mark.parametrize(
    ("gamma", "drift"), [(0.0, None), (0.5, None), (0.5, ln.drifts.Linear([[-0.3, 0.6], [-0.2, 0.1]], [0.1, 0.2]))]
)
def test_two_phases_are_one_step_of_dynamic_programming(gamma, drift):
    """min over x of [the cost of reaching x at the switch] + e^{−γs}·(value function of the second task at x)."""
    objective, switch = ln.Objective(0.8, 1.1, gamma, metric=METRIC, drift=drift), 1.5
    path = ln.solve(objective, Phases([(0.0, HERE), (switch, THERE)]), START)
    assert path.method == "timed" and path.converged and path.is_minimum is True

    def cost(x):
        first = ln.solve(objective, HERE, START, horizon=switch, endpoint=x, steps=400).action
        return first + math.exp(-gamma * switch) * ln.value(objective, THERE, x)

    best = best_state(cost, path(switch) + 0.01)
    assert path.action == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(path(switch), best.x, atol=1e-4)
    around = switch + np.array([-1e-7, 1e-7])
    np.testing.assert_allclose(*path.velocity(around), atol=1e-5)  # momentum goes on
    after = ln.solve(objective, THERE, path(switch))
    t = np.linspace(0, 8, 33)
    np.testing.assert_allclose(path(switch + t), after(t), atol=1e-7)
    np.testing.assert_allclose(path.asymptote, after.asymptote, atol=1e-9)
    height = path.potential([switch - 1e-9, switch])
    place = path(switch)
    np.testing.assert_allclose(height, [1.1 * HERE.value(place), 1.1 * THERE.value(place)], rtol=1e-6)


def test_a_last_phase_that_costs_for_ever_has_an_excess_at_gamma_zero():
    """The rest costs .3 per unit of time: J is infinite, and ∫(cost − .3k)dt is not."""
    objective = ln.Objective(0.8, 1.1, 0.0, metric=METRIC)
    path = ln.solve(objective, Phases([(0.0, THERE), (1.5, HERE)]), START)
    t, weights = np.polynomial.legendre.leggauss(200)
    pieces = [(0.0, 1.5), (1.5, 6.0), (6.0, 60.0)]
    total = 0.0
    for a, b in pieces:
        u = a + (b - a) * (t + 1) / 2
        rate = path.kinetic(u) + path.potential(u) - 1.1 * 0.3
        total += (b - a) / 2 * float(weights @ rate)
    assert path.action == math.inf and path.excess == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize("final", [False, True])
def test_data_that_move_against_a_linear_system(final):
    """θ̈ − γθ̇ = ηkh(θ − a(t)) with a = sin ωt, to a free end or to a rest; solved by shooting with scipy's LSODA."""
    eta, k, gamma, h, omega, stop = 0.7, 1.3, 0.4, 1.5, 2.0, 3.0
    last = ln.losses.Quadratic([[h]], minimum=[0.2])

    def aim(t):
        return np.sin(omega * np.asarray(t))

    task = Driven(
        lambda x, t: h / 2 * (x[..., 0] - aim(t)) ** 2,
        lambda x, t: h * (x - aim(t)[..., None]),
        dim=1,
        final=last if final else None,
        settled=stop if final else None,
    )
    objective = ln.Objective(eta, k, gamma, horizon=math.inf if final else stop)
    path = ln.solve(objective, task, [0.9], rtol=1e-10)
    slow = math.sqrt(gamma**2 / 4 + eta * k * h) - gamma / 2

    def run(speed):
        def motion(t, y):
            lag = y[0] - aim(t)
            rate = math.exp(-gamma * t) * (y[1] ** 2 / (2 * eta) + k * h / 2 * lag**2)
            return [y[1], gamma * y[1] + eta * k * h * lag, rate]

        return scipy.integrate.solve_ivp(
            motion, (0, stop), [0.9, speed, 0.0], rtol=1e-12, atol=1e-13, dense_output=True, method="DOP853"
        )

    def miss(speed):
        y = run(speed).y[:, -1]
        return y[1] + slow * (y[0] - 0.2) if final else y[1]

    exact = run(scipy.optimize.brentq(miss, -20, 20, xtol=1e-14))
    t = np.linspace(0, stop, 41)
    np.testing.assert_allclose(path(t)[:, 0], exact.sol(t)[0], atol=1e-8)
    np.testing.assert_allclose(path.velocity(t)[:, 0], exact.sol(t)[1], atol=1e-7)
    beyond = 0.0
    if final:
        away = exact.y[0, -1] - 0.2
        beyond = math.exp(-gamma * stop) * (slow * away**2 / (2 * eta))
        np.testing.assert_allclose(path(stop + t)[:, 0], 0.2 + away * np.exp(-slow * t), atol=1e-8)
    assert path.action == pytest.approx(exact.y[2, -1] + beyond, rel=1e-9) and path.is_minimum


@pytest.mark.parametrize("extra", [{}, {"horizon": 2.0, "endpoint": [0.5, 0.5]}, {"deadline": 2.0}])
def test_one_phase_is_the_problem_without_time(extra):
    extra = dict(extra)
    objective = ln.Objective(0.8, 1.1, 0.5, metric=METRIC, horizon=extra.pop("deadline", math.inf))
    well = ln.losses.DoubleWell(d=-1.6)  # of its two wells one is left: there is no second place to look for
    phased, timeless = (ln.solve(objective, loss, [0.4, 0.8], **extra) for loss in (Phases([(0.0, well)]), well))
    t = np.linspace(0, 2, 21)
    assert phased.action == pytest.approx(timeless.action, rel=1e-7) and phased.is_minimum
    np.testing.assert_allclose(phased(t), timeless(t), atol=1e-6)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_tasks_do_not_feel_the_units(size):
    def restated(time, length):
        losses = [
            ln.losses.Quadratic(np.diag([1.0, 2.0]) / length**2, minimum=length * np.array(x))
            for x in ([0.0, 1.0], [1.0, 0.0])
        ]
        wave = Driven(
            lambda x, t: losses[0].value(x) + np.sin(t / time) * x[..., 0] / length,
            lambda x, t: losses[0].gradient(x) + np.sin(t / time)[..., None] * np.array([1.0, 0.0]) / length,
            dim=2, final=losses[1], settled=2.0 * time,
        )  # fmt: skip
        objective = ln.Objective(length**2 / time, 1.2 / time, 0.3 / time)
        tasks = (Phases([(0.0, losses[0]), (1.5 * time, losses[1])]), wave)
        paths = [ln.solve(objective, task, [2.0 * length, 0.5 * length]) for task in tasks]
        t = np.array([0.0, 1.0, 1.5, 2.5])
        return [(path(t * time) / length, path.velocity(t * time) / length * time, path.action) for path in paths]

    base = restated(1.0, 1.0)
    for rescaled in (restated(size, 1.0), restated(1.0, size)):
        for plain, scaled in zip(base, rescaled, strict=True):
            for a, b in zip(plain, scaled, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("beyond", [0.97, 1.03])
@pytest.mark.parametrize("fixed", [False, True])
def test_the_certificate_ends_at_the_first_focal_point(beyond, fixed):
    """A barrier held for the time T is a minimum up to the focal point: ωT = π − atan(2ω/γ), fixed ends: π."""
    gamma, h = 0.6, -2.0
    omega = math.sqrt(2.0 - gamma**2 / 4)
    stop = beyond * ((math.pi if fixed else math.pi - math.atan(2 * omega / gamma)) / omega)
    hill = ln.losses.Quadratic([[h]], minimum=[0.0])
    endpoint = np.zeros(1) if fixed else None
    p = Transcription(ln.Objective(gamma=gamma, horizon=stop), hill, stop, 800, endpoint=endpoint)
    diagonal, below = p.hessian(np.zeros((801, 1)))
    factored = blocks.factor(blocks.banded(diagonal[p.free], below[1 : p.free.stop - 1]))
    assert (factored is not None) == (beyond < 1)


def test_what_has_no_method_says_why():
    task, wave = Phases([(0.0, HERE), (2.0, THERE)]), Driven(lambda x, t: x[..., 0] + t, np.ones_like, dim=2)
    reasons = ln.trajectory.methods(ln.Objective(gamma=1.0), task, START)
    assert [name for name, reason in reasons.items() if not reason] == ["timed"]
    assert "depend on time" in reasons["action"] and "losses.Quadratic" in reasons["riccati"]
    assert "depends on time" in ln.trajectory.methods(ln.Objective(), HERE, START)["timed"]
    with pytest.raises(ValueError, match="settles"):
        ln.solve(ln.Objective(gamma=1.0), wave, START)
    with pytest.raises(ValueError, match=r"horizon = 1.*settles at 2"):
        ln.solve(ln.Objective(gamma=1.0), task, START, horizon=1.0)
    slide = ln.Objective(gamma=1.0, metric=ln.metrics.Relative(2), drift=ln.drifts.weight_decay(0.1))
    with pytest.raises(ValueError, match="constant metric"):
        ln.solve(slide, task, START)
    for call in (
        lambda: ln.euler_lagrange(ln.Objective(), task),
        lambda: ln.Objective().cost_rate(task, START, START),
        lambda: ln.losses.Section(task),
    ):
        with pytest.raises(ValueError, match="depends on time"):
            call()


def test_a_cycle_that_pays_after_the_switch_is_not_passed_over():
    """Under a rotation, this ring of low loss is cheaper to go round for ever than any rest: see test_wandering."""
    objective = ln.Objective(gamma=0.2, drift=ln.drifts.rotation(0.6))
    with pytest.raises(ln.NotConverged, match="need not come to rest"):
        ln.solve(objective, Phases([(0.0, HERE), (1.0, ring(0.2))]), [-1.0, 0.0])


def test_a_budget_that_ends_at_once_claims_no_cost():
    """What resting through both phases costs is not what resting in the first for ever would."""
    here, there = (ln.losses.Function(lambda x, m=m: ((x - m) ** 2).sum(-1), dim=1) for m in (0.0, 5.0))
    path = ln.solve(ln.Objective(gamma=0.5), Phases([(0.0, here), (1.0, there)]), [1.0], max_calls=1, throw=False)
    assert not path.converged and math.isnan(path.action)
