"""The belief's script against lossnav.belief, a discretised Euler–Lagrange equation, and quadrature of its kernel."""

from __future__ import annotations

import itertools

import numpy as np
import oracles
import pytest
import scipy.integrate
import scipy.linalg
import scipy.stats
from oracles.stream import gradient_stream, uniform

from lossnav.trajectory.beliefs import memory

SETTINGS = [
    {"gamma": gamma, "decay": decay, "diffusion": diffusion, "noise": 0.8}
    for gamma, decay, diffusion in itertools.product((0.0, 0.1, 2.0), (0.0, 0.3), (0.05, 0.6))
]


def model(setting: dict):
    return memory(setting["decay"], setting["gamma"], setting["diffusion"], setting["noise"])


def test_law_is_that_of_the_memory(belief_filter):
    for setting, law in zip(SETTINGS, belief_filter("given.map(M.beliefLaw)", SETTINGS), strict=True):
        expected = model(setting)
        for name, value in (
            ("beta", expected.beta), ("gain", expected.gain), ("rate", expected.rate),
            ("causal", expected.causal_fraction), ("stiffness", expected.stiffness),
        ):  # fmt: skip
            assert law[name] == pytest.approx(value, rel=1e-12), (name, setting)


def test_weights_are_the_kernel_over_the_step_that_a_gradient_holds(belief_filter):
    lags = [-30, -2, -1, 0, 1, 25]
    expression = """given.settings.map((s) => {
        const law = M.beliefLaw(s);
        return given.lags.map((lag) => [M.smootherWeight(law, lag), M.averageWeight(law, lag)]);
    })"""
    for setting, weights in zip(SETTINGS, belief_filter(expression, {"settings": SETTINGS, "lags": lags}), strict=True):
        kernel = model(setting)
        for lag, pair in zip(lags, weights, strict=True):
            for weight, shape in zip(pair, (kernel.smoother, kernel.average), strict=True):
                exact = scipy.integrate.quad(lambda u, shape=shape: float(shape(u)), lag + 1e-12, lag + 1 - 1e-12)[0]
                assert weight == pytest.approx(exact, rel=1e-8, abs=1e-12), (setting, lag)


def test_average_is_the_filter(belief_filter):
    data = np.random.default_rng(0).normal(size=40)
    expression = "given.settings.map((s) => M.averages(M.beliefLaw(s), given.data))"
    for setting, averages in zip(
        SETTINGS, belief_filter(expression, {"settings": SETTINGS, "data": data.tolist()}), strict=True
    ):
        np.testing.assert_allclose(averages, model(setting).filter(data), atol=1e-13)


def solved(setting: dict, data: np.ndarray, parts: int = 40) -> np.ndarray:
    """ẍ − γẋ = Ax − Bg by central differences, data zero outside, x = 0 far away."""
    m = model(setting)
    pad = int(np.ceil(16 / m.rate))
    forcing = np.repeat(np.concatenate([np.zeros(pad), data, np.zeros(pad)]), parts)
    h, count = 1 / parts, len(forcing) - 1
    held = (forcing[1:] + forcing[:-1]) / 2  # a node between two steps sees half of each
    bands = np.empty((3, count))
    bands[0], bands[1], bands[2] = 1 - m.gamma * h / 2, -2 - m.stiffness * h**2, 1 + m.gamma * h / 2
    x = scipy.linalg.solve_banded((1, 1), bands, -m.evidence * h**2 * held)
    return x[parts * (pad + 1) - 1 :: parts][: len(data)]


@pytest.mark.parametrize("index", [0, 3, 4, 5, 9, 11])
def test_smoother_solves_the_euler_lagrange_equation(belief_filter, index):
    setting, data = SETTINGS[index], np.random.default_rng(1).normal(size=60)
    smoothed = belief_filter("M.smoothed(M.beliefLaw(given[0]), given[1])", [setting, data.tolist()])
    np.testing.assert_allclose(smoothed, solved(setting, data), atol=2e-4)


def test_half_the_weight_lies_on_the_future_without_discounting(belief_filter):
    expression = "given.map((gamma) => M.beliefLaw({ gamma, decay: 0, diffusion: 0.1, noise: 1 }))"
    patient, hasty = belief_filter(expression, [0, 2])
    assert patient["causal"] == 0.5
    assert hasty["causal"] > 0.99
    assert hasty["rate"] < patient["rate"] / 10  # and its memory is longer


@pytest.mark.parametrize("jumps", [[], [(7, -2.0), (90, 1.5)]])
def test_stream_is_the_same_in_both_languages(belief_filter, jumps):
    expression = "M.gradientStream(given.seed, given.jumps).upTo(400)"
    for seed in (0, 3, 999_999):
        stream = belief_filter(expression, {"seed": seed, "jumps": jumps})
        means, gradients = gradient_stream(seed, jumps, 400)
        np.testing.assert_allclose(stream["means"], means, atol=1e-12)
        np.testing.assert_allclose(stream["gradients"], gradients, atol=1e-12)


def test_stream_grows_without_changing(belief_filter):
    expression = "(() => { const s = M.gradientStream(3, []); s.upTo(5); return [s.upTo(50), s.upTo(20)]; })()"
    long, short = belief_filter(expression)
    assert short["gradients"] == long["gradients"][:20]


@pytest.mark.parametrize("salt", [0, 25, 4_000_003])
def test_hash_is_uniform_and_its_neighbours_independent(salt):
    numbers = uniform(np.arange(20_000), salt)
    assert scipy.stats.kstest(numbers, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.03
    assert abs(np.corrcoef(numbers, uniform(np.arange(20_000), salt + 1))[0, 1]) < 0.03


def test_widget_and_script_show_the_same_lines(belief_filter):
    widget = oracles.BeliefFilter(gamma=0.4, decay=0.02, diffusion=0.2, noise=1.0, now=90, seed=5, jumps=[(60, 2.0)])
    expression = """(() => {
        const law = M.beliefLaw(given), data = M.gradientStream(given.seed, given.jumps).upTo(400).gradients;
        return [M.averages(law, data), M.smoothed(law, data)].map((line) => line.slice(0, 90));
    })()"""
    state = {name: getattr(widget, name) for name in ("gamma", "decay", "diffusion", "noise", "seed", "jumps")}
    average, smoother = belief_filter(expression, state)
    beliefs = widget.beliefs(90)
    np.testing.assert_allclose(beliefs["average"], average, atol=1e-12)
    np.testing.assert_allclose(beliefs["smoother"], smoother, atol=1e-6)  # both stop looking ahead somewhere
    assert widget.errors()["smoother"] < widget.errors()["average"]
