"""The damped oscillator of a mode: every digit in all three regimes, against arithmetic with 50 of them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from lossnav import sgd
from lossnav.analysis.sgd.oscillator import Oscillators

NEAR = [0.0, 1e-12, 1e-3, 0.5, 0.9, 0.999, 1 - 1e-10, 1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-10, 1.001, 1.1, 2.0, 100.0]


def precise(h: float, eta: float, beta: float, t: float) -> dict[str, mpmath.mpf]:
    """Return s, C, R and ∫s from hyperbolic functions of a complex argument, with 50 digits."""
    with mpmath.workdps(50):
        h, eta, beta, t = map(mpmath.mpf, (h, eta, beta, t))
        gamma, omega2 = (1 - beta) / (eta * (1 + beta)), 2 * h / (eta * (1 + beta))
        alpha = mpmath.sqrt(mpmath.mpc(gamma**2 - omega2))
        cosine = mpmath.re(mpmath.exp(-gamma * t) * mpmath.cosh(alpha * t))
        sine = mpmath.re(mpmath.exp(-gamma * t) * (mpmath.sinh(alpha * t) / alpha if alpha else t))
        left = cosine + gamma * sine
        flat = (t - (1 - mpmath.exp(-2 * gamma * t)) / (2 * gamma)) / (2 * gamma)
        area = (1 - left) / omega2 if h else flat
        return {"kick": sine, "velocity": cosine - gamma * sine, "position": left, "area": area}


@pytest.mark.parametrize("ratio", NEAR)
@pytest.mark.parametrize(("eta", "beta"), [(0.3, 0.0), (1e-5, 0.9), (1e-2, 0.999)])
def test_no_digits_are_lost_near_critical_damping_or_far_from_it(eta, beta, ratio):
    gamma = (1 - beta) / (eta * (1 + beta))
    h = ratio * (1 - beta) ** 2 / (2 * eta * (1 + beta))
    mode = Oscillators.of(np.array([h]), eta, beta)
    for x in (1e-8, 1e-3, 0.1, 0.7, 3.0, 10.0, 40.0):
        t = x / gamma
        exact = precise(h, eta, beta, t)
        # where a function oscillates through zero, its envelope is what an error is measured by
        turns = np.sqrt(max(-mode.alpha2[0], 0.0)) * t
        envelope = np.exp(-x) if turns or abs(ratio - 1) < 1e-6 else 0.0
        for name, size in (("kick", t * envelope / max(turns, 1)), ("position", envelope), ("area", 0.0)):
            found = float(getattr(mode, name)(np.array([t]))[0])
            assert abs(found - float(exact[name])) <= 4e-15 * (1 + x) * max(size, abs(float(exact[name]))), name
        velocity = float(mode.velocity(np.array([t]))[0])
        size = max(envelope * (1 + x / max(turns, 1)), abs(float(exact["velocity"])))
        assert abs(velocity - float(exact["velocity"])) <= 4e-15 * (1 + x) * size


def test_the_naive_difference_of_squares_does_lose_them():
    """What would be wrong near ζ = 1 if α² were computed as γ² − ω² from rounded parts."""
    eta, beta = 1e-2, 0.9
    h = (1 - 1e-13) * (1 - beta) ** 2 / (2 * eta * (1 + beta))
    mode = sgd.Mode(h, eta=eta, beta=beta)
    with mpmath.workdps(50):
        b, mass = mpmath.mpf(beta), mpmath.mpf(eta) * (1 + mpmath.mpf(beta))
        exact = float(((1 - b) / mass) ** 2 - 2 * mpmath.mpf(h) / mass)
    ours = Oscillators.of(np.array([h]), eta, beta).alpha2[0]
    assert abs(ours / exact - 1) < 1e-12 < 1e-4 < abs((mode.gamma**2 - mode.omega**2) / exact - 1)


def test_regimes_and_their_names():
    critical = (1 - 0.9) ** 2 / (2 * 0.01 * 1.9)
    names = [sgd.Mode(r * critical, eta=0.01, beta=0.9).regime for r in (0.0, 0.5, 1 - 1e-12, 1, 1 + 1e-12, 2)]
    assert names == ["overdamped", "overdamped", "overdamped", "critical", "underdamped", "underdamped"]
    mode = sgd.Mode(1.0, eta=0.5, beta=0.0)
    assert mode.regime == "critical" and mode.zeta == 1.0 and mode.half_period == np.inf
    assert sgd.Mode(0.0, eta=0.5, beta=0.0).zeta == np.inf
    turning = sgd.Mode(2.0, eta=0.01, beta=0.9)
    zeros = np.linspace(0, 5 * turning.half_period, 200_001)
    signs = np.flatnonzero(np.diff(np.sign(turning.mean(zeros, 1.0, 0.0)[0])))
    np.testing.assert_allclose(np.diff(zeros[signs]), turning.half_period, rtol=1e-4)


def test_stable_is_the_recursions_word():
    """0 < ηh < 2(1 + β): the spectral radius of one step is below 1 on one side of it and above on the other."""
    for beta in (0.0, 0.5, 0.9):
        for steep in (1e-3, 0.999, 1.001):
            h = steep * 2 * (1 + beta)
            radius = max(abs(np.linalg.eigvals([[1 - h, beta], [-h, beta]])))
            assert sgd.Mode(h, eta=1.0, beta=beta).stable == (radius < 1) == (steep < 1)
    assert not sgd.Mode(0.0, eta=1.0, beta=0.5).stable


def test_shapes():
    mode = sgd.Mode(1.0, eta=0.1, beta=0.9)
    assert mode.propagator(0.3).shape == (2, 2) and mode.propagator(np.ones((4, 3))).shape == (4, 3, 2, 2)
    a, b = mode.mean([0.0, 1.0], 1.0, 2.0)
    assert a.shape == b.shape == (2,) and (a[0], b[0]) == (1.0, 2.0)
    assert np.ndim(mode.autocorrelation(0.0)) == 0 and mode.autocorrelation(0.0) == 1.0


def test_matched_velocity_brings_a_flat_direction_to_rest_where_sgd_does():
    """With no force, v_k = β^k v₀: the steps add up to ηβv₀/(1 − β), and the oscillator goes b₀/2γ."""
    for beta in (0.0, 0.5, 0.9):
        v0, eta = 1.3, 0.2
        b0 = sgd.matched_velocity(v0, beta * v0, beta=beta)
        mode = sgd.Mode(0.0, eta=eta, beta=beta)
        assert mode.mean(60 / mode.gamma, 0.0, float(b0))[0] == pytest.approx(eta * beta * v0 / (1 - beta), rel=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
def test_matched_velocity_is_better_than_both_others(beta):
    """Along the recursion without noise, from a start in motion."""
    eta, h, theta0, v0 = 0.02, 0.3, 1.0, 0.8
    mode = sgd.Mode(h, eta=eta, beta=beta)
    v1 = beta * v0 - h * theta0
    theta, v, path = theta0, v0, []
    for _ in range(400):
        path.append(theta)
        v = beta * v - h * theta
        theta += eta * v
    t = eta * np.arange(400)
    error = {b: np.max(np.abs(mode.mean(t, theta0, b)[0] - path)) for b in (v0, (v0 + v1) / 2)}
    best = np.max(np.abs(mode.mean(t, theta0, float(sgd.matched_velocity(v0, v1, beta=beta)))[0] - path))
    assert best < 0.2 * min(error.values())


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
def test_what_the_first_steps_leave_behind_is_of_second_order_with_the_matched_velocity_alone(beta):
    """At one time, after the memory of the start is gone, under rates that are ten times smaller each."""
    h, theta0, v0, time = 1.0, 1.0, 0.7, 0.5
    v1 = beta * v0 - h * theta0

    def errors(eta):
        theta, v = theta0, v0
        for _ in range(round(time / eta)):
            v = beta * v - h * theta
            theta += eta * v
        mode = sgd.Mode(h, eta=eta, beta=beta)
        choices = (float(sgd.matched_velocity(v0, v1, beta=beta)), v0, (v0 + v1) / 2)
        return np.array([abs(float(mode.mean(time, theta0, b)[0]) - theta) for b in choices])

    orders = np.log10(errors(1e-3) / errors(1e-4))
    np.testing.assert_allclose(orders, [2.0, 1.0, 1.0], atol=0.1)
