"""The drift field's script against the Riccati equation, direct minimisation and the identity of the value function."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import lossnav as ln
from lossnav import helmholtz

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
SETTINGS = [
    {"start": [1.5, -0.4], "minimum": [0.3, -1.2], "rate": rate, "decay": decay, "gamma": gamma}
    for rate, decay, gamma in itertools.product((-10.0, 0.0, 2.5), (0.0, 1.5), (0.0, 0.7, 10.0))
]
LAW = """given.map((s) => {
    const law = M.driftLaw(s), times = [0, 0.1, 0.5, 2];
    const { lambda, rest, effective, resting, excess } = law;
    return { lambda, rest, effective, resting, excess, action: law.action, path: times.map(law.place),
             speed: law.velocity(s.start), alone: times.map(law.alone) };
})"""


def problem(setting: dict) -> tuple[ln.Objective, ln.losses.Quadratic]:
    drift = ln.drifts.Linear(setting["rate"] * TURN - setting["decay"] * np.eye(2))
    objective = ln.Objective(gamma=setting["gamma"], drift=drift)
    return objective, ln.losses.Quadratic(4 * np.eye(2), minimum=setting["minimum"])


def number(value) -> float:
    return float(str(value).replace("Infinity", "inf"))


def test_closed_form_agrees_with_the_riccati_equation(drift_field):
    times = np.array([0.0, 0.1, 0.5, 2.0])
    for setting, law in zip(SETTINGS, drift_field(LAW, SETTINGS), strict=True):
        objective, loss = problem(setting)
        exact = ln.solve(objective, loss, setting["start"], method="riccati")
        np.testing.assert_allclose(law["path"], exact(times), atol=1e-10, err_msg=str(setting))
        np.testing.assert_allclose(law["rest"], exact.asymptote, atol=1e-10)
        np.testing.assert_allclose(law["speed"], exact.velocity(0.0), atol=1e-9)
        assert law["excess"] == pytest.approx(exact.excess, abs=1e-9)
        assert number(law["action"]) == pytest.approx(exact.action, rel=1e-9)
        effective = helmholtz.effective_loss(objective, loss, helmholtz.split_affine(objective.drift))
        np.testing.assert_allclose(law["effective"], effective.stationary_points()[0], atol=1e-12)


def test_closed_form_agrees_with_direct_minimisation(drift_field):
    chosen = [s for s in SETTINGS if s["rate"] == 2.5 and s["gamma"] == 0.7]
    for setting, law in zip(chosen, drift_field(LAW, chosen), strict=True):
        objective, loss = problem(setting)
        direct = ln.solve(objective, loss, setting["start"], method="action")
        np.testing.assert_allclose(law["rest"], direct.asymptote, atol=1e-6)
        assert law["action"] == pytest.approx(direct.action, rel=1e-7)


def test_cost_obeys_the_value_identity(drift_field):
    """γJ = L(θ₀) + (|f(θ₀)|² − |θ̇₀|²)/2, for η = k = 1."""
    chosen = [s for s in SETTINGS if s["gamma"] > 0]
    for setting, law in zip(chosen, drift_field(LAW, chosen), strict=True):
        objective, loss = problem(setting)
        drift, speed = objective.drift(setting["start"]), np.array(law["speed"])
        expected = loss.value(setting["start"]) + (drift @ drift - speed @ speed) / 2
        assert setting["gamma"] * law["action"] == pytest.approx(expected, rel=1e-10)


def test_drift_alone(drift_field):
    for setting, law in zip(SETTINGS, drift_field(LAW, SETTINGS), strict=True):
        matrix = setting["rate"] * TURN - setting["decay"] * np.eye(2)
        exact = [scipy.linalg.expm(matrix * t) @ setting["start"] for t in (0.0, 0.1, 0.5, 2.0)]
        np.testing.assert_allclose(law["alone"], exact, atol=1e-12)


def test_end_of_the_papers_figure(drift_field):
    setting = {"start": [1.5, 1.5], "minimum": [0, -0.5], "rate": 10, "decay": 0, "gamma": 0}
    law = drift_field(LAW, [setting])[0]
    np.testing.assert_allclose(law["rest"], [0.0, -0.5 * 4 / 104], atol=1e-12)
    assert law["action"] == "Infinity"
    setting |= {"rate": 0, "decay": 10}
    np.testing.assert_allclose(drift_field(LAW, [setting])[0]["rest"], [0.0, -0.5 * 4 / 104], atol=1e-12)


@pytest.mark.parametrize(("slow", "rate"), [(2.0, 10.0), (0.4, -10.0), (3.0, 0.0), (0.0, 2.0), (0.0, 0.0)])
def test_times_follow_every_turn(drift_field, slow, rate):
    times = np.array(drift_field("M.driftTimes(...given)", [slow, rate]))
    assert times[0] == 0 and len(times) <= 901
    assert np.all(np.diff(times) * abs(rate) < 0.25)
    expected = 7 / slow if slow else (0.0 if rate == 0 else 2 * np.pi / abs(rate))
    assert times[-1] == pytest.approx(expected)
