"""Closed forms of the overdamped limit: extremes, what is conserved, and errors that name the argument."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import lossnav as ln
from lossnav import uncertainty as un

PACE = {"eta": 0.5, "k": 2.0, "gamma": 4.0}


def exact(t: float, v0: float, h: float, entropy: float, prior: float = math.inf) -> mpf:
    """The solution of ṗ = (η/γ)(kH + λ/v_p − λp) with sixty digits."""
    with mp.workdps(60):
        rate, h, t = mpf(0.5) * mpf(entropy) / 4, mpf(h), mpf(t)
        source = mpf(0.5) / 4 * (2 * h + (mpf(entropy) / mpf(prior) if math.isfinite(prior) else 0))
        start = 1 / mpf(v0)
        return 1 / (start + source * t if rate == 0 else (start - source / rate) * mp.exp(-rate * t) + source / rate)


def test_closed_form_holds_over_many_decades() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        t, v0, h, entropy = 10.0 ** rng.uniform([-6, -6, -8, -12], [3, 3, 4, 2])
        prior = math.inf if rng.random() < 0.5 else 10 ** rng.uniform(-2, 2)
        variance = un.overdamped_variance(t, initial=v0, curvature=h, entropy=entropy, prior_variance=prior, **PACE)
        assert variance == pytest.approx(float(exact(t, v0, h, entropy, prior)), rel=1e-12)


def test_limits() -> None:
    t = np.array([0.0, 1.0, 50.0])
    flat = un.overdamped_variance(t, initial=0.3, curvature=0.0, entropy=0.4, **PACE)
    np.testing.assert_allclose(flat, 0.3 * np.exp(0.05 * t))
    # the limit λ_S → 0 is reached without a jump, from both formulas' side
    tiny = un.overdamped_variance(t, initial=0.3, curvature=1.0, entropy=1e-15, **PACE)
    none = un.overdamped_variance(t, initial=0.3, curvature=1.0, entropy=0.0, **PACE)
    np.testing.assert_allclose(tiny, none, rtol=1e-13)
    # on a hill of the loss the precision reaches zero at a finite time
    hill = {"initial": 0.3, "curvature": -1.0, "entropy": 0.0, **PACE}
    moment = 4.0 / (0.5 * 2.0 * 1.0 * 0.3)
    assert un.overdamped_variance(moment * 0.999, **hill) > 100
    assert un.overdamped_variance([moment * 1.001, 1e6], **hill).tolist() == [math.inf, math.inf]
    assert un.overdamped_offset([moment * 1.001, 1e6], **hill).tolist() == [math.inf, math.inf]
    # on flat ground the mean stays, also where the variance is beyond all floats
    assert un.overdamped_offset([1.0, 1e9], initial=0.3, curvature=0.0, entropy=0.4, **PACE).tolist() == [1.0, 1.0]
    late = un.overdamped_variance(1e9, initial=5.0, curvature=2.0, entropy=0.7, **PACE)
    assert late == pytest.approx(un.equilibrium_variance(2.0, 2.0, 0.7), rel=1e-12)


def test_shapes_broadcast() -> None:
    v = un.overdamped_variance(np.zeros(3)[:, None], initial=[1.0, 2.0], curvature=1.0, entropy=0.1, **PACE)
    np.testing.assert_array_equal(v, [[1, 2]] * 3)
    assert isinstance(un.overdamped_variance(1.0, initial=1.0, curvature=1.0, entropy=0.1, **PACE), float)
    assert isinstance(un.equilibrium_variance(1.0, 1.0, 1.0), float)
    assert un.equilibrium_variance(np.ones((2, 3)), 1.0, 1.0).shape == (2, 3)
    assert un.relaxation_rate(1.0, [0.0, 1.0], 0.25).shape == (2,)


def test_precision_averages_the_curvature() -> None:
    """ṗ = (η/γ)(kH − λ_S p): p is an exponential moving average of H/T, here of a curvature that changes in time."""
    problem = un.Problem(eta=0.5, k=2.0, gamma=4.0, entropy=0.8)
    rate = 0.5 * 0.8 / 4.0
    tasks = [un.average(ln.losses.Quadratic([[h]], minimum=[0.0])) for h in (3.0, 0.5, 8.0)]
    t = np.linspace(0, 30, 61)
    _, v = un.overdamped_path(problem, tasks[0], [0.2], [1.0], t, switches=[(8.0, tasks[1]), (19.0, tasks[2])])
    # at every time of the grid, by a sum on a fine one: trapezoids between the switches, which are on it
    fine = np.linspace(0.0, 30.0, 30_001)
    source = np.where(fine < 8, 3.0, np.where(fine < 19, 0.5, 8.0)) / 0.4
    jumps = np.isin(np.round(fine, 9), (8.0, 19.0))
    before = np.where(jumps, np.roll(source, 1), source)  # the curvature just before each time
    growth = rate * np.diff(fine) * (np.exp(rate * fine[:-1]) * source[:-1] + np.exp(rate * fine[1:]) * before[1:]) / 2
    precision = np.exp(-rate * fine) * (1.0 + np.r_[0.0, np.cumsum(growth)])
    np.testing.assert_allclose(1 / v[:, 0], precision[::500], rtol=1e-6)


def test_without_entropy_the_mean_is_the_bayesian_estimate() -> None:
    """λ_S = 0: precision adds up, the mean is the precision-weighted average of start and minimum."""
    t = 7.0
    gain = PACE["eta"] * PACE["k"] * 1.5 * t / PACE["gamma"]
    offset = un.overdamped_offset(t, initial=0.4, curvature=1.5, entropy=0.0, **PACE)
    assert offset == pytest.approx((1 / 0.4) / (1 / 0.4 + gain), rel=1e-13)


def test_frozen_variance_is_gradient_descent() -> None:
    problem = un.Problem(gamma=4.0, entropy=0.8)
    loss = un.average(ln.losses.Quadratic([[2.0]], minimum=[1.0]))
    t = np.linspace(0, 5, 11)
    mean, v = un.overdamped_path(problem, loss, [0.0], [0.3], t, frozen=True)
    np.testing.assert_allclose(v, 0.3)
    np.testing.assert_allclose(mean[:, 0], 1 - np.exp(-0.3 * 2.0 / 4.0 * t), rtol=1e-7)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_path_agrees_with_the_closed_form_and_restarts_at_switches_in_any_unit(unit: float) -> None:
    problem = un.Problem(gamma=4.0, entropy=0.8, prior_variance=2.0 * unit**2)
    loss, steeper = (un.average(ln.losses.Quadratic([[h / unit**2]], minimum=[0.0])) for h in (2.0, 7.0))
    switches = [(3.0, loss), (9.0, steeper), (20.0, loss)]  # those at the last time and later change nothing yet
    t = np.array([0.0, 3.0, 3.5, 9.0])
    options = {"curvature": 2.0, "eta": 1.0, "k": 1.0, "gamma": 4.0, "entropy": 0.8, "prior_variance": 2.0}
    mean, v = un.overdamped_path(problem, loss, [unit], [3.0 * unit**2], t, switches=switches)
    np.testing.assert_allclose(v[:, 0] / unit**2, un.overdamped_variance(t, initial=3.0, **options), rtol=1e-7)
    np.testing.assert_allclose(mean[:, 0] / unit, un.overdamped_offset(t, initial=3.0, **options), rtol=1e-7)


def test_equilibrium_with_and_without_prior() -> None:
    assert un.equilibrium_variance(3.0, 1.0, 0.0) == 0.0  # Bayes without forgetting
    np.testing.assert_allclose(un.equilibrium_variance([2.0, 0.0, -1.0], 1.0, 0.8, prior_variance=0.4), [0.2, 0.4, 0.8])
    for h in (0.0, -1.0):
        with pytest.raises(ln.NoMinimiser, match="prior_variance"):
            un.equilibrium_variance(h, 1.0, 0.8)


def test_relaxation_rate_solves_its_equation() -> None:
    gamma = np.array([0.0, 1e-6, 1.0, 1e9])
    r = un.relaxation_rate(0.3, gamma, 0.7)
    np.testing.assert_allclose(r**2 + gamma * r, 0.21, rtol=1e-12)
    assert un.relaxation_rate(1.0, 0.0, 0.0) == 0.0
    assert un.relaxation_rate(1.0, 1e9, 0.5) == pytest.approx(0.5e-9, rel=1e-12)


def test_without_a_discount_there_is_no_limit() -> None:
    with pytest.raises(ValueError, match=r"^gamma = "):
        un.overdamped_variance(1.0, initial=1, curvature=1, entropy=0, eta=1, k=1, gamma=0)


def test_path_errors() -> None:
    problem = un.Problem(gamma=4.0, entropy=0.8)
    flat = un.average(ln.losses.Quadratic([[-2.0]], minimum=[0.0]))
    with pytest.raises(ValueError, match="increasing"):
        un.overdamped_path(problem, flat, [0.0], [1.0], [1.0, 0.5])
    with pytest.raises(ValueError, match="increasing"):
        un.overdamped_path(problem, flat, [0.0], [1.0], [0.0, 0.5, 0.5])
    with pytest.raises(ValueError, match="increase"):
        un.overdamped_path(problem, flat, [0.0], [1.0], [0.0, 1.0], switches=[(1.0, flat), (1.0, flat)])
    with pytest.raises(ValueError, match="switches"):
        un.overdamped_path(problem, flat, [0.0], [1.0], [0.0, 1.0], switches=[(2.0, flat), (1.0, flat)])
    with pytest.raises(ValueError, match=r"problem\.gamma"):
        un.overdamped_path(un.Problem(entropy=0.8), flat, [0.0], [1.0], [0.0, 1.0])
    with pytest.raises(ln.NotConverged, match="stopped"):  # on a hill the variance is infinite after a finite time
        un.overdamped_path(problem, flat, [0.1], [1.0], [0.0, 100.0])


@settings(max_examples=15, deadline=None)
@given(
    hill=st.floats(0.1, 10.0), start=st.floats(0.05, 5.0), eta=st.floats(0.1, 5.0), gamma=st.floats(0.5, 20.0),
    beyond=st.floats(1.5, 20.0),
)  # fmt: skip
def test_a_runaway_is_told_apart_from_a_fast_task_and_stopped_where_the_closed_form_diverges(
    hill, start, eta, gamma, beyond
) -> None:
    """On a hill of the loss the precision falls in a straight line: it is gone at γ/ηkhv₀."""
    problem = un.Problem(eta=eta, k=1.0, gamma=gamma, entropy=0.0)
    moment = gamma / (eta * hill * start)
    loss = un.average(ln.losses.Quadratic([[-hill]], minimum=[0.0]))
    with pytest.raises(ln.NotConverged, match="without bound") as refusal:
        un.overdamped_path(problem, loss, [0.0], [start], [beyond * moment])
    stopped = float(re.search(r"t = ([0-9.e+-]+):", str(refusal.value)).group(1))
    assert stopped == pytest.approx(moment, rel=2e-5)
    before = un.overdamped_path(problem, loss, [0.0], [start], [0.0, 0.9 * moment, 0.999 * moment])[1][:, 0]
    np.testing.assert_allclose(before, start / np.array([1.0, 0.1, 0.001]), rtol=1e-4)
