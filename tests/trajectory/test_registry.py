"""Which solver takes which problem, and a metric that depends on θ by the same door as all others."""

import functools
import itertools
import math

import numpy as np
import pytest

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
    reasons = ln.trajectory.methods(objective, BOWL, start, **ENDS[end])
    assert tuple(reasons) == registry.METHODS[1:]
    taken = [name for name, reason in reasons.items() if not reason]
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
        t, weights = np.polynomial.legendre.leggauss(400)
        t, weights = (t + 1) * min(path.end, 30.0) / 2, weights * min(path.end, 30.0) / 2
        cost = float(weights @ (np.exp(-1.5 * t) * objective.cost_rate(BOWL, path(t), path.velocity(t))))
        assert path.action == pytest.approx(cost, rel=1e-5)
    for name in taken[1:]:
        alternative = ln.solve(objective, BOWL, start, method=name, **ENDS[end])
        assert alternative.method == name and alternative.action == pytest.approx(path.action, rel=1e-6, abs=1e-9)


def test_auto_is_the_first_that_accepts_and_reasons_are_told():
    affine = ln.Objective(gamma=1.0, drift=ln.drifts.Linear([[0.0, 1.0], [0.0, 0.0]]))
    reasons = ln.trajectory.methods(affine, BOWL, [0.0, 0.0])
    assert reasons["riccati"] == "" and "f = aθ" in reasons["closed_form"]
    assert ln.solve(affine, BOWL, [0.0, 0.0]).method == "riccati"
    assert "losses.Quadratic" in ln.trajectory.methods(affine, WELL, [0.0, 0.0])["riccati"]
    assert tuple(reasons) == registry.METHODS[1:]


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
    cut = ln.solve(objective, BOWL, [1.5, 0.3], horizon=25.0)  # alone: where the numerics cut
    assert cut.action == pytest.approx(one.action, rel=1e-6) and math.isinf(cut.end)


def test_a_budget_ends_a_search_under_a_varying_metric():
    slow = ln.losses.Function(lambda x: (x[0] - 1) ** 2 + (x[1] - 1) ** 2 + 0.1 * math.sin(x[0]), dim=2)
    objective = ln.Objective(gamma=0.5, metric=ln.metrics.Relative(2), horizon=1.0)
    path = ln.solve(objective, slow, [2.0, 0.5], max_calls=50, throw=False)
    assert not path.converged and "max_calls = 50" in path.reason
