"""The phase plane against the action solver and a shooting integration in time."""

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given, settings
from hypothesis import strategies as st

import lossnav as ln
from lossnav.trajectory import phase_plane

SECTION = ln.losses.Section(ln.losses.DoubleWell())
LOW, BARRIER, HIGH = SECTION.stationary_points()[:, 0]


@pytest.mark.parametrize(
    ("gamma", "place"),
    [
        (0.54, -0.9065),
        (0.664610, -0.6),
        (1, -0.3689),
        (3, -0.1360),
    ],
)
def test_indifference_points(gamma, place):
    """theory §7.5, and the definition: the action solver prices both candidates alike there."""
    found = phase_plane.indifference_point(ln.Objective(gamma=gamma), SECTION)
    assert found == pytest.approx(place, abs=6e-5)
    if 0.6 <= gamma <= 1.5:
        prices = [c.action for c in ln.solve(ln.Objective(gamma=gamma), SECTION, [found]).candidates if c.converged]
        assert len(prices) == 2 and prices[0] == pytest.approx(prices[1], abs=2e-7)


def test_indifference_ends():
    assert phase_plane.indifference_point(ln.Objective(gamma=0.5), SECTION) is None
    assert phase_plane.indifference_point(ln.Objective(gamma=3.95), SECTION) == pytest.approx(BARRIER)
    assert phase_plane.indifference_point(ln.Objective(gamma=3.89), SECTION) == pytest.approx(BARRIER, abs=1e-4)


@settings(deadline=None, max_examples=25)
@given(gamma=st.floats(0.05, 2.0), start=st.floats(0.2, 1.9))
def test_feedback_against_the_action_solver(gamma, start):
    objective = ln.Objective(eta=1.2, k=0.9, gamma=gamma)
    law = phase_plane.feedback(objective, SECTION, HIGH, (0.0, 2.0))
    traj = ln.solve(objective, SECTION, [start])
    assert float(law.speed(start)) == pytest.approx(traj.velocity(0.0)[0], rel=1e-6, abs=1e-8)
    assert float(law.action(start)) == pytest.approx(traj.action, rel=1e-7, abs=1e-9)


def test_law_is_an_orbit_of_the_euler_lagrange_equation():
    """Follow θ̈ = γθ̇ + ηkL′ in time from (θ, p(θ)): it must stay on the curve (until s₊ amplifies rounding)."""
    objective = ln.Objective(gamma=0.4)
    law = phase_plane.feedback(objective, SECTION, HIGH, (-2.0, 3.0))
    field = lambda t, y: [y[1], 0.4 * y[1] + float(SECTION.gradient([y[0]])[0])]
    orbit = scipy.integrate.solve_ivp(field, (0, 2.0), [-0.6, float(law.speed(-0.6))], rtol=1e-11, atol=1e-13)
    assert np.allclose(law.speed(orbit.y[0]), orbit.y[1], atol=1e-6)


def test_undiscounted_law_is_the_first_order_equation_of_the_paper():
    """Eqs. 63–64: θ̇ = √(2ηk(L − min L)) and J − rest = √(2k/η)∫√(L − min L)dθ."""
    law = phase_plane.feedback(ln.Objective(eta=0.8, k=1.5), SECTION, HIGH, (-1.2, 2.0))
    x = np.linspace(-1.1, 1.0, 9)
    height = lambda y: SECTION.value(np.reshape(y, (-1, 1))) - SECTION.value([HIGH])
    assert np.allclose(law.speed(x), np.sqrt(2 * 0.8 * 1.5 * height(x)), rtol=1e-9)
    area = scipy.integrate.quad(lambda y: float(np.sqrt(max(height(y)[0], 0.0))), -0.6, HIGH, epsabs=1e-12)[0]
    assert float(law.excess(-0.6)) == pytest.approx(np.sqrt(2 * 1.5 / 0.8) * area, rel=1e-8)
    assert law.rest == -np.inf


def test_reach_is_where_the_orbit_turns():
    law = phase_plane.feedback(ln.Objective(gamma=1.0), SECTION, HIGH, (-2.0, 3.0))
    assert law.reach[0] == pytest.approx(-0.527960, abs=1e-5) and law.reach[1] == 3.0
    assert np.isnan(law.action(-0.6)) and np.isfinite(law.action(-0.5))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: phase_plane.feedback(ln.Objective(), SECTION, 0.5, (0, 2)), "target = 0.5.*minimum"),
        (lambda: phase_plane.feedback(ln.Objective(), SECTION, HIGH + 1e-4, (0, 2)), "target = 1.0.*minimum"),
        (lambda: phase_plane.feedback(ln.Objective(), SECTION, 0.9, (0, 2)), "target = 0.9.*minimum"),
        (lambda: phase_plane.feedback(ln.Objective(), SECTION, HIGH, (2, 3)), "span"),
    ],
)
def test_errors_name_the_argument(call, words):
    with pytest.raises(ValueError, match=words):
        call()
