"""Several ways to one rest: the search takes the cheapest, against many random starts with a late deadline."""

import math

import numpy as np
import pytest
from resources import draws

import lossnav as ln
from benchmarks import landscapes
from lossnav.trajectory import coming_to_rest, newton, stationary
from lossnav.trajectory.case import Settings
from lossnav.trajectory.refinement import refine
from lossnav.trajectory.transcription import Transcription


def random_problem(seed):
    """Two to six hills, a start outside and a discount between .05 and .8."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    centres, heights = rng.uniform(-2.5, 2.5, (count, 2)), rng.uniform(2, 10, count)
    loss = landscapes.hills(heights, rng.uniform(0.3, 1.2), centres)
    angle = rng.uniform(0, 2 * np.pi)
    start = rng.uniform(3, 4) * np.array([np.cos(angle), np.sin(angle)])
    return ln.Objective(gamma=float(np.exp(rng.uniform(np.log(0.05), np.log(0.8))))), loss, start


def best_of_random_ways(objective, loss, start, seed, count=24):
    """The least J of paths of a late deadline with a free end, from random broken lines to the rests."""
    rng = np.random.default_rng(seed)
    rests = stationary.targets(objective, loss, start)
    span = max(16 / -end.growth for end in rests) + 12 / objective.gamma
    problem = Transcription(objective, loss, span, 512)
    ways = []
    for end in rests:
        for _ in range(count):
            corners = np.array([start, *rng.uniform(-4, 4, (int(rng.integers(1, 3)), 2)), end.fixed])
            along = np.clip(-problem.times * end.growth / 2, 0, 1) * (len(corners) - 1)
            ways.append(np.stack([np.interp(along, np.arange(len(corners)), x) for x in corners.T], axis=1))
    ends = [result for result in newton.minimise_all(problem, np.array(ways)) if result.converged and result.definite]
    best = refine(problem, min(ends, key=lambda result: result.action), Settings())
    held = float(loss.value(best.asymptote)) / objective.gamma
    return best.action + math.exp(-objective.gamma * span) * held


@pytest.mark.slow
def test_a_bowl_behind_three_hills():
    """Through the middle it costs 10.82, and is a minimum; round the side 9.545."""
    loss = landscapes.hills(10.0, 0.405, [(-2, 0.1), (-2, -1), (-2, -2.1)])
    objective, start = ln.Objective(gamma=0.2), np.array([-4.0, -0.05])
    path = ln.solve(objective, loss, start)
    assert path.converged and path.is_minimum and path.action < 9.545
    assert any(abs(candidate.action - 10.8206) < 1e-3 and candidate.is_minimum for candidate in path.candidates)
    assert path.action == pytest.approx(best_of_random_ways(objective, loss, start, 0), rel=1e-6)


@pytest.mark.slow
def test_of_more_rests_than_are_followed_one_behind_a_wall_is_not_left_out(monkeypatch):
    """A straight line to the deepest well crosses a wall, and costs most; round it the path costs least."""
    wells = [(0.0, 0.0, 3.0), (3.2, 1.0, 0.6), (3.2, -1.0, 0.6), (2.4, 1.6, 0.5), (2.4, -1.6, 0.5)]

    def height(x):
        low = sum(d * np.exp(-((x[..., 0] - a) ** 2 + (x[..., 1] - b) ** 2) / 0.3) for a, b, d in wells)
        wall = 300 * np.exp(-(((x[..., 0] - 1.5) / 0.2) ** 2) - (x[..., 1] / 0.7) ** 2)
        return 0.02 * (x**2).sum(-1) - low + wall

    problem = (ln.Objective(gamma=0.3), ln.losses.Function(height, dim=2), [3.0, 0.2])
    every = ln.solve(*problem)
    monkeypatch.setattr(coming_to_rest, "_FOLLOWED", 2)
    few = ln.solve(*problem)
    assert len(few.candidates) < len(every.candidates) == len(wells)
    np.testing.assert_allclose(few.asymptote, [0.0, 0.0], atol=1e-6)
    assert few.converged and few.action == pytest.approx(every.action, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [45, 17, 88, 131, 3][: draws(2)])
def test_random_hills(seed):
    """All of the seeds 0 … 199 agree; 45 has a wall round whose end no saddle leads."""
    objective, loss, start = random_problem(seed)
    path = ln.solve(objective, loss, start)
    assert path.converged
    assert path.action <= best_of_random_ways(objective, loss, start, seed) * (1 + 1e-6)


@pytest.mark.slow
def test_what_is_called_point_by_point_is_looked_round_too():
    loss = landscapes.hills(10.0, 0.405, [(-2, 0.1), (-2, -1), (-2, -2.1)])
    slow = ln.losses.Function(
        lambda x: float(loss.value([float(t) for t in x])),
        lambda x: loss.gradient([float(t) for t in x]),
        lambda x: loss.hessian([float(t) for t in x]),
        dim=2,
    )
    path = ln.solve(ln.Objective(gamma=0.2), slow, [-4.0, -0.05])
    assert set(slow.batches.values()) == {"one by one"} and path.action < 9.545
