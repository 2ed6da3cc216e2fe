"""Paths under a price on losses that are no bowls, against boundary-value solvers and against direct minimisation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import sympy
from scipy.integrate import solve_bvp

import lossnav as ln
from lossnav.trajectory import coming_to_rest

P = ln.prices
WELL = ln.losses.DoubleWell()
X, Y = sympy.symbols("x y")
VALLEY = ln.losses.Function((1 - X) ** 2 / 2 + 2 * (Y - X**2) ** 2)  # Rosenbrock's, of a milder bend
RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(40, 2)) * [1.0, 3.0]
SIDES = np.where(DATA @ [1.0, -0.5] + RNG.normal(size=40) > 0, 1.0, -1.0)
LOGISTIC = ln.losses.Function(
    lambda x: np.logaddexp(0, -SIDES * (x @ DATA.T)).mean(-1) + 0.02 * (x**2).sum(-1),
    lambda x: -((SIDES / (1 + np.exp(SIDES * (x @ DATA.T)))) @ DATA) / 40 + 0.04 * x,
    dim=2,
)
LOSSES = {"well": (WELL, [0.3, 0.6]), "valley": (VALLEY, [-0.5, 0.8]), "logistic": (LOGISTIC, [-1.0, 1.0])}


def least(price, slope, loss, x0, gamma, horizon, count, *, bound=None, rests=False):
    """Return J of the cheapest path on a grid by L-BFGS-B over velocities; with ``rests`` it stays at its end."""
    dt, dim = horizon / count, len(x0)
    t = dt * np.arange(count + 1)
    inner, at = np.exp(-gamma * (t[:-1] + dt / 2)) * dt, dt * np.exp(-gamma * t)
    at[[0, -1]] /= 2
    at[-1] += np.exp(-gamma * horizon) / gamma if rests else 0.0

    def total(z):
        v = z.reshape(count, dim)
        x = np.vstack([x0, x0 + dt * np.cumsum(v, axis=0)])
        pull = dt * np.cumsum((at[:, None] * loss.gradient(x))[:0:-1], axis=0)[::-1]
        J = inner @ price(v).sum(axis=1) + at @ loss.value(x)
        return J, (pull + inner[:, None] * slope(v)).ravel()

    limits = None if bound is None else [(-bound, bound)] * (count * dim)
    options = {"maxiter": 1500, "maxfun": 2500, "ftol": 1e-15, "gtol": 1e-11, "maxcor": 40}
    first = np.full(count * dim, 1e-3)
    return scipy.optimize.minimize(total, first, jac=True, method="L-BFGS-B", bounds=limits, options=options).fun


def beyond(cost, count):
    return (4 * cost(2 * count) - cost(count)) / 3


def pontryagin(loss, x0, v0, m, c, gamma, horizon):
    """Return J and the path where m|θ̈|²/2 + c|θ̇|²/2 is charged, by collocation of the costates' equations."""
    dim = len(x0)

    def law(t, y):
        x, v, s, q = np.split(y[:-1], 4)
        rate = (m * (q / m) ** 2 / 2 + c * v**2 / 2).sum(0) + loss.value(x.T)
        return np.vstack(
            [v, -q / m, gamma * s - loss.gradient(x.T).T, gamma * q - c * v - s, np.exp(-gamma * t) * rate]
        )

    def ends(a, b):
        return np.concatenate([a[:dim] - x0, a[dim : 2 * dim] - v0, b[2 * dim : 4 * dim], a[-1:]])

    t = np.linspace(0, horizon, 60)
    guess = np.zeros((4 * dim + 1, 60))
    guess[:dim] = np.asarray(x0)[:, None]
    bvp = solve_bvp(law, ends, t, guess, tol=1e-9, max_nodes=20000)
    assert bvp.success
    return bvp.y[-1, -1], lambda s: bvp.sol(s)[:dim].T


@pytest.mark.parametrize("name", LOSSES)
def test_acceleration_with_a_deadline_is_what_pontryagins_equations_say(name):
    loss, x0 = LOSSES[name]
    wanted, place = pontryagin(loss, x0, [0.4, -0.2], 0.3, 0.6, 0.5, 3.0)
    objective = ln.Objective(gamma=0.5, price=P.Acceleration(0.3, 0.6), horizon=3.0)
    path = ln.solve(objective, loss, x0, velocity0=[0.4, -0.2])
    assert path.method == "action" and path.is_minimum and path.action == pytest.approx(wanted, rel=1e-7)
    t = np.linspace(0, 3, 40)
    np.testing.assert_allclose(path(t), place(t), atol=1e-6)
    running = path.kinetic(t := np.linspace(0, 3, 4001)) + path.potential(t)
    assert np.trapezoid(np.exp(-0.5 * t) * running, t) == pytest.approx(wanted, rel=1e-5)
    if name != "logistic":  # one of them says the order
        return
    errors = [
        abs(ln.solve(objective, loss, x0, velocity0=[0.4, -0.2], steps=n)(1.3) - place(1.3)).max() for n in (8, 16, 32)
    ]
    assert np.log2(errors[0] / errors[2]) / 2 > 3.5  # of second order, and extrapolated once


@pytest.mark.slow
def test_acceleration_comes_to_rest_by_the_law_of_the_bowl_there():
    """Without a deadline: a late one changes nothing, a metric goes through, and γ = 0 has the lower of two wells."""
    objective = ln.Objective(gamma=0.5, price=P.Acceleration(0.3, 0.6))
    path = ln.solve(objective, VALLEY, [-0.5, 0.8])
    wanted, place = pontryagin(VALLEY, [-0.5, 0.8], [0, 0], 0.3, 0.6, 0.5, 12.0)
    assert path.action == pytest.approx(wanted, rel=1e-6) and path.at_infinity == "rests"
    np.testing.assert_allclose(path([0.5, 2.0, 5.0]), place([0.5, 2.0, 5.0]), atol=1e-5)
    np.testing.assert_allclose(path.asymptote, [1, 1], atol=1e-6)
    np.testing.assert_allclose(path(80.0), [1, 1], atol=1e-6)
    turn = np.array([[2.0, 0.5], [0.5, 1.0]])
    lower = np.linalg.cholesky(turn)
    turned = ln.losses.Function(lambda y: VALLEY.value(np.linalg.solve(lower.T, y[..., None])[..., 0]), dim=2)
    metric_path = ln.solve(ln.Objective(gamma=0.5, price=P.Acceleration(0.3, 0.6), metric=turn), VALLEY, [-0.5, 0.8])
    turned_path = ln.solve(objective, turned, lower.T @ [-0.5, 0.8])
    assert metric_path.action == pytest.approx(turned_path.action, rel=1e-7)
    undiscounted = ln.solve(ln.Objective(price=P.Acceleration(0.3, 0.6)), WELL, [-0.9, 0.2])
    np.testing.assert_allclose(undiscounted.asymptote, WELL.stationary_points()[-1], atol=1e-6)
    # Between nodes fourth derivatives are rough; a price that is wrong by a tenth is ten times as far off.
    path, times = ln.solve(objective, WELL, [0.3, 0.6], rtol=1e-9), np.linspace(0.1, 3, 30)
    dearer = ln.Objective(gamma=0.5, price=P.Acceleration(0.3, 0.66))
    assert ln.euler_lagrange(objective, WELL).residual(path, times) < 5e-2
    assert ln.euler_lagrange(dearer, WELL).residual(path, times) > 0.2


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("p", [3.0, 1.5])
def test_powers_go_where_direct_minimisation_goes(name, p):
    loss, x0 = LOSSES[name]
    price, gradient = lambda v: np.abs(v) ** p / (p * 0.7), lambda v: np.sign(v) * np.abs(v) ** (p - 1) / 0.7
    J = beyond(lambda n: least(price, gradient, loss, x0, 0.5, 3.0, n), 60)
    path = ln.solve(ln.Objective(gamma=0.5, price=P.Power(p, 0.7), horizon=3.0), loss, x0)
    assert path.action == pytest.approx(J, rel=1e-4) and path.is_minimum
    assert path.objective.price == P.Power(p, 0.7)


def test_a_power_near_one_whose_speeds_pass_zero_converges():
    """Newton's method overshoots |v|^p where v is small: of 126 paths by these wells 37 were refused, and none is."""
    centres, depths = np.array([0.735, 1.448, 0.003]), np.array([0.36, 1.725, 1.432])
    loss = ln.losses.Function(lambda x: x[..., 0] ** 2 / 4 - np.exp(-((x - centres) ** 2)) @ depths, dim=1)
    price, gradient = lambda v: np.abs(v) ** 1.2 / 3.6, lambda v: np.sign(v) * np.abs(v) ** 0.2 / 3.0
    path = ln.solve(ln.Objective(gamma=0.3, price=P.Power(1.2, 3.0), horizon=4.5), loss, [0.6])
    J = beyond(lambda n: least(price, gradient, loss, [0.6], 0.3, 4.5, n), 60)
    assert path.action == pytest.approx(J, rel=1e-4)


def test_a_power_between_two_places_obeys_hamiltons_equations():
    """p = 3 from place to place, where the velocity never vanishes; the error of a mesh falls as it should."""
    start, stop, T = [-1.0, 1.0], [0.6, -0.4], 1.0

    def law(t, y):
        x, p = y[:2], y[2:4]
        v = np.sign(p) * np.sqrt(np.abs(p))
        rate = np.exp(-0.5 * t) * ((np.abs(v) ** 3).sum(0) / 3 + LOGISTIC.value(x.T))
        return np.vstack([v, 0.5 * p + LOGISTIC.gradient(x.T).T, rate])

    ends = lambda a, b: np.concatenate([a[:2] - start, b[:2] - stop, a[-1:]])
    objective = ln.Objective(gamma=0.5, price=P.Power(3.0))
    path = ln.solve(objective, LOGISTIC, start, horizon=T, endpoint=stop)
    t = np.linspace(0, T, 100)
    guess = np.vstack([path(t).T, np.sign(path.velocity(t)).T * path.velocity(t).T ** 2, 0 * t])
    bvp = solve_bvp(law, ends, t, guess + 0.02 * np.sin(3 * t), tol=1e-8, max_nodes=20000)
    assert bvp.success and path.action == pytest.approx(bvp.y[-1, -1], rel=1e-6)
    np.testing.assert_allclose(path(t), bvp.sol(t)[:2].T, atol=1e-5)
    errors = [abs(ln.solve(objective, LOGISTIC, start, horizon=T, endpoint=stop, steps=n).action / bvp.y[-1, -1] - 1)
              for n in (8, 16, 32)]  # fmt: skip
    assert errors[2] < errors[1] / 8 < errors[0] / 64


@pytest.mark.parametrize(("name", "eta"), [("well", 0.7), ("well", 8.0), ("valley", 0.7), ("logistic", 0.7)])
def test_in_a_box_bounded_minimisation_finds_the_same(name, eta):
    loss, x0 = LOSSES[name]
    price, gradient = lambda v: v**2 / (2 * eta), lambda v: v / eta
    J = beyond(lambda n: least(price, gradient, loss, x0, 0.5, 3.0, n, bound=0.5), 40)
    path = ln.solve(ln.Objective(gamma=0.5, price=P.Box(0.5, eta), horizon=3.0), loss, x0)
    assert path.action == pytest.approx(J, rel=3e-4)
    speeds = path.velocity(np.linspace(0, 3, 997))
    assert np.abs(speeds).max() <= 0.5 and np.abs(speeds).max() > 0.499
    free = ln.solve(ln.Objective(eta=eta, gamma=0.5, horizon=3.0), loss, x0)
    assert path.action > free.action * (1 + 1e-4)


def test_in_a_box_an_infinite_time_is_a_late_deadline():
    """Against bounded minimisation, against the exact law of a bowl, and on a bowl whose axes are not the box's."""
    objective = ln.Objective(gamma=0.5, price=P.Box(0.5, 0.7))
    price, grad = lambda v: v**2 / 1.4, lambda v: v / 0.7
    for loss, x0 in (LOSSES["valley"], (ln.losses.Quadratic([[1.0, 0.4], [0.4, 2.0]], minimum=[0, 0]), [1.0, 0.7])):
        J = beyond(lambda n, loss=loss, x0=x0: least(price, grad, loss, x0, 0.5, 16.0, n, bound=0.5, rests=True), 100)
        path = ln.solve(objective, loss, x0)
        assert path.action == pytest.approx(J, rel=1e-3) and path.method == "action"
    bowl = ln.losses.Quadratic(np.diag([1.0, 2.0]), minimum=[0, 0])
    exact, numerical = (ln.solve(objective, bowl, [1.0, 0.7], method=method) for method in ("closed_form", "action"))
    assert numerical.action == pytest.approx(exact.action, rel=1e-7)
    t = np.linspace(0, 8, 50)
    np.testing.assert_allclose(numerical(t), exact(t), atol=4e-5)  # the barrier slows it by so much


def test_the_error_in_a_box_holds_what_its_barrier_changes():
    """One coordinate's way costs little beside the others', so that the barrier is high for it."""
    bowl = ln.losses.Quadratic(np.diag([30.0, 0.4, 4.0]), minimum=[0.0, 0.0, 0.0])
    objective = ln.Objective(gamma=0.6, price=P.Box(limit=[4.0, 0.12, 1.0], eta=2.0))
    exact, path = (ln.solve(objective, bowl, [1.6, -0.5, 1.8], method=name) for name in ("closed_form", "action"))
    assert 1e-8 * exact.action < abs(path.action - exact.action) < path.error < 1e-4 * exact.action


@pytest.mark.parametrize("price", [P.Box(0.5), P.Norm("linf", limit=0.5), P.Box(0.5, 5.0)])
@pytest.mark.parametrize("T", [3.0, 3.5, 3.7])
def test_a_place_that_is_out_of_reach_is_gone_towards_at_full_speed(price, T):
    """From .9 the deep well at -1.06 is farther than T/2; who goes down to the near one at .93 pays 6.3 to 6.6."""
    loss = ln.losses.Function((X**2 - 1) ** 2 + X / 2)
    path = ln.solve(ln.Objective(price=price, horizon=T, terminal=10.0), loss, [0.9])
    times = np.linspace(0, T, 20001)
    running = np.trapezoid(loss.value(0.9 - 0.5 * times[:, None]), times) + price.value([-0.5]) * T
    full = running + 10 * loss.value([0.9 - 0.5 * T])
    assert path.converged and full - 1e-5 < path.action < full + 1e-7


def test_a_fixed_end_near_the_reach_of_a_limit():
    """Down to 0 at full speed, a rest there, and at full speed to the end: ∫x²/2 is x³/6 of each way."""
    bowl = ln.losses.Quadratic([[1.0]], minimum=[0.0])
    for T, end in ((1.9, 0.4), (3.0, 0.9), (1.3, 0.2)):
        path = ln.solve(ln.Objective(price=P.Box(1.0)), bowl, [1.0], horizon=T, endpoint=[end])
        assert path.action == pytest.approx((1 + end**3) / 6, rel=1e-5)


def test_layers_of_euclidean_norms_are_a_metric():
    price = P.Norm([(slice(0, 1), "l2"), (slice(1, 2), "l2")], eta=[0.5, 2.0])
    for more in ({"horizon": 3.0}, {}):
        path = ln.solve(ln.Objective(gamma=0.5, price=price, **more), VALLEY, [-0.5, 0.8])
        plain = ln.solve(ln.Objective(gamma=0.5, metric=np.diag([2.0, 0.5]), **more), VALLEY, [-0.5, 0.8])
        assert path.action == pytest.approx(plain.action, rel=1e-7)


@pytest.mark.parametrize(
    ("price", "more", "words"),
    [
        (P.Toll(0.2), {"gamma": 0.5}, "kink where every path comes to rest"),
        (P.Linear(0.2), {"gamma": 0.5}, "kinks in every direction"),
        (P.Norm("l1", eta=1.0), {"gamma": 0.5}, "kinked where its optima go"),
        (P.Norm("l2", limit=1.0), {"gamma": 0.5}, "kinked where its optima go"),
        (P.Power(3.0), {}, "discount"),
        (P.Box(1.0, 1.0), {}, "discount"),
    ],
)
def test_what_is_not_solved_says_why(price, more, words):
    with pytest.raises(ValueError, match=words):
        ln.solve(ln.Objective(price=price, **more), WELL, [0.3, 0.6])


def test_ends_that_do_not_go_with_a_price():
    heavy = ln.Objective(gamma=0.5, price=P.Acceleration(0.3))
    with pytest.raises(ValueError, match="velocity0 = None or an array"):
        ln.solve(heavy, WELL, [0.3, 0.6], velocity0="free")
    with pytest.raises(ValueError, match="free end"):
        ln.solve(heavy, WELL, [0.3, 0.6], horizon=2.0, endpoint=[0.0, 0.0])
    with pytest.raises(ln.NoMinimiser, match="limit"):
        ln.solve(ln.Objective(price=P.Box(0.5, 1.0)), WELL, [0.3, 0.6], horizon=1.0, endpoint=[1.0, 0.6])


def gaussians(heights, centres, widths):
    """Return wells in a bowl."""
    wells = zip(heights, centres, widths, strict=True)
    return ln.losses.Function(0.2 * X**2 - sum(a * sympy.exp(-(((X - c) / w) ** 2) / 2) for a, c, w in wells))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "start", "price", "gamma", "action"),
    [
        (ln.losses.DoubleWell(), [-1.5, 2.0], ln.prices.Power(1.5, eta=10.0), 0.1, -3.7778),
        (gaussians([0.804, 1.138, 1.744], [2.326, 1.041, -1.432], [0.572, 0.653, 0.326]), [0.43],
         ln.prices.Power(1.5, eta=3.45), 0.39, -2.4577),
    ],
    ids=["past the deeper well", "to the farther well"],
)  # fmt: skip
def test_a_way_is_begun_at_the_pace_that_costs_least(loss, start, price, gamma, action):
    """Direct minimisation from ways of several paces; slow ones go down to the near rest, for 5.54 and -2.41."""
    path = ln.solve(ln.Objective(gamma=gamma, price=price), loss, start)
    assert path.converged and path.action == pytest.approx(action, rel=2e-4)
    dated = ln.solve(ln.Objective(gamma=gamma, price=price, horizon=20 / gamma), loss, start)
    left = np.exp(-20) / gamma * float(loss.value(dated.asymptote))
    assert dated.converged and dated.action + left == pytest.approx(path.action, rel=1e-5)


def test_a_deeper_rest_that_is_too_flat_for_a_law_of_approach_is_not_passed_over():
    """x = 2 is of fourth order: who stays at .12 pays 8.10, and by the deadline of 60 the way to it costs 4.11."""
    shape = np.polynomial.Polynomial([-2, 1]) ** 4 * np.polynomial.Polynomial([0.1, 0, 1])
    gradient, curvature = shape.deriv(), shape.deriv(2)
    loss = ln.losses.Function(lambda x: shape(x[..., 0]), gradient, lambda x: curvature(x)[..., None], dim=1)
    objective = ln.Objective(gamma=0.2, price=ln.prices.Acceleration(1.0, 1.0))
    with pytest.raises(ln.NotConverged, match=r"never comes to rest costs less: it has J = 4\.11"):
        ln.solve(objective, loss, [-0.2])


def test_at_rest_under_a_limit_nothing_moves():
    """From (1, -1/2) to 0 at unit speed: a costate that is rounding has a sign, but asks for no velocity."""
    bowl = ln.losses.Function(
        lambda x: np.cosh(x).sum(-1) - 2, np.sinh, lambda x: np.cosh(x)[..., None] * np.eye(2), dim=2
    )
    path = ln.solve(ln.Objective(gamma=1.0, price=P.Box(1.0)), bowl, [1.0, -0.5])
    nodes = path.times[path.times < 3.0]
    t = np.concatenate([nodes, (nodes[1:] + nodes[:-1]) / 2])
    exact = np.stack([np.maximum(1 - t, 0.0), -np.maximum(0.5 - t, 0.0)], axis=1)
    np.testing.assert_allclose(path(t), exact, atol=1.5e-3)  # the barrier rounds the corner off
    away = t[(np.abs(t - 1) > 0.05) & (np.abs(t - 0.5) > 0.05)]
    signs = np.stack([-1.0 * (away < 1), 1.0 * (away < 0.5)], axis=1)
    np.testing.assert_allclose(path.velocity(away), signs, atol=1e-3)  # the softness over the costate, δ²/2
    assert len(path.times) < 2**15  # the corner is no finer than that


def test_where_no_rest_has_a_law_of_approach_acceleration_is_followed_to_a_late_deadline():
    """x⁴ has none at 0; against direct collocation of a deadline after which nothing is left to pay."""
    quartic = ln.losses.Function(lambda x: x[..., 0] ** 4, lambda x: 4 * x**3, lambda x: 12 * x[..., None] ** 2, dim=1)
    path = ln.solve(ln.Objective(gamma=1.0, price=P.Acceleration(0.5, 0.2)), quartic, [1.0], velocity0=[-0.5])
    J, place = pontryagin(quartic, [1.0], [-0.5], 0.5, 0.2, 1.0, 12.0)
    assert path.converged and path.action == pytest.approx(J, rel=1e-5) and path.at_infinity != "ends"
    np.testing.assert_allclose(path(np.linspace(0, 4, 20)), place(np.linspace(0, 4, 20)), atol=1e-3)
    assert np.all(path.velocity([100.0]) == 0) and np.all(path.acceleration([100.0]) == 0)


def test_of_more_rests_than_are_followed_acceleration_in_a_metric_is_estimated_too(monkeypatch):
    """G is to the price of acceleration what a factor of it is: the same J, where straight lines are compared first."""
    monkeypatch.setattr(coming_to_rest, "_FOLLOWED", 1)
    waves = ln.losses.Function(lambda x: 0.05 * x[..., 0] ** 2 + np.cos(2 * x[..., 0]), dim=1)
    weighed = ln.Objective(gamma=0.5, metric=[[2.0]], price=P.Acceleration(0.3, 0.6))
    plain = ln.Objective(gamma=0.5, price=P.Acceleration(0.6, 1.2))
    costs = [ln.solve(objective, waves, [2.0]).action for objective in (weighed, plain)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-8)


def test_where_acceleration_is_charged_no_gradient_flow_is_followed():
    """To the other rest no path was found, and the flow was asked of (θ, θ̇) as if it were θ: a ValueError."""
    loss = ln.losses.Function((X**2 - 1) ** 2 / 4 + X / 5)
    path = ln.solve(ln.Objective(gamma=3.6, price=P.Acceleration(0.5)), loss, [0.5], velocity0=[-1.6])
    J, _ = pontryagin(loss, [0.5], [-1.6], 0.5, 0.0, 3.6, 6.0)
    assert path.converged and path.action == pytest.approx(J, rel=1e-6)


def test_a_valley_is_one_place_to_rest():
    """At x₂ = x₁² nothing pulls along; no descent ends where another did, and each end had a path of its own."""
    valley = ln.losses.Function(
        lambda x: (x[..., 1] - x[..., 0] ** 2) ** 2 / 2,
        lambda x: (x[..., 1:] - x[..., :1] ** 2) * np.concatenate([-2 * x[..., :1], np.ones_like(x[..., :1])], axis=-1),
        dim=2,
    )
    path = ln.solve(ln.Objective(gamma=1.0, price=P.Box(0.5, 1.0)), valley, [1.0, 0.0])
    price, slope = lambda v: v**2 / 2, lambda v: v
    J = beyond(lambda n: least(price, slope, valley, [1.0, 0.0], 1.0, 10.0, n, bound=0.5, rests=True), 60)
    assert path.converged and len(path.candidates) == 1 and path.action == pytest.approx(J, rel=1e-3)


def test_a_search_whose_budget_is_spent_ends():
    """The nodes of a few meshes may still be looked at, but no path is walked on: 1,000 calls were made of 300."""
    wells = ln.losses.Function(
        lambda x: (x[..., 0] ** 2 - 1) ** 2 - 0.4 * x[..., 0] + x[..., 1] ** 2 / (1 + x[..., 0] ** 2), dim=2
    )
    path = ln.solve(ln.Objective(gamma=0.5, price=P.Box(0.6)), wells, [-1.3, 0.8], max_calls=300, throw=False)
    assert not path.converged and "max_calls" in path.reason and wells.calls < 500


@pytest.mark.parametrize(
    "priced",
    [
        lambda u: P.Box(0.6 * u, u**2),
        lambda u: P.Norm("linf", limit=0.6 * u),
        lambda u: P.Power(1.5, u**1.5),
        lambda u: P.Acceleration(1 / u**2, 0.3 / u**2),
    ],
    ids=["box", "norm", "power", "acceleration"],
)
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_paths_do_not_feel_the_unit_of_theta(priced, unit):
    """Nor do differences: with steps of 7e-4, where lengths are 1e-6, a path was certified that costs a tenth more."""
    formula, start = sympy.sqrt(1 + X**2) + sympy.sqrt(1 + (X / 2 + Y) ** 2), np.array([1.0, -0.8])
    mixed = np.array([[1.0, 0.5], [0.0, 1.0]])
    loss = ln.losses.Function(lambda x: np.sqrt(1 + (x / unit @ mixed) ** 2).sum(-1), dim=2)
    exact = ln.solve(ln.Objective(gamma=0.5, k=0.7, price=priced(1.0)), ln.losses.Function(formula), start)
    path = ln.solve(ln.Objective(gamma=0.5, k=0.7, price=priced(unit)), loss, unit * start)
    assert path.action == pytest.approx(exact.action, rel=1e-8)
    t = np.array([0.0, 0.7, 2.0])
    np.testing.assert_allclose(path(t) / unit, exact(t), atol=1e-5)
    np.testing.assert_allclose(path.velocity(t) / unit, exact.velocity(t), atol=1e-5)
    if exact.objective.price.order == 2:
        np.testing.assert_allclose(path.acceleration(t) / unit, exact.acceleration(t), atol=1e-5)


def test_a_toll_has_the_unit_of_the_loss_over_theta():
    """On a bowl far off in other units, in closed form: counted in other units, no digit changes."""
    bowls = (ln.losses.Quadratic(np.diag([1.0, 4.0]) / u**2, minimum=[0.0, 0.0]) for u in (1.0, 2.0**20))
    own, other = (
        ln.solve(ln.Objective(gamma=1.0, price=P.Toll(0.2 / u, u**2)), bowl, u * np.array([1.0, -0.5]))
        for u, bowl in zip((1.0, 2.0**20), bowls, strict=True)
    )
    assert other.action == own.action
    np.testing.assert_array_equal(other([0.5, 3.0]) / 2**20, own([0.5, 3.0]))


@pytest.mark.parametrize("p", [1.3, 4.0])
def test_a_path_that_turns_round_meets_the_time_and_the_cost_of_its_energy(p):
    def turning(paid):
        """Integrate along x = a + (1 − a)s^{p/(p−1)}, there and back: (1 − 1/p)v^p = L(x) − L(a)."""

        def integrand(s):
            x = turn + (1 - turn) * s ** (p / (p - 1))
            rise = (x**2 - turn**2) / 2
            pace = (p / (p - 1) * rise) ** (1 / p)
            return 2 * paid(x, rise / (p - 1)) * (1 - turn) * p / (p - 1) * s ** (1 / (p - 1)) / pace

        return scipy.integrate.quad(integrand, 1e-9, 1)[0]

    turn = 0.3
    horizon, cost = turning(lambda x, kinetic: 1.0), turning(lambda x, kinetic: kinetic + x**2 / 2)
    bowl = ln.losses.Quadratic([[1.0]], minimum=[0.0])
    path = ln.solve(ln.Objective(price=P.Power(p)), bowl, [1.0], horizon=horizon, endpoint=[1.0])
    assert path.action == pytest.approx(cost, rel=1e-8)
    assert path(horizon / 2)[0] == pytest.approx(turn, abs=1e-6)
