"""The noise spectrum's script against the library, its bars against the record, and the power law's exponent."""

from __future__ import annotations

import json

import numpy as np
import oracles
import pytest
from paths import ROOT

from lossnav import records

RECORD = ROOT / "book" / "results" / "moving-network.json"
SETTINGS = [
    {"eta": 0.01, "beta": 0.9, "slope": 0.5, "own": 1, "n": 100},
    {"eta": 0.1, "beta": 0.0, "slope": 0.0, "own": 0, "n": 3000},
    {"eta": 0.001, "beta": 0.99, "slope": 1.0, "own": 0, "n": 2},
    {"eta": 0.037, "beta": 0.6, "slope": 0.3, "own": 0, "n": 41},
]
ALL = """given.map((s) => { const far = M.spectrumDistances(s);
  return { far: [1, 2, 3, 10, 100, 3000].map((n) => far[n]), c: [2, 3, 30, 3000].map((n) => M.exponentAt(far, n)),
           counts: [0, 1e-4, 0.01, 1, 3].map((h) => M.stillCounts(h, s.n, s)) }; })"""


def test_bars_are_those_of_the_record():
    held = json.loads((ROOT / "lossnav" / "explore" / "noise_spectrum" / "constants.json").read_text())
    base = [run for run in records.load(RECORD).results["runs"] if run["sweep"] == "base"]
    shares = np.zeros(len(held["shares"]))
    for run in base:
        curvature = np.maximum(np.array(run["nodes"]) + run["setting"]["decay"], 2.0 ** held["first"])
        place = np.floor(np.log2(curvature) - held["first"]).astype(int)
        np.add.at(shares, place, np.array(run["weights"]) / np.sum(run["weights"]) / len(base))
    np.testing.assert_allclose(held["shares"], shares, atol=5e-5)
    assert sum(held["shares"]) == pytest.approx(1.0, abs=1e-3)
    assert held["trace"] == pytest.approx(np.mean([np.sum(run["weights"]) for run in base]), rel=1e-3)
    assert all(run["setting"]["batch"] == held["batch"] for run in base)


def test_script_computes_what_the_library_does(noise_spectrum):
    for setting, computed in zip(SETTINGS, noise_spectrum(ALL, SETTINGS), strict=True):
        widget = oracles.NoiseSpectrum(**setting)
        np.testing.assert_allclose(computed["far"], widget.distances([1, 2, 3, 10, 100, 3000]), rtol=1e-9)
        np.testing.assert_allclose(computed["c"], [widget.exponent(n) for n in (2, 3, 30, 3000)], rtol=1e-6)
        np.testing.assert_allclose(computed["counts"], widget.counts([0, 1e-4, 0.01, 1, 3]), rtol=1e-8)


def test_a_power_law_of_the_noise_is_one_of_the_distance():
    for slope in (0.25, 0.5, 0.75):  # as far as sixteen octaves let it
        widget = oracles.NoiseSpectrum(slope=slope, own=0)
        assert [widget.exponent(n) for n in (300, 1000)] == pytest.approx([1 - slope] * 2, abs=0.09)
    own = oracles.NoiseSpectrum()
    assert own.exponent(30) - own.exponent(300) > 0.3  # the network's bars are none


def test_octaves_predict_what_the_finer_spectrum_does():
    steps = [1, 10, 100, 1000]
    fine, coarse = oracles.MovingNetwork().distances(steps), oracles.NoiseSpectrum().distances(steps)
    np.testing.assert_allclose(coarse, fine, rtol=0.06)


def test_the_curvature_of_which_a_half_counts_is_told_within_the_memory_too(noise_spectrum):
    settings = [(0.1, 0.99, 10), (0.01, 0.9, 100), (0.1, 0.99, 3000), (0.001, 0.0, 2000), (0.01, 0.9, 2)]
    given = [{"eta": eta, "beta": beta, "n": n, "slope": 0.5, "own": 1} for eta, beta, n in settings]
    halves = noise_spectrum("given.map((s) => M.halfCounts(s.n, s))", given)
    for setting, half in zip(given, halves, strict=True):
        if half is None:
            assert np.all(oracles.NoiseSpectrum(**setting).counts(np.logspace(-6, np.log10(4), 60)) > 0.5)
        else:
            assert oracles.NoiseSpectrum(**setting).counts([half])[0] == pytest.approx(0.5, abs=1e-4)
            assert np.all(oracles.NoiseSpectrum(**setting).counts(half * np.array([0.1, 0.5, 0.99])) > 0.5)
    assert [half is None for half in halves] == [False, False, False, False, True]
    assert halves[0] > 50 * (1 - 0.99) / (0.1 * 10)  # the diffusive edge is far from it there


def test_the_search_for_that_curvature_starts_below_it_wherever_the_dials_are():
    held = oracles.NoiseSpectrum._shared
    start = 2.0 ** (held["first"] - 6)
    dials = [(eta, beta, n) for eta in (0.001, 0.02, 0.1) for beta in (0.0, 0.9, 0.99) for n in (2, 60, 3000)]
    counted = {dial: oracles.NoiseSpectrum(**dict(zip(("eta", "beta", "n"), dial, strict=True))).counts([start])[0]
               for dial in dials}  # fmt: skip
    assert min(counted, key=counted.__getitem__) == (0.1, 0.99, 3000) and min(counted.values()) > 0.98
    for eta, beta, n in ((0.1, 0.99, 10), (0.1, 0.99, 300), (0.01, 0.9, 100), (0.02, 0.3, 3000)):
        fine = oracles.NoiseSpectrum(eta=eta, beta=beta, n=n).counts(start * 2.0 ** np.arange(0, 22, 0.1))
        below = np.flatnonzero(fine <= 0.5)
        assert len(below) and np.all(np.diff(below[:11]) == 1)  # a whole octave: steps of one miss no earlier half
