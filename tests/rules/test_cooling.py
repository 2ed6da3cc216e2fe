"""Rates that noise asks for (L5–L8), against brute force on the exact recursion of the moments."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from lossnav.rules import cooling, kalman_rates


def _final(rates, h, m, noise, multiplicative=0.0):
    for a in rates:
        m = (1 - a * h) ** 2 * m + a * a * (noise + multiplicative * m)
    return m


def test_numbers_of_one_mode():
    rates = kalman_rates(1.4, 2.0, 0.9, 6)
    np.testing.assert_allclose(rates[[0, 1, 5]], [0.5809128631, 0.3203661327, 0.1146601147], atol=1e-10)


@pytest.mark.parametrize("multiplicative", [0.0, 0.6])
@pytest.mark.parametrize("running", [False, True])
def test_one_mode_has_no_deadline_effect(running, multiplicative):
    """Brute force finds the same rates for the final and for the running loss (L5)."""
    h, m, noise, steps = 1.4, 2.0, 0.9, 6

    def cost(rates):
        each = [_final(rates[: n + 1], h, m, noise, multiplicative) for n in range(steps)]
        return sum(each) if running else each[-1]

    best = minimize(cost, np.full(steps, 0.2), method="BFGS", options={"gtol": 1e-12})
    np.testing.assert_allclose(best.x, kalman_rates(h, m, noise, steps, multiplicative=multiplicative), atol=2e-6)


def _brute(h, m, noise, steps, cap, start):
    curvature, spread, added = (torch.tensor(x, dtype=torch.float64) for x in (h, m, noise))
    scale = 1 / float(np.sum(h * _final(start, h, m, noise)))

    def cost(logarithms):
        z = torch.tensor(logarithms, requires_grad=True)
        value = scale * (curvature * _final(torch.exp(z), curvature, spread, added)).sum()
        value.backward()
        return value.item(), z.grad.numpy()

    top = None if np.isinf(cap) else np.log(cap)
    options = {"maxiter": 500, "ftol": 1e-14, "gtol": 1e-9}
    return minimize(cost, np.log(start), jac=True, method="L-BFGS-B", bounds=[(None, top)] * steps, options=options).fun


@pytest.mark.parametrize(
    ("exponent", "cap"), [(1.25, np.inf), (1.5, 4.0), (1.0, 1.0)], ids=["free", "capped", "all of it capped"]
)
def test_a_spectrum_against_all_rates(exponent, cap):
    """The law of one scalar is within 0.2 % of the best of all rates of the exact recursion (L7)."""
    steps, h = 250, 0.05 * np.arange(1, 31) ** -exponent
    m, noise = h / h[0], 0.01 * h
    schedule = cooling(h, m, noise, steps, cap=cap)
    rates = np.minimum(schedule(steps - (np.arange(steps) + 0.5)), cap)
    exact = float(np.sum(h * _final(rates, h, m, noise)))
    assert _brute(h, m, noise, steps, cap, rates) > 1 - 2e-3
    constant = min(
        float(np.sum(h * _final(np.full(steps, a), h, m, noise))) for a in np.geomspace(1e-3, min(cap, 30), 60)
    )
    assert exact < constant * (1 + 1e-9)
    assert schedule.excess == pytest.approx(exact / 2, rel=2e-2)
    assert np.all(np.diff(schedule.rate) >= -1e-12 * schedule.rate[-1])


def test_of_several_minima_the_least():
    """Two modes whose F has two minima: a local search from large U would stay in the dearer one."""
    h, m, noise = np.array([10.0, 0.3]) * 0.01, np.array([0.1, 10.0]), np.array([10.0, 1e-4])
    schedule = cooling(h, m, noise, 500.0)
    costs = []
    for distance in np.geomspace(1e-2, 400, 400):  # F by plain quadrature
        u = np.linspace(0.0, distance, 20_001)
        kernel = (noise * h * np.exp(-2 * h * u[:, None])).sum(1)
        costs.append(0.5 * np.sum(h * m * np.exp(-2 * h * distance)) + np.trapezoid(np.sqrt(kernel), u) ** 2 / 1000)
    dips = [i for i in range(1, 399) if costs[i] < costs[i - 1] and costs[i] < costs[i + 1]]
    assert schedule.excess == pytest.approx(min(costs), rel=1e-3)
    assert schedule.excess <= min(costs[i] for i in dips) * (1 + 1e-3)


def test_linear_decay_is_the_answer_to_noise_that_is_forgotten_as_one_over_time():
    """L8: κ ∝ u^{−q} gives (1 − z)^{q/(2−q)}; h = i^{−β} with noise ∝ h has q = 2 − 1/β: β = 1 is linear."""
    h = 1.0 * np.arange(1, 2001) ** -1.0
    schedule = cooling(h, np.where(np.arange(2000) < 50, 1.0, 0.0), 0.01 * h, 2000.0)
    left = np.array([0.2, 0.4, 0.6, 0.8]) * 2000
    exponent = np.diff(np.log(schedule(left))) / np.diff(np.log(left))
    np.testing.assert_allclose(exponent, 1.0, atol=0.15)


def test_nothing_to_cool():
    with pytest.raises(ValueError, match="noise is 0"):
        cooling([1.0], [1.0], [0.0], 10.0)
    with pytest.raises(ValueError, match="spread is 0"):
        cooling([1.0], [0.0], [1.0], 10.0)
    with pytest.raises(ValueError, match="any rate is as good"):
        kalman_rates(1.0, 0.0, 0.0, 3)


def test_swapping_two_rates_changes_the_loss_by_what_the_lemma_says():
    """L6: E θ² of (a, b) minus that of (b, a) is −2ab·h(a − b)σ², with ν, too: no warm-up is ever strictly better."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b, h, m, noise, grown = rng.uniform(0.01, 2, 6)
        gap = _final([a, b], h, m, noise, grown) - _final([b, a], h, m, noise, grown)
        assert gap == pytest.approx(-2 * a * b * h * (a - b) * noise, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rounding", [1e-12, 1e-16, 1e-30])
def test_what_is_flat_up_to_rounding_changes_nothing(rounding):
    """Its time is longer than any: the grid has to reach the steep modes all the same."""
    plain, with_it = (cooling([1.0, flat], [1.0, 1.0], [1.0, 1.0], 100.0) for flat in (0.0, rounding))
    assert with_it.distance == pytest.approx(plain.distance, rel=1e-6) and with_it.rate[-1] < 1.1
    assert with_it.excess == pytest.approx(plain.excess, rel=1e-6)


@pytest.mark.parametrize(("spread", "noise"), [(1e16, 1.0), (1.0, 1e-15), (1e300, 1.0)])
def test_who_knows_nothing_averages(spread, noise):
    np.testing.assert_allclose(kalman_rates(1.0, spread, noise, 5), 1 / np.arange(1, 6), rtol=1e-12)
