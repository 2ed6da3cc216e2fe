"""Two weights in a row: the script's walk against Python's, and the quantity against the library's recursion."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest

from lossnav import noether

SETTINGS = [
    {"start": start, "eta": eta, "beta": beta, "decay": decay, "noise": noise}
    for start, (eta, beta), (decay, noise) in itertools.product(
        [[2.0, 0.1], [-0.5, 1.5]], [(0.01, 0.0), (0.03, 0.5), (0.005, 0.9)], [(0.0, 0.0), (0.05, 0.5), (0.0, 1.0)]
    )
]
ALL = """given.map((s) => { const walk = M.pairWalk(s);
  return { ...walk, law: M.chargeLaw(walk.imbalance[0], walk.sources, s),
           alone: M.chargeLaw(walk.imbalance[0], Array(600).fill(0), s) }; })"""


def test_script_walks_as_python_does_and_its_law_is_the_librarys(broken_charge):
    for setting, scripted in zip(SETTINGS, broken_charge(ALL, SETTINGS), strict=True):
        widget = oracles.BrokenCharge(**setting)
        walk = widget.walk()
        assert len(walk) == 601
        np.testing.assert_allclose(scripted["points"], walk, atol=1e-10)
        np.testing.assert_allclose(scripted["imbalance"], widget.imbalance(), atol=1e-10)
        np.testing.assert_allclose(scripted["alone"], widget.decay_alone(), atol=1e-12)
        speeds = (np.diff(walk, axis=0) / setting["eta"]) ** 2 @ [1.0, -1.0]
        laws = {name: setting[name] for name in ("eta", "beta", "decay")}
        law = noether.discrete_rescale(walk[0] ** 2 @ [1.0, -1.0], 0.0, speeds, **laws)[0]
        np.testing.assert_allclose(scripted["law"], law, atol=1e-9)
        np.testing.assert_allclose(scripted["law"], widget.imbalance(), atol=1e-9)


def test_small_steps_without_decay_conserve_it_and_noise_evens_it_out():
    imbalance = oracles.BrokenCharge(eta=0.001, decay=0.0, noise=0.0).imbalance()
    assert np.ptp(imbalance) < 0.01
    noisy = oracles.BrokenCharge((1.2, 0.2), 0.1, 0.0, 0.0, 1.0)
    walk, size = noisy.walk(), noisy.imbalance()
    residuals = np.diff(walk, axis=0)[:50, 0] / walk[:50, 1]  # −ηr: g = r·(b, a)
    np.testing.assert_allclose(size[1:51] / size[:50], 1 - residuals**2, rtol=1e-9)
    assert abs(size[-1]) < 1e-3 * size[0] and walk[-1, 0] == pytest.approx(walk[-1, 1], abs=1e-2)


def test_decay_alone_is_a_damped_oscillator():
    widget = oracles.BrokenCharge(eta=0.01, beta=0.0, decay=0.1)
    np.testing.assert_allclose(widget.decay_alone(), 3.99 * (1 - 2 * 0.01 * 0.1) ** np.arange(601), rtol=1e-12)


def test_what_runs_away_says_so():
    widget = oracles.BrokenCharge((2.2, 0.0), 0.1, 0.9, 0.0, 1.0)
    assert len(widget.walk()) < 601
