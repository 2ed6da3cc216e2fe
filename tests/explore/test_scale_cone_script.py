"""The cone's script against Python's walk, the laws of the library, and the exact recursion of the radius."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest

from lossnav import noether

SETTINGS = [
    {"eta": eta, "beta": beta, "decay": decay, "noise": noise, "start": start}
    for (eta, beta, decay), (noise, start) in itertools.product(
        [(0.1, 0.9, 0.01), (0.3, 0.0, 0.05), (0.05, 0.5, 0.1)], [(1.0, 0.5), (0.0, 1.5), (0.4, 1.0)]
    )
]
ALL = "given.map((s) => ({ ...M.coneWalk(s), coins: [1, 2, 3, 500, 1200].map(M.coin) }))"


def test_script_walks_as_python_does_and_knows_the_laws(scale_cone):
    for setting, walk in zip(SETTINGS, scale_cone(ALL, SETTINGS), strict=True):
        widget = oracles.ScaleCone(**setting)
        np.testing.assert_allclose(walk["points"], widget.walk(), atol=1e-9)
        np.testing.assert_allclose(walk["angles"], widget.angles(), rtol=1e-7)
        laws = {name: setting[name] for name in ("eta", "beta", "decay")}
        assert walk["law"] == pytest.approx(setting["eta"] * noether.limiting_angular_speed(**laws), rel=1e-12)
        if setting["eta"] * setting["decay"] < 0.03 * (1 - setting["beta"]) ** 2:  # the rate is that of small steps
            left = noether.discrete_radius(1.0, 0.0, np.zeros(400), **laws)[0]  # of r², where nothing pulls
            assert walk["memory"] == pytest.approx(0.5 / np.log(left[-2] / left[-1]), rel=0.1)
        if setting["noise"] in (0.0, 1.0):
            noise = "white" if setting["noise"] else None
            assert walk["rest"] == pytest.approx(noether.limiting_radius(1.0, **laws, gradient_noise=noise), rel=1e-12)


def test_what_the_radius_forgets_in_is_measured_under_long_momentum_too(scale_cone):
    settings = [(0.1, 0.9, 0.01), (1.0, 0.9, 0.1), (0.1, 0.99, 0.01), (0.01, 0.99, 0.001), (0.1, 0.5, 0.01)]
    for eta, beta, decay in settings:
        laws = {"eta": eta, "beta": beta, "decay": decay}
        [walk] = scale_cone("given.map(M.coneWalk)", [{**laws, "noise": 0.0, "start": 1.05}])
        q, v, fourth = np.array([1.05 * walk["rest"], 0.0]), np.zeros(2), []
        for _ in range(4000):
            v = beta * v - np.array([-q[1], q[0]]) / (q @ q) - decay * q
            q = q + eta * v
            fourth.append((q @ q) ** 2)
        away = np.abs(np.array(fourth) - fourth[-1])
        last = [int(np.flatnonzero(away > away.max() * np.exp(-fall))[-1]) for fall in (1.0, 5.0)]
        assert walk["memory"] == pytest.approx((last[1] - last[0]) / 4, rel=0.12)


def test_a_walk_from_its_radius_of_rest_is_not_on_its_way(scale_cone):
    rough = {"eta": 0.01, "beta": 0.9, "decay": 0.005, "noise": 1.0}
    walks = scale_cone("given.map(M.coneWalk)", [{**rough, "start": start} for start in (1.0, 0.25)])
    assert abs(walks[0]["radius"][-1] - 1) > 0.03 and walks[0]["left"] == 0.0
    assert walks[1]["left"] == pytest.approx(abs((1 + (0.25**4 - 1) * np.exp(-1200 / walks[1]["memory"])) ** 0.25 - 1))
    assert walks[1]["left"] > 0.015


def test_an_angle_that_is_off_because_the_radius_was_long_on_its_way_is_told_from_a_law_that_fails(scale_cone):
    slow = {"eta": 0.1, "beta": 0.0, "decay": 0.01, "noise": 0.0}
    late, soon = scale_cone("given.map(M.coneWalk)", [{**slow, "start": 2.0}, {**slow, "start": 1.0}])
    found = [np.sqrt(np.mean(np.square(walk["angles"][15:]))) for walk in (late, soon)]
    assert found[0] < 0.9 and found[1] == pytest.approx(1.0, abs=0.01)
    assert late["left"] < 0.03 < late["halfway"] and soon["halfway"] == 0.0


def test_the_walk_comes_to_the_laws_and_obeys_the_recursion():
    for setting in SETTINGS:
        widget = oracles.ScaleCone(**setting)
        late = widget.angles()[15:]
        assert np.sqrt(np.mean(late**2)) == pytest.approx(1.0, abs=0.05)
        walk = widget.walk() * widget.rest()
        assert np.mean(np.sum(walk[600:] ** 2, axis=1) ** 2) == pytest.approx(widget.rest() ** 4, rel=0.15)
        speed = np.sum(np.diff(walk, axis=0) ** 2, axis=1) / setting["eta"] ** 2
        laws = {name: setting[name] for name in ("eta", "beta", "decay")}
        exact = noether.discrete_radius(walk[0] @ walk[0], 0.0, speed, **laws)[0]
        np.testing.assert_allclose(exact, np.sum(walk**2, axis=1), rtol=1e-9)
