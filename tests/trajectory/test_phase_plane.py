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


@pytest.mark.slow
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
