"""The script of a deadline against the library's rates and weights."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest

from lossnav import explore

WARM = (0.0, 0.5, 1.0, 1.0, 0.6, 0.2, 0.1)
SETTINGS = [
    {"span": span, "gamma": gamma, "charge": charge, "drawn": drawn}
    for span, gamma, charge, drawn in itertools.product(
        [1.0, 7.5], [0.0, 1e-5, 2.0], [0.0, 0.3, 4.0], [WARM, (1.0,) * 7]
    )
]
SETTINGS.append({"span": 5.5, "gamma": 1.0, "charge": 0.0, "drawn": tuple(0.1 * np.arange(1, 8))})  # < 0 for a moment
LEFT = np.array([0.0, 1e-4, 0.1, 0.5, 1.0])  # in parts of T
ALL = (
    "given.map((s) => ({ ...M.impliedWeight(s), rates: [0, 1, 25].map((h) =>"
    " [0, 1e-4, 0.1, 0.5, 1].map((u) => M.shareOfRate(h, s.span * u, s))) }))"
)


@pytest.mark.slow
def test_script_and_library_have_the_same_rates_and_weights(module):
    for setting, answer in zip(SETTINGS, module(explore.Deadline)(ALL, SETTINGS), strict=True):
        widget = oracles.Deadline(**setting)
        for h, rates in zip((0.0, 1.0, 25.0), answer["rates"], strict=True):
            np.testing.assert_allclose(rates, widget.multiplier(h, setting["span"] * LEFT), rtol=1e-9, atol=1e-12)
        weight, end = widget.weight()
        np.testing.assert_allclose(answer["weights"], weight, rtol=1e-9, atol=1e-9)
        assert answer["end"] == pytest.approx(end)
        assert answer["negative"] == pytest.approx(widget.negative(), abs=1e-5)
        assert answer["endShare"] == pytest.approx(widget.end_share(), rel=1e-5)


def test_who_wants_what():
    assert not np.any(oracles.Deadline(gamma=0.0).weight()[0] < 0)  # a cosine
    assert np.mean(oracles.Deadline(gamma=0.0, drawn=WARM).weight()[0] < 0) == pytest.approx(1 / 3)
    flat, end = oracles.Deadline(gamma=0.0, drawn=(0.5,) * 7).weight()
    np.testing.assert_allclose(flat, 0.0, atol=1e-12)  # a constant: the end alone is charged
    assert end == pytest.approx(0.5)
