"""The rate at a deadline (L1–L4) against 50 digits, direct minimisation of J, and its focal points from both sides."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import lossnav as ln
from lossnav.rules import deadline_rate, loss_weight

_KNOWN = [
    (2.0, 1.0, 0.5, 0.0, 0.7606234199),
    (2.0, 1.0, 0.5, 2.0, 0.7932583071),
    (2.0, 0.0, 0.5, 0.0, 1.2642411177),
    (0.5, 4.0, 0.0, 0.0, 0.3807970780),
    (1.0, -0.5, 0.0, 0.0, 1.2084602421),
]


@pytest.mark.parametrize(("left", "h", "gamma", "charge", "expected"), _KNOWN)
def test_numbers(left, h, gamma, charge, expected):
    assert deadline_rate(ln.Objective(gamma=gamma, terminal=charge), h, left) == pytest.approx(expected, abs=1e-10)


def _digits(h, left, gamma, charge, eta, k):
    with mpmath.workdps(50):
        root = mpmath.sqrt(mpmath.mpf(gamma) ** 2 / 4 + mpmath.mpf(eta) * k * h)
        tau = mpmath.tanh(root * left) / root if root else mpmath.mpf(left)
        above = charge * (1 - mpmath.mpf(gamma) * tau / 2) + k * tau
        return float(eta * above / (1 + (mpmath.mpf(gamma) / 2 + mpmath.mpf(eta) * charge * h) * tau))


_SIZES = st.floats(-4, 4).map(lambda x: 10.0**x)
_OR_NONE = st.one_of(st.just(0.0), _SIZES)


@given(_OR_NONE, _SIZES, _OR_NONE, _OR_NONE, st.floats(0.1, 10), st.floats(0.1, 10))
def test_every_digit(h, left, gamma, charge, eta, k):
    rate = float(deadline_rate(ln.Objective(eta=eta, k=k, gamma=gamma, terminal=charge), h, left))
    assert rate == pytest.approx(_digits(h, left, gamma, charge, eta, k), rel=2e-15)


def test_shapes_and_an_infinite_time():
    rates = deadline_rate(ln.Objective(gamma=0.5), [[1.0], [4.0]], [0.0, 1.0, math.inf])
    assert rates.shape == (2, 3) and np.all(rates[:, 0] == 0)
    root = math.sqrt(0.0625 + 4)
    assert rates[1, 2] == pytest.approx(1 / (root + 0.25), rel=1e-15)
    with pytest.raises(ln.NoMinimiser, match="remaining = inf"):
        deadline_rate(ln.Objective(), 0.0, math.inf)


def test_it_is_the_velocity_of_the_planned_path_for_any_metric():
    rng = np.random.default_rng(3)
    square = rng.normal(size=(3, 3))
    hessian, metric = square @ square.T + np.eye(3), np.diag([1.0, 3.0, 0.3])
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.4, metric=metric, horizon=1.2, terminal=0.8)
    loss, start = ln.losses.Quadratic(hessian, minimum=[1.0, 0.0, -1.0]), rng.normal(size=3)
    curvature, vectors = np.linalg.eig(np.linalg.solve(metric, hessian))
    rate = vectors @ np.diag(deadline_rate(objective, curvature.real, 1.2)) @ np.linalg.inv(vectors)
    predicted = -rate @ np.linalg.solve(metric, loss.gradient(start))
    by_ode = ln.solve(objective, loss, start, method="riccati")
    np.testing.assert_allclose(by_ode.velocity(0.0), predicted, rtol=1e-8)


def _focal(h, gamma, charge):
    """The first zero of D(s) = cosh Ss + (γ/2 + ch)·sinh(Ss)/S at η = k = 1, on a fine grid."""
    s = np.linspace(1e-6, 20, 400_001)
    root = np.sqrt(complex(gamma**2 / 4 + h))
    shape = (np.cosh(root * s) + (gamma / 2 + charge * h) * np.sinh(root * s) / root).real
    zeros = np.flatnonzero(shape <= 0)
    return s[zeros[0]] if len(zeros) else math.inf


@pytest.mark.parametrize(
    ("h", "gamma", "charge"), [(-2.0, 2.0, 0.0), (-0.5, 3.0, 8.0), (-1.0, 0.0, 0.5), (-0.2, 1.0, 0.0)]
)
def test_both_sides_of_a_focal_point(h, gamma, charge):
    objective, focal = ln.Objective(gamma=gamma, terminal=charge), _focal(h, gamma, charge)
    if math.isinf(focal):
        assert np.all(np.isfinite(deadline_rate(objective, h, [1.0, 100.0])))
        return
    assert np.isfinite(deadline_rate(objective, h, 0.999 * focal))
    with pytest.raises(ln.NoMinimiser, match="focal point"):
        deadline_rate(objective, h, 1.001 * focal)


def test_a_denominator_below_zero_is_no_focal_point():
    """γ = 2, h = −2: focal at 3π/4; at s = 1.8 the form in tan has the denominator −3.29, and J has a minimiser."""
    objective = ln.Objective(gamma=2.0, horizon=1.8)
    loss = ln.losses.Quadratic([[-2.0]], minimum=[0.0])
    rate = float(deadline_rate(objective, -2.0, 1.8))
    assert ln.solve(objective, loss, [1.0], method="action").velocity(0.0) == pytest.approx([2.0 * rate], rel=1e-6)


@pytest.mark.parametrize("charge", [0.2, 1.0])
@pytest.mark.parametrize("h", [0.5, 20.0])
def test_the_gain_falls_to_the_deadline_only_below_the_charge_that_the_loss_itself_counts(h, charge):
    """L3: it falls iff c < k/s₊(h); one c gives sharp modes a rising, flat modes a falling rate."""
    gamma = 0.5
    fast = math.sqrt(gamma**2 / 4 + h) + gamma / 2
    rate = deadline_rate(ln.Objective(gamma=gamma, terminal=charge), h, np.linspace(0.0, 3.0, 200))
    assert np.all(np.diff(rate) > -1e-15) if charge < 1 / fast else np.all(np.diff(rate) < 1e-15)


def _cost(rate, times, weights, jumps, charges, gamma, start):
    """J of θ on a linear loss L = θ for η = 1, with the velocity −rate at the midpoints."""
    step = times[1] - times[0]
    ends = np.append(times - step / 2, times[-1] + step / 2)
    theta = start - np.concatenate([[0.0], np.cumsum(rate) * step])
    middle = (theta[1:] + theta[:-1]) / 2
    total = np.sum(np.exp(-gamma * times) * (rate**2 / 2 + weights * middle)) * step
    return total + sum(
        c * math.exp(-gamma * t) * np.interp(t, ends, theta) for t, c in zip(jumps, charges, strict=True)
    )


@pytest.mark.parametrize("gamma", [0.0, 1.5])
@pytest.mark.parametrize("name", ["cosine", "trapezoid", "steps"])
def test_a_schedule_is_the_optimum_of_its_loss_weight(name, gamma):
    """Direct minimisation over all rates finds the schedule again (L4)."""
    count = 60
    t = np.linspace(0.0, 1.0, count + 1)
    rate = {
        "cosine": (1 + np.cos(np.pi * t)) / 2, "trapezoid": np.minimum(1.0, (1 - t) / 0.25),
        "steps": np.where(t < 0.5, 1.0, 0.3),
    }[name]  # fmt: skip
    if name == "steps":
        half = count // 2
        t, rate = np.insert(t, half, t[half]), np.insert(rate, half, 1.0)
    weighting = loss_weight(rate, gamma, times=t)
    middle = (rate[1:] + rate[:-1])[np.diff(t) > 0] / 2
    assert len(weighting.times) == count

    def cost(x):
        return _cost(x, weighting.times, weighting.weight, weighting.jumps, weighting.charges, gamma, 0.0)

    best = minimize(cost, np.ones(count), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10, "maxfun": 10**6})
    np.testing.assert_allclose(best.x, middle, atol=2e-3)


def test_nobody_wants_a_warm_up_without_a_discount_and_curvature():
    assert not loss_weight([0.0, 0.5, 1.0]).wanted
    assert not loss_weight([0.5, 0.6, 0.7]).wanted
    assert loss_weight([0.5, 0.6, 0.7], gamma=1.0).wanted  # no faster than the discount allows: ȧ ≤ γa


@pytest.mark.parametrize(("share", "wanted"), [(0.8, True), (1.2, False)])
def test_a_curved_loss_may_want_a_rate_that_rises(share, wanted):
    """Without discount, up to ȧ = ha²; the path of such a rate is then the cheapest of all, by linear algebra."""
    h, count = 2.0, 700
    t = np.linspace(0.0, 0.5, count + 1)
    rate = 0.5 / (1 - share * 0.5 * h * t)  # ȧ = share · ha²
    weighting = loss_weight(rate, times=t, curvature=h)
    assert weighting.wanted is wanted
    dt = t[1] - t[0]
    differences, means = np.diff(np.eye(count + 1), axis=0), (np.eye(count + 1)[1:] + np.eye(count + 1)[:-1]) / 2
    bill = differences.T @ differences / dt + h * dt * means.T @ (weighting.weight[:, None] * means)
    bill[-1, -1] += h * weighting.charges[-1]
    path = np.append(1.0, np.linalg.solve(bill[1:, 1:], -bill[1:, 0]))
    assert np.linalg.eigvalsh(bill[1:, 1:])[0] > 0
    np.testing.assert_allclose(-differences @ path / dt / (h * means @ path), (rate[1:] + rate[:-1]) / 2, rtol=1e-3)


@pytest.mark.parametrize(("eta", "charge"), [(1.0, 0.0), (0.4, 0.3)])
def test_a_gain_with_curvature_comes_from_a_constant_weight(eta, charge):
    """That of a deadline (L2) needs k(t) = 1 and its charge on its own curvature, and another weight on any other."""
    t = np.linspace(0.0, 2.0, 4001)
    rate = deadline_rate(ln.Objective(eta, terminal=charge), 4.0, 2.0 - t)
    found = loss_weight(rate, times=t, eta=eta, curvature=4.0)
    np.testing.assert_allclose(found.weight, 1.0, atol=1e-6)
    np.testing.assert_allclose(found.charges, [charge] if charge else [], rtol=1e-12)
    assert np.ptp(loss_weight(rate, times=t, eta=eta, curvature=1.0).weight) > 0.5


def test_a_drift_is_refused():
    with pytest.raises(ValueError, match=r"objective\.drift"):
        deadline_rate(ln.Objective(drift=ln.drifts.weight_decay(0.1)), 1.0, 1.0)


@pytest.mark.parametrize(("eta", "k", "charge"), [(1.0, 1.0, 2.0), (0.5, 4.0, 2.0), (2.0, 0.25, 0.3), (1.0, 3.0, 0.0)])
def test_a_rate_on_a_hill_is_refused_from_the_focal_point_on(eta, k, charge):
    """V = ½Px² backwards from the deadline, where P = ch: Ṗ = kh − γP − ηP², until it falls to −∞."""
    gamma, h = 0.4, -1.5

    def lost(_, p):
        return p[0] + 1e9

    lost.terminal = True
    run = solve_ivp(lambda _, p: k * h - gamma * p - eta * p**2, (0, 100), [charge * h], events=lost, rtol=1e-10)
    focal = float(run.t_events[0][0])
    objective = ln.Objective(eta=eta, k=k, gamma=gamma, terminal=charge)
    assert deadline_rate(objective, h, 0.999 * focal) > 100 * deadline_rate(objective, h, 0.5 * focal)
    with pytest.raises(ln.NoMinimiser, match="focal point"):
        deadline_rate(objective, h, 1.001 * focal)
