"""The noisy valley's script against lossnav.sgd."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from scipy.linalg import expm

CASES = [(angle, ratio) for angle in (-90.0, -20.0, 0.0, 45.0, 61.0) for ratio in (1.0, 3.0, 16.0)]


def test_split_and_parts_are_the_librarys(noisy_valley):
    place = [0.7, -1.1]
    code = "given[0].map(([angle, ratio]) => [M.split({angle, ratio}), M.parts({angle, ratio}, given[1])])"
    for (angle, ratio), (split, parts) in zip(CASES, noisy_valley(code, [CASES, place]), strict=True):
        widget = oracles.NoisyValley(place, angle, ratio)
        process = widget.process()
        np.testing.assert_allclose(split["d"], process.diffusion, atol=1e-12)
        np.testing.assert_allclose(split["u"], process.curvature, atol=1e-9)
        assert split["q"] == pytest.approx(process.skew[0, 1], abs=1e-10)
        for name, way in widget.arrows().items():
            np.testing.assert_allclose(parts[name], way, atol=1e-9)
        np.testing.assert_allclose(np.add(parts["down"], parts["round"]), parts["drift"], atol=1e-9)


def test_drift_and_its_parts_carry_a_place_along_their_flows(noisy_valley):
    place, times = [0.7, -1.1], [0.0, 0.3, 1.0, 6.0]
    code = """given[0].map(([angle, ratio]) => Object.fromEntries(["drift", "down", "round"].map((key) =>
        [key, given[2].map((t) => M.carriedBy((x) => M.parts({angle, ratio}, x)[key], given[1], t))])))"""
    for (angle, ratio), found in zip(CASES, noisy_valley(code, [CASES, place, times]), strict=True):
        process = oracles.NoisyValley(place, angle, ratio).process()
        down, around = -process.diffusion @ process.curvature, -process.skew @ process.curvature
        for name, matrix in {"drift": down + around, "down": down, "round": around}.items():
            wanted = [expm(t * matrix) @ place for t in times]
            np.testing.assert_allclose(found[name], wanted, atol=1e-9, err_msg=f"{name} {angle} {ratio}")


def test_level_sets_and_axes(noisy_valley):
    matrix = [[2.0, 0.6], [0.6, 1.0]]
    points, axis = noisy_valley("[M.level(given, [0.4, 1.0]), M.longAxis(given)]", matrix)
    x, m = np.array(points), np.array(matrix)
    size = np.einsum("pi,ij,pj->p", x, m, x)
    np.testing.assert_allclose(size, np.array([0.4, 1.0]) @ m @ [0.4, 1.0], rtol=1e-12)
    slow = np.linalg.eigh(m)[1][:, 0]
    assert np.tan(np.deg2rad(axis)) == pytest.approx(slow[1] / slow[0])
    assert noisy_valley("M.longAxis(M.VALLEY)", None) == pytest.approx(45.0)


@pytest.mark.parametrize("angle", [45.0, -45.0])
def test_noise_along_the_valley_or_across_it_leaves_no_current(angle):
    widget = oracles.NoisyValley(angle=angle, ratio=8.0)
    assert np.abs(widget.process().skew).max() < 1e-12
