"""Every combination that a board offers: formula, program, Python text and numbers say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
import torch

import lossnav as ln
from lossnav.rules.derive import board

CORNERS = [tuple(positions.values()) for positions in board.combinations()]
THETA, G = np.array([0.7, -1.2]), np.array([0.6, -0.3])


def positions(corner):
    return dict(zip(board.SWITCHES, corner, strict=True))


def speed(law, rule, mean, variance, price):
    """Evaluate the text of a law; what JavaScript calls Math is Python's math here."""
    text = law.replace("Math.", "math.")
    return np.array(
        [
            eval(text, {"math": math}, {**board.NUMBERS, "theta": t, "m": m, "V": v, "G": g})
            for t, m, v, g in zip(THETA, mean, variance, price, strict=True)
        ]
    )


@pytest.mark.parametrize("corner", CORNERS, ids="-".join)
def test_formula_program_and_text_of_a_corner_are_its_rule(corner):
    shown = board.corner(positions(corner))
    if shown["refused"]:
        assert positions(corner)["horizon"] == "far" and positions(corner)["curvature"] == "none"
        assert positions(corner)["belief"] != "fading" and "no minimiser" in shown["refused"]
        return
    rule = board.chosen(positions(corner))
    space: dict = {}
    exec(shown["python"], space)
    expected, state = rule(G, rule.init(THETA), THETA)
    np.testing.assert_array_equal(space["rule"](G, rule.init(THETA), THETA)[0], expected)
    assert space["rule"].source == shown["source"]
    later, _ = rule(G + 1, state, THETA + expected)
    weights = torch.nn.Parameter(torch.tensor(THETA))
    optimizer = rule.optimizer([weights])
    for g in (G, G + 1):
        weights.grad = torch.tensor(g)
        optimizer.step()
    np.testing.assert_allclose(weights.detach().numpy(), THETA + expected + later, rtol=0, atol=1e-13)
    if positions(corner)["time"] == "first":  # in step 1 every corrected average is its datum
        np.testing.assert_allclose(0.1 * speed(shown["law"], rule, G, G * G, np.abs(G)), expected, rtol=1e-12)
    for text in (shown["equation"], shown["velocity"]):
        assert text.count("{") == text.count("}") and r"\theta" in text + r"\theta"
    assert (r"\gamma" in shown["equation"]) == (positions(corner)["horizon"] == "discounted")
    assert r"\ddot\theta" in shown["equation"]


def test_names_are_of_settings_that_exist_and_numbers_can_be_others():
    assert set(board.NAMES) <= set(CORNERS)
    assert board.corner(positions(CORNERS[-1]), gamma=0.25)["python"].count("gamma=0.25") == 1
    adam = positions(("far", "plain", "none", "fading", "average", "first"))
    assert board.chosen(adam, alpha=0.5).belief.fading == 0.5
    V, c = sympy.symbols("V c", positive=True)
    assert {V, c} <= board.chosen(adam).velocity.free_symbols
    with pytest.raises(ValueError, match=r"positions\['metric'\]"):
        board.corner({**adam, "metric": "round"})
    with pytest.raises(ValueError, match="numbers has"):
        board.chosen(adam, lr=0.5)
    with pytest.raises(ValueError, match="positions names"):
        board.chosen({"metric": "plain"})
    assert isinstance(board.chosen(adam), ln.LearningRule)
