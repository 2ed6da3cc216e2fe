"""Losses without a place to rest, or with one that is too flat: against integrals, deadlines and exact answers."""

import math

import numpy as np
import pytest
import scipy.integrate

import lossnav as ln

SOFT = ln.losses.Function(lambda x: np.logaddexp(0, -x[..., 0]), dim=1)
FLAT = ln.losses.Function(lambda x: x[..., 0] ** 4 + x[..., 1] ** 2 / 2, dim=2)


def test_a_loss_that_sinks_for_ever():
    """Against a late deadline, a value from outside, and the energy identity."""
    path = ln.solve(ln.Objective(gamma=1.0), SOFT, [1.0])
    assert path.action == pytest.approx(0.2862398, abs=1e-7) and path.is_minimum
    assert path.action == pytest.approx(SOFT.value([1.0]) - path.velocity(0.0)[0] ** 2 / 2, rel=1e-8)
    late = ln.solve(ln.Objective(gamma=1.0, horizon=40.0), SOFT, [1.0])
    assert abs(path.action - late.action) <= path.error + 1e-9 < 1e-7
    t = np.linspace(0, 10, 11)
    np.testing.assert_allclose(path(t), late(t), atol=1e-6)


def test_without_a_discount_it_is_said_how_well_it_is_known():
    """∫√(2L)dθ from 1 to infinity."""
    exact = scipy.integrate.quad(lambda x: math.sqrt(2 * np.logaddexp(0, -x)), 1.0, 80.0, epsabs=1e-12)[0]
    path = ln.solve(ln.Objective(), SOFT, [1.0], throw=False)
    assert not path.converged and "deadline" in path.reason and abs(path.action - exact) <= path.error
    with pytest.raises(ln.NotConverged, match="no place to rest"):
        ln.solve(ln.Objective(), SOFT, [1.0])


@pytest.mark.parametrize(
    ("loss", "start", "exact"),
    [
        (FLAT, [1.0, 1.0], math.sqrt(2) / 3 + 0.5),
        (ln.losses.Function(lambda x: x[..., 0] ** 4 / 4, dim=1), [1.0], 1 / (3 * math.sqrt(2))),
    ],
)
def test_rests_to_which_paths_come_as_powers_of_time(loss, start, exact):
    """At γ = 0 J is ∫√(2L)|dθ|, and no rate of approach exists; with γ the energy identity is another channel."""
    path = ln.solve(ln.Objective(), loss, start)
    assert path.action == pytest.approx(exact, rel=1e-7) and abs(path.action - exact) <= path.error + 1e-9
    faded = ln.solve(ln.Objective(gamma=1.0), loss, start)
    assert faded.action == pytest.approx(loss.value(start) - faded.velocity(0.0) @ faded.velocity(0.0) / 2, rel=1e-7)


def test_a_kink_is_not_called_insoluble():
    """|θ| at γ = 0: the path arrives after √2, and what is known of J, 2√2/3, is said."""
    with pytest.raises(ln.NotConverged):
        ln.solve(ln.Objective(), ln.losses.Function(lambda x: np.abs(x[..., 0]), dim=1), [1.0])


def test_negative_curvature_has_one_answer_however_it_is_given():
    exact = ln.solve(ln.Objective(gamma=1.0), ln.losses.Quadratic([[-0.1]], minimum=[0.0]), [1.0])
    path = ln.solve(ln.Objective(gamma=1.0), ln.losses.Function(lambda x: -0.05 * x[..., 0] ** 2, dim=1), [1.0])
    assert path.action == pytest.approx(exact.action, rel=1e-8) == pytest.approx(-0.0563508, abs=1e-7)
    t = np.linspace(0, 5, 6)
    np.testing.assert_allclose(path(t), exact(t), rtol=1e-6)


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x[..., 0] ** 2 / 2 - 0.01 * np.exp(x[..., 0]),
        lambda x: x[..., 0] ** 2 / 2 - 1e-4 * x[..., 0] ** 4,
        lambda x: -0.5 * x[..., 0] ** 2,
    ],
)
def test_a_loss_without_a_bottom_is_refused(value):
    with np.errstate(over="ignore"), pytest.raises(ln.NoMinimiser, match="no lower bound"):
        ln.solve(ln.Objective(gamma=1.0), ln.losses.Function(value, dim=1), [0.5])
