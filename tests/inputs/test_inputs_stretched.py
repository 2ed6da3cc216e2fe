"""Public callables with arguments of the right kind, one or two of them extreme; ``stretch`` says what may come back.

``make fuzz`` makes ten thousand such calls, which LOSSNAV_FUZZ=10000,SEED asks for.
"""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import numpy as np
import pytest
from stretch import calls, wrong
from test_inputs_walk import RECIPES
from walk import Recipe

import lossnav as ln
from lossnav.figures import landscape

COUNT, SEED = map(int, os.environ.get("LOSSNAV_FUZZ", "500,0").split(","))
SAID = {  # who says that a NaN may come back, and when
    **{f"trajectory.phase_plane.Feedback.{name}": "outside of reach" for name in ("speed", "excess", "action")},
    "trajectory.alignment": "for a path that stands still",
    **{f"metrics.{name}.{what}": "where the metric is not finite"
       for name in ("Fisher", "Function", "Relative") for what in ("norm_squared", "second_derivative", "derivative")},
}  # fmt: skip


@pytest.mark.slow
def test_extreme_arguments_are_answered_or_refused():
    failures = []
    for name, arguments in calls(RECIPES, COUNT, SEED):
        answer = wrong(RECIPES[name], arguments)
        plt.close("all")
        if answer and not (name in SAID and answer.startswith("NaN")):
            odd = {key: value for key, value in arguments.items() if value is not RECIPES[name].arguments[key].good}
            failures.append(f"{name}({', '.join(f'{key}={value!r}' for key, value in odd.items())}): {answer}")
    assert not failures, f"{len(failures)} of {COUNT} calls:\n" + "\n".join(failures)


def test_what_was_found_stays_mended():
    far, _ = ln.uncertainty.geodesic(1e98, 0.3, 0.5, 0.0, 1.0)
    near, _ = ln.uncertainty.geodesic(200.0, 0.3, 0.5, 0.0, 1.0)
    assert np.isfinite(far) and far == pytest.approx(near, rel=1e-12)
    assert ln.looking.interval(0.1, 3e52, 1.0, gamma=0.5) == pytest.approx(ln.looking.interval(0.1, 3e52, 1.0))
    with pytest.raises(ValueError, match=r"dim = 1000.* <= 1099511627775"):
        ln.Objective().metric_matrix(10**30)
    rows = np.random.default_rng(0).normal(size=(9, 2))
    plain, scaled = (
        ln.helmholtz.non_gradient_fraction(rows * unit, points=rows[::-1] * size)
        for unit, size in ((1, 1), (2e90, 1e-80))
    )
    assert plain.value == pytest.approx(scaled.value) and plain.error == pytest.approx(scaled.error)
    turning = [[2.0, -1.5], [2.5, 1.0]]
    assert np.all(ln.sgd.covariance(turning, np.eye(2), 1.0, 5e42, 0.3) == 0)
    with pytest.raises(ValueError, match=r"t = 5e\+42 .* A has the eigenvalue -1"):
        ln.sgd.covariance(np.diag([-1.0, 1.0]), np.eye(2), 1.0, 5e42, 0.3)
    setting, loss = (
        ln.uncertainty.Problem(gamma=0.5),
        ln.uncertainty.average(ln.losses.Quadratic([[2.0]], minimum=[0.0])),
    )
    with pytest.raises(ValueError, match=r"log_variance = .* so that their inverses are floats"):
        ln.uncertainty.log_acceleration(setting, loss, [0.0], [-4e24], [1.0], [1.0])
    with pytest.raises(ValueError, match="height is not finite"):
        landscape.ground(plt.figure().gca(), ln.losses.DoubleWell(), (-1e98, 1e98, -1.0, 1.0))
    rule = ln.derive(
        ln.Objective(), metric=ln.assume.RootMeanSquare(0.9), curvature=ln.assume.SecondMoment(0.9), dt=0.1
    )
    plt.close("all")
    with pytest.warns(ln.rules.derive.RegimeWarning):
        assert np.isfinite(rule.regime([1.0, 4.0], [0.0, 0.0]).quantiles).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: x * np.nan, "NaN"),
        (lambda x: [1.0, np.array([np.inf]) * 0], "NaN"),
        (lambda x: 1 / 0, "ZeroDivisionError"),
        (lambda x: np.linalg.inv(np.zeros((2, 2))), "from below|LinAlgError"),
        (lambda x: endless(), "no answer"),
        (lambda x: refuse(), ""),
        (lambda x: x, ""),
    ],
)
def test_what_is_wrong_is_seen(call, said):
    answer = wrong(Recipe(call, {}), {"x": 1.0}, seconds=0.1)
    assert any(part in answer for part in said.split("|")) if said else answer == ""


def endless():
    while True:
        pass


def refuse():
    raise ValueError("x = 1.0, but it must be otherwise")
