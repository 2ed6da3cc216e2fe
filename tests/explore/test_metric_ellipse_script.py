"""The metric's script against the library's solver, its learning rules, and direct minimisation."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest
import scipy.linalg

import lossnav as ln
from lossnav import explore, rules

HESSIAN = np.diag([0.25, 2.0])
SETTINGS = [
    {"start": [1.9, -1.4], "angle": angle, "ratio": ratio, "gamma": gamma}
    for angle, ratio, gamma in itertools.product((-90.0, -30.0, 0.0, 71.5), (1.0, 8**0.5, 8.0), (0.0, 0.7, 10.0))
]
TIMES = [0.0, 0.1, 0.5, 2.0]
LAW = "given.map((s) => { const law = M.metricLaw(s); return { ...law, path: [0, 0.1, 0.5, 2].map(law.place) }; })"


def ellipse(setting: dict) -> explore.MetricEllipse:
    return oracles.MetricEllipse(**setting)


def test_metric_and_its_curvatures(metric_ellipse):
    for setting, law in zip(SETTINGS, metric_ellipse(LAW, SETTINGS), strict=True):
        metric = ellipse(setting).metric()
        a, b, c = law["metric"]
        np.testing.assert_allclose([[a, b], [b, c]], metric, atol=1e-12)
        curvatures = scipy.linalg.eigh(HESSIAN, metric, eigvals_only=True)
        np.testing.assert_allclose(law["curvatures"], curvatures, rtol=1e-10)
        np.testing.assert_allclose(
            law["rates"], rules.rates(ln.Objective(gamma=setting["gamma"], metric=metric), HESSIAN), rtol=1e-10
        )
        modes = np.array(law["modes"]).T
        np.testing.assert_allclose(modes.T @ metric @ modes, np.eye(2), atol=1e-10)
        assert law["commute"] == np.allclose(metric @ HESSIAN, HESSIAN @ metric, atol=1e-9)


def test_path_is_the_librarys_step_and_path(metric_ellipse):
    for setting, law in zip(SETTINGS, metric_ellipse(LAW, SETTINGS), strict=True):
        widget = ellipse(setting)
        objective = ln.Objective(gamma=setting["gamma"], metric=widget.metric())
        start = np.array(setting["start"])
        steps = [ln.update(objective, HESSIAN @ start, HESSIAN, t) for t in TIMES]
        np.testing.assert_allclose(law["path"], start + steps, atol=1e-10)
        exact = widget.path()
        assert law["action"] == pytest.approx(exact.action, rel=1e-9)
        np.testing.assert_allclose(law["ways"]["optimal"], exact.velocity(0.0), atol=1e-9)


def test_path_minimises_the_cost(metric_ellipse):
    setting = {"start": [1.9, 1.4], "angle": -30.0, "ratio": 3.0, "gamma": 0.7}
    law = metric_ellipse(LAW, [setting])[0]
    objective = ln.Objective(gamma=0.7, metric=ellipse(setting).metric())
    direct = ln.solve(objective, ln.losses.Quadratic(HESSIAN, minimum=[0, 0]), setting["start"], method="action")
    assert law["action"] == pytest.approx(direct.action, rel=1e-6)
    np.testing.assert_allclose(law["path"], direct(np.array(TIMES)), atol=1e-4)


def test_directions_are_those_of_the_rules(metric_ellipse):
    for setting, law in zip(SETTINGS, metric_ellipse(LAW, SETTINGS), strict=True):
        for name, way in ellipse(setting).directions().items():
            np.testing.assert_allclose(law["ways"][name], way, atol=1e-10, err_msg=f"{name} {setting}")


def test_all_directions_agree_where_the_ellipse_has_the_shape_of_a_contour(metric_ellipse):
    setting = {"start": [1.9, 1.4], "angle": 0, "ratio": 8**0.5, "gamma": 1}
    ways = metric_ellipse(LAW, [setting])[0]["ways"]
    pairs = [[ways[name], ways["newton"]] for name in ("natural", "ballistic", "optimal", "descent")]
    angles = metric_ellipse("given.map((p) => M.angleBetween(...p))", pairs)
    np.testing.assert_allclose(angles[:3], 0, atol=1e-9)
    assert angles[3] > 40


@pytest.mark.parametrize(("angle", "ratio"), [(-89.0, 2.0), (0.0, 1.5), (45.0, 8.0), (90.0, 4.0)])
@pytest.mark.parametrize("side", [1, -1])
def test_dragging_either_end_finds_the_ellipse(metric_ellipse, angle, ratio, side):
    turn = np.radians(angle)
    tip = side * 0.7 * np.sqrt(ratio) * np.array([np.cos(turn), np.sin(turn)])
    dragged = metric_ellipse("M.ellipseThrough(given, 0.7, 8)", tip.tolist())
    assert dragged["angle"] == angle
    assert dragged["ratio"] == pytest.approx(ratio)
