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
        ({"drift": lambda x: x}, "drift = .*lossnav.drifts"),
    ],
)
def test_bad_arguments_name_the_argument(arguments, words):
    with pytest.raises(ValueError, match=words):
        ln.Objective(**arguments)


def test_objective_is_frozen_and_so_is_its_metric():
    given = np.eye(2)
    objective = ln.Objective(metric=given)
    with pytest.raises(dataclasses.FrozenInstanceError):
        objective.gamma = 1.0
    with pytest.raises(ValueError):
        objective.metric[0, 0] = 2.0
    given[0, 0] = 5.0
    assert objective.metric[0, 0] == 1.0


def test_cost_rate_written_out():
    objective = ln.Objective(eta=0.5, k=2.0, metric=[[2.0, 0.0], [0.0, 3.0]], drift=ln.drifts.weight_decay(0.1))
    loss = ln.losses.Rosenbrock()
    theta, velocity = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    slip = velocity + 0.1 * theta
    by_hand = (2 * slip[0] ** 2 + 3 * slip[1] ** 2) / (2 * 0.5) + 2.0 * loss.value(theta)
    assert objective.cost_rate(loss, theta, velocity) == pytest.approx(by_hand, rel=1e-14)


def test_rotation_turns_counter_clockwise():
    drift = ln.drifts.rotation(2.0)
    assert np.allclose(drift([1.0, 0.0]), [0.0, 2.0])
    assert np.allclose(drift.jacobian([1.0, 0.0]), [[0, -2], [2, 0]])


def test_weight_decay_acts_in_any_dimension():
    drift = ln.drifts.weight_decay(0.3)
    assert np.allclose(drift([1.0, 2.0, 3.0]), [-0.3, -0.6, -0.9])
    assert np.allclose(drift.jacobian(np.zeros((4, 2))), np.broadcast_to(-0.3 * np.eye(2), (4, 2, 2)))
    with pytest.raises(ValueError, match=r"rate = -0.3.*> 0"):
        ln.drifts.weight_decay(-0.3)


def test_affine_drift_against_differences():
    drift = ln.drifts.Linear([[1.0, 2.0], [-0.5, 0.3]], [0.1, 0.2])
    x, step = np.array([0.4, -1.0]), 1e-6
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
