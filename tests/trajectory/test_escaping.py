"""Paths that run away for ever, down a loss that sinks at infinity or with a drift, beside the best path to a rest."""

import math

import numpy as np
import pytest
import scipy.integrate

import lossnav as ln

SINKS = ln.losses.Function(lambda x: x[..., 0] ** 2 * np.exp(-(x[..., 0] ** 2)), dim=1)  # 0 at 0, and at infinity


@pytest.mark.parametrize(("start", "inwards"), [(1.14, True), (1.22, False)])
def test_at_no_discount_the_shorter_of_two_lengths_decides(start, inwards):
    """∫√2L dθ is √2(1 − e^{−θ²/2}) to 0 and √2e^{−θ²/2} to infinity: equal at √(2 ln 2) = 1.177."""
    if inwards:
        assert ln.solve(ln.Objective(), SINKS, [start]).action == pytest.approx(
            math.sqrt(2) * (1 - math.exp(-(start**2) / 2)), rel=1e-6
        )
    else:
        with pytest.raises(ln.NotConverged, match=r"runs away costs less: J <= 0\.67\d* against 0\.74"):
            ln.solve(ln.Objective(), SINKS, [start])


def test_with_a_discount_the_bound_is_that_of_a_late_deadline():
    with pytest.raises(ln.NotConverged, match="runs away") as refusal:
        ln.solve(ln.Objective(gamma=0.1), SINKS, [1.5])
    bound = float(str(refusal.value).split("J <= ")[1].split()[0])
    dated = ln.solve(ln.Objective(gamma=0.1, horizon=60.0), SINKS, [1.5], throw=False)
    assert dated.action < bound < 1.01 * dated.action < 0.5 * 0.878
    assert ln.solve(ln.Objective(gamma=0.1), SINKS, [0.5]).asymptote == pytest.approx([0.0], abs=1e-6)


def hill(x):  # 1 at the top, ½ far out
    return 0.5 + 0.5 / (1 + x[..., 0] ** 2)


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_a_gradient_drift_that_carries_away_is_not_beaten_by_a_rest(gamma):
    """f = 1.2θ: L_eff has one minimum, at 0 (at γ = 0), and no loop pays; to let go costs less than to hold on."""
    objective = ln.Objective(gamma=gamma, drift=ln.drifts.Linear([[1.2]]))
    with pytest.raises(ln.NotConverged, match="runs away costs less") as refusal:
        ln.solve(objective, ln.losses.Function(hill, dim=1), [0.5])
    said = float(str(refusal.value).split("less: ")[1].split()[0])
    if gamma == 0:
        assert said == pytest.approx(0.5, abs=1e-6) and "per unit of time" in str(refusal.value)
    else:
        let_go = scipy.integrate.quad(
            lambda t: math.exp(-gamma * t) * float(hill(np.array([0.5 * math.exp(1.2 * t)]))), 0, 60
        )
        assert said == pytest.approx(let_go[0], rel=1e-4)


def test_the_same_drift_on_a_loss_that_grows_lets_the_path_rest():
    objective = ln.Objective(drift=ln.drifts.Linear([[1.2]]))
    bowl = ln.losses.Function(lambda x: hill(x) + 0.25 * x[..., 0] ** 2, dim=1)
    assert ln.solve(objective, bowl, [0.5]).asymptote == pytest.approx([0.0], abs=1e-6)
