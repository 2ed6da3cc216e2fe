"""Losses without a place to rest, with one that is too flat, a valley of them, or lower ground for ever farther on.

Against integrals, deadlines, problems of one parameter and exact answers.
"""

import math

import numpy as np
import pytest
import scipy.integrate
import sympy

import lossnav as ln
from lossnav.trajectory import stationary

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
    with pytest.raises(ln.NotConverged, match="need not come to rest"):
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


def ring(level=0.0):
    return ln.losses.Function(lambda x: ((x**2).sum(-1) - 1) ** 2 + level, dim=2)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 3.0])
def test_the_way_to_a_ring_of_minima_is_radial(gamma):
    """Off the centre it is the path of one parameter, the radius, in a well at 1."""
    start = np.array([1.5, 0.5])
    radius = float(np.linalg.norm(start))
    path = ln.solve(ln.Objective(gamma=gamma), ring(), start, max_seconds=60)
    well = ln.losses.Section(ln.losses.DoubleWell(a=1.0, b=1.0, d=0.0))
    alone = ln.solve(ln.Objective(gamma=gamma), well, [radius])
    t = np.array([0.0, 0.3, 1.0, 4.0, 200.0])
    assert path.at_infinity == "rests" and path.is_minimum and path.action == pytest.approx(alone.action, rel=1e-7)
    np.testing.assert_allclose(path(t), alone(t) * start / radius, atol=1e-6)
    np.testing.assert_allclose(path.asymptote, start / radius, atol=1e-6)
    if gamma == 0:  # J = ∫ √(2L) dr
        assert path.action == pytest.approx(math.sqrt(2) * (radius**3 / 3 - radius + 2 / 3), rel=1e-7)


def test_resting_in_a_valley_costs_what_its_level_says():
    raised, plain = (ln.solve(ln.Objective(gamma=0.5), ring(level), [1.5, 0.5]) for level in (2.0, 0.0))
    assert raised.action - plain.action == pytest.approx(2.0 / 0.5) and raised.excess == pytest.approx(plain.excess)


@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_a_straight_valley_is_that_of_the_quadratic(gamma):
    normal, start = np.array([1.0, 2.0]), [1.5, 0.5]
    line = ln.losses.Function(lambda x: (x @ normal - 1.0) ** 2, dim=2)
    exact = ln.losses.Quadratic(2 * np.outer(normal, normal), gradient=-2 * normal, offset=1.0)
    objective = ln.Objective(gamma=gamma, metric=np.diag([1.0, 3.0]))
    path, true = ln.solve(objective, line, start, max_seconds=60), ln.solve(objective, exact, start)
    assert path.action == pytest.approx(true.action, rel=1e-6)
    np.testing.assert_allclose(path([0.2, 1.0, 50.0]), true([0.2, 1.0, 50.0]), atol=1e-6)


def test_at_gamma_0_a_minimum_below_the_valley_counts_alone():
    def both(x):
        height = ((x**2).sum(-1) - 1) ** 2
        return height / (1 + height) - 1.5 * np.exp(-4 * ((x[..., 0] - 3) ** 2 + x[..., 1] ** 2))

    path = ln.solve(ln.Objective(), ln.losses.Function(both, dim=2), [2.8, 0.2], max_seconds=60)
    assert path.asymptote[0] == pytest.approx(3.0, abs=0.2)


def ring_with_wells(depth, width, *centres):
    x, y = sympy.symbols("x y")
    wells = sum(sympy.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2)) for a, b in centres)
    return ln.losses.Function((x**2 + y**2 - 1) ** 2 / 4 - depth * wells)


@pytest.mark.parametrize("price", [None, ln.prices.Power(3.0, 0.7)])
def test_a_valley_is_one_place_in_the_count_of_what_is_unseen(price):
    """No two descents end at one place of a ring; beside it is a well, in which a path from above both may rest."""
    one, start = ring_with_wells(15.0, 0.3, (2.0, 2.0)), [2.5, 2.4]
    path = ln.solve(ln.Objective(gamma=0.5, price=price), one, start)
    dated = ln.solve(ln.Objective(gamma=0.5, price=price, horizon=30.0), one, start)
    after = 2 * math.exp(-15.0) * float(one.value(path.asymptote))
    assert path.unseen == 0 and path.action == pytest.approx(dated.action + after, rel=1e-8)


def test_of_many_narrow_wells_beside_a_valley_some_are_met_by_one_descent_alone():
    many = ring_with_wells(60.0, 0.1, *np.random.default_rng(1).uniform(-4, 4, (100, 2)).tolist())
    assert 0 < stationary.search(ln.Objective(gamma=0.5), many, np.array([2.5, 2.4])).unseen < stationary.MOST_UNSEEN


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


def test_with_a_discount_running_away_is_the_path_of_a_late_deadline():
    path = ln.solve(ln.Objective(gamma=0.1), SINKS, [1.5])
    dated = ln.solve(ln.Objective(gamma=0.1, horizon=200.0), SINKS, [1.5])
    assert path.action == pytest.approx(dated.action, rel=1e-7) and path.action < 0.5 * 0.878
    assert ln.solve(ln.Objective(gamma=0.1), SINKS, [0.5]).asymptote == pytest.approx([0.0], abs=1e-6)


def hill(x):  # 1 at the top, ½ far out
    return 0.5 + 0.5 / (1 + x[..., 0] ** 2)


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_a_gradient_drift_that_carries_away_is_not_beaten_by_a_rest(gamma):
    """f = 1.2θ: L_eff has one minimum, at 0 (at γ = 0), and no loop pays; to let go costs less than to hold on."""
    objective = ln.Objective(gamma=gamma, drift=ln.drifts.Linear([[1.2]]))
    with pytest.raises(ln.NotConverged, match="runs away costs less") as refusal:
        ln.solve(objective, ln.losses.Function(hill, dim=1), [0.5])
    cost = float(str(refusal.value).split("less: ")[1].split()[0])
    if gamma == 0:
        assert cost == pytest.approx(0.5, abs=1e-6) and "per unit of time" in str(refusal.value)
    else:
        let_go = scipy.integrate.quad(
            lambda t: math.exp(-gamma * t) * float(hill(np.array([0.5 * math.exp(1.2 * t)]))), 0, 60
        )
        assert cost == pytest.approx(let_go[0], rel=1e-4)


def test_the_same_drift_on_a_loss_that_grows_lets_the_path_rest():
    objective = ln.Objective(drift=ln.drifts.Linear([[1.2]]))
    bowl = ln.losses.Function(lambda x: hill(x) + 0.25 * x[..., 0] ** 2, dim=1)
    assert ln.solve(objective, bowl, [0.5]).asymptote == pytest.approx([0.0], abs=1e-6)
