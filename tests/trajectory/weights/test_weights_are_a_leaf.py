"""Uncertain weights build an objective and a loss, and ``ln.solve`` finds their plan: against equations by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import lossnav as ln
from lossnav import uncertainty as un
from lossnav.trajectory import stationary


def by_hand(setting, hessian, minimum, mean, spread, horizon):
    """Collocate Eqs. 15, 16 in ln v with the linear law, ẋ = −(√(γ²/4 + M) − γ/2)(x − x*), or ẋ = 0 at the end."""
    dim, pull = len(mean), setting.entropy / setting.prior_variance
    stiff = setting.k * hessian + pull * np.eye(dim)
    place = np.r_[np.linalg.solve(stiff, setting.k * hessian @ minimum), np.log(setting.entropy / np.diag(stiff))]
    bend = scipy.linalg.block_diag(stiff, setting.entropy / 2 * np.eye(dim))
    square = setting.eta * np.r_[np.exp(place[dim:]), np.full(dim, 2.0)][:, None] * bend
    law = scipy.linalg.sqrtm(square + setting.gamma**2 / 4 * np.eye(2 * dim)).real - setting.gamma / 2 * np.eye(2 * dim)
    start = np.r_[mean, np.log(spread)]
    span = horizon if math.isfinite(horizon) else 15 / np.min(np.linalg.eigvals(law).real)
    t = span * np.linspace(0, 1, 201) ** 2

    def right(_, y):
        mu, ell, mu_dot, ell_dot = np.split(y, 4)
        v = np.exp(ell)
        slope = setting.k * hessian @ (mu - minimum[:, None]) + pull * mu
        mu_up = (setting.gamma + ell_dot) * mu_dot + setting.eta * v * slope
        ell_up = setting.gamma * ell_dot + setting.eta * (v * np.diag(stiff)[:, None] - setting.entropy) - mu_dot**2 / v
        return np.concatenate([mu_dot, ell_dot, mu_up, ell_up])

    def ends(left, last):
        law_there = -law @ (last[: 2 * dim] - place) if math.isinf(horizon) else 0.0
        return np.r_[left[: 2 * dim] - start, last[2 * dim :] - law_there]

    fall = scipy.linalg.expm(-t[:, None, None] * law) @ (start - place)
    guess = np.concatenate([(place + fall).T, -(fall @ law.T).T])
    if math.isfinite(horizon):
        guess = np.concatenate([np.repeat(start[:, None], len(t), axis=1), np.zeros((2 * dim, len(t)))])
    found = scipy.integrate.solve_bvp(right, ends, t, guess, tol=1e-8, max_nodes=50_000)
    assert found.success
    return lambda s: found.sol(s)[: 2 * dim].T


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("horizon", [math.inf, 2.0])
def test_solve_and_plan_find_the_path(seed, horizon):
    random = np.random.default_rng(seed)
    dim = int(random.integers(1, 3))
    shape = random.normal(size=(dim, dim))
    setting = un.Problem(
        eta=random.uniform(0.5, 2), k=random.uniform(0.5, 2), gamma=random.uniform(0.0, 2),
        entropy=random.uniform(0.2, 1), prior_variance=random.choice([math.inf, 2.0]),
    )  # fmt: skip
    hessian, minimum = shape @ shape.T + 0.3 * np.eye(dim), random.normal(size=dim)
    mean, spread = random.normal(size=dim), np.exp(random.normal(size=dim))
    exact = by_hand(setting, hessian, minimum, mean, spread, horizon)
    bowl = ln.losses.Quadratic(hessian, minimum=minimum)
    plan = un.plan(setting, bowl, mean, spread, horizon=horizon)
    path = ln.solve(setting.objective(dim, horizon), setting.loss(bowl), np.r_[mean, np.log(spread)])
    t = np.linspace(0, 2, 21)
    np.testing.assert_allclose(path(t), exact(t), atol=1e-7)
    np.testing.assert_allclose(np.hstack([plan.mean(t), plan.log_variance(t)]), exact(t), atol=1e-7)
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
    other = path.candidates[1]
    assert not other.converged and "comes to rest at" in other.reason
    np.testing.assert_allclose(other.asymptote, there.fixed)
