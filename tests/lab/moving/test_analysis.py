"""Prediction beside measurement from Python: what is refused, and what a reader of the rows is told."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

from lossnav import moving
from lossnav.lab.moving import analysis


def line(slopes=(1.0, 0.05)) -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    """A regression with one steep and one flat direction, at its minimum."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(400, 2, generator=draw).double() * torch.tensor(slopes).double()
    y = torch.randn(400, 1, generator=draw).double()
    model = nn.Linear(2, 1, bias=False).double()
    model.weight.data = torch.linalg.lstsq(x, y).solution.T.contiguous()
    return model, (x, y)


SETTING = moving.Setting(eta=0.02, beta=0.8, batch=16)


@pytest.mark.slow
def test_a_regression_at_its_minimum_is_predicted_in_every_row():
    model, data = line(slopes=(1.0, 0.5))
    analysis = moving.analyse(model, data, SETTING, loss=mse_loss, steps=4000, burn=1000, modes=2, seed=3)
    assert len(repr(analysis)) < 2000 and "array" not in repr(analysis)
    ratios = {row.name: row.ratio for row in analysis.rows}
    assert ratios["speed |δ|² per step"] == pytest.approx(1.0, abs=0.08)
    assert ratios["equipartition, median of 2 modes"] == pytest.approx(1.0, abs=0.15)
    assert not analysis.notes


@pytest.mark.slow
def test_a_drift_along_a_flat_direction_is_told_of():
    """The start is moved along a direction that is so flat that neither loss nor speed shows it."""
    model, data = line(slopes=(1.0, 0.02))
    model.weight.data[0, 1] += 25.0
    analysis = moving.analyse(model, data, SETTING, loss=mse_loss, steps=3000, burn=200, modes=2, seed=3, anyway=True)
    assert any("it drifts along flat directions" in note for note in analysis.notes)
    assert analysis.rows[0].ratio == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow
def test_equipartition_takes_the_curvature_of_the_walk_and_not_of_its_mean():
    """L = w²/2 + 3w⁴/10 + wξ, whose curvature 1 + 18w²/5 the noise leaves at its mean alone as it is."""
    model = nn.Linear(1, 1, bias=False).double()
    model.weight.data.zero_()
    data = torch.ones(400, 1).double(), 12 * torch.randn(400, 1, generator=torch.Generator().manual_seed(0)).double()
    data[1].sub_(data[1].mean())

    def loss(w, xi):
        return (w.square() / 2 + 0.3 * w**4 + w * xi).mean()

    analysis = moving.analyse(model, data, moving.Setting(0.03, 0.5, 4), loss=loss, steps=4_000, burn=600, modes=1)
    shares = {at: analysis.run.equipartition(getattr(analysis.basin, at))[0] for at in ("values", "along")}
    assert shares["values"] < 0.7 and shares["along"] == pytest.approx(analysis.rows[-1].measured)
    met = 1 + 3.6 * np.mean(analysis.run.positions**2)  # the mean along the whole walk
    assert analysis.run.equipartition([met])[0] == pytest.approx(1.0, abs=0.1)
    assert analysis.basin.along[0] == pytest.approx(met, rel=0.4)  # of a few points
    assert any("no quadratic: along the walk" in note for note in analysis.notes)


def test_far_from_its_minimum_it_is_refused():
    model, data = line()
    model.weight.data[0, 0] += 3.0
    cold = moving.Setting(eta=2e-4, beta=0.8, batch=16)
    with pytest.raises(moving.NotStationary, match="its loss went from"):
        moving.analyse(model, data, cold, loss=mse_loss, steps=600, burn=64, modes=1)


def test_an_unstable_setting_is_named_before_anything_is_run():
    model, data = line()
    with pytest.raises(ValueError, match=r"eta = 5, beta = 0.8 and rho \+ decay = .* are unstable"):
        moving.analyse(model, data, moving.Setting(eta=5.0, beta=0.8, batch=16), loss=mse_loss, modes=1)


def test_a_forecast_is_the_law_of_single_modes():
    """One eigenpair and noise in it alone: the quadrature has nothing to approximate."""
    model, data = line(slopes=(1.0, 0.5))
    points = model.weight.detach().reshape(1, -1)
    basin = moving.measure(model, data, points, loss=mse_loss, modes=2, draws=200, nodes=2)
    expected = moving.forecast(basin, SETTING)
    s2 = basin.noises / 16
    speeds = 2 * s2 / (0.2 * (2 * 1.8 - 0.02 * basin.values))
    np.testing.assert_allclose(expected.velocity_variances, speeds, rtol=1e-6)
    assert expected.speed == pytest.approx(0.02**2 * speeds.sum(), rel=1e-3)
    assert expected.excess == pytest.approx(np.sum(basin.values * expected.position_variances) / 2, rel=0.02)
    widest = np.sum(0.02 * 1.8 / basin.values * speeds)  # twice the variance, for positions far apart in time
    assert expected.displacement([10**7])[0] == pytest.approx(widest, rel=0.1)


@pytest.mark.parametrize(("eta", "beta", "decay"), [(0.05, 0.9, 0.001), (0.1, 0.99, 5e-4), (0.1, 0.9, 0.02)])
def test_what_an_invariant_layer_forgets_in_is_told_under_long_momentum_too(eta, beta, decay):
    """A particle on a loss of the direction alone, pulled by 1/r, started 5 % off its rest."""
    rest = (eta * (1 + beta) / (2 * decay * (1 - beta) ** 2)) ** 0.25
    q, v, fourth = np.array([1.05 * rest, 0.0]), np.zeros(2), []
    for _ in range(12_000):
        v = beta * v - np.array([-q[1], q[0]]) / (q @ q) - decay * q
        q = q + eta * v
        fourth.append((q @ q) ** 2)
    away = np.abs(np.array(fourth) - fourth[-1])
    ends = [int(np.flatnonzero(away > away.max() * np.exp(-fall))[-1]) for fall in (1.0, 5.0)]
    told = analysis._memory(moving.Setting(eta=eta, beta=beta, decay=decay))
    assert told == pytest.approx((ends[1] - ends[0]) / 4, rel=0.12)
