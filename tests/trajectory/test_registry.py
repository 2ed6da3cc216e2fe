"""Which solver takes which problem, and a metric that depends on θ by the same door as all others."""

import functools
import itertools
import math

import numpy as np
import pytest
import scipy.optimize

import lossnav as ln
from lossnav.trajectory import curved, registry, riccati

BOWL = ln.losses.Quadratic([[1.0, 0.2], [0.2, 2.0]], minimum=[0.5, 1.0])
WELL = ln.losses.DoubleWell()
POLAR = ln.losses.Quadratic(np.eye(2), minimum=[1.0, 1.0])
DRIFTS = {
    "none": None,
    "decay": ln.drifts.weight_decay(0.2),
    "rotation": ln.drifts.rotation(0.3),
    "sheared": ln.drifts.Linear([[-0.3, 0.1], [0.0, -0.1]]),
    "other": ln.drifts.Function(lambda x: [-x[0], -np.sin(x[1])], lambda x: [[-1, 0], [0, -np.cos(x[1])]], dim=2),
}
METRICS = {
    "none": None,
    "object": ln.metrics.Diagonal([1.0, 2.0]),
    "function": lambda x: [[1 + x[1] ** 2, 0], [0, 1]],
    "relative": ln.metrics.Relative(2),
}
ENDS = {"rest": {}, "deadline": {}, "endpoint": {"horizon": 1.0, "endpoint": [0.4, 0.9]}}


@functools.cache
def equations(metric, drift):
    """Return what holds along a path, whatever its end is."""
    return ln.euler_lagrange(ln.Objective(gamma=1.5, metric=METRICS[metric], drift=DRIFTS[drift]), BOWL)


@pytest.mark.parametrize(("metric", "drift", "end"), list(itertools.product(METRICS, DRIFTS, ENDS)))
def test_every_combination_is_solved_or_says_that_it_has_no_method(metric, drift, end):
    horizon = 1.0 if end == "deadline" else math.inf
    objective = ln.Objective(gamma=1.5, metric=METRICS[metric], drift=DRIFTS[drift], horizon=horizon)
    start, varies = [0.8, 0.7], metric in ("function", "relative")
    found = ln.trajectory.methods(objective, BOWL, start, **ENDS[end])
    assert tuple(found) == registry.METHODS[1:]
    taken = [name for name, reason in found.items() if not reason]
    if varies and drift != "none" and end == "rest":
        assert not taken
        with pytest.raises(ValueError, match=r"no method takes.*'closed_form' needs.*'curved' needs drift = None"):
            ln.solve(objective, BOWL, start, **ENDS[end])
        return
    if not varies and drift == "other":  # solved in other tests, and slowly: it is called point by point
        assert taken == (["action", "bvp"] if end == "rest" else ["action", "curved", "bvp"])
        return
    path = ln.solve(objective, BOWL, start, **ENDS[end])
    assert path.converged and path.method == taken[0]
    assert not varies or taken == ["curved"]
    assert np.allclose(path(0.0), start, atol=1e-12)
    if end == "endpoint":
        assert np.allclose(path(1.0), [0.4, 0.9], atol=1e-6)
    if varies:
        assert equations(metric, drift).residual(path) < 1e-3
    for name in taken[1:]:
        other = ln.solve(objective, BOWL, start, method=name, **ENDS[end])
        assert other.method == name and other.action == pytest.approx(path.action, rel=1e-6, abs=1e-9)


def test_auto_is_the_first_that_accepts_and_reasons_are_told():
    affine = ln.Objective(gamma=1.0, drift=ln.drifts.Linear([[0.0, 1.0], [0.0, 0.0]]))
    found = ln.trajectory.methods(affine, BOWL, [0.0, 0.0])
    assert found["riccati"] == "" and "f = aθ" in found["closed_form"]
    assert ln.solve(affine, BOWL, [0.0, 0.0]).method == "riccati"
    assert "losses.Quadratic" in ln.trajectory.methods(affine, WELL, [0.0, 0.0])["riccati"]
    assert tuple(found) == registry.METHODS[1:]


@pytest.mark.parametrize(
    ("method", "objective", "extra", "words"),
    [
        ("closed_form", ln.Objective(metric=lambda x: np.eye(2)), {}, "'closed_form' needs a metric.*'curved'"),
        ("action", ln.Objective(metric=lambda x: np.eye(2)), {}, "'action' needs a metric.*'curved'"),
        ("riccati", ln.Objective(), {"horizon": 1.0, "endpoint": [0.0, 0.0]}, "'riccati' needs a free end.*'action'"),
        ("curved", ln.Objective(drift=ln.drifts.rotation(1.0)), {}, "'curved' needs drift = None.*'riccati'"),
    ],
)
def test_a_method_that_declines_says_why_and_which_do_not(method, objective, extra, words):
    with pytest.raises(ValueError, match=words):
        ln.solve(objective, BOWL, [1.0, 0.0], method=method, **extra)


def test_the_law_of_a_drift_is_solved_for_once(monkeypatch):
    count, law = [], riccati.local_value
    monkeypatch.setattr(riccati, "local_value", lambda *problem: count.append(1) or law(*problem))
    for eta in (1.0, 1e-9):  # in the user's units, and in natural ones
        objective = ln.Objective(eta=eta, gamma=1.0, drift=ln.drifts.weight_decay(0.1))
        count.clear()
        assert ln.solve(objective, BOWL, [1.0, 0.0]).method == "closed_form"
        assert len(count) == 1


def test_solve_and_curved_are_one():
    objective = ln.Objective(gamma=0.7, metric=lambda x: [[1 + x[1] ** 2, 0], [0, 1]])
    one, other = ln.solve(objective, BOWL, [1.5, 0.3]), curved.solve(objective, BOWL, [1.5, 0.3])
    t = np.linspace(0, 5, 21)
    assert one.action == other.action and np.array_equal(one(t), other(t)) and one.method == other.method == "curved"
    assert ln.value(objective, BOWL, [1.5, 0.3]) == one.action
    assert np.array_equal(ln.optimal_velocity(objective, BOWL, [1.5, 0.3]), one.velocity(0.0))
    cut = ln.solve(objective, BOWL, [1.5, 0.3], horizon=25.0)  # alone: where the numerics cut
    assert cut.action == pytest.approx(one.action, rel=1e-6) and math.isinf(cut.end)


@pytest.mark.parametrize("endpoint", [None, [0.6, 1.2]])
def test_drift_and_varying_metric_against_the_minimised_sum(endpoint):
    """J with the slip and the metric at the middle of short intervals, by L-BFGS with sums of differences."""
    drift, gamma, end = ln.drifts.rotation(0.8), 0.4, 1.0
    objective = ln.Objective(
        0.9, 1.2, gamma, metric=ln.metrics.Relative(2), drift=drift, horizon=end if endpoint is None else math.inf
    )
    start = np.array([1.5, 0.5])
    extra = {} if endpoint is None else {"horizon": end, "endpoint": endpoint}
    path = ln.solve(objective, POLAR, start, **extra)

    def total(flat, count):
        free = flat.reshape(-1, 2)
        theta = np.vstack([start, free] if endpoint is None else [start, free, endpoint])
        dt = end / count
        middle, speed = (theta[1:] + theta[:-1]) / 2, np.diff(theta, axis=0) / dt
        fade = np.exp(-gamma * dt * (np.arange(count) + 0.5))
        slip = speed - middle @ np.array([[0.0, 0.8], [-0.8, 0.0]])
        price = (slip**2).sum(1) / (middle**2).sum(1) / (2 * 0.9)
        return dt * float(fade @ (price + 1.2 * ((middle - 1.0) ** 2).sum(1) / 2))

    sums = []
    for count in (10, 20):
        inner = np.linspace(0, 1, count + 1)[1:, None] * ((endpoint or start) - start) + start
        inner = inner if endpoint is None else inner[:-1]
        found = scipy.optimize.minimize(
            total,
            inner.ravel(),
            args=(count,),
            method="L-BFGS-B",
            options={"maxiter": 2000, "maxfun": 10**6, "ftol": 1e-14, "gtol": 1e-8},
        )
        sums.append(found.fun)
    assert path.action == pytest.approx((4 * sums[1] - sums[0]) / 3, rel=1e-4)


def test_a_budget_ends_a_search_under_a_varying_metric():
    slow = ln.losses.Function(lambda x: (x[0] - 1) ** 2 + (x[1] - 1) ** 2 + 0.1 * math.sin(x[0]), dim=2)
    objective = ln.Objective(gamma=0.5, metric=ln.metrics.Relative(2), horizon=1.0)
    path = ln.solve(objective, slow, [2.0, 0.5], max_calls=50, throw=False)
    assert not path.converged and "max_calls = 50" in path.reason
