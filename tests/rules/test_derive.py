"""Derived rules against direct minimisation of J, exact expected costs, their own equations, and their limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
import sympy

import lossnav as ln
from lossnav import assume
from lossnav.rules.derive import RegimeWarning
from lossnav.rules.derive.report import _two_digits

ETA, K = 0.7, 1.3


def minimised(objective, H, A, mean, slope, start, end, dt, nodes):
    """Return θ(dt) − θ₀ of the path that minimises J up to a far end: midpoint sums, one sparse linear system."""
    dim = len(start)
    G, J = objective.metric_matrix(dim), np.zeros((dim, dim))
    offset = np.zeros(dim)
    if objective.drift is not None:
        J, offset = objective.drift.matrix(dim), objective.drift.offset(dim)
    width = end / nodes
    times = (np.arange(nodes) + 0.5) * width
    eye = np.eye(dim)
    pace, middle = np.hstack([-eye / width, eye / width]), np.hstack([eye / 2, eye / 2])
    slip = pace - J @ middle  # of both ends of an interval, in θ
    once = slip.T @ G @ slip / objective.eta + objective.k * middle.T @ H @ middle
    weights = width * np.exp(-objective.gamma * times)
    forces = np.array([scipy.linalg.expm(-A * t) @ (mean + slope * t) - H @ start for t in times])
    known, matrix = dim, scipy.sparse.csc_matrix(((nodes + 1) * dim,) * 2)
    right = np.zeros((nodes + 1, dim))
    loads = (objective.k * forces @ middle, slip.T @ G @ offset / objective.eta)
    each = weights[:, None] * (loads[1] - loads[0])
    right[:-1] += each[:, :dim]
    right[1:] += each[:, dim:]
    right = right.ravel()
    for i, j in itertools.product((0, 1), repeat=2):
        place = scipy.sparse.csc_matrix((weights, (np.arange(nodes) + i, np.arange(nodes) + j)), (nodes + 1,) * 2)
        matrix = matrix + scipy.sparse.kron(place, once[i * dim : (i + 1) * dim, j * dim : (j + 1) * dim], format="csc")
    free = scipy.sparse.linalg.spsolve(matrix[known:, known:], right[known:] - matrix[known:, :known] @ start)
    return free.reshape(-1, dim)[round(dt / width) - 1] - start


def refined(*args, nodes=400):
    """Return ``minimised`` with its error of second order taken out, and of fourth."""
    a, b, c = (minimised(*args, nodes * n) for n in (1, 2, 4))
    first, second = b + (b - a) / 3, c + (c - b) / 3
    return second + (second - first) / 15


def taken(rule, mean, slope, theta):
    """Return the step of a rule that believes in this mean and this slope."""
    if rule.belief.trend is None:
        return rule(mean, rule.init(theta), theta)[0]
    # after one step the level is the gradient; in the second one the level moves by beta = trend = 0 to what is given
    state = rule.init(theta)
    _, state = rule(mean - rule.dt * slope, state, theta)
    return rule(mean, state, theta)[0]


@pytest.mark.parametrize(("seed", "size"), [(0, 0.3), (1, 0.3), (2, 0.3), (3, 0.0)])
def test_matrices_that_do_not_commute_take_the_step_of_the_minimal_path(seed, size):
    rng = np.random.default_rng(seed)
    H, G, J, A, vectors = (rng.normal(size=(3, 3)) for _ in range(5))
    H, G, J = H @ H.T + 0.3 * np.eye(3), G @ G.T / 3 + 0.5 * np.eye(3), size * J
    A = 0.2 * A + 0.8 * np.eye(3)
    mean, slope, theta, offset = vectors[0], vectors[1], vectors[2], rng.normal(size=3)
    objective = ln.Objective(ETA, K, gamma=0.4, metric=G, drift=ln.drifts.Linear(J, offset))
    trended = assume.Filter(0.0, fading=A, trend=0.0)
    rule = ln.derive(objective, belief=trended, curvature=assume.Known(H), dt=0.5, exact=True)
    expected = refined(objective, H, A, mean, slope, theta, 20.0, 0.5)
    assert not rule.coordinatewise
    np.testing.assert_allclose(taken(rule, mean, slope, theta), expected, atol=2e-6 * np.abs(expected).max())


def test_what_surprises_is_divided_by_its_share_of_white_noise():
    """(g − m̂)²/(1 + Σw²) with the weights w of the gradients in m̂, which V averages; g² in the first step."""
    rule = ln.derive(ln.Objective(gamma=0.4), belief=assume.Filter(0.9), curvature=assume.Innovation(0.8), dt=0.1)
    gradients, state, data = np.array([1.0, 2.0, 4.0, -1.0]), rule.init(np.zeros(1)), []
    for n, gradient in enumerate(gradients):
        _, state = rule(np.array([gradient]), state, np.zeros(1))
        weights = 0.9 ** np.arange(n)[::-1] / np.sum(0.9 ** np.arange(n))
        data.append((gradient - weights @ gradients[:n]) ** 2 / (1 + weights @ weights))
        assert state.averages["v"] == pytest.approx([0.2 * 0.8 ** np.arange(n + 1)[::-1] @ data])
    for other in (assume.Filter(0.0), assume.Filter(0.9, trend=0.5)):
        with pytest.raises(ValueError, match="no mean to be surprised about"):
            ln.derive(ln.Objective(gamma=0.4), belief=other, curvature=assume.Innovation(0.8), dt=0.1)


@pytest.mark.parametrize(("beta", "trend"), [(0.9, 0.5), (0.5, 0.9), (0.7, 0.0), (0.0, 0.6)])
def test_a_trend_is_followed_as_holt_does(beta, trend):
    """Level and slope, each blended with what the last gradient says of it; a steady rise is learnt, and then led."""
    gradients = np.random.default_rng(3).normal(size=(9, 2))
    rule = ln.derive(ln.Objective(gamma=0.4), belief=assume.Filter(beta, trend=trend), dt=0.1)
    level, slope, state = gradients[0], np.zeros(2), rule.init(np.zeros(2))
    for n, gradient in enumerate(gradients):
        _, state = rule(gradient, state, np.zeros(2))
        if n:
            before, level = level, beta * (level + slope) + (1 - beta) * gradient
            slope = trend * slope + (1 - trend) * (level - before)
        np.testing.assert_allclose(state.averages["m"], level, rtol=1e-12)
        np.testing.assert_allclose(state.averages["w"], slope, rtol=1e-12, atol=1e-15)
    for n in range(400):
        _, state = rule(np.array([2.0 + 0.1 * n, 1.0 - 0.3 * n]), state, np.zeros(2))
    np.testing.assert_allclose(state.averages["w"], [0.1, -0.3], rtol=1e-8)
    np.testing.assert_allclose(state.averages["m"], [2.0 + 39.9, 1.0 - 119.7], rtol=1e-8)


CASES = {  # γ, j, α, G, h
    "fading, decay, discount": (0.4, 0.3, 0.5, 1.0, 2.0),
    "a drift that grows": (0.5, -0.2, 0.3, 1.0, 1.5),
    "a drift that grows, without curvature": (1.0, -0.7, 0.9, 1.0, 0.0),
    "fading alone": (0.0, 0.0, 0.8, 1.0, 0.0),
    "negative curvature, held by decay": (0.3, 1.0, 0.4, 2.0, -0.5),
    "ballistic with a metric": (0.0, 0.0, 0.3, 3.0, 2.0),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("slope", [0.0, 0.6])
def test_a_coordinate_takes_the_step_of_the_minimal_path(name, slope):
    gamma, j, alpha, G, h = CASES[name]
    drift = ln.drifts.Linear([[-j]], [0.2 if j else 0.0])
    objective = ln.Objective(ETA, K, gamma=gamma, metric=[[G]], drift=drift if j else None)
    belief = assume.Filter(0.0, fading=alpha, trend=0.0 if slope else None)
    rule = ln.derive(objective, belief=belief, curvature=assume.Known([[h]]) if h else None, dt=0.5, exact=True)
    theta, mean, u = np.array([0.7]), np.array([1.1]), np.array([slope])
    args = (objective, np.array([[h]]), np.array([[alpha]]), mean, u, theta, 20.0, 0.5)
    assert rule.coordinatewise
    np.testing.assert_allclose(taken(rule, mean, u, theta), refined(*args, nodes=800), rtol=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_coordinates_and_matrices_agree_on_what_is_diagonal(seed):
    rng = np.random.default_rng(seed)
    h, g, j, alpha = rng.uniform(0.1, 2.0, size=(4, 3))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    gamma, theta, mean, u = rng.uniform(0, 1), *rng.normal(size=(3, 3))

    def built(metric, jacobian, hessian, fading):
        objective = ln.Objective(ETA, K, gamma=gamma, metric=metric, drift=ln.drifts.Linear(jacobian))
        belief = assume.Filter(0.0, fading=fading, trend=0.0)
        return ln.derive(objective, belief=belief, curvature=assume.Known(hessian), dt=0.8, exact=True)

    plain = built(np.diag(g), -np.diag(j), np.diag(h), alpha)
    matrices = (np.diag(g), -np.diag(j), np.diag(h), np.diag(alpha))
    turned = built(*(turn @ m @ turn.T for m in matrices))
    assert plain.coordinatewise and not turned.coordinatewise
    step = taken(turned, turn @ mean, turn @ u, turn @ theta)
    np.testing.assert_allclose(turn.T @ step, taken(plain, mean, u, theta), rtol=1e-9)


def test_the_step_tends_to_the_velocity():
    objective = ln.Objective(ETA, K, gamma=0.2, drift=ln.drifts.rotation(0.5))
    parts = {"belief": assume.Filter(0.0, fading=0.3), "curvature": assume.Known([[2.0, 0.3], [0.3, 1.0]])}
    theta, g, gaps = np.array([0.3, -0.2]), np.array([1.0, 0.5]), []
    for dt in (1e-2, 1e-3):
        flow, first = (ln.derive(objective, **parts, dt=dt, exact=e) for e in (True, False))
        gaps.append(np.abs(flow(g, flow.init(theta), theta)[0] - first(g, first.init(theta), theta)[0]).max())
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_without_fading_it_is_the_policy_of_the_solver(seed):
    rng = np.random.default_rng(seed)
    H, G = rng.normal(size=(2, 4, 4))
    H, G = H @ H.T, G @ G.T + np.eye(4)
    objective = ln.Objective(ETA, K, gamma=0.3, metric=G)
    rule = ln.derive(objective, curvature=assume.Known(H), dt=0.7, exact=True)
    theta, g = rng.normal(size=(2, 4))
    np.testing.assert_allclose(rule(g, rule.init(theta), theta)[0], ln.update(objective, g, H, 0.7), rtol=1e-8)


@pytest.mark.parametrize(("gamma", "j", "alpha", "h"), [(0.3, 0.2, 0.7, 1.4), (0.8, 0.0, 0.2, 0.3)])
def test_among_linear_policies_with_noise_its_gain_costs_least(gamma, j, alpha, h):
    """The expected cost of u = −pδ − qâ with a filter of gain K, by Lyapunov's equation, is least at the rule's q."""
    process, noise = 0.6, 0.4

    error = noise * (math.sqrt(alpha**2 + process / noise) - alpha)  # of the steady filter
    known, all_of_it = process / (2 * alpha) - error, process / (2 * alpha)
    begin = np.array([[0.0, 0.0, 0.0], [0.0, all_of_it, known], [0.0, known, known]])

    def cost(x):
        p, q, gain = x
        A = np.array([[-j - p, 0.0, -q], [0.0, -alpha, 0.0], [0.0, gain, -alpha - gain]])
        u = np.array([p, 0.0, q])
        weight = np.outer(u, u) / ETA
        weight[0, 0] += K * h
        weight[0, 1] += K
        weight[1, 0] += K
        if np.linalg.eigvals(A).real.max() >= gamma / 2:
            return 1e6
        source = np.diag([0.0, process, 0.0]) + np.diag([0.0, 0.0, gain**2 * noise])
        moments = scipy.linalg.solve_continuous_lyapunov(A - gamma / 2 * np.eye(3), -begin - source / gamma)
        return 0.5 * np.trace(weight @ moments)

    best = scipy.optimize.minimize(
        cost, [1.0, 1.0, 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15, "maxiter": 4000}
    )
    objective = ln.Objective(ETA, K, gamma=gamma, drift=ln.drifts.Linear(-j) if j else None)
    rule = ln.derive(objective, belief=assume.Filter(0.0, fading=alpha), curvature=assume.Known([[h]]), dt=1.0)
    q = -rule([1.0], rule.init([0.0]), [0.0])[0][0]
    assert q == pytest.approx(best.x[1], rel=1e-4)


def test_a_rotation_with_a_diagonal_belief_is_a_rule_on_arrays():
    objective = ln.Objective(gamma=0.5, drift=ln.drifts.rotation(1.0))
    belief, curvature = assume.Filter(0.5), assume.SecondMoment(0.9)
    rule = ln.derive(objective, belief=belief, curvature=curvature, dt=0.1, exact=True)
    theta, g = np.array([1.0, 0.5]), np.array([0.6, -0.2])
    step, _ = rule(g, rule.init(theta), theta)
    loss = ln.losses.Quadratic(np.diag(g**2), gradient=g - g**2 * theta)
    np.testing.assert_allclose(step, ln.solve(objective, loss, theta)(np.array([0.1]))[0] - theta, rtol=1e-8)
    with pytest.raises(ValueError, match="theta has shape"):
        rule(np.ones((2, 2)), rule.init(np.ones((2, 2))), np.ones((2, 2)))


def test_coordinates_may_part_where_drift_and_curvature_are_not_diagonal():
    """Shared eigenvectors suffice and are not needed: J = N + ηP couples, the plan −ηP uncouples."""
    gamma, law, P = 0.3, np.diag([-3.0, -1.0]), np.array([[0.6, 0.25], [0.25, 0.5]])
    J = law + ETA * P
    H = (gamma * P - J.T @ P - P @ J + ETA * P @ P) / K
    assert np.linalg.eigvalsh(H)[0] > 0 and abs(H[0, 1]) > 0.1
    objective = ln.Objective(ETA, K, gamma=gamma, drift=ln.drifts.Linear(J))
    belief, curvature = assume.Filter(0.0, fading=0.2), assume.Known(H)
    rule = ln.derive(objective, belief=belief, curvature=curvature, dt=0.5, exact=True)
    step, _ = rule(np.array([1.0, 0.0]), rule.init(np.zeros(2)), np.zeros(2))
    assert step[1] == pytest.approx(0.0, abs=1e-14) and abs(step[0]) > 0.01


# ---------------------------------------------------------------------------------------------------------- formulas


@pytest.mark.parametrize("flags", [tuple(flag == chosen or chosen == 4 for flag in range(4)) for chosen in range(6)])
@pytest.mark.parametrize("kind", ["none", "known", "averaged"])
def test_the_formula_is_the_step_and_the_exact_step_solves_the_equation(flags, kind):
    priced, decays, fades, trended = flags
    numbers = {"eta": ETA, "k": K, "gamma": 0.9, "G": 1.7, "j": 0.4, "alpha": 0.6, "h": 1.3, "c": 1.5, "V": 1.21,
               "m": 1.1, "mdot": -0.4, "theta_0": 0.8}  # fmt: skip
    drift = ln.drifts.Linear([[-0.4]]) if decays else None
    objective = ln.Objective(ETA, K, gamma=0.9, metric=[[1.7]] if priced else None, drift=drift)
    curvature = {"none": None, "known": assume.Known([[1.3]]), "averaged": assume.SecondMoment(0.0, scale=1.5)}[kind]
    belief = assume.Filter(0.0, fading=0.6 if fades else 0.0, trend=0.0 if trended else None)

    def displaced(dt, exact):
        rule = ln.derive(objective, belief=belief, curvature=curvature, dt=dt, exact=exact)
        return taken(rule, np.array([1.1]), np.array([-0.4 if trended else 0.0]), np.array([0.8]))[0]

    rule = ln.derive(objective, belief=belief, curvature=curvature)
    values = {symbol: numbers[symbol.name] for symbol in rule.velocity.free_symbols}
    assert displaced(1e-3, False) / 1e-3 == pytest.approx(float(rule.velocity.subs(values)), rel=1e-10)
    (equation,) = rule.equations
    t = sympy.Symbol("t", real=True)
    path = sympy.Function("theta")(t)
    time, width = 0.5, 1e-2
    spots = [0.8 + displaced(time + n * width, True) for n in range(-3, 4)]
    first = np.dot([-1, 9, -45, 0, 45, -9, 1], spots) / (60 * width)
    second = np.dot([2, -27, 270, -490, 270, -27, 2], spots) / (180 * width**2)
    gap = equation.lhs - equation.rhs
    gap = gap.subs(sympy.Derivative(path, (t, 2)), second).subs(sympy.Derivative(path, t), first).subs(path, spots[3])
    gap = gap.subs(t, time)
    assert abs(float(gap.subs({s: numbers[s.name] for s in gap.free_symbols}))) < 1e-7 * abs(second) + 1e-8


def test_limits_leave_out_what_they_say():
    rule = ln.derive(ln.Objective(ETA, K, gamma=0.3), curvature=assume.SecondMoment(0.0, scale=2.0), dt=0.5, exact=True)
    steps = {}
    for V in (1e-6, 1e-2, 1e4):
        g = np.array([math.sqrt(V)])
        flow = rule(g, rule.init([0.0]), [0.0])[0][0]
        limits = rule.limits(V)
        steps[V] = {name: float(limit.neglected) for name, limit in limits.items()}
        newton = -g[0] * float(limits["Newton"].gain)
        assert newton / flow - 1 == pytest.approx(steps[V]["Newton"], rel=1e-6)
        point = ln.derive(ln.Objective(ETA, K, gamma=0.3), curvature=assume.SecondMoment(0.0, scale=2.0), dt=1e-9)
        speed = point(g, point.init([0.0]), [0.0])[0][0] / 1e-9
        for name, gain in (("gradient descent", ETA * K / 0.3), ("ballistic", math.sqrt(ETA * K / (2 * V)))):
            assert -g[0] * gain / speed - 1 == pytest.approx(steps[V][name], rel=1e-6)
    assert steps[1e-6]["gradient descent"] < 1e-3 < 0.1 < steps[1e4]["gradient descent"]
    assert steps[1e4]["ballistic"] < 1e-2 < 0.1 < steps[1e-6]["ballistic"]
    assert steps[1e4]["Newton"] < 1e-10


@pytest.mark.parametrize(
    ("j", "alpha", "h", "dt", "newton"),
    [(0.2, 0.4, 1.3, 0.5, False), (0.2, 0.0, 1.3, 0.5, False), (0.0, 0.4, 1.3, 0.5, False), (0.0, 0.0, 1.3, 0.5, True),
     (0.0, 0.0, 0.0, 0.5, False), (0.0, 0.0, 1.3, None, False)],
)  # fmt: skip
def test_limits_know_what_decays_and_what_fades(j, alpha, h, dt, newton):
    objective = ln.Objective(ETA, K, gamma=0.3, metric=[[1.7]], drift=ln.drifts.Linear([[-j]]) if j else None)
    rule = ln.derive(objective, belief=assume.Filter(0.5, fading=alpha), curvature=assume.Known([[h]]), dt=dt)
    limits, root = rule.limits(), math.sqrt(ETA * K * h / 1.7)
    rates = {"gradient descent": 0.3 + j + alpha, "ballistic": root, "Adam": root + alpha}
    wanted = {name: ETA * K / 1.7 / rate for name, rate in rates.items() if rate > 0}
    assert set(limits) == {*wanted, *(["Newton"] if newton else [])}
    for name, gain in wanted.items():
        assert limits[name].gain == pytest.approx(gain) and limits[name].neglected == pytest.approx(
            gain / rule.gain() - 1
        )


def test_outside_the_regime_there_is_a_warning_with_three_numbers(recwarn):
    rule = ln.derive(ln.Objective(gamma=1.0), belief=assume.Filter(0.99), curvature=assume.SecondMoment(0.999), dt=0.1)
    assert rule.regime(100.0)[:3] == pytest.approx((-math.log(0.99) / 0.1, 1.0, 10.0)) and not recwarn.list
    assert rule.regime(100.0).holds
    with pytest.raises(ValueError, match="curvature has shape"):
        ln.derive(ln.Objective(gamma=1.0, metric=np.eye(2)), dt=1.0).regime(np.ones(3))
    with pytest.warns(RegimeWarning, match=r"0.101.*gamma = 1.*= 2"):
        assert not rule.regime([100.0, 4.0]).holds


def test_a_regime_of_many_coordinates_has_quantiles_and_a_share():
    rule = ln.derive(ln.Objective(gamma=1.0), belief=assume.Filter(0.99), curvature=assume.SecondMoment(0.999), dt=0.1)
    variances = np.array([1.0, 4.0, 16.0, 25.0, 100.0]) ** 2
    with pytest.warns(RegimeWarning, match="80 % of the coordinates"):
        regime = rule.regime(variances[::-1])
    assert regime.quantiles == pytest.approx((1.0, 4.0, 16.0, 25.0, 100.0)) and regime.curvature == pytest.approx(1.0)
    assert regime.share == pytest.approx(0.8) and not regime.holds
    assert rule.regime(variances[1:]).holds and rule.regime(variances[1:]).share == 1.0


def test_a_metric_that_is_an_average_divides_the_curvature():
    rule = ln.derive(
        ln.Objective(gamma=1.0), belief=assume.Filter(0.99), curvature=assume.SecondMoment(0.999), dt=0.1,
        metric=assume.RootMeanSquare(0.98, eps=0.0),
    )  # fmt: skip
    steep = rule.regime([100.0, 1600.0], metric=[16.0, 1.0])
    assert steep.holds and steep.beliefs == pytest.approx(-math.log(0.98) / 0.1)  # the metric is the fastest average
    assert steep.quantiles[0] == pytest.approx(math.sqrt(100 / 4)) and steep.quantiles[-1] == pytest.approx(40.0)
    with pytest.raises(ValueError, match="metric = None, but it must be the mean of g²"):
        rule.regime(100.0)
    with pytest.raises(ValueError, match="metric has the entry -1"):
        rule.regime(100.0, metric=[1.0, -1.0])
    plain = ln.derive(ln.Objective(gamma=1.0), belief=assume.Filter(0.99), dt=0.1)
    with pytest.raises(ValueError, match=r"metric = 1\.0, but it must be None"):
        plain.regime(1.0, metric=1.0)


# ---------------------------------------------------------------------------------------------------------- refusals

BELOW = 1 - 1e-6


@pytest.mark.parametrize(
    ("gamma", "j", "critical"), [(2.0, 0.0, -1.0), (0.0, 1.0, -1.0), (2.0, 0.5, -2.25)]
)  # fmt: skip
@pytest.mark.parametrize("coupled", [False, True])
def test_a_negative_curvature_has_a_plan_up_to_the_square_of_half_the_discount_and_the_decay(
    gamma, j, critical, coupled
):
    objective = ln.Objective(gamma=gamma, drift=ln.drifts.Linear(-j) if j else None)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]]) if coupled else np.eye(2)

    def built(h):
        hessian = turn @ np.diag([1.0, h]) @ turn.T
        return ln.derive(objective, curvature=assume.Known(hessian), dt=0.1)

    built(critical * BELOW)
    with pytest.raises(ln.NoMinimiser):
        built(critical / BELOW)


def test_a_negative_curvature_has_no_plan_where_the_drift_outruns_the_discount():
    def built(j):
        return ln.derive(ln.Objective(gamma=1.0, drift=ln.drifts.Linear(-j)), curvature=assume.Known([[-1e-9]]))

    built(-0.49)
    with pytest.raises(ln.NoMinimiser, match="must be > 0"):
        built(-0.51)


@pytest.mark.parametrize(
    ("fine", "refused"),
    [
        ({"gamma": 1e-9}, {"gamma": 0.0}),
        ({"gamma": 0.0, "fading": 1e-9}, {"gamma": 0.0, "fading": 0.0}),
        ({"gamma": 1.0, "j": -0.999}, {"gamma": 1.0, "j": -1.0}),
        ({"gamma": 1.0, "j": -1.25, "fading": 0.26}, {"gamma": 1.0, "j": -1.25, "fading": 0.25}),
        ({"gamma": 1e-9, "j": 1.0}, {"gamma": 0.0, "j": 1.0}),
    ],
)
@pytest.mark.parametrize("coupled", [False, True])
def test_without_curvature_something_must_discount_the_forecast(fine, refused, coupled):
    def built(gamma, j=0.0, fading=0.0):
        turn = np.array([[0.6, -0.8], [0.8, 0.6]])
        metric = turn @ np.diag([1.0, 2.0]) @ turn.T if coupled else None
        drift = ln.drifts.Linear(-j) if j else None
        belief = assume.Filter(0.0, fading=fading)
        return ln.derive(ln.Objective(gamma=gamma, metric=metric, drift=drift), belief=belief, dt=1.0)

    built(**fine)
    with pytest.raises(ln.NoMinimiser):
        built(**refused)


def test_a_forecast_may_not_grow_faster_than_it_is_discounted():
    def built(a):
        grown = assume.Filter(0.0, fading=[[-a, 1.0], [0.0, -a]])
        return ln.derive(ln.Objective(gamma=1.0), belief=grown, curvature=assume.Known(np.eye(2)), dt=1.0)

    built(0.499)
    with pytest.raises(ValueError, match=r"belief\.fading"):
        built(0.501)


def test_what_does_not_go_together_is_refused_by_name():
    moment, known = assume.SecondMoment(0.9, centred=True), assume.Known(np.eye(2))
    memory = assume.Filter(0.9)
    ln.derive(ln.Objective(), belief=memory, curvature=moment)
    for belief in (None, assume.Filter(0.0), assume.Filter(0.9, trend=0.5)):
        with pytest.raises(ValueError, match=r"curvature\.centred"):
            ln.derive(ln.Objective(), belief=belief, curvature=moment)
    with pytest.raises(ValueError, match="horizon"):
        ln.derive(ln.Objective(horizon=1.0), curvature=known)
    with pytest.raises(ValueError, match=r"objective\.metric"):
        ln.derive(ln.Objective(metric=ln.metrics.Relative(2)), curvature=known)
    with pytest.raises(ValueError, match="metric is given"):
        ln.derive(ln.Objective(metric=np.eye(2)), curvature=known, metric=assume.RootMeanSquare(0.9))
    with pytest.raises(ValueError, match="numbers of parameters"):
        ln.derive(ln.Objective(metric=np.eye(3)), curvature=known)
    with pytest.raises(ValueError, match="dt = None"):
        rule = ln.derive(ln.Objective(), curvature=known)
        rule([1.0, 1.0], rule.init([0.0, 0.0]), [0.0, 0.0])


def test_where_nothing_was_ever_seen_nothing_moves_and_what_has_no_plan_says_so():
    rule = ln.derive(ln.Objective(), curvature=assume.SecondMoment(0.9), dt=0.1)
    step, _ = rule([0.0, 2.0], rule.init([1.0, 1.0]), [1.0, 1.0])
    np.testing.assert_allclose(step, [0.0, -0.1])
    with pytest.raises(ln.NoMinimiser, match="curvature = 0"):
        rule([1e-200, 2.0], rule.init([1.0, 1.0]), [1.0, 1.0])  # its square is 0


@pytest.mark.parametrize("corrected", [True, False])
def test_what_is_told_of_the_curvature_is_averaged_over_the_steps_that_were_told(corrected):
    rng, beta, floor = np.random.default_rng(4), 0.8, 0.1
    belief = ln.assume.Hutchinson(beta, floor=floor, corrected=corrected)
    rule, theta = ln.derive(ln.Objective(), curvature=belief, dt=0.1), np.ones(3)
    state, average, count = rule.init(theta), np.zeros(3), 0
    for n in range(7):
        g, sample = rng.normal(size=3), None if n in (2, 3) else rng.normal(size=3)
        step, state = rule(g, state, theta, curvature=sample)
        if sample is not None:
            average, count = beta * average + (1 - beta) * sample, count + 1
        v = average / (1 - beta**count) if corrected else average
        np.testing.assert_allclose(step, -0.1 * g / np.sqrt(np.abs(v) + floor), rtol=1e-12)


def test_a_trend_is_an_average_that_may_be_the_fastest():
    rule = ln.derive(
        ln.Objective(gamma=0.1), belief=assume.Filter(0.9999, trend=0.1), curvature=assume.SecondMoment(0.9999), dt=1.0
    )
    with pytest.warns(RegimeWarning):
        regime = rule.regime(1.0)
    assert regime.beliefs == pytest.approx(-math.log(0.1)) and not regime.holds


def test_the_formula_has_all_that_a_step_has_and_there_is_none_of_coupled_coordinates():
    objective = ln.Objective(2.0, gamma=0.7, drift=ln.drifts.Linear([[-0.3]], [0.5]))
    rule = ln.derive(objective, curvature=ln.assume.SecondMoment(0.0, floor=0.2, scale=3.0), dt=0.01)
    step, _ = rule([1.5], rule.init([0.4]), [0.4])
    names = {"eta": 2, "k": 1, "gamma": 0.7, "j": 0.3, "b": 0.5, "c": 3, "V": 1.5**2, "floor": 0.2, "m": 1.5}
    values = {symbol: {**names, "theta_0": 0.4}[symbol.name] for symbol in rule.velocity.free_symbols}
    assert step[0] == pytest.approx(0.01 * float(rule.velocity.subs(values)), rel=1e-12)
    assert "h = 3·(V + 0.2)" in rule._repr_markdown_() and r"\mathrm{floor}" in rule.latex[0]
    coupled = ln.derive(objective=ln.Objective(gamma=1.0, metric=[[2.0, 1.0], [1.0, 2.0]]), dt=0.1)
    with pytest.raises(ValueError, match="formulas are those of one coordinate"):
        _ = coupled.velocity
    assert "What follows" not in coupled._repr_markdown_()


@pytest.mark.parametrize(
    ("size", "words"),
    [(480.0, "480"), (0.0, "0"), (3.14e-5, "0.000031"), (3.14e-9, "3.1e-09"), (2.6e7, "2.6e+07")],
)
def test_a_size_is_written_out_as_long_as_it_can_be_read(size, words):
    assert _two_digits(size) == words
