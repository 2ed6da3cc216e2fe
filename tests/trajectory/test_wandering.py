"""Optimal paths that never rest: what ``solve`` says of them, and that the ring's optimum is what it is said to be."""

import time
from dataclasses import replace

import numpy as np
import pytest
from resources import draws
from rings import loop, ring
from wells import drifting

import lossnav as ln
from lossnav.trajectory import cycles, wandering
from lossnav.trajectory.case import Case
from lossnav.trajectory.status import Status


def turning(rate, gamma=0.0, **options):
    return ln.Objective(gamma=gamma, drift=ln.drifts.rotation(rate), **options)


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "method"), [(0.0, "auto"), (0.0, "bvp"), (0.5, "bvp")])
def test_solve_does_not_say_that_the_ring_has_no_optimum_or_a_resting_one(gamma, method):
    began = time.process_time()
    with pytest.raises(ln.NotConverged, match=r"need not come to rest.*trajectory\.cycles"):
        ln.solve(turning(1.0, gamma), ring(), [1.5, 0.5], method=method)
    assert time.process_time() - began < 60  # at gamma = 0 it used to look for a rest on a circle of them, for ever
    attempt = ln.solve(turning(1.0, gamma), ring(), [1.5, 0.5], method=method, throw=False)
    assert not attempt.converged and np.all(np.isnan(attempt.asymptote))
    assert np.linalg.norm(attempt(attempt.end / 2)) == pytest.approx(1, abs=1e-2)  # on the ring


@pytest.mark.slow
def test_gamma_zero_says_what_resting_and_going_round_cost():
    assert wandering.lowest_rest(turning(1.0), ring(), np.array([1.5, 0.5])) == pytest.approx(7 / 16, rel=1e-9)
    with pytest.raises(ln.NotConverged, match=r"resting costs 0\.4375 per unit of time"):
        ln.solve(turning(1.0), ring(), [1.5, 0.5])


def test_who_goes_round_pays_no_more_than_one_whom_the_drift_carries():
    """On its limit cycle a drift carries for L/γ; to stand still there, where the deadline finds one, costs |f|²/2."""

    def circling(x):
        return (1 - (x**2).sum(-1, keepdims=True)) * x + 3 * np.stack([-x[..., 1], x[..., 0]], axis=-1)

    bowl = ln.losses.Quadratic(0.02 * np.eye(2), minimum=[0.0, 0.0])
    found = wandering.bound(ln.Objective(gamma=0.05, drift=circling), bowl, np.array([1.0, 0.0]))
    assert 0.19 < found.cost < 0.01 / 0.05


@pytest.mark.parametrize(("apart", "gamma"), [(1e-5, 1.0), (1e-3, 0.3), (0.02, 0.5)])
def test_however_slowly_a_drift_spirals_out_what_going_with_it_costs_is_known(apart, gamma):
    """|θ| = e^{at} from 1, so J = c/(γ − 2a); 60 e-folds take so long that it turns too often to be followed."""
    spiral = ln.drifts.Linear([[apart, -3.0], [3.0, apart]])
    bowl = ln.losses.Function(lambda x: 0.01 * (x**2).sum(-1), dim=2)
    cost = wandering._carried(ln.Objective(gamma=gamma, drift=spiral), bowl, np.array([1.0, 0.0]))
    assert cost == pytest.approx(0.01 / (gamma - 2 * apart), rel=1e-6)


@pytest.mark.parametrize(("gamma", "rate", "tilt"), [(0.0, 0.5, 0.1), (0.2, 0.6, 0.2)])
def test_a_rest_that_stands_is_not_returned_if_the_cycle_is_cheaper(gamma, rate, tilt):
    """Above the locking threshold there still is a place to rest, a minimum of L_eff at gamma = 0."""
    orbit = cycles.cycle(turning(rate, gamma), ring(tilt), loop())
    assert orbit.rate < 0.02
    start = np.array([-0.99, 0.1])
    if gamma == 0:
        with pytest.raises(ln.NotConverged, match="need not come to rest"):
            ln.solve(turning(rate), ring(tilt), start)
        return
    path = ln.solve(turning(rate, gamma), ring(tilt), start)
    dated = ln.solve(turning(rate, gamma, horizon=200.0), ring(tilt), start)
    assert path.at_infinity == "moves on" and path.action == pytest.approx(dated.action, rel=1e-8)
    rest = path.candidates[1]  # what was compared stays: the best path to a rest
    assert rest.at_infinity == "rests" and rest.converged and rest.action > path.action + 0.04
    t = np.linspace(0, 3 * orbit.period, 50)
    np.testing.assert_allclose(path(t), dated(t), atol=1e-4)


def test_what_is_not_known_as_well_as_was_asked_is_returned_with_how_well_it_is():
    """Outwards at nearly half the discount: of what comes after a deadline little fades."""
    outwards = ln.drifts.Function(lambda x: 0.2 * x + 0.3 * np.sin(x), dim=1)
    objective, loss = ln.Objective(gamma=1.0, drift=outwards), ln.losses.Quadratic([[0.01]], minimum=[0.0])
    path = ln.solve(objective, loss, [1.0], throw=False)
    assert path.status is Status.DEADLINE_TOO_EARLY and "to within" in path.reason
    assert np.isnan(path.growth)  # a deadline does not tell an outward path from one that slides on
    dated = ln.solve(replace(objective, horizon=40.0), loss, [1.0])
    assert path.action == pytest.approx(dated.action, abs=3 * path.error)


@pytest.mark.parametrize(("gamma", "rate", "tilt"), [(0.0, 0.5, 0.25), (0.2, 0.5, 0.2), (1.0, 0.1, 0.2)])
def test_below_the_threshold_the_rest_is_returned(gamma, rate, tilt):
    path = ln.solve(turning(rate, gamma), ring(tilt), [-0.9, 0.3], rtol=1e-6)
    assert path.converged and path.asymptote[0] < 0
    np.testing.assert_allclose(path(400.0), path.asymptote, atol=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.8])
def test_the_way_to_the_ring_is_that_of_one_radius_without_drift(gamma):
    """In coordinates that turn with the current there is none left: J is that of (r² − 1)² on a line."""
    start, rate = np.array([0.3, 0.2]), 0.7
    radius = float(np.linalg.norm(start))
    if gamma:
        line = ln.losses.DoubleWell(a=1.0, b=1.0, c=1.0, d=0.0)
        straight = ln.solve(ln.Objective(gamma=gamma), line, [radius, 0.0])
        expected, end = straight.action, straight.asymptote[0]
        assert end == pytest.approx(1.0)
    else:
        expected = np.sqrt(2) * abs(radius**3 / 3 - radius + 2 / 3)
    # without a discount J is infinite for whoever rests, and what is found is refused
    path = ln.solve(turning(rate, gamma), ring(), start, throw=gamma > 0)
    assert path.action == pytest.approx(expected, rel=1e-6 if gamma else 2e-4)
    angle = np.unwrap(np.arctan2(*path(path.times).T[::-1]))
    time = path.times < 30 if gamma else slice(None)  # what comes later has no weight
    np.testing.assert_allclose(angle[time] - angle[0], rate * path.times[time], atol=1e-4 if gamma else 3e-2)


@pytest.mark.parametrize("gamma", [3.0, 4.0, 4.5])
def test_from_the_top_it_stays_if_and_only_if_gamma_is_at_least_four(gamma):
    """L ≥ 1 − 2r², and ∫e^{−γt}ẏ² ≥ (γ²/4)∫e^{−γt}y² for y(0) = 0: at γ ≥ 4 no path from 0 costs less than 1/γ."""
    cost = wandering.bound(turning(1.0, gamma), ring(), np.zeros(2)).cost
    assert (cost < (1 - 1e-3) / gamma) if gamma < 4 else cost == pytest.approx(1 / gamma, rel=1e-4)


@pytest.mark.parametrize("seed", [43, 306, 317])
def test_under_a_gradient_drift_a_second_best_rest_is_refused_by_who_knows_of_no_rest(seed):
    """On a line every drift is a gradient: the way with it, pulled downhill, finds J by itself."""
    objective, loss, rng = drifting(seed)
    start = 3 * rng.normal(size=1)
    best = ln.solve(objective, loss, start)
    bound = wandering.bound(objective, loss, start)
    assert best.converged and bound.cost == pytest.approx(best.action, abs=2 * bound.margin + 1e-6)
    for second in best.candidates[1:]:
        dearer = second.action > best.action + 2 * bound.margin + 1e-6
        if second.converged and second.at_infinity == "rests" and dearer:
            case = Case(objective, loss, start)
            refused = wandering.checked(case, lambda _, second=second: replace(second, others=()))
            assert not refused.converged and refused.status is Status.NEVER_RESTS
            return
    assert seed != 317


@pytest.mark.slow
@pytest.mark.parametrize(("gamma", "current", "locks"), [(0.05, 1.234, True), (0.05, 1.4, False), (0.1, 1.274, False)])
def test_who_rests_along_a_current_over_many_wells_would_not_leave_again(gamma, current, locks):
    """On a tilted ring, unrolled: the learner comes to rest at 4/π − O(γ²), 1.2725 and 1.2701, and else never."""
    tilted = ln.losses.Function(lambda x: np.cos(x[..., 0]), dim=1)
    objective = ln.Objective(gamma=gamma, drift=ln.drifts.Linear([[0.0]], [current]))
    path = ln.solve(objective, tilted, [0.0], throw=False)
    assert path.converged is locks
    if not locks:
        assert path.status is Status.NEVER_RESTS and "to leave there again saves" in path.detail
    else:
        assert path.asymptote[0] == pytest.approx(np.pi + np.arcsin(gamma * current), abs=1e-6)


@pytest.mark.parametrize("seed", [28, 121])
def test_the_only_rest_is_forgotten_too_where_a_slow_drift_gets_there_long_after_all_is_paid(seed):
    objective, loss, rng = drifting(seed)
    start = 3 * rng.normal(size=1)
    path = ln.solve(objective, loss, start)
    dated = ln.solve(replace(objective, horizon=30 / objective.gamma), loss, start)
    assert path.action == pytest.approx(dated.action, abs=1e-8)


def test_nothing_is_asked_where_rest_is_all_there_is():
    start = np.array([1.0, 0.5])
    saturating = ln.drifts.Function(lambda x: -np.tanh(x), lambda x: np.diag(-1 / np.cosh(x) ** 2), dim=2)
    bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 1.0])
    for objective, loss in (
        (ln.Objective(gamma=1.0), ring()),
        (ln.Objective(gamma=1.0, drift=saturating), ring()),
        (turning(1.0, 0.5), bowl),
        (turning(1.0, 0.5, horizon=3.0), ring()),
    ):
        assert wandering.bound(objective, loss, start) is None


def test_which_of_several_rests_a_path_would_get_to_may_be_forgotten_and_its_cost_known():
    """A strong discount and a long way: Newton's method took minutes on times that have no weight, and gave up."""
    turn = np.array([[1.0, 0.6], [-0.7, 1.0]])
    drift = ln.drifts.Function(lambda x: np.array([1.5, -0.5]) + 0.5 * np.sin(x @ turn), dim=2)
    loss = ln.losses.Function(lambda x: 0.1 * (x**2).sum(-1) - np.exp(-((x - 1) ** 2).sum(-1) / 2), dim=2)
    objective, start = ln.Objective(eta=0.4, gamma=4.0, drift=drift), np.array([4.0, -3.0])
    began = time.process_time()
    path = ln.solve(objective, loss, start)
    assert path.converged and np.all(np.isnan(path.asymptote)) and time.process_time() - began < 60
    dated = ln.solve(replace(objective, horizon=10.0), loss, start)
    assert path.action == pytest.approx(dated.action, rel=1e-9)
    t = np.linspace(0, 1, 9)
    np.testing.assert_allclose(path(t), dated(t), atol=1e-6)


@pytest.mark.parametrize("gamma", [3.0, 8.0])
def test_a_rest_to_which_the_law_leads_is_known_however_late_a_path_gets_there(gamma):
    """Where e^{−γt} had fallen to rounding on the way, the path stood still, said that it moves on, and was .08 off."""
    drift = ln.drifts.Linear([[0.0, 0.3], [-0.3, 0.0]])
    objective, start, t = ln.Objective(gamma=gamma, drift=drift), [-1.2, 0.8], np.linspace(0, 40, 9)
    path = ln.solve(objective, ln.losses.DoubleWell(), start)
    assert path.at_infinity == "rests" and path.converged
    dated = ln.solve(replace(objective, horizon=60.0), ln.losses.DoubleWell(), start)
    np.testing.assert_allclose(path(t), dated(t), atol=1e-7)


def test_a_path_that_a_strong_discount_forgets_is_not_followed_to_the_end_of_time():
    """Newton's method got lost where nothing is left to pay, on ever longer meshes, for minutes."""

    def swirl(x):
        return 2 * np.stack([-x[..., 1], x[..., 0]], axis=-1) / (1 + (x**2).sum(-1, keepdims=True))

    bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.2, 0.0])
    objective = ln.Objective(eta=0.1, gamma=10.0, drift=ln.drifts.Function(swirl))
    path = ln.solve(objective, bowl, [-1.7, 0.8], max_seconds=30)
    other = ln.solve(replace(objective, horizon=4.0), bowl, [-1.7, 0.8], method="bvp")
    assert path.action == pytest.approx(other.action, rel=1e-7)
    np.testing.assert_allclose(path([0.1, 0.5]), other([0.1, 0.5]), atol=1e-6)


def test_a_jacobian_by_differences_is_not_followed_for_ever():
    """Its rounding drew apart by 1e-10 per unit of time, and the drift was followed until 60 e-folds of that."""
    swirl = ln.drifts.Function(lambda x: [-0.3 * x[1], 0.3 * x[0] - 0.1 * x[1] ** 3], dim=2)
    loss = ln.losses.Function(lambda x: (x[0] ** 2 - 1) ** 2 / 4 + x[1] ** 2 / 2 + 0.3 * x[0], dim=2)
    path = ln.solve(ln.Objective(drift=swirl), loss, [1.3, 0.8], max_seconds=20)
    assert path.converged and path.is_minimum


def saturating(dim):
    return ln.losses.Function(lambda x: np.sum(x**2, -1) / (1 + np.sum(x**2, -1)) / 2, dim=dim)


@pytest.mark.parametrize("current", [[2.0], [2.0, 0.0]])
@pytest.mark.parametrize("gamma", [0.1, 0.5])
def test_a_current_that_is_the_same_everywhere_carries_past_a_rest_that_costs_more(current, gamma):
    """Its Jacobian is zero: it neither turns nor draws apart. To hold out costs up to |f|²/2 = 2, to go along 1/2."""
    start = np.full(len(current), 0.3)
    drift = ln.drifts.Linear(np.zeros((len(current),) * 2), current)
    path = ln.solve(ln.Objective(gamma=gamma, drift=drift), saturating(len(current)), start)
    t = np.linspace(0, 40 / gamma, 200_001)
    along = np.trapezoid(np.exp(-gamma * t) * saturating(len(current)).value(start + np.outer(t, current)), t)
    dated = ln.solve(ln.Objective(gamma=gamma, drift=drift, horizon=40 / gamma), saturating(len(current)), start)
    assert path.converged and np.all(np.isnan(path.asymptote))
    assert path.action == pytest.approx(dated.action, rel=1e-6)
    assert path.action <= along * (1 + 1e-9)


def test_without_a_discount_it_is_said_what_holding_out_in_a_current_costs_and_what_going_on_does():
    current = ln.Objective(drift=ln.drifts.Linear([[0.0]], [2.0]))
    with pytest.raises(ln.NotConverged, match=r"resting costs 2 per unit of time, going on 0\.4998"):
        ln.solve(current, saturating(1), [0.3])
    weak = ln.Objective(drift=ln.drifts.Linear([[0.0]], [0.5]))  # against which it holds out for 1/8
    assert ln.solve(weak, saturating(1), [0.3]).asymptote == pytest.approx([0.0], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(draws(8)))
def test_wells_in_a_current_are_left_where_the_plain_around_them_costs_less(seed):
    """Without a discount, per unit of time: to rest at the best place costs L + |f|²/2, to go along the plain's L."""
    random = np.random.default_rng(seed)
    dim, count = random.integers(1, 3), random.integers(1, 4)
    centres, depths, widths = (
        random.normal(0, 1.5, (count, dim)),
        random.uniform(0.2, 2, count),
        random.uniform(0.4, 1.5, count),
    )

    def plain_with_wells(x):
        return depths.sum() - np.exp(-((x[..., None, :] - centres) ** 2).sum(-1) / 2 / widths**2) @ depths

    current = random.normal(size=dim) * random.choice([0.5, 1.0, 2.0])
    grid = np.stack(np.meshgrid(*[np.linspace(-6, 6, 401)] * dim), -1)
    resting = plain_with_wells(grid).min() + current @ current / 2
    objective = ln.Objective(drift=ln.drifts.Linear(np.zeros((dim, dim)), current))
    path = ln.solve(objective, ln.losses.Function(plain_with_wells, dim=dim), random.normal(size=dim), throw=False)
    assert path.status is (Status.CONVERGED if resting < depths.sum() else Status.NEVER_RESTS)
