"""A network on MNIST that goes on after training: what was predicted before is what it does."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from resources import real, recorded
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from lossnav import moving, sgd
from lossnav.analysis import series
from lossnav.lab.moving.sweeps import rested

pytestmark = pytest.mark.slow
SETTINGS = [{"eta": 0.003}, {"eta": 0.03}, {"batch": 256}, {"beta": 0.8}]


@pytest.fixture(scope="module")
def arrived():
    """A trained network, its data, the study's script, and the basin that a pilot walk has visited."""
    script, threads = recorded("moving_network"), torch.get_num_threads()
    torch.set_num_threads(1)
    images = script.pictures(real("mnist"))
    base, hot = script.BASE, replace(script.BASE, eta=0.05)
    model = rested(script.network(0), images, ((hot, 3000), (base, 4000)), seed=0)
    pilot = moving.walk(model, images, base, steps=3000, burn=200, seed=1, starts=3, longest=1)
    basin = moving.measure(model, images, pilot.points, mean=pilot.mean, modes=20, draws=6, nodes=30)
    vector_to_parameters(pilot.final, model.parameters())
    yield model, images, base, basin, pilot.mean
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def run(arrived):
    model, images, base, basin, _ = arrived
    return moving.walk(model, images, base, steps=5000, burn=200, seed=2, directions=basin.vectors)


@pytest.fixture(scope="module")
def elsewhere(arrived):
    """(setting, run, tr Σ where the run was) at other settings."""
    model, images, base, _, _ = arrived
    found = []
    for change in [*SETTINGS, {"eta": 0.001}]:
        setting = replace(base, **change)
        way = moving.walk(model, images, setting, steps=1200, burn=400, seed=3)
        there = moving.measure(model, images, way.points[::10], modes=0, draws=1, nodes=2, examples=3000)
        found.append((setting, way, there.trace))
    return found


def test_it_has_arrived(run):
    assert not series.drift(run.loss).exceeds(0.002) and not series.drift(run.velocity_squared).exceeds(0.1)


def test_speed_and_distance_are_predicted_with_nothing_fitted(arrived, run):
    _, _, base, basin, _ = arrived
    expected = moving.forecast(basin, base)
    assert 0.85 < run.speed / expected.speed < 1.15
    far, lags = run.displacement.mean(axis=0), run.lags
    ratio = far / expected.displacement(lags)
    assert (np.abs(ratio[lags <= 300] - 1) < 0.2).all()
    assert 0.6 < ratio[-1] < 2.0
    window = (lags >= 30) & (lags <= 1000)
    c = sgd.exponent(lags[window], far[window])
    assert abs(c - expected.exponent(lags[window])) < 0.15 and 0.3 < c < 0.8


def test_speed_at_other_settings(arrived, run, elsewhere):
    _, _, base, _, _ = arrived
    for setting, way, trace in elsewhere:
        rest = {"eta": setting.eta, "beta": setting.beta, "batch": setting.batch}
        absolute = way.speed / sgd.speed(0.0, gradient_variance=trace, **rest)
        constant = run.speed * base.batch * (1 - base.beta**2) / base.eta**2
        calibrated = way.speed / sgd.speed(0.0, gradient_variance=constant, **rest)
        assert 0.85 < absolute < 1.15, setting
        if 0.003 <= setting.eta <= 0.015:
            assert 0.75 < calibrated < 1.25, setting


def test_the_exponent_falls_with_the_learning_rate(elsewhere):
    found = {}
    for setting, way, _ in elsewhere:
        window = way.lags >= 30
        found[setting.eta] = sgd.exponent(way.lags[window], way.displacement.mean(axis=0)[window])
    assert found[0.001] - found[0.03] > 0.15


def test_eigenpairs_are_those_of_differences_of_gradients(arrived):
    model, (x, y), _, basin, centre = arrived
    model, rest = copy.deepcopy(model).double(), {}
    for sign in (1, -1):
        for mode in (0, 4, 9):
            vector_to_parameters(centre.double() + sign * 1e-4 * basin.vectors[mode].double(), model.parameters())
            slopes = torch.autograd.grad(cross_entropy(model(x.double()), y), list(model.parameters()))
            rest[sign, mode] = parameters_to_vector(slopes)
    for mode in (0, 4, 9):
        bent = (rest[1, mode] - rest[-1, mode]) / 2e-4 - basin.values[mode] * basin.vectors[mode].double()
        assert bent.norm() < 1e-2 * basin.values[mode]


def test_modes_turn_remember_and_share_as_oscillators_do(arrived, run):
    _, _, base, basin, _ = arrived
    expected = moving.forecast(basin, base)
    speeds = run.velocities.var(axis=0)
    turns = series.circulation(run.positions, run.velocities, eta=base.eta) / speeds
    np.testing.assert_allclose(turns, expected.circulations / expected.velocity_variances, rtol=0.08)
    lags = list(range(0, 41, 5))
    memory = series.autocorrelation(run.velocities - run.velocities.mean(0), lags)
    for mode in (0, 9, 19):
        assert np.abs(memory[:, mode] - expected.autocorrelation(mode, lags)).max() < 0.2
    shares = run.equipartition(basin.values + base.decay)
    assert 0.8 < np.median(shares) < 1.3 and (shares > 0.4).all() and (shares < 2.5).all()


def test_the_cloud_is_not_gibbs_and_has_the_slopes_that_its_noise_says(arrived, run):
    _, _, base, basin, _ = arrived
    expected = moving.forecast(basin, base)
    slope = lambda values: np.polyfit(np.log(basin.values), np.log(values), 1)[0]
    wide, fast = slope(run.positions.var(axis=0)), slope(run.velocities.var(axis=0))
    assert wide > -0.35  # Gibbs's law has −1
    assert wide == pytest.approx(slope(expected.position_variances), abs=0.25)
    assert fast == pytest.approx(slope(expected.velocity_variances), abs=0.25) and 0.8 < fast < 2.0


def test_shuffled_epochs_are_as_fast_and_stay_nearer(arrived, run):
    model, images, base, _, _ = arrived
    way = moving.walk(model, images, replace(base, sampling="epochs"), steps=3000, burn=300, seed=4)
    assert way.speed == pytest.approx(run.speed, rel=0.1)
    at = lambda found: np.interp(1000, found.lags, found.displacement.mean(axis=0))
    assert at(way) < 0.6 * at(run)
