"""Boundary-value plans: the standard form by another solver, first integrals, switches, deadlines, errors."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import sympy

import lossnav as ln
from lossnav import uncertainty as un


def bowl(h: float, minimum: float = 0.0) -> ln.losses.Quadratic:
    return ln.losses.Quadratic([[h]], minimum=[minimum])


def problem(gamma: float = 0.5, **changes) -> un.Problem:
    return un.Problem(gamma=gamma, entropy=0.8, **changes)


SWITCHES = [(1.5, bowl(0.5, -1.0)), (2.5, bowl(3.0, 0.5))]


@pytest.mark.parametrize("horizon", [math.inf, 6.0])
@pytest.mark.parametrize("options", [{}, {"switches": SWITCHES}, {"switches": SWITCHES, "foreseen": True}])
def test_action_is_the_integral_of_the_cost(options: dict, horizon: float) -> None:
    path = un.plan(problem(), bowl(2.0, 1.0), [0.0], [0.2], horizon=horizon, **options)

    def cost(t):
        loss = next((new for when, new in reversed(options.get("switches", [])) if t >= when), bowl(2.0, 1.0))
        v = path.variance(t)[0]
        rates = path.mean_rate(t)[0], v * path.log_rate(t)[0]
        return math.exp(-0.5 * t) * path.problem.cost_rate(un.average(loss), path.mean(t)[0], v, *rates)

    edges = [0.0, 1.5, 2.5, 6.0, *([15.0, 60.0] if horizon == math.inf else [])]
    total = sum(scipy.integrate.quad(cost, a, b, limit=200)[0] for a, b in pairwise(edges))
    assert path.action == pytest.approx(total, rel=1e-5)


def test_knowing_beforehand_is_worth_something() -> None:
    switch = [(2.0, bowl(0.5, 2.0))]
    known = un.plan(problem(), bowl(2.0), [0.0], [0.4], switches=switch, foreseen=True)
    surprised = un.plan(problem(), bowl(2.0), [0.0], [0.4], switches=switch)
    assert known.action < surprised.action - 0.01
    before = np.linspace(0, 1.99, 20)
    np.testing.assert_allclose(surprised.mean(before), 0.0, atol=1e-9)  # at rest, nothing to do
    np.testing.assert_allclose(surprised.variance(before), 0.4, rtol=1e-9)
    assert known.mean(1.99)[0, 0] > 0.1 and known.variance(1.99)[0, 0] > 0.5
    near = np.array([2.0 - 1e-7, 2.0 + 1e-7])
    assert np.ptp(known.log_rate(near)) < 1e-5  # a foreseen switch does not jolt
    assert np.ptp(surprised.log_rate(near)) > 0.1
    for path in (known, surprised):
        assert np.ptp(path.log_variance(near)) < 1e-5
        np.testing.assert_allclose(path.rest[:, 0], [2.0, 1.6])
        resting = path.problem.potential(un.average(switch[0][1]), *path.rest) / path.problem.gamma
        assert path.excess == pytest.approx(path.action - resting, rel=1e-9)


def test_replanning_equals_a_fresh_plan() -> None:
    switched = un.plan(problem(), bowl(2.0), [0.5], [1.0], switches=[(1.0, bowl(1.0, 2.0)), (2.5, bowl(3.0))])
    middle = un.plan(problem(), bowl(1.0, 2.0), switched.mean(1.0)[0], switched.variance(1.0)[0])
    s = np.linspace(0, 1.4, 8)
    np.testing.assert_allclose(switched.mean(1.0 + s), middle.mean(s), atol=1e-8)
    np.testing.assert_allclose(switched.log_rate(1.0 + s), middle.log_rate(s), atol=1e-7)


def test_discount_is_gamma_plus_the_growth_rate() -> None:
    path = un.plan(problem(), bowl(2.0), [0.5], [2.0])
    t, step = np.array([0.5, 1.5]), 1e-5
    growth = (path.variance(t + step) - path.variance(t - step)) / (2 * step) / path.variance(t)
    np.testing.assert_allclose(path.discount(t), 0.5 + growth, atol=1e-6)
    assert np.all(path.discount(t) < 0.5)


def test_a_deadline_ends_with_no_momentum_and_needs_no_rest() -> None:
    free = un.plan(un.Problem(gamma=0.3, entropy=0.0), bowl(2.0, 1.0), [0.0], [0.5], horizon=3.0)
    assert abs(free.mean_rate(3.0)[0, 0]) < 1e-7 and abs(free.log_rate(3.0)[0, 0]) < 1e-7
    assert np.all(np.isnan(free.rest)) and np.all(np.diff(free.variance(np.linspace(0, 3, 20))[:, 0]) < 0)
    flat = un.plan(problem(), bowl(0.0), [0.0], [0.5], horizon=2.0)
    # on flat ground ℓ̈ − γℓ̇ = −ηλ_S has the exact solution with ℓ̇(T) = 0
    t = np.linspace(0, 2, 5)
    np.testing.assert_allclose(flat.log_rate(t)[:, 0], 0.8 / 0.5 * (1 - np.exp(0.5 * (t - 2))), atol=1e-7)
    with pytest.raises(ValueError, match="t = "):
        free.mean(3.1)


def test_of_two_wells_the_plan_chooses_the_cheaper() -> None:
    wells = un.Wells([[-1.0], [1.0]], [1.0, 1.6], [0.4, 0.4], bowl=0.05)
    far = un.Problem(k=2.0, gamma=0.05, entropy=0.05)
    near = un.Problem(k=2.0, gamma=3.0, entropy=0.05)
    assert un.plan(far, wells, [-1.0], [0.01], tol=1e-4).rest[0, 0] > 0.9
    assert un.plan(near, wells, [-1.0], [0.01], tol=1e-4).rest[0, 0] < -0.9


def test_a_well_that_one_of_a_few_descents_found_is_no_reason_to_refuse() -> None:
    """Of the loss's own starts one alone gets to the lower well; with a deadline at 400 J is 32.05236620."""
    x = sympy.Symbol("x")
    wells = ln.losses.Function(31.4459 * (x**2 - 1) ** 2 / 4 + 0.1 * x)
    path = un.plan(un.Problem(gamma=0.05, entropy=0.0814), wells, [2.094], [0.6562])
    assert path.action == pytest.approx(32.05236620, rel=1e-8)


def test_other_losses_are_averaged_by_quadrature() -> None:
    well = ln.losses.Function(lambda x: x[..., 0] ** 4 / 4, lambda x: x**3, lambda x: 3 * x[..., None] ** 2, dim=1)
    path = un.plan(un.Problem(gamma=0.5, entropy=0.6), well, [0.8], [0.1])
    # L̄ = (μ⁴ + 6μ²v + 3v²)/4: at μ = 0, ∂_v = 3v/2 = λ_S/2v
    np.testing.assert_allclose(path.rest[:, 0], [0.0, math.sqrt(0.2)], atol=1e-7)


@pytest.mark.parametrize(("gamma", "away", "narrower"), [(0.5, 15.0, 0.0), (2.0, 15.0, 0.0), (0.5, 15.0, -4.0)])
def test_plans_from_far_away_are_found(gamma: float, away: float, narrower: float) -> None:
    """First guesses miss these. Followed back from near its rest, where nothing else grows, a plan finds its start.

    In units of 1/r, with y = ln(v/v*), z = μ/√v* and p = r/(r+γ), Eqs. 15 and 16 are
    p y″ = (1−p) y′ + e^y − 1 − p z′² e^{−y} and p z″ = (1−p + p y′) z′ + e^y z.
    """
    path = un.plan(problem(gamma), bowl(1.0), [away * math.sqrt(0.8)], [0.8 * math.exp(narrower)])
    rate, root = math.sqrt(gamma**2 / 4 + 0.8) - gamma / 2, math.sqrt(0.8)
    p = rate / (rate + gamma)

    def back(_, x):
        y, z, u, w = x
        fall = ((1 - p) * u + math.exp(y) - 1 - p * w**2 * math.exp(-y)) / p
        return [-u, -w, -fall, -((1 - p + p * u) * w + math.exp(y) * z) / p]

    def state(tau):
        t = np.atleast_1d(tau) / rate
        places = path.log_variance(t) - math.log(0.8), path.mean(t) / root
        rates = path.log_rate(t), path.mean_rate(t) / root
        return np.concatenate([*places, *(v / rate for v in rates)], axis=1).T

    last = 6.0
    tau = np.linspace(0.0, last, 61)
    solution = scipy.integrate.solve_ivp(back, (0, last), state(last)[:, 0], t_eval=tau, rtol=1e-9, atol=1e-12)
    assert solution.success
    np.testing.assert_allclose(solution.y[:2, ::-1], state(tau)[:2], atol=1e-3)
    assert np.max(np.abs(state(14.0))) < 1e-4  # it comes to rest


def test_foreseen_switches_to_far_away_are_found() -> None:
    tasks = {"switches": [(1.0, bowl(1.0, 15.0))], "foreseen": True}
    path = un.plan(problem(), bowl(1.0), [0.0], [0.8], **tasks)
    surprised = un.plan(problem(), bowl(1.0), [0.0], [0.8], switches=tasks["switches"])
    assert path.converged and path.action < surprised.action


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: un.plan(un.Problem(gamma=0.0), bowl(2.0), [0.0], [1.0]), "entropy"),
        (lambda: un.plan(problem(), bowl(-1.0), [0.0], [1.0]), "prior_variance"),
        (lambda: un.plan(problem(), bowl(-1.0), [0.0], [1.0], horizon=2.0), "unbounded"),
    ],
)
def test_where_no_plan_exists_the_reason_is_said(call, word: str) -> None:
    with pytest.raises(ln.NoMinimiser, match=word):
        call()


@pytest.mark.parametrize(
    "given",
    [(un.Problem(gamma=1.0), bowl(2.0)), (problem(), un.Wells([[0.0]], [1e-3], [1.0]))],
    ids=["no entropy", "flat ground"],
)
def test_a_variance_that_never_rests_goes_as_with_a_late_deadline(given) -> None:
    endless, dated = (un.plan(*given, [0.0], [1.0], horizon=horizon) for horizon in (math.inf, 40.0))
    assert endless.action == pytest.approx(dated.action, rel=1e-6)
    np.testing.assert_allclose(endless.variance([1.0, 5.0]), dated.variance([1.0, 5.0]), rtol=1e-5)


@pytest.mark.parametrize(
    "times", [{"switches": [(2.0, bowl(1.0)), (1.0, bowl(1.0))]}, {"switches": [(2.0, bowl(1.0))], "horizon": 1.0}]
)
def test_switches_that_do_not_fit_are_named(times: dict) -> None:
    with pytest.raises(ValueError, match="switches"):
        un.plan(problem(), bowl(1.0), [0.0], [1.0], **times)


def test_a_failed_search_is_a_value_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lossnav.trajectory.mesh._MOST_STEPS", 256)
    settings = {"mean": [3.0], "variance": [1e-3], "tol": 1e-12}
    plan = un.plan(problem(), bowl(2.0), **settings, throw=False)
    assert not plan.converged and plan.reason and "converged=False" in repr(plan)
    with pytest.raises(ln.NotConverged, match="tol"):
        un.plan(problem(), bowl(2.0), **settings)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("start", [([0.0], [0.4]), ([0.7], [0.9])], ids=["at rest", "away"])
def test_without_discount_the_last_bit_of_a_resting_cost_does_not_decide(start, unit: float) -> None:
    """Neither where nothing else is paid, since the plan starts at rest."""
    setting = un.Problem(eta=1 / unit, k=unit, gamma=0.0, entropy=0.8 * unit)
    level = float(setting.potential(un.average(bowl(2.0)), np.zeros(1), np.array([0.4]))) / unit
    for bits in (-2, -1, 1, 2):
        offset = -level + bits * float(np.spacing(level))
        path = un.plan(setting, ln.losses.Quadratic([[2.0]], minimum=[0.0], offset=offset), *start, tol=1e-6)
        assert math.isfinite(path.action) and path.action == path.excess
    for offset, cost in ((-level + 1e-10, math.inf), (-level - 1e-10, -math.inf)):
        path = un.plan(setting, ln.losses.Quadratic([[2.0]], minimum=[0.0], offset=offset), *start, tol=1e-6)
        assert path.action == cost


def test_the_tolerance_is_that_of_the_plan() -> None:
    for tol in (1e-4, 1e-10):
        path = un.plan(problem(), bowl(2.0), [1.0], [0.5], tol=tol)
        assert path.converged and path.error <= tol * path.action
        step, t = 1e-4, np.linspace(0.3, 6, 12)
        turn = (path.mean_rate(t + step) - path.mean_rate(t - step)) / (2 * step)
        state = path.mean(t), path.variance(t), path.mean_rate(t), path.variance(t) * path.log_rate(t)
        move, _ = un.acceleration(path.problem, un.average(bowl(2.0)), *state)
        np.testing.assert_allclose(turn, move, atol=max(30 * tol, 1e-6))
