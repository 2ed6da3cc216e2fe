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

COUNT, SEED = map(int, os.environ.get("LOSSNAV_FUZZ", "500,0").split(","))
SAID = {  # who says that a NaN may come back, and when
    "trajectory.phase_plane.Feedback.action": "outside of reach",
    "trajectory.phase_plane.Feedback.velocity": "outside of reach",
    **{f"metrics.{name}.{what}": "where the metric is not finite"
       for name in ("Fisher", "Function") for what in ("norm_squared", "second_derivative", "derivative")},
}  # fmt: skip


def test_extreme_arguments_are_answered_or_refused():
    found = []
    for name, arguments in calls(RECIPES, COUNT, SEED):
        answer = wrong(RECIPES[name], arguments)
        plt.close("all")
        if answer and not (name in SAID and answer.startswith("NaN")):
            told = {key: value for key, value in arguments.items() if value is not RECIPES[name].arguments[key].good}
            found.append(f"{name}({', '.join(f'{key}={value!r}' for key, value in told.items())}): {answer}")
    assert not found, f"{len(found)} of {COUNT} calls:\n" + "\n".join(found)


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
