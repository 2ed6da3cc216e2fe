"""Uncertain weights build an objective and a loss, and ``ln.solve`` finds their plan: one trunk."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lossnav as ln
from lossnav import uncertainty as un
from lossnav.trajectory import stationary


@pytest.mark.parametrize("horizon", [math.inf, 2.0])
def test_a_plan_is_the_path_of_its_objective_and_loss(horizon):
    """That it is the cheapest is shown with Eqs. 15 and 16."""
    setting = un.Problem(eta=0.7, k=1.4, gamma=0.6, entropy=0.5, prior_variance=2.0)
    bowl = ln.losses.Quadratic([[1.5, 0.4], [0.4, 0.8]], minimum=[0.3, -0.5])
    mean, spread = np.array([1.0, -1.2]), np.array([0.4, 1.7])
    plan = un.plan(setting, bowl, mean, spread, horizon=horizon)
    path = ln.solve(setting.objective(2, horizon), setting.loss(bowl), np.r_[mean, np.log(spread)])
    t = np.linspace(0, 2, 21)
    np.testing.assert_allclose(np.hstack([plan.mean(t), plan.log_variance(t)]), path(t), atol=1e-12)
    assert isinstance(plan, ln.Trajectory) and plan.is_minimum and path.is_minimum
    assert plan.method == "curved" and path.action == pytest.approx(plan.action, rel=1e-12)


def test_a_foreseen_switch_is_one_task_and_a_surprise_is_no_minimum():
    setting, first, then = un.Problem(gamma=0.5, entropy=0.8), *(
        ln.losses.Quadratic([[h]], minimum=[m]) for h, m in ((2.0, 0.0), (0.5, 2.0))
    )  # fmt: skip
    known = un.plan(setting, first, [0.0], [0.4], switches=[(2.0, then)], foreseen=True)
    surprised = un.plan(setting, first, [0.0], [0.4], switches=[(2.0, then)])
    assert known.method == "timed" and known.is_minimum is True and surprised.is_minimum is None
    assert known.loss.switches == surprised.loss.switches == (2.0,)


def test_a_hard_deadline_is_found_by_lengthening():
    """From this start Newton's method leaves the half-plane, unless the deadline is moved away in strides."""
    bowl = ln.losses.Quadratic([[0.727593, -0.356913], [-0.356913, 0.597946]], minimum=[-1.265421, -0.623274])
    setting = un.Problem(eta=1.869133, k=1.409954, gamma=1.486043, entropy=0.635, prior_variance=2.0)
    path = un.plan(setting, bowl, [0.08, -4.65], [0.8, 0.29], horizon=2.0)
    shorter = un.plan(setting, bowl, path.mean(0.7)[0], path.variance(0.7)[0], horizon=1.3)  # Bellman's principle
    t = np.linspace(0, 1.3, 14)
    np.testing.assert_allclose(shorter.log_variance(t), path.log_variance(0.7 + t), atol=1e-7)
    assert path.is_minimum and np.max(np.abs(path.velocity(2.0))) < 1e-7


def test_a_path_that_leaves_another_rest_just_before_the_end_is_not_taken():
    """Under a discount that costs next to nothing, and it is as stationary as the path to that rest."""
    wells = un.Wells([[-1.6], [0.45]], [1.4, 1.6], [0.55, 0.62], bowl=0.3)
    setting = un.Problem(eta=1.3, k=2.6, gamma=1.45, entropy=0.33, prior_variance=2.0)
    objective, stay = setting.objective(), setting.loss(wells)
    here, there = stationary.targets(objective, stay, np.array([0.1, 0.1]))
    path = ln.solve(objective, stay, here.fixed)
    np.testing.assert_allclose(path.asymptote, here.fixed)
    candidate = path.candidates[1]
    assert not candidate.converged and "comes to rest at" in candidate.reason
    np.testing.assert_allclose(candidate.asymptote, there.fixed)
