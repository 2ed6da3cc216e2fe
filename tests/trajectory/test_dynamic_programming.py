"""Random landscapes on a line, with a drift, a metric that depends on θ, a deadline: J is that of dynamic programming.

The value function is found on a grid, by policy iteration or backwards in time, with differences against the motion,
on two grids of which the error of first order is removed. It knows nothing of paths, rests or starts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy
from resources import draws
from wells import drifting

import lossnav as ln

EDGE = 14.0  # of the grid, at least: it holds the path that is judged


def towards(value, drift, rate, step):
    """The best velocity on a grid, from slopes of V on the side it goes to, and what it costs per time to move so."""
    dV = np.diff(value) / step
    ahead, behind = np.append(dV, 0.0), np.append(0.0, dV)
    right = np.maximum(drift - rate * np.append(dV, dV[-1]), 0.0) * (np.arange(len(value)) < len(value) - 1)
    left = np.minimum(drift - rate * np.append(dV[0], dV), 0.0) * (np.arange(len(value)) > 0)
    bills = (right - drift) ** 2 / (2 * rate) + right * ahead, (left - drift) ** 2 / (2 * rate) + left * behind
    return np.where(bills[0] < bills[1], right, left), np.minimum(*bills)


def on_grid(objective, loss, count, edge):
    """Places, their step, η/G, f and kL."""
    grid = np.linspace(-edge, edge, count)
    points = grid[:, None]
    metric = np.array([objective.metric_at(point)[0, 0] for point in points]) if objective.curved else 1.0
    drift = np.zeros(count) if objective.drift is None else objective.drift(points)[:, 0]
    return grid, grid[1] - grid[0], objective.eta / metric, drift, objective.k * loss.value(points)


def policy(objective, loss, count, edge):
    """A grid, V on it without a deadline and the best velocities, by policy iteration from those of a coarser grid."""
    grid, step, rate, drift, height = on_grid(objective, loss, count, edge)
    speed, before = np.zeros(count), np.inf
    if count > 100:
        coarse, _, speeds = policy(objective, loss, count // 3, edge)
        speed = np.interp(grid, coarse, speeds)
    for _ in range(500):
        right, left = np.maximum(speed, 0) / step, np.maximum(-speed, 0) / step
        right[-1] = left[0] = 0.0
        bands = np.stack([-np.append(0, right[:-1]), objective.gamma + right + left, -np.append(left[1:], 0)])
        value = scipy.linalg.solve_banded((1, 1), bands, height + (speed - drift) ** 2 / (2 * rate))
        if np.max(np.abs(value - before)) < 1e-6 * np.max(np.abs(value)):
            return grid, value, speed
        before, speed = value, towards(value, drift, rate, step)[0]
    return pytest.fail("policy iteration has not converged")


def forever(objective, loss, start, count, edge):
    """V(θ₀) without a deadline."""
    grid, value, _ = policy(objective, loss, count, edge)
    return np.interp(start, grid, value)


def until(objective, loss, start, count, edge):
    """V(θ₀) with a deadline, backwards from what it charges."""
    grid, step, rate, drift, height = on_grid(objective, loss, count, edge)
    value, left = objective.terminal * loss.value(grid[:, None]), objective.horizon
    while left > 0:
        speed, bill = towards(value, drift, rate, step)
        dt = min(0.45 * step / max(np.max(np.abs(speed)), 1e-9), objective.horizon / (count / 7), left)
        value, left = value + dt * (height + bill - objective.gamma * value), left - dt
    return np.interp(start, grid, value)


def agrees(objective, loss, start, programme, counts):
    path = ln.solve(objective, loss, start)
    assert path.converged
    times = np.linspace(0, path.end if np.isfinite(path.end) else 40 / objective.gamma, 401)
    edge = max(EDGE, 1.3 * float(np.max(np.abs(path(times)))))
    coarse, fine = (programme(objective, loss, start[0], count, edge) for count in counts)
    assert path.action == pytest.approx(2 * fine - coarse, rel=0.01, abs=0.01)


# 54 was certified at five times its cost and 43 refused, while the best place to rest was not found; and then 0, where
# the path to a far one stops half-way and seems cheaper than it is. At 317 the law of a rest did not know that a drift
# bends, and the best one passed for none; at 306 it lies far out.
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 43, 54, 306, 317, *range(1, draws(1))])
def test_with_a_drift(seed):
    objective, loss, rng = drifting(seed)
    start = 3 * rng.normal(size=1)
    try:
        agrees(objective, loss, start, forever, (6001, 12_001))
    except (ln.NoMinimiser, ln.NotConverged):  # carried away, or said not to be known
        assert seed not in (0, 43, 54, 306, 317)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(draws(3)))
def test_in_a_metric_that_depends_on_the_place(seed):
    objective, loss, rng = drifting(seed)
    start, depth, wave, size = (
        3 * rng.normal(size=1),
        rng.uniform(0, 0.9),
        rng.uniform(0.3, 3),
        10 ** rng.uniform(-1, 1),
    )
    curved = replace(objective, drift=None, metric=lambda x: (size * (1 + depth * np.sin(wave * x)))[..., None])
    try:
        agrees(curved, loss, start, forever, (3001, 6001))
    except (ln.NoMinimiser, ln.NotConverged):
        assert seed >= 3


# At 75 a path whose Newton iteration stopped seems cheaper than it is, too.
@pytest.mark.slow
@pytest.mark.parametrize("seed", [75, *range(draws(5))])
def test_with_a_deadline(seed):
    objective, loss, rng = drifting(seed)
    start, rng = 3 * rng.normal(size=1), np.random.default_rng(seed + 999)
    horizon, gamma = 10 ** rng.uniform(-0.5, 1.2), objective.gamma * (rng.random() < 0.7)
    charge = 0.0 if rng.random() < 0.6 else 10 ** rng.uniform(-1, 1)
    drift = objective.drift if seed % 2 else None
    agrees(
        replace(objective, gamma=gamma, drift=drift, horizon=horizon, terminal=charge), loss, start, until, (751, 1501)
    )
