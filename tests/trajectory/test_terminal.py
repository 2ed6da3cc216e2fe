"""A charge at the deadline: five solvers, and the J of the path itself, agree; units and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lossnav as ln


def _action(path, objective, loss, count=4000):
    """J of a path by Simpson's rule, with the charge."""
    t = np.linspace(0.0, objective.horizon, 2 * count + 1)
    rate = np.exp(-objective.gamma * t) * objective.cost_rate(loss, path(t), path.velocity(t))
    weights = np.r_[1.0, np.tile([4.0, 2.0], count)[:-1], 1.0] * (objective.horizon / (6 * count))
    last = float(loss.value(path(objective.horizon)))
    return float(weights @ rate) + objective.terminal * math.exp(-objective.gamma * objective.horizon) * last


@pytest.mark.parametrize("gamma", [0.0, 2.0])
@pytest.mark.parametrize("hessian", [[[2.0, 0.5], [0.5, 1.0]], [[0.0, 0.0], [0.0, 1.0]], [[-0.3, 0.0], [0.0, 2.0]]])
def test_solvers_agree(hessian, gamma):
    objective = ln.Objective(eta=0.7, k=1.2, gamma=gamma, metric=np.diag([2.0, 0.5]), horizon=1.1, terminal=0.6)
    loss = ln.losses.Quadratic(hessian, gradient=[1.0, -0.5], offset=0.7)
    paths = {
        m: ln.solve(objective, loss, [0.4, -1.0], method=m)
        for m in ("closed_form", "riccati", "action", "bvp", "curved")
    }
    best = paths["closed_form"]
    assert _action(best, objective, loss) == pytest.approx(best.action, rel=1e-9)
    for path in paths.values():
        assert path.action == pytest.approx(best.action, rel=1e-8)
        np.testing.assert_allclose(path(1.1), best(1.1), atol=1e-7)
        assert path.is_minimum is not False


def test_with_drift_and_a_curved_loss():
    objective = ln.Objective(gamma=0.5, drift=ln.drifts.rotation(0.7), horizon=1.5, terminal=2.0)
    loss = ln.losses.DoubleWell()
    paths = [ln.solve(objective, loss, [0.6, 0.4], method=m) for m in ("action", "curved", "bvp")]
    for path in paths:
        assert path.action == pytest.approx(paths[0].action, rel=1e-6)
        assert _action(path, objective, loss) == pytest.approx(path.action, rel=1e-6)
    # transversality: η c ∇L(θ_T) = f − θ̇
    end = paths[0](1.5)
    slip = objective.drift(end) - paths[0].velocity(1.5)
    np.testing.assert_allclose(2.0 * loss.gradient(end), slip, atol=1e-4)


def test_a_loss_that_depends_on_time_is_charged_as_it_is_just_before_the_deadline():
    bowl, other = ln.losses.Quadratic([[1.0]], minimum=[0.0]), ln.losses.Quadratic([[1.0]], minimum=[3.0])
    objective = ln.Objective(gamma=0.3, horizon=1.0, terminal=1.5)
    plain = ln.solve(objective, bowl, [1.0])
    switched = ln.solve(objective, ln.task.Phases([(0.0, bowl), (1.0, other)]), [1.0])
    assert switched.action == pytest.approx(plain.action, rel=1e-7)


def test_a_fixed_end_pays_and_an_infinite_time_does_not():
    loss, start = ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1.0]
    for method in ("closed_form", "action", "bvp"):
        free, dear = (
            ln.solve(ln.Objective(gamma=0.5, horizon=1.0, terminal=c), loss, start, endpoint=[0.5], method=method)
            for c in (0.0, 2.0)
        )
        assert dear.action - free.action == pytest.approx(2 * math.exp(-0.5) * 0.25, rel=1e-6)
        np.testing.assert_allclose(dear(0.5), free(0.5), atol=1e-9)
    without, beside = (ln.solve(ln.Objective(gamma=0.5, terminal=c), loss, start).action for c in (0.0, 2.0))
    assert without == beside and ln.Objective(terminal=2.0).charge == 0.0


def test_a_charge_makes_a_focal_point_earlier():
    """h < 0: what ends low is paid for, so that running away pays sooner."""
    loss = ln.losses.Quadratic([[-0.5]], minimum=[0.0])
    ln.solve(ln.Objective(gamma=3.0, horizon=5.0), loss, [1.0])
    with pytest.raises(ln.NoMinimiser, match="focal point"):
        ln.solve(ln.Objective(gamma=3.0, horizon=5.0, terminal=8.0), loss, [1.0])


def test_update_knows_the_charge():
    objective = ln.Objective(gamma=0.4, horizon=1.5, terminal=0.9)
    loss = ln.losses.Quadratic([[2.0, 0.3], [0.3, 0.5]], minimum=[0.0, 0.0])
    start = np.array([1.0, -2.0])
    step = ln.update(objective, loss.gradient(start), loss.hessian(start), 0.8)
    np.testing.assert_allclose(step, ln.solve(objective, loss, start, method="riccati")(0.8) - start, atol=1e-8)


@pytest.mark.parametrize("hessian", [0.0, 2.0])
def test_where_nothing_pushes_a_path_stands_still(hessian):
    """There is no force by which to measure lengths, and without curvature none for costs."""
    loss = ln.losses.Quadratic([[hessian]], gradient=[0.0], offset=0.3)
    path = ln.solve(ln.Objective(gamma=0.4, horizon=1.5, terminal=0.5), loss, [0.0], method="riccati")
    assert path.action == pytest.approx(0.3 * (-math.expm1(-0.6) / 0.4 + 0.5 * math.exp(-0.6)), rel=1e-14)
    assert np.all(path([0.0, 0.7, 1.5]) == 0.0) and np.all(path.velocity([0.0, 1.5]) == 0.0)
