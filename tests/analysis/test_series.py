"""Drift, memory and rotation of series whose laws are known."""

from __future__ import annotations

import numpy as np
import pytest

from lossnav.analysis import series


def autoregressive(memory: float, steps: int, seed: int) -> np.ndarray:
    kicks, values = np.random.default_rng(seed).normal(size=steps), np.zeros(steps)
    for k in range(1, steps):
        values[k] = memory * values[k - 1] + kicks[k]
    return values


def test_the_error_of_a_drift_is_that_of_many_series():
    drifts = [series.drift(autoregressive(0.8, 4000, seed)) for seed in range(150)]
    z = np.array([drift.change / drift.error for drift in drifts])
    assert 0.75 < np.sqrt(np.mean(z**2)) < 1.4
    assert np.mean([drift.exceeds(0.0) for drift in drifts]) < 0.05


def test_a_drift_is_seen_and_a_steady_one_is_no_scatter():
    falling = autoregressive(0.8, 4000, 1) - np.linspace(0, 4, 4000)
    drift = series.drift(falling)
    assert drift.change == pytest.approx(-2.0, abs=5 * drift.error) and drift.exceeds(1.0) and not drift.exceeds(3.0)
    assert series.drift(np.linspace(0, 1, 640)).error < 1e-12


def test_an_autoregressive_series_forgets_geometrically():
    lags = [0, 1, 5, 10]
    process = autoregressive(0.9, 200_000, 2)
    pair = np.stack([process, np.random.default_rng(0).normal(size=len(process))], axis=1)
    correlation = series.autocorrelation(pair, np.array(lags))
    np.testing.assert_allclose(correlation[:, 0], 0.9 ** np.array(lags), atol=0.03)
    np.testing.assert_allclose(correlation[:, 1], [1, 0, 0, 0], atol=0.02)


def test_a_circle_is_swept_at_its_own_rate_wherever_its_centre_is():
    angle = 2 * np.pi / 50
    turns = angle * np.arange(1001)[:, None]
    for sense in (1, -1):
        circulation = series.circulation(7 + 3 * np.cos(turns), 3 * sense * np.sin(turns), eta=0.5)
        assert circulation[0] == pytest.approx(sense * 9 * np.sin(angle) / 0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: series.drift(np.zeros(31)), "values has 31 entries"),
        (lambda: series.drift(np.zeros(99), blocks=2), "blocks = 2"),
        (lambda: series.autocorrelation([1.0, 2.0], [2]), "lags has 2"),
        (lambda: series.autocorrelation([0.0, 0.0], [0]), "values holds a series that is zero"),
        (lambda: series.circulation([[1.0], [2.0]], [[1.0]], eta=1.0), "velocities has shape"),
        (lambda: series.circulation([[1.0], [2.0]], [[1.0], [1.0]], eta=0.0), "eta = 0.0"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
