"""Losses that depend on time: what holds when, derivatives, other units."""

import math

import numpy as np
import pytest

import lossnav as ln
from lossnav.problem.task import Driven, Phases

BOWL, WELL = ln.losses.Quadratic([[1.0, 0.2], [0.2, 2.0]], minimum=[0.5, 1.0]), ln.losses.DoubleWell()
TASK = Phases([(0.0, BOWL), (1.0, WELL), (3.0, BOWL)])
WAVE = Driven(
    lambda x, t: np.sin(x[..., 0] * t) + x[..., 1] ** 3,
    lambda x, t: np.stack([t * np.cos(x[..., 0] * t), 3 * x[..., 1] ** 2], axis=-1),
    dim=2,
    switches=[1.0],
    final=WELL,
    settled=2.0,
)


def test_what_holds_at_a_switch_is_what_comes_after_it():
    x = np.array([0.3, 0.8])
    t = np.array([0.0, 0.999, 1.0, 2.9, 3.0, math.inf])
    losses = [BOWL, BOWL, WELL, WELL, BOWL, BOWL]
    assert [TASK.at(u) for u in t] == losses and TASK.at([1.0, 2.0]) is WELL
    for name in ("value", "gradient", "hessian"):
        each = np.array([getattr(loss, name)(x) for loss in losses])
        np.testing.assert_array_equal(getattr(TASK.at(t), name)(x), each)
        np.testing.assert_array_equal(getattr(TASK.at(t), name)(np.tile(x, (6, 1))), each)
        np.testing.assert_array_equal(getattr(TASK, name)(x), each[0])
    assert TASK.switches == (1.0, 3.0) and TASK.settled == 3.0 and TASK.final is BOWL and TASK.timed
    assert BOWL.at(7.0) is BOWL and not BOWL.timed


def test_a_driven_loss_and_its_derivatives():
    rng = np.random.default_rng(0)
    x, t, step = rng.normal(size=(5, 2)), np.array([0.0, 0.7, 1.2, 2.0, 9.0]), 1e-5
    for name, lower in (("gradient", "value"), ("hessian", "gradient")):
        now = WAVE.at(t)
        numeric = [
            (np.asarray(getattr(now, lower)(x + step * e)) - getattr(now, lower)(x - step * e)) / (2 * step)
            for e in np.eye(2)
        ]
        np.testing.assert_allclose(getattr(now, name)(x), np.stack(numeric, axis=-1), atol=1e-8)
    np.testing.assert_array_equal(WAVE.at(t).value(x)[3:], WELL.value(x[3:]))
    assert WAVE.at(2.0) is WELL and WAVE.switches == (1.0, 2.0) and WAVE.settled == 2.0
    assert isinstance(WAVE.value(x[0]), float) and WAVE.value(x[0]) == pytest.approx(x[0, 1] ** 3)
    endless = Driven(lambda x, t: x[..., 0] * t, lambda x, t: np.ones_like(x), dim=1)
    assert endless.final is None and endless.settled == math.inf


@pytest.mark.parametrize("task", [TASK, WAVE])
def test_other_units_of_time_and_loss(task):
    x, t = np.random.default_rng(1).normal(size=(4, 2)), np.array([0.1, 0.6, 1.4, 5.0])

    class Twice(ln.losses.Loss):
        def __init__(self, loss):
            self.dim, self.loss = loss.dim, loss

        def value(self, theta):
            return 2 * np.asarray(self.loss.value(theta))

        def gradient(self, theta):
            return 2 * self.loss.gradient(theta)

        def hessian(self, theta):
            return 2 * self.loss.hessian(theta)

    rescaled = task.rescaled(4.0, Twice)
    assert rescaled.settled == task.settled / 4
    np.testing.assert_allclose(rescaled.at(t / 4).value(x), 2 * task.at(t).value(x), rtol=1e-14)
    np.testing.assert_allclose(rescaled.at(t / 4).hessian(x), 2 * task.at(t).hessian(x), rtol=1e-12)


def test_functions_of_a_wrong_shape_are_named():
    for name, driven in (
        ("value", Driven(lambda x, t: x, lambda x, t: x, dim=2)),
        ("gradient", Driven(lambda x, t: t, lambda x, t: t, dim=2)),
    ):
        with pytest.raises(ValueError, match=rf"{name}\(theta, t\) has shape"):
            getattr(driven.at(np.zeros(3)), name)(np.zeros((3, 2)))


def test_calls_of_a_users_functions_are_counted_once():
    plain = ln.losses.Function(lambda x: (x**2).sum(-1), dim=2)
    task = Phases([(0.0, plain), (1.0, plain)])
    task.at(0.5).value(np.zeros(2))
    assert task.calls == plain.calls > 0
    assert Phases([(0.0, plain), (1.0, BOWL)]).calls == (None if BOWL.calls is None else plain.calls + BOWL.calls)


def test_a_users_task_needs_its_landscapes_only():
    """The same as a ``Driven``, in units far from one, where the task is asked in others."""

    class Swing(ln.task.Task):
        dim = 2
        switches, final = (2.0,), BOWL

        def at(self, t):
            late = np.asarray(t) >= 2.0
            return BOWL if np.all(late) else Driven(height, slope, dim=2, final=BOWL, settled=2.0).at(t)

    def height(x, t):
        return ((x[..., 0] - np.sin(t)) ** 2 + x[..., 1] ** 2) / 2

    def slope(x, t):
        return np.stack([x[..., 0] - np.sin(t), x[..., 1]], axis=-1)

    objective = ln.Objective(eta=1e4, gamma=0.3)
    mine = ln.solve(objective, Swing(), [1.3, 0.8])
    other = ln.solve(objective, Driven(height, slope, dim=2, final=BOWL, settled=2.0), [1.3, 0.8])
    assert mine.method == "timed" and mine.action == pytest.approx(other.action, rel=1e-9)
