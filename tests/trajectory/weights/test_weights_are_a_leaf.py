"""``ln.solve`` with the objective and the loss that uncertain weights build finds the plan."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lossnav as ln
from lossnav import uncertainty as un


@pytest.mark.parametrize("seed", range(1, 13))
def test_solve_finds_the_plan(seed):
    random = np.random.default_rng(seed)
    dim = int(random.integers(1, 3))
    shape = random.normal(size=(dim, dim))
    setting = un.Problem(
        eta=random.uniform(0.5, 2), k=random.uniform(0.5, 2), gamma=random.uniform(0.1, 2),
        entropy=random.uniform(0.2, 1), prior_variance=random.choice([math.inf, 2.0]),
    )  # fmt: skip
    bowl = ln.losses.Quadratic(shape @ shape.T + 0.3 * np.eye(dim), minimum=random.normal(size=dim))
    mean, spread = 2 * random.normal(size=dim), np.exp(random.normal(size=dim))
    horizon = float(random.choice([math.inf, 2.0]))
    plan = un.plan(setting, bowl, mean, spread, horizon=horizon)
    path = ln.solve(setting.objective(dim, horizon), setting.loss(bowl), np.concatenate([mean, np.log(spread)]))
    t = np.linspace(0, 2, 21)
    np.testing.assert_allclose(path(t), np.hstack([plan.mean(t), plan.log_variance(t)]), atol=1e-8)
    assert path.action == pytest.approx(plan.action, rel=1e-9)
