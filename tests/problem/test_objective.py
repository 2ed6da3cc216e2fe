"""Objective, drifts and the package's front door."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest

import lossnav as ln


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"eta": 0}, "eta = 0.*> 0"),
        ({"eta": math.nan}, "eta = nan"),
        ({"eta": True}, "eta = True"),
        ({"k": -1}, "k = -1.*> 0"),
        ({"gamma": -0.1}, "gamma = -0.1.*>= 0"),
        ({"gamma": math.inf}, "gamma = inf"),
        ({"horizon": 0}, "horizon = 0"),
        ({"horizon": math.nan}, "horizon = nan"),
        ({"metric": [[1, 2], [2, 1]]}, "metric.*eigenvalue -1.*positive definite"),
        ({"metric": [[1, 2], [0, 1]]}, "metric.*symmetric"),
        ({"metric": [1, 2]}, "metric has shape"),
        ({"metric": [[1j]]}, "metric.*real"),
        ({"drift": np.eye(2)}, "drift = .*lossnav.drifts"),
    ],
)
def test_bad_arguments_name_the_argument(arguments, words):
    with pytest.raises(ValueError, match=words):
        ln.Objective(**arguments)


def test_objective_is_frozen_and_so_is_its_metric():
    metric = np.eye(2)
    objective = ln.Objective(metric=metric)
    with pytest.raises(dataclasses.FrozenInstanceError):
        objective.gamma = 1.0
    with pytest.raises(ValueError):
        objective.metric[0, 0] = 2.0
    metric[0, 0] = 5.0
    assert objective.metric[0, 0] == 1.0 and objective in {objective}  # a key, although arrays are none


def test_cost_rate_written_out():
    objective = ln.Objective(eta=0.3, k=2.0, metric=[[2.0, 0.0], [0.0, 3.0]], drift=ln.drifts.weight_decay(0.1))
    loss = ln.losses.Rosenbrock()
    theta, velocity = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    slip = velocity + 0.1 * theta
    by_hand = (2 * slip[0] ** 2 + 3 * slip[1] ** 2) / (2 * 0.3) + 2.0 * loss.value(theta)
    assert objective.cost_rate(loss, theta, velocity) == pytest.approx(by_hand, rel=1e-14)


def test_metric_at_of_a_constant_metric_is_the_same_everywhere():
    points = np.random.default_rng(0).normal(size=(3, 4, 2))
    metric = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert np.array_equal(ln.Objective(metric=metric).metric_at(points), np.broadcast_to(metric, (3, 4, 2, 2)))
    assert np.array_equal(ln.Objective().metric_at(points[0, 0]), np.eye(2))
    with pytest.raises(ValueError, match="metric has shape"):
        ln.Objective(metric=metric).metric_at([1.0, 2.0, 3.0])


def test_metric_at_and_kinetic_of_a_metric_that_depends_on_theta():
    objective = ln.Objective(eta=0.3, metric=lambda x: [[1 + x[0] ** 2, x[1]], [x[1], 2 + x[1] ** 2]])
    points, velocity = np.random.default_rng(1).normal(size=(2, 3, 4, 2))
    metric = objective.metric_at(points)
    assert metric.shape == (3, 4, 2, 2)
    x, y = points[2, 1]
    assert np.allclose(metric[2, 1], [[1 + x**2, y], [y, 2 + y**2]], rtol=1e-15)
    assert np.array_equal(objective.metric_at(points[2, 1]), metric[2, 1])
    u, v = velocity[2, 1]
    by_hand = ((1 + x**2) * u**2 + 2 * y * u * v + (2 + y**2) * v**2) / (2 * 0.3)
    assert objective.kinetic(points, velocity)[2, 1] == pytest.approx(by_hand, rel=1e-14)
    assert objective.kinetic(points[2, 1], velocity[2, 1]) == pytest.approx(by_hand, rel=1e-14)


def test_metric_at_cannot_be_used_to_change_its_argument():
    def meddling(x):
        x[0] = 9.0
        return np.eye(2)

    point = np.array([1.0, 2.0])
    ln.Objective(metric=meddling).metric_at(point)
    assert point.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (lambda x: np.diag([1.0, x[0]]), "eigenvalue -2.*positive definite"),
        (lambda x: [[1.0, 0.5], [0.0, 1.0]], "symmetric"),
        (lambda x: 1e-12 * np.array([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda x: np.eye(3), r"metric\(theta\) has shape"),
        (lambda x: [[np.nan, 0.0], [0.0, 1.0]], r"metric\(theta\).*finite"),
    ],
)
def test_metric_at_refuses_what_is_no_metric(metric, words):
    with pytest.raises(ValueError, match=words):
        ln.Objective(metric=metric).metric_at([[1.0, 0.0], [-2.0, 0.0]])


def test_a_metric_that_depends_on_theta_is_refused_where_it_must_be_constant():
    objective = ln.Objective(metric=lambda x: np.eye(2))
    for call in (lambda: objective.metric_matrix(2), lambda: ln.update(objective, [1.0, 0.0], np.eye(2), 1.0)):
        with pytest.raises(ValueError, match=r"constant metric.*trajectory\.curved"):
            call()


def test_rotation_turns_counter_clockwise():
    drift = ln.drifts.rotation(2.0)
    assert np.allclose(drift([1.0, 0.0]), [0.0, 2.0])
    assert np.allclose(drift.jacobian([1.0, 0.0]), [[0, -2], [2, 0]])


def test_weight_decay_acts_in_any_dimension():
    drift = ln.drifts.weight_decay(0.3)
    assert drift([2.0]) == pytest.approx([-0.6]) and np.allclose(drift([1.0, 2.0, 3.0]), [-0.3, -0.6, -0.9])
    assert np.allclose(drift.jacobian(np.zeros((4, 2))), np.broadcast_to(-0.3 * np.eye(2), (4, 2, 2)))
    with pytest.raises(ValueError, match=r"rate = -0.3.*> 0"):
        ln.drifts.weight_decay(-0.3)


def test_affine_drift_against_differences():
    drift = ln.drifts.Linear([[1.0, 2.0], [-0.5, 0.3]], [0.1, 0.2])
    x, step = np.array([0.4, -1.0]), 1e-6
    for value in (drift(x), drift.expression(x)):
        assert value == pytest.approx([0.4 - 2.0 + 0.1, -0.2 - 0.3 + 0.2])
    numeric = np.stack([(drift(x + step * e) - drift(x - step * e)) / (2 * step) for e in np.eye(2)], axis=-1)
    assert np.allclose(drift.jacobian(x), numeric, atol=1e-9)
    with pytest.raises(ValueError, match="jacobian has shape"):
        ln.drifts.Linear([1.0, 2.0])


def test_import_is_light():
    code = (
        "import sys, lossnav; lossnav.Objective; lossnav.losses; "
        "print(sorted(m for m in ('torch', 'sympy', 'matplotlib', 'ipywidgets', 'anywidget') if m in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'momentumm'"):
        _ = ln.momentumm
    assert {"solve", "update", "losses"} <= set(dir(ln))


@pytest.mark.parametrize(
    "options",
    [{}, {"metric": np.eye(2)}, *({"price": price} for price in (ln.prices.Box(1.0), ln.prices.Acceleration(m=1.0)))],
)
def test_a_cost_has_the_batch_of_theta_whatever_is_charged(options):
    objective = ln.Objective(**options)
    assert objective.kinetic(np.zeros((3, 2)), [0.1, 0.2]).shape == (3,)
    assert np.ndim(objective.kinetic([0.0, 0.0], [0.1, 0.2])) == 0


def test_what_a_price_charges_written_out():
    metric, v, a = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -2.0]), np.array([0.3, 4.0])
    dear = ln.Objective(price=ln.prices.Acceleration(m=0.3, speed=1.2), metric=metric)
    assert dear.kinetic([0.0, 0.0], v, a) == pytest.approx(1.2 / 2 * v @ metric @ v + 0.3 / 2 * a @ metric @ a)
    assert ln.Objective(price=ln.prices.Box(3.0, eta=0.7)).kinetic([0.0, 0.0], v) == pytest.approx(v @ v / (2 * 0.7))


def test_an_acceleration_of_another_batch_is_named():
    with pytest.raises(ValueError, match=r"velocity \(3, 2\), acceleration \(4, 2\)"):
        ln.Objective(price=ln.prices.Acceleration(m=1.0)).kinetic([0.0, 0.0], np.ones((3, 2)), np.ones((4, 2)))


def test_what_is_handed_out_cannot_change_the_problem():
    bowl = ln.losses.Quadratic(np.eye(2), minimum=[1.0, 2.0])
    drift = ln.drifts.Linear(np.eye(2), [1.0, 1.0])
    path = ln.solve(ln.Objective(gamma=1.0), bowl, [0.0, 0.0])
    noise = ln.sgd.OrnsteinUhlenbeck(np.eye(2), np.eye(2))
    for array in (
        bowl.minimum, bowl.stationary_points(), bowl.hessian([0.0, 0.0]), drift.matrix(2), drift.offset(2),
        path.times, path.asymptote, noise.spread, noise.curvature, noise.drift,
        ln.uncertainty.Wells([[0.0]], [1.0], [1.0]).centres(),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array += 1.0
