"""The script of accelerated methods against the library's, and against the steps themselves."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest

SETTINGS = [
    {"kappa": kappa, "guess": guess, "curvature": h}
    for kappa, guess, h in itertools.product([1.0, 7.0, 300.0], [0.5, 1.0, 2.2], [0.004, 0.5])
]
RULES = ("descent", "nesterov", "heavy", "ballistic", "newton")
ALL = "given.map((s) => { const { runs, here } = M.race(s); return { runs, here, spectrum: M.spectrum(s.kappa) }; })"


def test_script_walks_as_the_library_does(acceleration):
    for setting, scripted in zip(SETTINGS, acceleration(ALL, SETTINGS), strict=True):
        widget = oracles.Acceleration(**setting)
        for rule in RULES:
            losses = np.array(scripted["runs"][rule]["losses"], dtype=float)  # JSON has long integers
            np.testing.assert_allclose(losses, widget.losses(rule), rtol=1e-6, atol=1e-20)
            assert scripted["here"][rule] == pytest.approx(float(widget.kept(rule, setting["curvature"])), abs=1e-7)


def steps_by_hand(setting, rule, h):
    """Take steps with gradients and Hessians that are believed to be ``guess`` times what they are."""
    kappa, guess = setting["kappa"], setting["guess"]
    low, high = guess / kappa, guess
    theta, before = np.ones_like(h), np.ones_like(h)
    root = np.sqrt(kappa)
    beta = (root - 1) / (root + 1)
    for n in range(1, 100_001):
        d = theta - before
        before = theta
        if rule == "descent":
            theta = theta - 2 / (low + high) * h * theta
        elif rule == "heavy":
            theta = theta + beta**2 * d - 4 / (np.sqrt(low) + np.sqrt(high)) ** 2 * h * theta
        elif rule == "nesterov":
            ahead = theta + beta * d
            theta = ahead - h * ahead / guess
        elif rule == "ballistic":
            theta = theta - 2 / (np.sqrt(low) + np.sqrt(high)) * (guess * h) ** -0.5 * h * theta
        else:
            theta = theta - h * theta / (guess * h)
        if np.mean(theta**2) < 1e-6:
            return n
        if np.mean(theta**2) > 1e6:
            return None
    return None


def test_numbers_of_steps_are_those_of_the_steps(acceleration):
    for setting, scripted in zip(SETTINGS, acceleration(ALL, SETTINGS), strict=True):
        if setting["guess"] == 0.5:  # Newton's and gradient descent's steps are then at the edge
            continue
        for rule in RULES:
            wanted = steps_by_hand(setting, rule, np.array(scripted["spectrum"]))
            assert scripted["runs"][rule]["needed"] == ("Infinity" if wanted is None else wanted), (setting, rule)


def test_memory_and_root_of_the_curvature_save_the_same(acceleration):
    runs = acceleration(ALL, [{"kappa": 400.0, "guess": 1.0, "curvature": 1.0}])[0]["here"]
    assert runs["heavy"] == pytest.approx(runs["ballistic"], abs=1e-6) == pytest.approx(19 / 21, abs=1e-6)
    assert runs["newton"] == 0
