"""Assumptions are checked, frozen data."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lossnav import assume


@pytest.mark.parametrize(
    "made",
    [
        getattr(assume, name)(*{"Known": ([[1.0]],), "Polar": ()}.get(name, (0.9,))) for name in assume.__all__
    ],
    ids=lambda made: type(made).__name__,
)  # fmt: skip
def test_assumptions_are_frozen(made):
    first = dataclasses.fields(made)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, first, 0.5)
    assert getattr(made, "corrected", True) and not any(getattr(made, name, 0.0) for name in ("eps", "share"))


def test_arrays_are_copies_that_nobody_can_change():
    matrix = np.eye(2)
    known, faded = assume.Known(matrix), assume.Filter(0.0, fading=matrix)
    matrix[0, 0] = 7.0
    assert known.hessian[0, 0] == 1.0 and faded.fading[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        known.hessian[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        faded.fading[0, 0] = 2.0


def test_it_lists_what_users_write():
    assert set(dir(assume)) == {*assume.__all__, "Curvature", "Metric", "root"}


@pytest.mark.parametrize("value", [1.0, -0.1])
def test_weights_of_the_past_end_below_one(value):
    assume.Filter(np.nextafter(1.0, 0.0), trend=0.0)
    with pytest.raises(ValueError, match="beta"):
        assume.SecondMoment(value)
    with pytest.raises(ValueError, match="trend"):
        assume.Filter(0.5, trend=value)


def test_a_matrix_of_fading_may_have_entries_below_zero_but_rates_may_not():
    assert assume.Filter(0.0, fading=[[1.0, -0.5], [0.5, 1.0]]).fading.shape == (2, 2)
    with pytest.raises(ValueError, match="fading"):
        assume.Filter(0.0, fading=[1.0, -0.5])
    for wrong in ([], np.ones((2, 3)), np.ones((2, 2, 2))):
        with pytest.raises(ValueError, match="fading has shape"):
            assume.Filter(0.0, fading=wrong)
