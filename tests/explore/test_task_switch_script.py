"""The task switch's script against lossnav.uncertainty, scipy's collocation, and the findings of the theory."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles
import pytest
import scipy.integrate

import lossnav as ln
from lossnav import uncertainty

SETTINGS = list(itertools.product((0.0, 0.5, 3.0, 10.0), (0.2, 0.8, 2.0)))
STARTS = [(0.7, 0.0), (-1.4, 0.0), (0.0, 1.6), (-1.0, 4.0)]
# Each task as the script tells it: [times since the switch, variances, means], growth and peak.
LAST = """given.map((state) => {
    const story = M.taskHistory(state), part = story.ahead ?? story.life.at(-1);
    const held = M.TIMES.map((t) => part.at(part.since + t));
    return { rest: part.rest, growth: part.growth * story.scales.rate, peak: part.peak, rate: story.scales.rate,
             variance: held.map((s) => s.variance), mean: held.map((s) => s.mean), now: story.now };
})"""


def state(**changes) -> dict:
    defaults = {"gamma": 0.5, "entropy": 0.8, "curvature": 1.0, "minimum": 0.0, "switches": [], "now": 0.0}
    return defaults | changes


def scales(gamma: float, entropy: float) -> tuple[float, float]:
    rate = math.sqrt(gamma**2 / 4 + entropy) - gamma / 2
    return rate, rate / (rate + gamma)


@pytest.fixture(scope="module")
def times(task_switch) -> np.ndarray:
    """The script's own times, in units of 1/r."""
    return np.array(task_switch("M.TIMES"))


@pytest.mark.slow
def test_plans_are_those_of_the_library(task_switch, times):
    cases = [(*setting, *start) for setting in SETTINGS for start in STARTS][::5]  # each number is among them
    arguments = [[scales(gamma, entropy)[1], y, z] for gamma, entropy, y, z in cases]
    expression = "given.map((s) => { const plan = M.switchPlan(...s); return [[...plan.y], [...plan.z]]; })"
    for (gamma, entropy, y0, z0), (y, z) in zip(cases, task_switch(expression, arguments), strict=True):
        problem = uncertainty.Problem(gamma=gamma, entropy=entropy)
        bowl = ln.losses.Quadratic([[1.0]], minimum=[0.0])
        root = math.sqrt(entropy)
        exact = uncertainty.plan(problem, bowl, mean=[z0 * root], variance=[entropy * math.exp(y0)])
        t = times / scales(gamma, entropy)[0]
        np.testing.assert_allclose(y, exact.log_variance(t)[:, 0] - math.log(entropy), atol=1e-3)
        np.testing.assert_allclose(z, exact.mean(t)[:, 0] / root, atol=1e-3)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 10.0])
def test_the_farthest_switches_are_planned_as_by_the_library(task_switch, times, gamma):
    expression = "(({ y, z }) => [[...y], [...z]])(M.switchPlan(...given))"
    (h, a), (h_next, a_next), entropy = (4.0, -3.0), (0.25, 3.0), 0.2
    rate, share = scales(gamma, entropy)
    root = math.sqrt(entropy / h_next)
    y, z = task_switch(expression, [share, math.log(h_next / h), (a - a_next) / root])
    problem = uncertainty.Problem(gamma=gamma, entropy=entropy)
    bowl = ln.losses.Quadratic([[h_next]], minimum=[a_next])
    exact = uncertainty.plan(problem, bowl, mean=[a], variance=[entropy / h])
    np.testing.assert_allclose(y, exact.log_variance(times / rate)[:, 0] - math.log(entropy / h_next), atol=2e-3)
    np.testing.assert_allclose(z, (exact.mean(times / rate)[:, 0] - a_next) / root, atol=2e-3)


@pytest.mark.parametrize(("share", "y0", "z0"), [(1.0, 0.5, 3.0), (0.3, -1.0, 2.0), (0.01, 1.0, 2.0)])
def test_plan_solves_the_equations_as_a_boundary_value_problem(task_switch, times, share, y0, z0):
    def law(t, x):
        y, z, u, w = x
        return [
            u, w, ((1 - share) * u + np.exp(y) - 1 - share * w**2 * np.exp(-y)) / share,
            ((1 - share + share * u) * w + np.exp(y) * z) / share,
        ]  # fmt: skip

    def ends(a, b):
        return [a[0] - y0, a[1] - z0, b[0] + b[2], b[1] + b[3]]

    fade = np.exp(-times)
    guess = [y0 * fade, z0 * fade, -y0 * fade, -z0 * fade]
    solution = scipy.integrate.solve_bvp(law, ends, times, guess, tol=1e-8, max_nodes=50_000)
    assert solution.success
    y, z = task_switch("(({ y, z }) => [[...y], [...z]])(M.switchPlan(...given))", [share, y0, z0])
    np.testing.assert_allclose([y, z], solution.sol(times)[:2], atol=3e-4)


def test_plans_from_far_away_and_from_near_by_are_the_same(task_switch):
    expression = """given.map(([p, y, z]) => {
        const cold = M.switchPlan(p, y, z), near = M.switchPlan(0.9 * p, y + 0.2, z + 0.3);
        const warm = M.switchPlan(p, y, z, near);
        return Math.max(...cold.y.map((v, i) => Math.abs(v - warm.y[i]) + Math.abs(cold.z[i] - warm.z[i])));
    })"""
    far = [[p, y, z] for p in (1.0, 0.2, 0.002) for y, z in ((-2.8, 27.0), (2.8, 27.0), (0.0, 15.0), (0.1, 0.0))]
    assert max(task_switch(expression, far)) < 1e-6


@pytest.mark.parametrize("gamma", [0.0, 0.5, 3.0, 10.0])
def test_a_flatter_task_raises_the_variance_at_once_and_for_good(task_switch, gamma):
    task = task_switch(LAST, [state(gamma=gamma, curvature=0.25)])[0]
    assert np.all(np.diff(task["variance"]) > -1e-12)
    assert task["variance"][-1] == pytest.approx(4 * 0.8, rel=1e-4)
    assert task["growth"] > 0
    if gamma == 10.0:  # overdamped: v̇/v jumps to (ηλ/γ)(1 − H_new/H_old)
        assert task["growth"] == pytest.approx(0.8 / gamma * 0.75, rel=0.02)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 10.0])
def test_a_steeper_task_lowers_it(task_switch, gamma):
    task = task_switch(LAST, [state(gamma=gamma, curvature=4.0)])[0]
    assert np.all(np.diff(task["variance"]) < 1e-12)
    assert task["growth"] < 0


def test_a_mere_shift_raises_it_for_a_while_unless_overdamped(task_switch):
    gammas = [0.0, 0.5, 2.0, 8.0]
    # theory's table: a = 1, v* = 0.4 (H = 2, λ = 0.8); first the task of H = 2, at rest for long, then its shift
    states = [state(gamma=g, switches=[[0.0, 2.0, 0.0]], now=13.0, curvature=2.0, minimum=1.0) for g in gammas]
    peaks = [task["peak"] / 0.4 for task in task_switch(LAST, states)]
    np.testing.assert_allclose(peaks, [1.21, 1.17, 1.07, 1.007], atol=0.006)
    big = task_switch(LAST, [states[0] | {"minimum": 3.0}])[0]
    assert big["peak"] / 0.4 == pytest.approx(2.90, abs=0.01)
    assert big["variance"][-1] == pytest.approx(0.4, rel=1e-4)


def test_a_life_of_surprises_is_the_librarys(task_switch, times):
    switches = [[1.0, 0.5, 2.0], [2.2, 2.0, -1.0]]
    setting = state(gamma=0.7, switches=switches, now=5.0, curvature=2.0, minimum=-1.0)
    widget = oracles.TaskSwitch(**setting)
    rate = scales(0.7, 0.8)[0]
    bowls = [ln.losses.Quadratic([[h]], minimum=[a]) for h, a in [(1.0, 0.0), *(task[1:] for task in switches)]]
    moments = [task[0] / rate for task in switches]
    exact = uncertainty.plan(
        uncertainty.Problem(gamma=0.7, entropy=0.8), bowls[0], mean=[0.0], variance=[0.8],
        switches=list(zip(moments, bowls[1:], strict=True)),
    )  # fmt: skip
    assert widget.rate() == pytest.approx(rate)
    last_task = task_switch(LAST, [setting])[0]
    t = (2.2 + times) / rate
    np.testing.assert_allclose(np.log(last_task["variance"]), exact.log_variance(t)[:, 0], atol=1e-3)
    np.testing.assert_allclose(last_task["mean"], exact.mean(t)[:, 0], atol=1e-3)
    assert widget.variance() == pytest.approx(last_task["now"]["variance"], rel=1e-3)
    assert widget.mean() == pytest.approx(last_task["now"]["mean"], abs=1e-3)


def test_a_task_that_is_the_present_one_changes_nothing(task_switch):
    at_rest, same = task_switch("given.map((s) => M.taskHistory(s).ahead)", [state(), state(now=3.0)])
    assert at_rest is None and same is None
    task = task_switch(LAST, [state(switches=[[1.0, 1.0, 0.0]], now=2.0)])[0]
    assert task["growth"] == 0
    np.testing.assert_allclose(task["variance"], 0.8)
