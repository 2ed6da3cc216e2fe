"""Memories of beliefs: rates, kernels and gains against recursions, quadrature and the solution of their equation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

from lossnav import belief

CASES = [(0.0, 0.0, 0.3, 2.0), (0.4, 0.0, 0.5, 0.7), (0.0, 3.0, 1.0, 1.0), (0.2, 12.0, 0.6, 0.3), (1.5, 0.1, 0.01, 1.0)]


@pytest.mark.parametrize("case", CASES)
def test_rate_is_the_decaying_root(case: tuple[float, ...]) -> None:
    decay, gamma, diffusion, noise = case
    memory = belief.memory(*case, dt=0.2)
    evidence = diffusion**2 / noise**2
    stiffness = decay * (decay + gamma) + evidence
    low = np.sort(np.roots([1.0, -gamma, -stiffness]).real)[0]
    assert memory.rate == pytest.approx(-low, rel=1e-12)
    assert memory.stiffness == pytest.approx(stiffness, rel=1e-14)
    assert memory.beta == pytest.approx(math.exp(low * 0.2), rel=1e-12)
    assert memory.gain == pytest.approx(evidence / stiffness, rel=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_smoother_solves_the_equation_for_data_of_the_past_and_the_future(case: tuple[float, ...]) -> None:
    """The kernel against a sparse solution of x'' − γx' = Ax − By for one burst of data."""
    decay, gamma, diffusion, noise = case
    memory = belief.memory(*case)
    span, count = 24 / memory.rate, 12_001
    t = np.linspace(-span, span, count)
    h = t[1] - t[0]
    burst = np.exp(-(t**2) / (2 * (span / 40) ** 2))
    stiffness, evidence = decay * (decay + gamma) + diffusion**2 / noise**2, diffusion**2 / noise**2
    bands = np.zeros((3, count))
    bands[0, 2:] = 1 / h**2 - gamma / (2 * h)
    bands[1] = -2 / h**2 - stiffness
    bands[2, :-2] = 1 / h**2 + gamma / (2 * h)
    bands[1, [0, -1]] = 1.0
    right = -evidence * burst
    right[[0, -1]] = 0.0
    solved = scipy.linalg.solve_banded((1, 1), bands, right)
    places = np.linspace(-0.3 * span, 0.3 * span, 7)
    for place in places:
        weighted = np.trapezoid(memory.smoother(place - t) * burst, t)
        assert np.interp(place, t, solved) == pytest.approx(weighted, abs=2e-3 * np.max(solved))


@pytest.mark.parametrize("case", CASES)
def test_kernels_have_the_shares_that_are_claimed(case: tuple[float, ...]) -> None:
    memory = belief.memory(*case)
    past, _ = scipy.integrate.quad(memory.smoother, 0, 60 / memory.rate, limit=400)
    future, _ = scipy.integrate.quad(memory.smoother, -60 / (memory.rate + memory.gamma), 0, limit=400)
    assert past + future == pytest.approx(memory.gain, rel=1e-6)
    assert past / (past + future) == pytest.approx(memory.causal_fraction, rel=1e-6)
    root = math.sqrt(memory.gamma**2 + 4 * memory.stiffness)
    assert memory.causal_fraction == pytest.approx((1 + memory.gamma / root) / 2, rel=1e-12)
    integral, _ = scipy.integrate.quad(memory.average, 0, 60 / memory.rate, limit=400)
    assert integral == pytest.approx(memory.gain, rel=1e-6)
    assert float(memory.average(-0.1)) == 0.0


def test_distance_to_the_average_falls_as_one_over_gamma() -> None:
    def distance(gamma: float) -> float:
        memory = belief.from_beta(0.9, gamma=gamma)
        t = np.linspace(-200, 200, 400_001)
        return float(np.trapezoid(np.abs(memory.smoother(t) - memory.average(t)), t))

    one, two = distance(40.0), distance(80.0)
    assert math.log2(one / two) == pytest.approx(1.0, abs=0.02)


def test_bandwidth_without_discount_is_that_of_the_kalman_bucy_filter() -> None:
    """At γ = 0, ρ is α + P/s² with P from scipy's Riccati solver."""
    decay, diffusion, noise = 0.4, 0.5, 0.7
    power = scipy.linalg.solve_continuous_are([[-decay]], [[1.0]], [[diffusion**2]], [[noise**2]])[0, 0]
    assert belief.memory(decay, 0.0, diffusion, noise).rate == pytest.approx(decay + power / noise**2, rel=1e-10)


def test_no_digit_is_lost_where_the_discount_is_large() -> None:
    memory = belief.memory(0.0, 1e6, 1e-3, 1.0)
    with mpmath.workdps(50):
        exact = mpmath.sqrt(mpmath.mpf(10) ** 12 / 4 + mpmath.mpf("1e-6")) - mpmath.mpf(10) ** 6 / 2
        assert abs(memory.rate / exact - 1) < 1e-14
        assert abs(memory.forgetting / (1 - mpmath.exp(-exact)) - 1) < 1e-14


@pytest.mark.parametrize("beta", [0.5, 0.9, 0.999, 0.9999999])
@pytest.mark.parametrize("options", [{}, {"decay": 1e-8}, {"gain": 0.3}, {"gain": 1.0}])
def test_inverse_map_returns_to_beta(beta: float, options: dict) -> None:
    memory = belief.from_beta(beta, gamma=2.0, dt=0.1, noise=0.4, **options)
    again = belief.memory(memory.decay, 2.0, memory.diffusion, 0.4, dt=0.1)
    assert again.beta == pytest.approx(beta, rel=1e-13)
    assert again.gain == pytest.approx(options.get("gain", again.gain), rel=1e-12)
    assert memory.decay == pytest.approx(options.get("decay", memory.decay), rel=1e-12)


def test_inverse_map_says_when_no_model_exists() -> None:
    rate = -math.log(0.9)
    belief.from_beta(0.9, decay=0.999 * rate)
    with pytest.raises(ValueError, match=r"decay = 0\.105361, but it must be < 0\.105361"):
        belief.from_beta(0.9, decay=rate)
    for beta in (0.0, 1.0, 1.5, math.nan, "x"):
        with pytest.raises(ValueError, match="beta = "):
            belief.from_beta(beta)
    with pytest.raises(ValueError, match="gain = 0"):
        belief.from_beta(0.9, gain=0.0)
    with pytest.raises(ValueError, match="at most one"):
        belief.from_beta(0.9, gain=0.5, decay=0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("decay", -1.0), ("gamma", -0.1), ("diffusion", 0.0), ("noise", 0.0), ("dt", 0.0), ("noise", math.inf)],
)
def test_bad_arguments_are_named(name: str, value: float) -> None:
    good = {"decay": 0.1, "gamma": 1.0, "diffusion": 1.0, "noise": 1.0, "dt": 1.0}
    with pytest.raises(ValueError, match=f"{name} = "):
        belief.memory(**{**good, name: value})


def test_filter_is_the_recursion() -> None:
    memory = belief.from_beta(0.8, gamma=1.0, gain=0.6)
    data = np.random.default_rng(0).normal(size=(30, 4))
    weights = 0.6 * 0.2 * 0.8 ** np.arange(30)[::-1]
    np.testing.assert_allclose(memory.filter(data)[-1], weights @ data, rtol=1e-12)
    np.testing.assert_allclose(memory.filter(data[:, 0], initial=2.0)[0], 0.8 * 2.0 + 0.12 * data[0, 0])
    with pytest.raises(ValueError, match="data has shape"):
        memory.filter(1.0)


@pytest.mark.parametrize("beta", [0.5, 0.9, 0.999])
def test_kalman_gains_are_those_of_the_riccati_recursion(beta: float) -> None:
    """A walk with Q/R = (1−β)²/β, from an initial variance of 1e9."""
    ratio, power, gains = (1 - beta) ** 2 / beta, 1e9, []
    for _ in range(60):
        power += ratio
        gains.append(power / (power + 1))
        power *= 1 - gains[-1]
    exact = belief.kalman_gains(beta, 60)
    np.testing.assert_allclose(exact, gains, rtol=1e-6)
    assert exact[0] == pytest.approx(1.0)
    assert belief.kalman_gains(beta, 20_000)[-1] == pytest.approx(1 - beta, rel=1e-9)


@pytest.mark.parametrize("beta", [0.9, 0.999])
def test_bias_correction_is_nearly_the_kalman_gain(beta: float) -> None:
    """Adam's x̂_n are averages with the weights corrected_gains; they exceed the exact gain by 19 % at most."""
    gains = belief.corrected_gains(beta, 4000)
    raw = held = 0.0
    for n, y in enumerate(np.random.default_rng(1).normal(size=50), start=1):
        raw = beta * raw + (1 - beta) * y
        held = (1 - gains[n - 1]) * held + gains[n - 1] * y
        assert raw / (1 - beta**n) == pytest.approx(held, rel=1e-10)
    excess = gains / belief.kalman_gains(beta, 4000) - 1
    assert np.min(excess) > -1e-12 and 0.15 < np.max(excess) < 0.22
    if beta == 0.9:
        assert np.max(excess) == pytest.approx(0.19, abs=0.005)


def test_sequences_name_their_arguments() -> None:
    for call in (belief.kalman_gains, belief.corrected_gains):
        with pytest.raises(ValueError, match="beta = "):
            call(1.0, 3)
        for count in (0, 2.5, True):
            with pytest.raises(ValueError, match="count = "):
                call(0.9, count)
