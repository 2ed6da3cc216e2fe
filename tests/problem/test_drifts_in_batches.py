"""A drift given as functions: called once for many points where that is right, point by point where it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lossnav.problem.drifts import Function

POINTS = np.random.default_rng(0).normal(size=(50, 7, 2))


def in_columns(x):
    return np.array([x[1] ** 2 - 0.5 * x[0], x[0] * x[1]])


def as_lists(x):
    return [[-0.5, 2 * x[1]], [x[1], x[0]]]


def in_rows(x):
    return np.stack([x[..., 1] ** 2 - 0.5 * x[..., 0], x[..., 0] * x[..., 1]], axis=-1)


def of_one_point(x):
    return [math.pow(x[1], 2) - 0.5 * x[0], x[0] * x[1]]


@pytest.mark.parametrize(("value", "together"), [(in_columns, True), (in_rows, True), (of_one_point, False)])
def test_values_are_those_of_single_points(value, together):
    calls = []
    drift = Function(lambda x: calls.append(1) or value(x), as_lists, dim=2)
    expected = [[of_one_point(x) for x in row] for row in POINTS]
    np.testing.assert_allclose(drift(POINTS), expected, rtol=1e-14)
    assert (len(calls) < 20) == together


def test_slopes_are_those_of_the_values():
    drift, step = Function(in_columns, as_lists, dim=2), 1e-6
    differences = [(drift(POINTS + step * e) - drift(POINTS - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(drift.jacobian(POINTS), np.stack(differences, axis=-1), atol=1e-8)


def test_a_result_of_another_shape_is_named():
    with pytest.raises(ValueError, match=r"value\(theta\) has shape \(3,\), but it must have shape \(2,\)"):
        Function(lambda x: np.zeros(3), as_lists, dim=2)(POINTS)
