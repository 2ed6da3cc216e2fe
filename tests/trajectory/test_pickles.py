"""A path can be stored and sent to another process: it comes back as it was, whatever method made it."""

import pickle

import numpy as np
import pytest

import lossnav as ln
from lossnav.problem.task import Phases
from lossnav.trajectory import curved, phase_plane
from lossnav.trajectory.weights.plans import plan

BOWL, WELL = ln.losses.Quadratic([[2.0, 0.5], [0.5, 1.0]], minimum=[0.3, -0.2]), ln.losses.DoubleWell()
START, PULL = [1.0, 0.5], ln.drifts.Linear([[0.1, -0.4], [0.3, 0.0]])
FIXED = {"horizon": 2.0, "endpoint": [0.0, 0.0]}


def tilted(x):
    return (x**2).sum(-1) + x[..., 0] ** 4 / 4


def stretched(x):
    return np.diag(1 + x**2)


def switching():
    return Phases([(0.0, BOWL), (1.0, ln.losses.Quadratic(np.eye(2), minimum=[1.0, 1.0]))])


CASES = {
    "closed form": lambda: ln.solve(ln.Objective(gamma=0.5), BOWL, START),
    "closed form, rotation": lambda: ln.solve(
        ln.Objective(drift=ln.drifts.rotation(0.5)), ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0]), START
    ),
    "closed form, fixed end": lambda: ln.solve(ln.Objective(gamma=0.5), BOWL, START, **FIXED),
    "riccati": lambda: ln.solve(ln.Objective(gamma=0.5, drift=PULL), BOWL, START),
    "riccati, deadline": lambda: ln.solve(ln.Objective(gamma=0.5, drift=PULL, horizon=2.0), BOWL, START),
    "action": lambda: ln.solve(ln.Objective(gamma=0.5), WELL, START),
    "action, own units": lambda: ln.solve(ln.Objective(eta=30.0, gamma=0.5), WELL, START),
    "action, a function": lambda: ln.solve(ln.Objective(eta=30.0, gamma=0.5), ln.losses.Function(tilted, dim=2), START),
    "action, a classifier": lambda: ln.solve(
        ln.Objective(gamma=0.5), ln.classifiers.LogisticRegression([[1.0, 0.3], [-1.0, 2.0]], [0, 1], l2=0.1), START
    ),
    "action, fixed end": lambda: ln.solve(ln.Objective(gamma=0.5), WELL, START, **FIXED),
    "action, out of budget": lambda: ln.solve(
        ln.Objective(gamma=0.5), ln.losses.Function(tilted, dim=2), START, max_calls=1, throw=False
    ),
    "action, an effective loss": lambda: ln.solve(
        ln.Objective(gamma=0.5),
        ln.helmholtz.effective_loss(ln.Objective(gamma=0.5, drift=PULL), WELL, ln.helmholtz.split_affine(PULL)), START
    ),
    "curved": lambda: ln.solve(ln.Objective(gamma=0.5, metric=stretched), BOWL, START, rtol=1e-5),
    "curved, fixed end": lambda: curved.solve(
        ln.Objective(metric=ln.metrics.Fisher(spread="log_deviation")), WELL, START, **FIXED
    ),
    "bvp": lambda: ln.solve(ln.Objective(gamma=0.5), BOWL, START, method="bvp"),
    "timed": lambda: ln.solve(ln.Objective(gamma=0.5), switching(), START),
    "weights": lambda: plan(
        ln.uncertainty.Problem(gamma=0.5, entropy=0.8), ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1.0], [0.4]
    ),
    "weights, surprised": lambda: plan(
        ln.uncertainty.Problem(gamma=0.5, entropy=0.8), ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1.0], [0.4],
        switches=[(1.0, ln.losses.Quadratic([[1.0]], minimum=[1.0]))], foreseen=False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_path_comes_back_as_it_was(name):
    path = CASES[name]()
    again = pickle.loads(pickle.dumps(path))
    t = np.linspace(0.0, min(path.end, 7.0), 23)
    np.testing.assert_array_equal(again(t), path(t))
    np.testing.assert_array_equal(again.velocity(t), path.velocity(t))
    assert (repr(again), again.action, again.status) == (repr(path), path.action, path.status)
    assert [repr(candidate) for candidate in again.candidates] == [repr(candidate) for candidate in path.candidates]
    assert again.loss.at(0.0).value(START[: again.loss.dim]) == path.loss.at(0.0).value(START[: path.loss.dim])


def test_a_law_of_one_parameter_comes_back_as_it_was():
    law = phase_plane.feedback(ln.Objective(gamma=0.5), ln.losses.Quadratic([[1.0]], minimum=[0.0]), 0.0, (-1.0, 2.0))
    again = pickle.loads(pickle.dumps(law))
    t = np.linspace(-1.0, 2.0, 23)
    np.testing.assert_array_equal([again.speed(t), again.action(t)], [law.speed(t), law.action(t)])
