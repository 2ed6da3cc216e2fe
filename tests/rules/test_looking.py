"""W21–W29: what a look costs. Moments, recursions, dynamic programming and searches know nothing of the formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from scipy.integrate import quad

import lossnav as ln

looking = ln.looking


def discounted_bill(eta, kh, D, gamma, c0, T):
    """J of looking every T without noise, by exact second moments of plan and error, to the end of time.

    After a look x̂ = x with variance X; in between x̂ = x̂₀e^{−rt}, e has the variance Dt and does not know x̂.
    """
    r = float(ln.rules.rates(ln.Objective(eta, gamma=gamma), [[kh]])[0])
    plan = quad(lambda t: np.exp(-(gamma + 2 * r) * t), 0, T)[0] * (r * r / (2 * eta) + kh / 2)
    error = quad(lambda t: np.exp(-gamma * t) * D * t, 0, T)[0] * kh / 2
    # X ← Xe^{−2rT} + DT at each look, from 0: a bill is a + bX
    fade, keep = np.exp(-gamma * T), np.exp(-2 * r * T)
    later = plan / (1 - fade * keep)  # what a unit of X costs from now on
    once = error + c0 + fade * D * T * later
    return once / (1 - fade)


@pytest.mark.parametrize(
    ("eta", "kh", "D", "gamma", "c0"),
    [(1.0, 1.0, 1.0, 1.0, 0.1), (0.1, 1.0, 1.0, 1.0, 0.01), (2.0, 0.3, 5.0, 0.2, 0.4), (1.0, 1.0, 1.0, 2.0, 0.3)],
)
def test_the_interval_is_the_cheapest_of_exact_moments(eta, kh, D, gamma, c0):
    """W22 as corrected: the weight of an error is r²/η, not kh."""
    bill = lambda z: discounted_bill(eta, kh, D, gamma, c0, np.exp(z))
    T = looking.interval(c0, kh, D, gamma, eta)
    best = scipy.optimize.minimize_scalar(bill, bounds=(np.log(T) - 2, np.log(T) + 2), method="bounded").fun
    assert bill(np.log(T)) == pytest.approx(best, rel=1e-9)
    uncorrected = scipy.optimize.brentq(lambda y: np.expm1(-y) + y - 2 * gamma**2 * c0 / (kh * D), 1e-6, 1e6) / gamma
    assert bill(np.log(uncorrected)) > 1.0005 * best


def test_numbers_of_the_interval():
    assert looking.interval(0.1, 1.0, 1.0, 1.0, 1.0) == pytest.approx(1.232, abs=5e-4)
    assert looking.interval(0.01, 1.0, 1.0, 1.0, 0.1) == pytest.approx(0.780, abs=5e-4)
    assert looking.interval(1e-9, 1.0, 1.0, 1e-6) == pytest.approx(2 * np.sqrt(1e-9), rel=1e-5)
    for unit in 10.0 ** np.arange(-8, 9, 4):  # time in other units
        scaled = looking.interval(0.1, 1.0 * unit, 1.0 * unit, unit, unit)
        assert scaled * unit == pytest.approx(looking.interval(0.1, 1.0, 1.0, 1.0, 1.0), rel=1e-12)


def test_without_a_discount_the_plan_of_looking_does_not_know_how_fast_one_moves():
    """W27, and its correction: with a discount it does."""
    assert looking.interval(0.1, 2.0, 3.0, eta=0.01) == pytest.approx(
        looking.interval(0.1, 2.0, 3.0, eta=100.0), rel=1e-12
    )
    assert looking.interval(0.1, 2.0, 3.0, 1.0, 0.01) > 1.1 * looking.interval(0.1, 2.0, 3.0, 1.0, 100.0)


@pytest.mark.parametrize(("eta", "kh", "h", "D", "s2", "T", "B"), [(1.0, 1.0, 1.0, 0.5, 1.0, 0.6, 3.0),
                                                                  (2.0, 0.5, 1.0, 0.3, 0.5, 1.5, 1.0)])  # fmt: skip
def test_looking_and_moving_do_not_touch_each_other(eta, kh, h, D, s2, T, B):
    """W21 and W23: the average cost of the closed loop, by its stationary moments, against separate terms."""
    r = np.sqrt(eta * kh)
    noise, P = s2 / (h * h * B), 1.0
    for _ in range(3000):  # Kalman's recursion
        P = 1 / (1 / (P + D * T) + 1 / noise)
    gain, X = (P + D * T) / (P + D * T + noise), 0.0
    for _ in range(3000):  # the plan's variance after a look, which jumps by gain·(error + noise)
        X = X * np.exp(-2 * r * T) + gain**2 * (P + D * T + noise)
    moving = (r * r / eta / 2 + kh / 2) * X * quad(lambda t: np.exp(-2 * r * t), 0, T)[0] / T
    erring = kh / 2 * (P + D * T / 2)
    P_inf2 = D * s2 * T / (h * h * B)
    separate = D * np.sqrt(kh / eta) / 2 + kh / 2 * np.sqrt(P_inf2 + D * D * T * T / 4)
    assert moving + erring == pytest.approx(separate, rel=1e-9)
    assert pytest.approx(P_inf2, rel=1e-9) == P * (P + D * T)


def tracking(c0, c1, kh, D, noise):
    return lambda T, B: kh / 2 * np.sqrt(D * noise * T / B + D * D * T * T / 4) + c1 * B / T + c0 / T


def test_the_batch_of_a_tracker_follows_a_cube_law():
    """W24 by a search over interval and batch; B = 1 where less than a sample would be best."""
    rng = np.random.default_rng(0)
    for kh, h, sigma, D, c0, c1 in 10 ** rng.uniform(-1, 1, (40, 6)):
        bill = tracking(c0, c1, kh, D, sigma**2 / h**2)
        plan = looking.batch(c0, c1, kh=kh, D=D, sigma=sigma, h=h)
        start = np.log([plan.interval * 1.3, plan.batch * 1.4])
        free = scipy.optimize.minimize(lambda z, bill=bill: bill(*np.exp(z)), start, method="Nelder-Mead",
                                       options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 4000})  # fmt: skip
        if free.x[1] > 0:
            assert bill(*plan) == pytest.approx(free.fun, rel=1e-8)
            B_n = sigma**2 / (h**2 * np.sqrt(D * sigma**2 * plan.interval / (h**2 * plan.batch)))
            assert plan.batch**3 == pytest.approx(2 * c0 / c1 * B_n**2, rel=1e-8)
        else:
            single = scipy.optimize.minimize_scalar(
                lambda z, bill=bill: bill(np.exp(z), 1.0), bounds=(-20, 20), method="bounded"
            ).fun
            assert plan.batch == 1.0 and bill(*plan) == pytest.approx(single, rel=1e-8)
    edge = looking.batch(1e-4, 0.1, kh=1.0, D=1.0, sigma=1.0, h=1.0)
    assert edge.batch == 1.0
    alone = tracking(0.0, 0.1, 1.0, 1.0, 1.0)
    best = scipy.optimize.minimize_scalar(lambda z: alone(np.exp(z), 1.0), bounds=(-9, 9), method="bounded").x
    assert looking.batch(0.0, 0.1, kh=1.0, D=1.0, sigma=1.0, h=1.0).interval == pytest.approx(np.exp(best), rel=1e-4)


def test_no_schedule_of_two_intervals_beats_equal_ones():
    """W24: periodic looking is best, against unequal pairs of intervals and batches from random starts."""
    kh, h, sigma, D, c0, c1 = 1.0, 1.0, 1.0, 1.0, 0.5, 0.05
    plan = looking.batch(c0, c1, kh=kh, D=D, sigma=sigma, h=h)
    periodic = tracking(c0, c1, kh, D, sigma**2 / h**2)(*plan)

    def bill(z):
        T1, T2, B1, B2 = np.exp(np.clip(z, -8, 8))
        P = 0.5
        for _ in range(200):
            a = P + D * T1
            b = 1 / (1 / a + B1 * h * h / sigma**2)
            c = b + D * T2
            last, P = P, 1 / (1 / c + B2 * h * h / sigma**2)
            if abs(P - last) < 1e-13 * P:
                break
        return (kh / 2 * ((P + a) / 2 * T1 + (b + c) / 2 * T2) + 2 * c0 + c1 * (B1 + B2)) / (T1 + T2)

    rng, base = np.random.default_rng(1), np.log(np.repeat(plan, 2))
    for _ in range(4):
        best = scipy.optimize.minimize(
            bill, base + rng.normal(size=4) * 0.5, method="Nelder-Mead", options={"maxiter": 800}
        )
        assert best.fun > periodic * (1 - 1e-8)


@pytest.mark.parametrize("n", [1, 2])
def test_a_plan_whose_error_grows_is_looked_at_by_a_power_of_the_price(n):
    """W25 by a search over T: (c + ∫(jτⁿ/n!)²/2η)/T is least where T^{2n+1} = (2n+1)(n!)²ηc/(nj²)."""
    eta, j, c, factorial = 0.7, 1.3, 1e-3, [1, 1, 2][n]
    bill = lambda T: (c + quad(lambda t: (j * t**n / factorial) ** 2 / (2 * eta), 0, T)[0]) / T
    best = scipy.optimize.minimize_scalar(
        lambda z: bill(np.exp(z)), bounds=(-8, 4), method="bounded", options={"xatol": 1e-9}
    )
    wanted = (2 * n + 1) * factorial**2 * eta * c / (n * j**2)
    assert np.exp(best.x) ** (2 * n + 1) == pytest.approx(wanted, rel=1e-3)
    if n == 1:
        assert looking.step(c, eta, j) == pytest.approx(np.exp(best.x), rel=1e-3)  # n = 1 is a velocity held


@pytest.mark.parametrize(("chord", "share"), [(True, 12.0), (False, 3.0)])
def test_a_price_of_gradients_sets_the_rate(chord, share):
    """W26 against dynamic programming over all places to stop, on a mode with r = η = kh = 1 and γ = 0."""
    c, count = 1e-5, 2500
    places, cost = np.exp(np.linspace(np.log(1e-4), 0.0, count)), np.empty(count)
    first = 0.0
    for i, x in enumerate(places):
        y = places[:i]
        if chord:
            options, stop = c + (x - y) * np.sqrt((x * x + x * y + y * y) / 3) + cost[:i], c + x * x / np.sqrt(3)
        else:
            options, stop = c + x * x * (1 - y / x) ** 3 / 6 + cost[:i], c + x * x / 6
        cost[i] = min(stop, options.min()) if i else stop
        if i:
            first = y[options.argmin()]
    excess = cost[-1] - (0.5 if chord else 0.0)
    law = 2.25 * c ** (2 / 3) / share ** (1 / 3)
    assert (0.98 if chord else 0.96) < excess / law < 1.0
    T = (1 - first) * np.sqrt(3 / (1 + first + first**2)) if chord else 1 - first
    assert looking.step(c, 1.0, 1.0, chord=chord) == pytest.approx(
        T, rel=0.06
    )  # a = r²x = 1; the grid's spacing is .0037 in T
    assert looking.step(c, 1.0, [0.3, 0.4], 0.5, chord=chord) == pytest.approx((share * c) ** (1 / 3))
    assert looking.step(c, 1.0, 0.0) == np.inf


def test_a_fixed_target_is_measured_at_once():
    """W28 as corrected: one batch at t = 0 up to I* = √(r²h²/(2ηγc₁σ²)); no random schedule is cheaper."""
    rng = np.random.default_rng(2)
    for eta, kh, h, s2, c1, gamma in 10 ** rng.uniform(-0.7, 0.7, (8, 6)):
        r = float(ln.rules.rates(ln.Objective(eta, gamma=gamma), [[kh]])[0])
        prior = 0.3 * np.sqrt(r * r * h * h / (2 * eta * gamma * c1 * s2))
        price = c1 * s2 / h**2  # of information
        later = (kh / 2 + r * r / eta / 2) / (gamma + 2 * r)  # what a unit of the plan's variance costs from a look on

        def bill(times, infos):
            """J by moments: the error is kept, the plan decays, and each look moves variance from one to the other."""
            P, J, now = 1 / prior, 0.0, 0.0  # noqa: B023
            for t, more in zip(times, infos, strict=True):
                J += kh / 2 * P * (np.exp(-gamma * now) - np.exp(-gamma * t)) / gamma  # noqa: B023
                after = 1 / (1 / P + more)
                J += np.exp(-gamma * t) * (price * more + (P - after) * later)  # noqa: B023
                P, now = after, t
            return J + kh / 2 * P * np.exp(-gamma * now) / gamma  # noqa: B023

        best = np.sqrt(r * r * h * h / (2 * eta * gamma * c1 * s2))
        at_once = bill([0.0], [best - prior])
        for _ in range(150):
            count = rng.integers(1, 5)
            times = np.sort(rng.exponential(1 / gamma, count) * (rng.random(count) < 0.7))
            assert bill(times, best * 10 ** rng.uniform(-2, 1, count)) > at_once * (1 - 1e-12)


def test_the_batch_of_a_descent():
    """W29 by a search over B, with at least one sample; it is the critical batch only where that is the overhead."""
    rng = np.random.default_rng(3)
    for c0, c1, noise in 10 ** rng.uniform(-2, 2, (40, 3)):
        bill = lambda b, c0=c0, c1=c1, noise=noise: (c0 + c1 * b) * (1 + noise / b)
        batch = looking.descent_batch(c0, c1, noise)
        best = scipy.optimize.minimize_scalar(
            lambda z, bill=bill: bill(np.exp(z)), bounds=(0, 14), method="bounded", options={"xatol": 1e-9}
        )
        assert bill(batch) <= best.fun * (1 + 1e-9)
    assert looking.descent_batch(3.0, 0.5, 6.0) == pytest.approx(6.0)


@pytest.mark.parametrize("unit", [1e-120, 1.0, 1e200])
def test_numbers_far_from_one_have_answers(unit):
    """Of quantities whose squares are no numbers the answers are those in other units."""
    assert ln.rules.looking.step(unit, unit, [3 * unit, -4 * unit], 2.0) == pytest.approx((3 * 4 / 25) ** (1 / 3))
    far = ln.rules.looking.batch(2.0, 0.5, kh=1.0, D=0.3, sigma=unit, h=1.0)
    assert all(map(np.isfinite, far)) and min(far) > 0
    np.testing.assert_allclose(
        ln.rules.shrink([unit, 0.0], 1.0, 3, pool="coordinate"), [3 * unit / (1 / unit + 3 * unit), 0]
    )


@pytest.mark.parametrize(("pool", "edge"), [("coordinate", 1.45), ("positive", 1.17)])
def test_a_plug_in_of_one_coordinate_loses_from_its_edge_on(pool, edge):
    """The risk E(sx − μ)² of x ~ N(μ, 1), by quadrature over x: that of s = 1 is one."""

    def risk(mu):
        x = np.linspace(mu - 10, mu + 10, 200_002)
        shrunk = ln.rules.shrink(x, 1.0, 1.0, pool=pool) * x
        return np.trapezoid((shrunk - mu) ** 2 * np.exp(-((x - mu) ** 2) / 2), x) / np.sqrt(2 * np.pi)

    assert risk(edge - 0.02) < 1 < risk(edge + 0.02)
    assert all(risk(mu) < 1 for mu in (0.0, edge / 2)) and all(risk(mu) > 1 for mu in (2 * edge, 5.0))
