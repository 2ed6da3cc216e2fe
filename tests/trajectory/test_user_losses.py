"""``ln.solve`` with plain functions of users: right, in few calls, within a budget, and told where there is none."""

import io
import sys
import time

import numpy as np
import pytest
from oracle import path_cost, rest_cost

import lossnav as ln
from benchmarks import landscapes
from lossnav.problem.functions import budget
from lossnav.trajectory.status import Status


def beale(x):
    return (
        (1.5 - x[0] + x[0] * x[1]) ** 2 + (2.25 - x[0] + x[0] * x[1] ** 2) ** 2 + (2.625 - x[0] + x[0] * x[1] ** 3) ** 2
    )


def camel(x):
    return (4 - 2.1 * x[0] ** 2 + x[0] ** 4 / 3) * x[0] ** 2 + x[0] * x[1] + (-4 + 4 * x[1] ** 2) * x[1] ** 2


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def himmelblau_slope(x):
    a, b = x[0] ** 2 + x[1] - 11, x[0] + x[1] ** 2 - 7
    return np.array([4 * x[0] * a + 2 * b, 2 * a + 4 * x[1] * b])


def styblinski(x):
    return sum(x[i] ** 4 - 16 * x[i] ** 2 + 5 * x[i] for i in range(SIZE[0])) / 2


SIZE = [2]  # of Styblinski–Tang: CasADi's lists and numpy's columns have no common length


def goldstein(p):
    x, y = p[0], p[1]
    first = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    second = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    return first * second


CASES = {  # function, γ, start, bound on calls, time until the path rests
    "beale": (beale, 1.0, [0.5, -0.5], 2700, 60.0),
    "camel": (camel, 0.3, [1.2, -0.3], 800, 15.0),
    "himmelblau": (himmelblau, 1.0, [0.0, 0.0], 540, 4.0),
    "styblinski": (styblinski, 1.0, [0.5, 1.0], 510, 6.0),
    "goldstein": (goldstein, 1.0, [0.5, 0.5], 830, 1.2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_lowest_of_all_rests_in_few_calls(name):
    """J and its end against IPOPT's best path to each rest that was found; 175,257 calls in one extremal before."""
    function, gamma, start, most, horizon = CASES[name]
    loss = ln.losses.Function(function, dim=2)
    traj = ln.solve(ln.Objective(gamma=gamma), loss, start)
    assert traj.converged and traj.is_minimum
    assert 0 < loss.calls <= most
    assert traj.action == min(c.action for c in traj.candidates if c.converged)
    rests = [c.asymptote for c in traj.candidates]
    grids = {"beale": 3200, "goldstein": 6400}
    same = rest_cost(function, start, rests[0], gamma=gamma, horizon=horizon, intervals=grids.get(name, 800), near=traj)
    assert traj.action == pytest.approx(same, rel=1e-6)
    for rest in rests:  # whatever else IPOPT finds, to here or to any other rest, is no cheaper
        assert traj.action <= rest_cost(function, start, rest, gamma=gamma, horizon=horizon) + 1e-5 * abs(traj.action)


@pytest.mark.parametrize("name", CASES)
def test_between_fixed_ends_ipopt_finds_the_same_digits(name):
    function, gamma, start, *_ = CASES[name]
    stop = np.array([0.3, 0.4])
    ours = ln.solve(
        ln.Objective(gamma=gamma), ln.losses.Function(function, dim=2), start, horizon=0.3, endpoint=stop, steps=41
    )
    straight, _ = path_cost(function, start, stop, horizon=0.3, intervals=41, gamma=gamma)
    assert ours.action <= straight + 1e-12 * abs(straight)  # IPOPT may find a dearer extremal from there
    theirs, path = path_cost(
        function, start, stop, horizon=0.3, intervals=41, gamma=gamma, first=ours(ours.times) + 1e-4
    )
    assert ours.action == pytest.approx(theirs, rel=1e-12)
    assert np.allclose(ours(ours.times)[1:-1], path, atol=1e-7)


@pytest.mark.parametrize("intervals", [49, 399])
def test_fig_1_has_the_same_digits_as_casadi_s(intervals):
    start, stop = [-0.6, 0.55], [1 + 1 / 16, 0.0]
    traj = ln.solve(ln.Objective(gamma=0.1), ln.losses.DoubleWell(), start, horizon=4.0, endpoint=stop, steps=intervals)
    theirs, _ = path_cost(
        lambda x: (x[0] ** 2 - 1) ** 2 + x[1] ** 2 - x[0] / 2, start, stop, horizon=4.0, intervals=intervals, gamma=0.1
    )
    assert abs(traj.action - theirs) <= 4e-16 * intervals**0.5


def test_a_deadline_with_a_free_end_as_ipopt_has_it():
    objective = ln.Objective(gamma=1.0, horizon=0.5)
    traj = ln.solve(objective, ln.losses.Function(himmelblau, dim=2), [0.0, 0.0], steps=63)
    theirs, _ = path_cost(himmelblau, [0.0, 0.0], traj.asymptote, horizon=0.5, intervals=63, gamma=1.0, free=True)
    assert traj.action == pytest.approx(theirs, rel=1e-12)


def test_derivatives_given_or_not_and_one_by_one_make_no_difference():
    objective, start = ln.Objective(gamma=1.0), [0.0, 0.0]
    best = ln.value(objective, ln.losses.Function(himmelblau, dim=2), start)
    slow = ln.losses.Function(
        lambda x: float(himmelblau([float(t) for t in x])), lambda x: himmelblau_slope([float(t) for t in x]), dim=2
    )
    assert ln.value(objective, slow, start) == pytest.approx(best, rel=1e-8)
    assert set(slow.batches.values()) == {"one by one"} and slow.calls < 120_000
    assert ln.value(objective, ln.losses.Function(himmelblau, himmelblau_slope, dim=2), start) == pytest.approx(best)


@pytest.mark.slow
def test_five_dimensions_with_many_rests(monkeypatch):
    """Styblinski–Tang separates: J is a sum of five one-dimensional ones."""
    monkeypatch.setattr(sys.modules[__name__], "SIZE", [5])
    start = [0.5, 1.0, -0.3, 0.2, 2.0]
    loss = ln.losses.Function(styblinski, dim=5)
    traj = ln.solve(ln.Objective(gamma=1.0), loss, start)
    assert loss.calls <= 4000 and len(traj.candidates) > 10  # most are the search's, until few rests can be unseen
    line = ln.losses.Function(lambda x: (x[0] ** 4 - 16 * x[0] ** 2 + 5 * x[0]) / 2, dim=1)
    parts = {x: ln.value(ln.Objective(gamma=1.0), line, [x]) for x in start}
    assert traj.action == pytest.approx(sum(parts.values()), rel=1e-7)


def test_separable_data_have_a_path_that_never_rests():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(200, 6))
    loss = landscapes.logistic(features, features @ rng.normal(size=6) > 0, 0.0)
    path = ln.solve(ln.Objective(gamma=0.5), loss, np.zeros(6))
    assert loss.calls <= 1_000
    assert path.converged and path.is_minimum and np.all(np.isnan(path.asymptote)) and path.at_infinity == "moves on"
    height, speed = loss.value(np.zeros(6)), path.velocity(0.0)
    assert 0.5 * path.action == pytest.approx(height - speed @ speed / 2, rel=1e-7)  # the energy identity
    timed = ln.solve(ln.Objective(gamma=0.5, horizon=3.0), loss, np.zeros(6))
    assert timed.converged and timed.action < loss.value(np.zeros(6)) * -np.expm1(-1.5) / 0.5


@pytest.mark.parametrize("method", ["action", "bvp"])
@pytest.mark.parametrize("most", [1, 30, 120, 260])
def test_calls_end_at_the_budget_with_what_there_is(method, most):
    loss = ln.losses.Function(himmelblau, dim=2)
    problem = ln.Objective(gamma=1.0), loss, [0.0, 0.0]
    traj = ln.solve(*problem, max_calls=most, method=method, throw=False)
    assert loss.calls <= most + 10  # L at the start, to say what resting there costs
    assert traj.status is Status.BUDGET_SPENT and traj.detail.startswith(f"max_calls = {most} is spent")
    assert np.allclose(traj(0.0), 0.0) and np.all(np.isfinite(traj([0.5, 1.0])))
    assert traj.action <= 170.0 + 1e-9 or method == "bvp"  # never dearer than staying, kL(θ₀)/γ
    with pytest.raises(ln.NotConverged, match="max_calls"):
        ln.solve(*problem, max_calls=most, method=method)


def test_more_budget_than_needed_changes_nothing():
    loss = ln.losses.Function(himmelblau, dim=2)
    objective = ln.Objective(gamma=1.0)
    free = ln.value(objective, loss, [0.0, 0.0])
    assert ln.value(objective, loss, [0.0, 0.0], max_calls=10**6, max_seconds=1e6) == free
    with pytest.raises(ln.NotConverged, match="max_calls = 20 "):
        ln.value(objective, loss, [0.0, 0.0], max_calls=20)
    with pytest.raises(ln.NotConverged, match="max_calls = 20 "):
        ln.optimal_velocity(objective, loss, [0.0, 0.0], max_calls=20)


def test_seconds_end_a_search_too():
    loss = ln.losses.Function(himmelblau, dim=2)
    traj = ln.solve(ln.Objective(gamma=1.0), loss, [0.0, 0.0], max_seconds=1e-6, throw=False)
    assert not traj.converged and "max_seconds = 1e-06 is spent" in traj.reason and loss.calls < 5


def test_calls_that_nobody_counts_cannot_be_limited():
    class Mine(ln.losses.Loss):
        dim = 1

        def value(self, theta):
            return np.asarray(theta)[..., 0] ** 2

        def gradient(self, theta):
            return 2 * np.asarray(theta)

        def hessian(self, theta):
            return np.full((*np.shape(theta), 1), 2.0)

    with pytest.raises(ValueError, match="does not count its calls"):
        ln.solve(ln.Objective(gamma=1.0), Mine(), [1.0], max_calls=100)
    assert ln.solve(ln.Objective(gamma=1.0), Mine(), [1.0], max_seconds=1e6).converged
    ln.solve(ln.Objective(gamma=1.0), ln.losses.DoubleWell(), [0.3, 0.0], max_calls=1)  # a formula makes no calls


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.slow
def test_a_short_search_shows_nothing_and_a_long_one_does(monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)

    def slow(point):  # the display changes ten times a second: the search must last longer than that
        time.sleep(1e-3)
        return himmelblau(point)

    loss = ln.losses.Function(slow, dim=2)
    for short, watched, shown in ((1e9, True, False), (0.0, False, False), (0.0, True, True)):
        stream = Terminal() if watched else io.StringIO()
        monkeypatch.setattr(budget, "_SHORT", short)
        monkeypatch.setattr(sys, "stderr", stream)
        ln.value(ln.Objective(gamma=1.0), loss, [0.0, 0.0])
        assert ("lossnav: " in stream.getvalue()) == shown
    assert "calls" in stream.getvalue() and "rest" in stream.getvalue()


def test_an_interrupt_gets_through():
    def value(x):
        if np.size(x) > 1000:
            raise KeyboardInterrupt
        return himmelblau(x)

    with pytest.raises(KeyboardInterrupt):
        ln.solve(ln.Objective(gamma=1.0), ln.losses.Function(value, dim=2), [0.0, 0.0])


@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-10, 1e-8, 1e-6])
def test_a_start_that_has_all_but_arrived(gamma, distance):
    """V = r|x|²/2 up to rounding: a loss that is 1 less 1 knows no more than 1e-16 of itself, and its slope 1e-12."""
    rest, away = np.array([0.3, -1.2]), np.array([distance, 0.0])
    path = ln.solve(ln.Objective(gamma=gamma), lambda x: (np.cosh(x - rest) - 1).sum(-1), rest + away)
    rate = np.sqrt(gamma**2 / 4 + 1) - gamma / 2
    assert path.action == pytest.approx(rate * distance**2 / 2, rel=1e-3, abs=1e-16)
    np.testing.assert_allclose(path.velocity(0.0), [-rate * distance, 0.0], rtol=1e-3, atol=2e-12)


@pytest.mark.parametrize("n", [100, 120, 180])  # 4e-11, 4e-13 and 0 from the minimum
def test_where_a_descent_has_arrived_no_grid_is_asked_for_digits_that_differences_do_not_have(n):
    """Its last components were to stand still to 1e-13 of themselves: grids were doubled until the budget was spent."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 3)), np.sign(rng.normal(size=60))
    loss = lambda w: np.logaddexp(0, -(w @ x.T) * y).mean(-1) + 0.05 * (w**2).sum(-1)
    w = np.ones(3)
    for _ in range(n):
        w = w + 0.8 * (((y / (1 + np.exp((x @ w) * y)))[:, None] * x).mean(0) - 0.1 * w)
    path = ln.solve(ln.Objective(gamma=0.5), loss, w)
    assert len(path.times) < 1000 and path.action == pytest.approx(2 * loss(w), rel=1e-14)
