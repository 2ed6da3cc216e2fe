"""L6b, L10, L11, L17–L19: schedules of several modes, and planners who change their mind, by direct minimisation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import solve_banded
from scipy.optimize import minimize, minimize_scalar

import lossnav as ln
from lossnav.rules import deadline_rate, hyperbolic_rate, quasi_hyperbolic

ONE = ln.Objective()


def planned(times, discount, h):
    """Minimise Σ D{Δθ²/2Δt + hθ²Δt/2} over all positions after the first, which is 1 (D at the midpoints)."""
    step, middle = np.diff(times), discount((times[1:] + times[:-1]) / 2)
    stiff, mass = middle / step, middle * h * step / 3
    diagonal = (stiff + mass)[:-1] + (stiff + mass)[1:]
    diagonal = np.append(diagonal, (stiff + mass)[-1])
    side = -stiff + mass / 2  # θ² is integrated exactly along each straight piece
    bands = np.zeros((3, len(step)))
    bands[0, 1:], bands[1], bands[2, :-1] = side[1:], diagonal, side[1:]
    right = np.zeros(len(step))
    right[0] = -side[0]
    return np.append(1.0, solve_banded((1, 1), bands, right))


@pytest.mark.parametrize(("alpha", "power", "h"), [(1.0, 2.0, 1.0), (1.0, 1.0, 1.0), (3.0, 1.5, 0.4)])
def test_a_committed_planner_under_hyperbolic_discounting(alpha, power, h):
    times = np.concatenate([np.linspace(0, 4, 8001), np.geomspace(4, 60, 3000)[1:]])
    best = planned(times, lambda t: (1 + alpha * t) ** -power, h)
    gain = h * hyperbolic_rate(ONE, h, alpha, power, times[:4001], planner="committed")
    way = np.concatenate([[0.0], np.cumsum(np.diff(times[:4001]) * (gain[1:] + gain[:-1]) / 2)])
    np.testing.assert_allclose(best[:4001], np.exp(-way), atol=2e-6)
    assert np.all(np.diff(gain) > 0) and gain[-1] < math.sqrt(h)
    # who plans again at any time begins anew: a path of many first pieces of plans is an exponential
    naive = h * float(hyperbolic_rate(ONE, h, alpha, power))
    assert -math.log(best[2]) / times[2] == pytest.approx(naive, rel=5e-3)


def test_numbers_of_hyperbolic_planners():
    who = {p: [float(hyperbolic_rate(ONE, 1.0, 1.0, p, planner=w)) for w in ("naive", "sophisticated")] for p in (1, 2)}
    np.testing.assert_allclose(who[2], [0.5, 0.50424], atol=5e-6)
    np.testing.assert_allclose(who[1], [0.69948, 0.70209], atol=5e-6)


@pytest.mark.parametrize("power", [0.7, 2.0])
def test_nobody_gains_by_one_step_aside_from_the_sophisticated_plan(power):
    """A self that rules for ε only, knowing what all later ones do, chooses the same velocity (L17)."""
    gain, pause = float(hyperbolic_rate(ONE, 1.0, 1.0, power, planner="sophisticated")), 1e-4
    rest, _ = quad(lambda t: (1 + t) ** -power * math.exp(-2 * gain * (t - pause)), pause, 60.0, epsabs=1e-12)

    def cost(velocity):
        now = pause * (velocity**2 / 2 + 1 / 2)
        return now + (1 + pause * velocity) ** 2 * (gain**2 + 1) / 2 * rest

    best = minimize_scalar(cost, bracket=(-1.0, 0.0)).x
    assert -best == pytest.approx(gain, rel=1e-3)


def test_naive_is_slower_than_sophisticated_is_slower_than_no_discount():
    rng = np.random.default_rng(1)
    for alpha, power, h in 10 ** rng.uniform(-1, 1, (40, 3)):
        naive, wise = (h * float(hyperbolic_rate(ONE, h, alpha, power, planner=w)) for w in ("naive", "sophisticated"))
        assert naive < wise < math.sqrt(h)


def test_a_naive_planner_looks_exponential_on_one_curvature_only():
    """The discount that it would be taken for is 1.5 at ω = 1 and 1.909 at ω = 10 (α = 1, p = 2)."""
    discounts = []
    for omega in (1.0, 10.0):
        gain = omega**2 * float(hyperbolic_rate(ONE, omega**2, 1.0, 2.0))
        gamma = omega**2 / gain - gain
        assert ln.rules.rates(ln.Objective(gamma=gamma), [[omega**2]])[0] == pytest.approx(gain)
        discounts.append(gamma)
    np.testing.assert_allclose(discounts, [1.5, 21 / 11], rtol=1e-9)


def test_a_deadline_that_is_always_postponed_is_never_prepared_for():
    """L18: re-planned all the time the gain stays; re-planned at intervals it is a sawtooth; committed it falls."""
    h, horizon, pieces = 2.0, 1.5, 3000
    times = np.linspace(0, horizon, pieces + 1)
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.4)
    plan = planned(times, lambda t: np.exp(-0.4 * t), 0.7 * 1.3 * h)
    gains = -np.diff(np.log(plan)) / np.diff(times)
    known = h * deadline_rate(objective, h, horizon - (times[1:] + times[:-1]) / 2)
    np.testing.assert_allclose(gains[:-30], known[:-30], rtol=1e-3)
    assert gains[-2] < 0.01 * gains[0]  # committed: it cools down
    for every in (10, 300):
        path = plan[: every + 1]  # each piece of the trodden path is the beginning of a plan
        trodden = np.concatenate([path[:-1] * path[-1] ** k for k in range(4)])
        speeds = -np.diff(np.log(trodden)) / times[1]
        np.testing.assert_allclose(speeds[::every], gains[0], rtol=1e-6)  # as fast again at each new plan
        np.testing.assert_allclose(speeds[every - 1 :: every], gains[every - 1], rtol=1e-6)
        assert speeds[0] > speeds[every - 1]
    constant = float(h * deadline_rate(objective, h, horizon))
    assert -math.log(plan[10]) / times[10] == pytest.approx(constant, rel=5e-3)


def _discrete(h, delta, beta, steps=400):
    """The first two shares of the plan that a β–δ self makes: least Σ wₙ{(θₙ − θₙ₊₁)² + hθₙ₊₁²}/2."""
    weight = np.concatenate([[1.0], beta * delta ** np.arange(1, steps)])
    diagonal = weight * (1 + h) + np.append(weight[1:], 0.0)
    bands = np.zeros((3, steps))
    bands[0, 1:], bands[1], bands[2, :-1] = -weight[1:], diagonal, -weight[1:]
    right = np.zeros(steps)
    right[0] = 1.0
    theta = solve_banded((1, 1), bands, right)
    return theta[0], theta[1] / theta[0]


@pytest.mark.parametrize(("h", "delta", "beta"), [(1.0, 0.9, 0.5), (0.2, 0.99, 0.3), (3.0, 0.5, 0.9)])
def test_quasi_hyperbolic_planners(h, delta, beta):
    later, wise, naive = (
        quasi_hyperbolic(h, delta, beta, planner=who) for who in ("committed", "sophisticated", "naive")
    )
    np.testing.assert_allclose([naive, later], _discrete(h, delta, beta), rtol=1e-9)
    assert later < wise < naive < 1 / (1 + h)

    def cost(m):  # of one self, if all after it leave the share `wise`
        ahead = sum(delta ** (n + 1) * ((1 - wise) ** 2 + h * wise**2) * wise ** (2 * n) for n in range(2000))
        return (1 - m) ** 2 + h * m**2 + beta * m**2 * ahead

    assert minimize_scalar(cost, bracket=(0.0, 1.0)).x == pytest.approx(wise, abs=1e-7)


def test_numbers_and_the_edge_of_quasi_hyperbolic_discounting():
    shares = [quasi_hyperbolic(1.0, 0.9, 0.5, planner=who) for who in ("committed", "naive", "sophisticated")]
    np.testing.assert_allclose(shares, [0.39268266, 0.43989054, 0.43930792], atol=1e-8)
    same = [quasi_hyperbolic(1.0, 0.9, 1.0, planner=who) for who in ("committed", "naive", "sophisticated")]
    np.testing.assert_allclose(same, same[0], rtol=1e-12)  # without a bias towards now nobody changes his mind
    dear = [quasi_hyperbolic(4.0, 0.9, 0.5, eta=0.25, planner=who) for who in ("committed", "naive", "sophisticated")]
    np.testing.assert_allclose(dear, shares, rtol=1e-12)  # only ηh counts


# ---- several modes with the noise of a minibatch (L6b) -----------------------------------------------------------


def _regression(m, a, spectrum, batch, noise):
    """Second moments after a step of least squares with Gaussian inputs of variances λ."""
    spread = spectrum * m + np.sum(spectrum * m) + noise
    return (1 - a * spectrum) ** 2 * m + a * a / batch * spectrum * spread


def test_the_recursion_is_that_of_gaussian_least_squares():
    rng = np.random.default_rng(0)
    spectrum, start, a, batch, noise = np.array([1.0, 0.5, 0.2]), np.array([0.4, 1.0, 2.0]), 0.3, 2, 0.1
    theta = rng.normal(size=(400_000, 3)) * np.sqrt(start)
    step = np.zeros_like(theta)
    for _ in range(batch):
        x = rng.normal(size=theta.shape) * np.sqrt(spectrum)
        error = np.sum(x * theta, axis=1) + math.sqrt(noise) * rng.normal(size=len(theta))
        step += x * error[:, None] / batch
    moments = np.mean((theta - a * step) ** 2, axis=0)
    np.testing.assert_allclose(moments, _regression(start, a, spectrum, batch, noise), rtol=0.02)


@pytest.mark.parametrize("later", [(), (0.2, 0.1, 0.3)])
def test_which_of_two_rates_should_come_first(later):
    """The difference is (ab(b − a)/B){Σwλ²(Σλm + σ²) − Σwλ Σλ²m}, for the loss Σλm/2;
    w is what the final loss makes of a mode."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        spectrum, m = rng.uniform(0.1, 1, 4), rng.uniform(0, 1, 4)
        a, b, noise, batch = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9), rng.uniform(0, 1), 3

        def final(first, second, spectrum=spectrum, m=m, noise=noise, batch=batch):
            for rate in (first, second, *later):
                m = _regression(m, rate, spectrum, batch, noise)
            return float(np.sum(spectrum * m)) / 2

        w = spectrum.copy()
        for rate in later[::-1]:  # the adjoint of the recursion
            w = (1 - rate * spectrum) ** 2 * w + rate**2 / batch * (spectrum**2 * w + spectrum * np.sum(w * spectrum))
        first, second = np.sum(w * spectrum**2), np.sum(w * spectrum)
        gap = first * (np.sum(spectrum * m) + noise) - second * np.sum(spectrum**2 * m)
        assert final(a, b) - final(b, a) == pytest.approx(a * b * (b - a) / batch * gap, rel=1e-9, abs=1e-12)


def test_error_in_a_sharp_mode_asks_for_rising_rates_unless_noise_is_large():
    """λ = (2, 1), all error in the first: rising wins for σ² < 2/9, falling above."""
    spectrum, m = np.array([2.0, 1.0]), np.array([1.0, 0.0])
    for noise, rises in ((0.2, True), (0.25, False)):
        ends = [
            np.sum(spectrum * _regression(_regression(m, a, spectrum, 1, noise), b, spectrum, 1, noise))
            for a, b in ((0.1, 0.2), (0.2, 0.1))
        ]
        assert (ends[0] < ends[1]) == rises


def test_with_noise_of_its_own_for_each_mode_falling_rates_are_never_worse():
    """L6: sorting the rates downwards never raises the final loss; without noise the order does not matter."""
    rng = np.random.default_rng(3)
    for noisy in (True, False):
        h, m, noise = rng.uniform(0.1, 1, 5), rng.uniform(0, 1, 5), rng.uniform(0, 1, 5) * noisy
        ends = {}
        for order in itertools.permutations((0.1, 0.3, 0.6, 0.9)):
            moments = m
            for a in order:
                moments = (1 - a * h) ** 2 * moments + a * a * noise
            ends[order] = float(np.sum(h * moments))
        best = ends[(0.9, 0.6, 0.3, 0.1)]
        assert best == pytest.approx(min(ends.values()), rel=1e-12)
        assert (max(ends.values()) > best * 1.01) == noisy


# ---- a price of movement and noise together (L10) ----------------------------------------------------------------


def test_the_rate_of_the_deadline_and_the_rate_of_the_noise_add_harmonically():
    """1/a = h/(ηP) + Σ/(hm), with P from the backward equation along the best of all rates."""
    h, noise, m0, horizon, gamma, charge, eta, count = 1.5, 0.4, 1.0, 2.0, 0.3, 0.5, 0.8, 200
    step = horizon / count
    fade = np.exp(-gamma * (np.arange(count) + 0.5) * step)

    def moments(rates):
        m = [m0]
        for a in rates:  # exact for a rate that is constant over the step
            rest = a * noise / (2 * h)
            m.append(rest + (m[-1] - rest) * math.exp(-2 * a * h * step))
        return np.array(m)

    def cost(rates):
        m = moments(rates)
        middle = (m[1:] + m[:-1]) / 2
        running = np.sum(fade * (rates**2 * h**2 * middle / (2 * eta) + h * middle / 2)) * step
        return running + math.exp(-gamma * horizon) * charge * h * m[-1] / 2

    def slope(rates, width=1e-6):
        """The gradient by the adjoint: Pₙ is twice the derivative of what is still to be paid by mₙ."""
        m, derivatives, adjoint = moments(rates), np.empty(count), math.exp(-gamma * horizon) * charge * h / 2
        for n in range(count - 1, -1, -1):
            a, decay = rates[n], math.exp(-2 * rates[n] * h * step)
            own = fade[n] * step * (a**2 * h**2 / (2 * eta) + h / 2) / 2
            rest = a * noise / (2 * h)
            onto = noise / (2 * h) * (1 - decay) - 2 * h * step * (m[n] - rest) * decay
            mean = (m[n] + m[n + 1]) / 2
            derivatives[n] = fade[n] * step * a * h**2 / eta * mean + (adjoint + own) * onto
            adjoint = own + (adjoint + own) * decay
        return derivatives

    rough = np.full(count, 0.4)
    probe = rough + np.where(np.arange(count) == 70, 1e-5, 0.0)
    assert (cost(probe) - cost(rough)) / 1e-5 == pytest.approx(slope(rough)[70], rel=1e-3)
    best = minimize(
        cost, rough, jac=slope, method="L-BFGS-B", bounds=[(0, None)] * count, options={"ftol": 1e-16, "gtol": 1e-12}
    ).x
    m = moments(best)
    times = (np.arange(count) + 0.5) * step

    def backward(s, p):
        a = np.interp(horizon - s, times, best)
        return -(gamma * p - h - a * a * h * h / eta + 2 * a * h * p)

    adjoint = solve_ivp(backward, (0, horizon), [charge * h], t_eval=(horizon - times)[::-1], rtol=1e-8, max_step=step)
    price = adjoint.y[0][::-1]
    law = 1 / (h / (eta * price) + noise / (h * (m[1:] + m[:-1]) / 2))
    np.testing.assert_allclose(best[5:-5], law[5:-5], rtol=5e-3)
    without = deadline_rate(ln.Objective(eta=eta, gamma=gamma, terminal=charge), h, horizon - times)
    assert np.all(best < without)  # noise makes it slower than the deadline alone
    first = eta * price / h / without  # L10's first part is the deadline's rate no longer
    assert first.min() > 0.99 and first[: count // 4].min() > 1.02


# ---- where a warm-up is the best (L11) ---------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "rises"), [((1.0, 1.0), True), ((1.0, 0.01), False)])
def test_the_loss_on_the_way_asks_for_rising_rates_from_an_even_start(start, rises):
    """Two modes (1, 1/κ), no noise, two steps: the loss after each is charged. From other starts the rates fall."""
    h, begin = np.array([1.0, 0.1]), np.array([math.sqrt(start[0]), math.sqrt(start[1]) * 10])
    begin = begin if rises else np.array([0.05, 10.0])
    table = np.linspace(0.02, 12, 1200)
    first = (1 - table[:, None] * h) * begin
    running = np.sum(h * first**2, axis=1)
    curves = [(np.sum(h * ((1 - b * h) * first) ** 2, axis=1) + running, b) for b in table]
    best = min(curves, key=lambda curve: curve[0].min())
    early, late = table[best[0].argmin()], best[1]
    assert (early < late) == rises


def test_a_belief_about_the_curvature_that_sharpens_makes_the_first_step_short():
    """Gamma beliefs: the blind step β/(α + 2), after h is known E[1/h] = β/(α − 1); with g observed a smaller gap."""
    rng = np.random.default_rng(5)
    shape, rate = 2.0, 1.0
    h = rng.gamma(shape, 1 / rate, 4_000_000)
    blind = minimize_scalar(lambda a: np.mean(h[:400_000] * (1 - a * h[:400_000]) ** 2), bounds=(0, 2)).x
    assert blind == pytest.approx(rate / (shape + 2), rel=0.03)
    assert np.mean(1 / h) == pytest.approx(rate / (shape - 1), rel=0.02)
    # g = hθ seen, θ ~ N(0, 1): the step is 1/E[h | g], which is longer than the blind one
    theta = rng.normal(size=len(h))
    near = np.abs(h * theta - 1.0) < 0.05
    informed = 1 / np.mean(h[near])
    assert informed > 1.2 * blind


# ---- shapes (L3) -------------------------------------------------------------------------------------------------


def test_a_falling_gain_is_concave_in_the_time_left_and_its_cooldown_has_the_length_that_is_said():
    """The Riccati equation is integrated; for S² < 0, where a gain may be convex, the theorem says nothing."""
    rng = np.random.default_rng(4)
    for gamma, size, share in rng.uniform([0, -2, 0], [3, 2, 2], (12, 3)):
        h = 10**size
        root = math.sqrt(gamma**2 / 4 + h)
        slow, fast = root - gamma / 2, root + gamma / 2
        start = share * h / fast  # K(0) = hc; share 1 is the border
        s = np.linspace(0, 4 / root, 400)
        gain = solve_ivp(
            lambda _, K, h=h, gamma=gamma: h - gamma * K - K**2, (0, s[-1]), [start], t_eval=s, rtol=1e-10, atol=1e-12
        ).y[0]
        falls = share < 1
        assert np.all(np.diff(gain) > 0) == falls
        if falls:
            assert np.all(np.diff(gain, 2) < 1e-9 * slow)
        when = math.log((1 + 0.95 * slow / fast) / 0.05) / (2 * root)
        assert float(h * deadline_rate(ln.Objective(gamma=gamma), h, when)) == pytest.approx(0.95 * slow, rel=1e-9)
    bent = (1 - np.cos(np.pi * np.linspace(0, 0.2, 50))) / 2  # a cosine's end, over the time left
    assert np.all(np.diff(bent, 2) > 0)
