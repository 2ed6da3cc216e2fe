"""Regret in J: the identity by an independent sum, what recorded steps cost, its split, and who looks like whom."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import lossnav as ln
from lossnav.trajectory.regret import _discounted_gauss, alignment

BOWL = ln.losses.Quadratic(np.diag([1.0, 10.0]), minimum=[0.0, 0.0])
BOWL_1 = ln.losses.Quadratic([[1.0]], minimum=[0.0])


def _descent(hessian, rate, start=(1.0, 1.0), least=1e-4):
    x = np.array(start)
    places, first = [x], x @ hessian @ x
    while x @ hessian @ x >= least * first:
        x = x - rate * hessian @ x
        places.append(x)
    return np.array(places)


def _random(rng, drift):
    root, metric_root = rng.normal(size=(2, 3, 3))
    objective = ln.Objective(
        eta=rng.uniform(0.2, 2), k=rng.uniform(0.2, 2), gamma=0.4 if drift else rng.choice([0.0, 0.3, 3.0]),
        metric=metric_root @ metric_root.T + 0.3 * np.eye(3),
        drift=ln.drifts.Linear(0.3 * rng.normal(size=(3, 3)), rng.normal(size=3)) if drift else None,
    )  # fmt: skip
    loss = ln.losses.Quadratic(root @ root.T + 0.1 * np.eye(3), minimum=rng.normal(size=3), offset=rng.normal())
    return objective, loss


@pytest.mark.parametrize("drift", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_identity_with_costs_summed_on_their_own(seed, drift):
    """J of the joined path by 40-point sums a step, V by ``ln.value``: the sum over |θ̇ − θ̇*|² is their difference."""
    rng = np.random.default_rng(seed)
    objective, loss = _random(rng, drift)
    if objective.gamma == 0.0:
        objective = ln.Objective(objective.eta, objective.k, 0.2, objective.metric)
    path, dt = rng.normal(size=(5, 3)), 0.3
    s, w = np.polynomial.legendre.leggauss(40)
    total = 0.0
    for n in range(4):
        move = path[n + 1] - path[n]
        at, t = path[n] + (1 + s[:, None]) / 2 * move, dt * (n + (1 + s) / 2)
        velocity = np.broadcast_to(move / dt, at.shape)
        total += dt / 2 * np.sum(w * np.exp(-objective.gamma * t) * objective.cost_rate(loss, at, velocity))
    after = math.exp(-objective.gamma * 4 * dt) * ln.value(objective, loss, path[-1])
    expected = total + after - ln.value(objective, loss, path[0])
    regret = ln.regret(path, objective, loss, dt=dt)
    assert regret.total == pytest.approx(expected, rel=1e-9)
    assert regret.speed >= 0 and regret.direction >= 0
    assert regret.speed + regret.direction == pytest.approx(regret.total, rel=1e-12)
    # mutation controls: without the end's share, and with |θ̇| in place of |θ̇ − f|, it is not true
    assert abs(regret.total - (expected - after)) > 1e-6 * abs(expected)


def test_the_optimum_has_only_the_floor():
    """Sampled and joined, one mode has R/V = (rΔt)²·r/12(γ + 2r) (L21)."""
    loss, objective, dt = ln.losses.Quadratic([[2.0]], minimum=[0.0]), ln.Objective(gamma=0.7), 0.02
    path = ln.solve(objective, loss, [1.0])(dt * np.arange(600))
    regret = ln.regret(path, objective, loss, dt=dt)
    rate = math.sqrt(0.35**2 + 2) - 0.35
    assert regret.relative == pytest.approx((rate * dt) ** 2 * rate / (12 * (0.7 + 2 * rate)), rel=0.03)
    assert regret.floor == pytest.approx(regret.relative, rel=1e-9)


@pytest.mark.parametrize("dt", [None, 0.04])
def test_a_trajectory_is_recorded_in_its_own_time(dt):
    objective = ln.Objective(gamma=0.7)
    path = ln.solve(ln.Objective(gamma=3.0), BOWL, [1.0, 1.0])
    step = path.times[-1] / 200 if dt is None else dt
    count = 200 if dt is None else int(path.times[-1] / dt)
    assert ln.regret(path, objective, BOWL, dt=dt) == ln.regret(
        path(step * np.arange(count + 1)), objective, BOWL, dt=step
    )
    with pytest.raises(ValueError, match=r"dt = .*last of path\.times"):
        ln.regret(path, objective, BOWL, dt=1e6)


def test_the_optimum_of_a_deadline_fills_it():
    objective = ln.Objective(gamma=0.3, horizon=1.2, terminal=0.8)
    regret = ln.regret(ln.solve(objective, BOWL, [1.0, 1.0]), objective, BOWL, value="ends")
    assert regret.dt == pytest.approx(1.2 / 200) and 0 <= regret.relative < 1e-4


def test_no_timing_undercuts_the_length_and_the_best_time_is_the_best():
    """At γ = 0 the timing part is at most the regret, and no other Δt costs less (L23)."""
    path = _descent(np.diag([1.0, 10.0]), 0.15)
    best = ln.regret(path, ln.Objective(), BOWL)
    assert 0 < best.timing <= best.total
    for factor in (0.5, 0.9, 1.1, 2.0):
        regret = ln.regret(path, ln.Objective(), BOWL, dt=factor * best.dt)
        assert regret.total > best.total
        assert regret.shape == pytest.approx(best.shape, rel=1e-9)  # a length knows no time
        assert regret.timing <= regret.total


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("drift", [None, ln.drifts.weight_decay(0.2)])
@pytest.mark.parametrize("count", [60, 4])
def test_the_best_time_of_a_step_is_a_minimum(gamma, drift, count):
    path = _descent(np.diag([1.0, 10.0]), 0.1)[: count + 1]  # the short one ends before it is there
    objective = ln.Objective(gamma=gamma, drift=drift)
    best = ln.regret(path, objective, BOWL)
    assert all(ln.regret(path, objective, BOWL, dt=f * best.dt).total > best.total for f in (0.5, 0.97, 1.03, 2.0))


def test_a_constant_on_the_loss_changes_nothing():
    path = _descent(np.diag([1.0, 10.0]), 0.1)
    lifted = ln.losses.Quadratic(np.diag([1.0, 10.0]), minimum=[0.0, 0.0], offset=5.0)
    for gamma in (0.0, 1.0):
        plain, with_offset = (ln.regret(path, ln.Objective(gamma=gamma), loss) for loss in (BOWL, lifted))
        assert with_offset.relative == pytest.approx(plain.relative, rel=1e-9)


def test_without_a_closed_form_the_value_is_solved_for():
    """A bowl given as a function: two solutions and a difference of costs say the same as the closed form."""
    same = ln.losses.Function(BOWL.value, BOWL.gradient, BOWL.hessian, dim=2)
    path = _descent(np.diag([1.0, 10.0]), 0.15)[:5]
    for gamma in (0.0, 1.0):
        objective = ln.Objective(gamma=gamma)
        exact = ln.regret(path, objective, BOWL, dt=0.3)
        ends = ln.regret(path, objective, same, dt=0.3, value="ends")
        assert ends.total == pytest.approx(exact.total, rel=1e-5) and math.isnan(ends.speed)
        assert ends.relative == pytest.approx(exact.relative, rel=1e-5)
    before = same.calls
    solved = ln.regret(path, objective, same, dt=0.3)
    assert solved.speed + solved.direction == pytest.approx(solved.total, rel=1e-2)
    assert same.calls - before < 800  # 1,081 if each of its places looked for the minimum by itself


def test_off_quadratics_the_parts_are_sums_that_a_change_of_plan_spoils_until_steps_are_short():
    """The identity holds over the change of plans, too: with short steps the parts come to the total."""
    well, objective = ln.losses.Section(ln.losses.DoubleWell()), ln.Objective(gamma=1.0)
    inside = ln.regret([[0.2], [0.6], [0.9], [1.05]], objective, well, dt=0.3)
    assert inside.speed + inside.direction == pytest.approx(inside.total, rel=1e-5)

    places, regrets = np.array([-0.6, -0.2, 0.4, 0.9]), []
    for pieces in (1, 16):
        walk = np.interp(np.arange(3 * pieces + 1) / pieces, np.arange(4), places)
        regrets.append(ln.regret(walk[:, None], objective, well, dt=0.3 / pieces))
    gaps = [abs((regret.speed + regret.direction) / regret.total - 1) for regret in regrets]
    assert gaps[0] > 0.1 and gaps[1] < 0.005
    assert regrets[0].total == pytest.approx(regrets[1].total, rel=1e-7)  # which needs no place but the ends


def test_a_deadline_has_no_end_to_pay_for_but_its_charge():
    objective = ln.Objective(gamma=0.3, horizon=1.2, terminal=0.8)
    path = ln.solve(objective, BOWL, [1.0, 1.0])(np.linspace(0.0, 1.2, 41))
    regret = ln.regret(path, objective, BOWL)
    assert 0 <= regret.total < 1e-3 * ln.value(objective, BOWL, [1.0, 1.0])
    assert regret.terminal == pytest.approx(0.8 * math.exp(-0.36) * BOWL.value(path[-1]))
    worse = ln.regret(np.linspace([1.0, 1.0], [1.0, -1.0], 41), objective, BOWL)
    assert worse.total == pytest.approx(worse.speed + worse.direction, rel=1e-3)
    with pytest.raises(ValueError, match="must fill"):
        ln.regret(path, objective, BOWL, dt=0.5)


@pytest.mark.parametrize("gamma", [0.0, 0.7, 5.0])
@pytest.mark.parametrize("dt", [0.05, 0.7])
def test_a_sampled_optimum_tells_its_discount(gamma, dt):
    path = ln.solve(ln.Objective(gamma=gamma), BOWL, [1.0, 1.0])(dt * np.arange(30))
    rates = np.linspace(0.0, 10.0, 501)
    alignments = alignment(path, ln.Objective(), BOWL, rates, dt=dt)
    assert alignments.max() == pytest.approx(1.0, abs=1e-9)
    assert rates[np.argmax(alignments)] == pytest.approx(gamma, abs=0.02 * gamma + 0.021)


def test_short_steps_tell_the_discount_over_the_root_of_the_gain_and_long_ones_both():
    bowl, other = ln.losses.Quadratic(np.diag([1.0, 10.0, 100.0]), minimum=np.zeros(3)), ln.Objective(eta=4.0)
    for dt, low, high in ((1e-3, 1 - 1e-6, 1.0 + 1e-9), (1.0, 0.9, 0.999)):
        path = ln.solve(ln.Objective(gamma=3.0), bowl, np.ones(3))(dt * np.arange(12))
        assert alignment(path, ln.Objective(), bowl, [3.0], dt=dt)[0] == pytest.approx(1.0, abs=1e-9)
        assert low < alignment(path, other, bowl, [6.0], dt=dt)[0] < high


@pytest.mark.parametrize("faded", [0.0, 0.9, 1.9, 30.0, 1e4])
def test_sums_with_a_discount_are_exact_for_squares(faded):
    s, w = _discounted_gauss(faded, 6)
    for power in range(3):
        exact = 1 / (power + 1)
        if faded:
            exact = math.factorial(power) * scipy.special.gammainc(power + 1, faded) / faded ** (power + 1)
        assert w @ s**power == pytest.approx(exact, rel=1e-12)


def test_a_path_that_stands_still_has_no_best_time():
    with pytest.raises(ValueError, match="stands still"):
        ln.regret([[1.0, 1.0], [1.0, 1.0]], ln.Objective(), BOWL)


@pytest.mark.parametrize("path", [np.ones((5, 2))[:, 0], np.ones((5, 3)), np.ones((2, 5, 2))])
def test_a_path_of_another_shape_is_told_which_is_wanted(path):
    for call in (lambda: ln.regret(path, ln.Objective(), BOWL), lambda: alignment(path, ln.Objective(), BOWL, 1, dt=1)):
        with pytest.raises(ValueError, match=r"path has shape .* shape \(N\+1, D\), a row a step, with D = 2"):
            call()


def test_the_alignment_is_that_of_an_endless_plan():
    with pytest.raises(ValueError, match=r"objective.horizon = 1.* endless"):
        alignment([[1.0, 1.0], [0.5, 0.8]], ln.Objective(horizon=1.0), BOWL, [1.0], dt=0.5)


def test_an_alignment_needs_curvatures_that_are_not_negative():
    path, discounts = [[1.0, 1.0], [0.5, 0.8]], [0.0, 9.0]
    saddle, valley, round_one = (
        ln.losses.Quadratic(hessian, minimum=[0.0, 0.0])
        for hessian in (np.diag([1.0, -1.0]), np.ones((2, 2)), np.eye(2))
    )
    with pytest.raises(ValueError, match="curvature -1, but none of them may be negative"):
        alignment(path, ln.Objective(), saddle, discounts, dt=0.5)
    assert np.all(alignment(path, ln.Objective(), valley, discounts, dt=0.5) > 0)
    first, second = alignment(path, ln.Objective(), round_one, discounts, dt=0.5)
    assert first == pytest.approx(second, rel=1e-12) and first < 0.99


def test_an_offset_of_the_loss_is_no_part_of_a_regret():
    """Of V beyond resting for ever, up to a deadline, too, and where a drift has to be held."""
    path, parts = np.array([[1.0], [0.7], [0.4], [0.3]]), []
    for offset in (0.0, 100.0, -100.0):
        loss = ln.losses.Quadratic([[1.0]], minimum=[0.0], offset=offset)
        objectives = [
            ln.Objective(gamma=0.5), ln.Objective(gamma=0.5, horizon=3.0, terminal=2.0),
            ln.Objective(gamma=0.5, drift=lambda x: [0.1 * np.sin(x[0])]), ln.Objective(gamma=0.0, horizon=3.0),
        ]  # fmt: skip
        found = [ln.regret(path, objective, loss, dt=1.0) for objective in objectives]
        parts.append([[each.total, each.relative, each.floor] for each in found])
    np.testing.assert_allclose(parts[1:], [parts[0]] * 2, rtol=1e-5)


def test_under_a_price_a_deadline_is_refused():
    path, box = np.array([[1.0], [0.7], [0.4], [0.3]]), ln.prices.Box(100.0, 1.0)
    with pytest.raises(ValueError, match=r"objective.horizon = 3, but it must be inf"):
        ln.regret(path, ln.Objective(gamma=0.5, horizon=3.0, price=box), BOWL_1, dt=1.0)


def test_who_waits_where_the_optimum_jumps_pays_for_it():
    """Of a path at rest J is known. A step across the minimum costs the toll, though the slope of V jumps there."""
    objective = ln.Objective(gamma=0.5, price=ln.prices.Linear(0.4))
    value = 0.4 * (1 - 0.4 * 0.5 / 2)
    still = ln.regret([[1.0], [1.0]], objective, BOWL_1, dt=2.0)
    assert still.total == pytest.approx((1 - math.exp(-1.0)) * (0.5 / 0.5 - value), rel=1e-12)
    across = ln.regret([[1.0], [-0.7]], ln.Objective(price=ln.prices.Toll(0.4)), BOWL_1, dt=0.5)
    cost, ends = 0.4 * 1.7 + 1.7**2 / 2 / 0.5 + 0.25 * (1 + 0.7**3) / 3 / 1.7, [0.4 * x + x * x / 2 for x in (1.0, 0.7)]
    assert across.total == pytest.approx(cost + ends[1] - ends[0], rel=1e-12)


@pytest.mark.parametrize("loss", [BOWL_1, ln.losses.DoubleWell()])
def test_under_a_price_the_recorded_optimum_has_no_regret(loss):
    """Also where no gradient of V is known in closed form: of a norm, and of losses that are no bowl."""
    price = ln.prices.Norm("l2", limit=1.0) if loss is BOWL_1 else ln.prices.Acceleration(1.0, 0.5)
    objective, start = ln.Objective(gamma=0.5, price=price), [-1.2, 0.8][: loss.dim]
    ideal, times = ln.solve(objective, loss, start), 0.05 * np.arange(13)
    best = ln.regret(ideal(times), objective, loss, dt=0.05)
    pace = ideal.velocity(times[-1]) if price.order == 2 else None
    left = ln.solve(objective, loss, ideal(times[-1]), velocity0=pace)
    beyond = left.action - float(loss.value(left.asymptote)) / 0.5
    assert best.terminal == pytest.approx(math.exp(-0.5 * times[-1]) * beyond, rel=1e-4)
    still = ln.regret([start] * 2, objective, loss, dt=3.0)
    assert abs(best.relative) < 2e-3 < 0.2 < still.relative
