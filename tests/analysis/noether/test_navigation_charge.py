"""Noether's theorem for the objective: the balance on random extremals, the zero on minimisers, and where it fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.optimize import minimize

import lossnav as ln
from lossnav import noether

ROTATION = ln.drifts.rotation(1.0)
RESCALE = noether.Rescale(2, [0], [1])


def hat():
    """(|θ|² − 1)², the same in all directions."""
    flat = lambda x: np.sum(x**2, axis=-1)[..., None, None] - 1
    return ln.losses.Function(
        lambda x: (np.sum(x**2, axis=-1) - 1) ** 2,
        lambda x: 4 * (np.sum(x**2, axis=-1, keepdims=True) - 1) * x,
        lambda x: 4 * flat(x) * np.eye(2) + 8 * x[..., :, None] * x[..., None, :],
        dim=2,
    )


def product():
    """(ab − 1)²: a network of two weights, one after the other."""

    def hessian(x):
        a, b = x[..., 0], x[..., 1]
        rows = [np.stack([2 * b**2, 4 * a * b - 2], -1), np.stack([4 * a * b - 2, 2 * a**2], -1)]
        return np.stack(rows, axis=-2)

    return ln.losses.Function(
        lambda x: (x[..., 0] * x[..., 1] - 1) ** 2,
        lambda x: 2 * (x[..., :1] * x[..., 1:] - 1) * x[..., ::-1],
        hessian,
        dim=2,
    )


def relative():
    """diag(a⁻², b⁻²): only relative changes cost, so that rescaling is a motion of the metric."""
    return ln.metrics.Relative(2, each=True)


def bent(theta):
    """A metric without symmetry."""
    a, b = theta[..., 0], theta[..., 1]
    rows = [
        np.stack([2 + np.sin(a * b), 0.3 * np.cos(a)], -1),
        np.stack([0.3 * np.cos(a), 1 + 0.5 * np.sin(b) ** 2], -1),
    ]
    return np.stack(rows, axis=-2)


def extremal(objective, loss, theta, momentum, t):
    """θ and θ̇ of Hamilton's equations of the objective's integrand, with slopes by differences: no library's path."""

    def weight(x):
        return objective.metric_on(2).matrix(x)

    def drift(x):
        return np.zeros(2) if objective.drift is None else objective.drift(x)

    def energy(x, p):
        return objective.eta / 2 * p @ np.linalg.solve(weight(x), p) + p @ drift(x) - objective.k * loss.value(x)

    def rate(_, state):
        x, p = state[:2], state[2:]
        gradient = np.array([(energy(x + h, p) - energy(x - h, p)) / 2e-5 for h in 1e-5 * np.eye(2)])
        return np.r_[objective.eta * np.linalg.solve(weight(x), p) + drift(x), objective.gamma * p - gradient]

    states = solve_ivp(rate, (0, t[-1]), np.r_[theta, momentum], t_eval=t, rtol=1e-10, atol=1e-12).y.T
    return states[:, :2], np.array([rate(0, state)[:2] for state in states])


class Path(ln.Trajectory):
    """An extremal in the clothes of an optimal path."""

    def __init__(self, objective, loss, positions, velocities, t):
        places = {
            "position": lambda at: positions[np.searchsorted(t, at)],
            "rate": lambda at: velocities[np.searchsorted(t, at)],
        }
        super().__init__(objective, loss, t, 0.0, 0.0, positions[-1], "bvp", **places, end=float(t[-1]))


PROBLEMS = {
    "plain": {},
    "weighted": {"metric": [[2.0, 0.5], [0.5, 1.0]], "gamma": 0.7, "eta": 0.4, "k": 1.5},
    "curved": {"metric": bent, "gamma": 0.3, "drift": ln.drifts.Linear([[0.2, -0.5], [0.9, -0.3]])},
    "drifting": {
        "gamma": 1.1,
        "drift": ln.drifts.Function(
            lambda x: np.array([np.sin(x[1]), x[0] * x[1]]),
            lambda x: np.array([[0.0, np.cos(x[1])], [x[1], x[0]]]), dim=2,
        ),
    },
}  # fmt: skip
FIELDS = {
    "rotation": ROTATION,
    "rescale": RESCALE,
    "shift": noether.Translation(2, [0]),
    "bent": ln.drifts.Function(
        lambda x: np.array([x[1] ** 2, np.cos(x[0])]), lambda x: np.array([[0, 2 * x[1]], [-np.sin(x[0]), 0]]), dim=2
    ),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("field", FIELDS)
def test_balance_of_any_field_along_any_extremal(problem, field):
    """No symmetry at all, and paths that are no minima: Q changes by exactly the three parts."""
    objective, loss = ln.Objective(**PROBLEMS[problem]), product()
    t = np.linspace(0.0, 0.6, 601)
    path = Path(objective, loss, *extremal(objective, loss, np.array([0.9, -0.6]), np.array([0.4, 0.7]), t), t)
    charge = noether.navigation_charge(path, FIELDS[field], t)
    parts = noether.navigation_breaking(path, FIELDS[field], t)
    total = cumulative_simpson(np.exp(-objective.gamma * t) * parts.total, x=t, initial=0.0)
    assert np.max(np.abs(charge - charge[0] - total)) < 2e-6 * max(1.0, np.max(np.abs(charge)))
    assert np.max(np.abs(charge - charge[0])) > 1e-3
    for part in (parts.metric, parts.drift, parts.loss):
        missing = cumulative_simpson(np.exp(-objective.gamma * t) * (parts.total - part), x=t, initial=0.0)
        if np.max(np.abs(part)) > 1e-6:  # each is needed where it is there
            assert np.max(np.abs(charge - charge[0] - missing)) > 1e-5


@pytest.mark.parametrize("gamma", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("turning", [0.0, 1.3])
def test_charge_of_a_minimiser_is_zero_and_the_drift_alone_turns_it(gamma, turning):
    drift = ln.drifts.rotation(turning) if turning else None
    objective = ln.Objective(gamma=gamma, drift=drift, horizon=8.0)
    assert all(
        abs(value) < 1e-12 for value in noether.defects(objective, hat(), ROTATION, [[1.7, 0.4], [0.3, -2.0]]).values()
    )
    path = ln.solve(objective, hat(), [1.7, 0.4])
    t = np.linspace(0.0, 8.0, 81)
    assert np.max(np.abs(noether.navigation_charge(path, ROTATION, t))) < 1e-10
    x, v = path(t), path.velocity(t)
    np.testing.assert_allclose((x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]) / np.sum(x**2, axis=1), turning, atol=1e-9)


def test_a_drift_that_is_not_equivariant_gives_charge():
    objective = ln.Objective(gamma=0.5, drift=ln.drifts.Linear([[0.3, 0.0], [0.0, -0.3]]), horizon=8.0)
    assert noether.defects(objective, hat(), ROTATION, [1.7, 0.4])["drift"] > 0.1
    path = ln.solve(objective, hat(), [1.7, 0.4])
    assert abs(noether.navigation_charge(path, ROTATION, 0.0)) > 1e-3


def imbalance(gamma, horizon=4.0, count=400):
    """Discretised J of (ab − 1)² minimised from scratch: Q(0) and a² − b² at the end. No library here."""
    dt = horizon / count
    t = dt * np.arange(count + 1)
    speed = np.exp(-gamma * (t[:-1] + dt / 2)) / (2 * dt)
    place = dt * np.exp(-gamma * t) * np.r_[0.5, np.ones(count - 1), 0.5]

    def action(flat):
        x = np.vstack([[2.0, 0.1], flat.reshape(count, 2)])
        step, miss = np.diff(x, axis=0), x[:, 0] * x[:, 1] - 1
        gradient = 2 * (place * miss)[:, None] * x[:, ::-1]
        gradient[1:] += 2 * speed[:, None] * step
        gradient[:-1] -= 2 * speed[:, None] * step
        return speed @ np.sum(step**2, axis=1) + place @ miss**2, gradient[1:].ravel()

    start = np.tile([2.06, 0.485], count)
    options = {"maxiter": 8000, "maxfun": 16_000, "ftol": 1e-15, "gtol": 1e-8, "maxcor": 50}
    optimum = minimize(action, start, jac=True, method="L-BFGS-B", options=options)
    x = np.vstack([[2.0, 0.1], optimum.x.reshape(count, 2)])
    charge = np.exp(-gamma * (t[:2] + dt / 2)) * np.diff(x[:3] ** 2, axis=0) @ [1, -1] / (2 * dt)
    return 1.5 * charge[0] - 0.5 * charge[1], x[-1, 0] ** 2 - x[-1, 1] ** 2


@pytest.mark.parametrize(("gamma", "charge", "end"), [(1.0, 0.1479, 4.0495), (5.0, 0.0340, 4.0155)])
def test_euclidean_metric_breaks_rescaling(gamma, charge, end):
    """The imbalance grows where gradient flow conserves it; in the relative metric the ratio stays."""
    objective = ln.Objective(gamma=gamma, horizon=12.0)
    assert noether.defects(objective, product(), RESCALE, [2.0, 0.1]) == {"loss": 0.0, "metric": 2.0, "drift": 0.0}
    path = ln.solve(objective, product(), [2.0, 0.1])
    assert abs(noether.navigation_charge(path, RESCALE, 0.0) - charge) < 1e-4
    assert abs(RESCALE.quantity(path(12.0)) - end) < 1e-4
    assert RESCALE.quantity(path(12.0)) > RESCALE.quantity([2.0, 0.1]) + 0.01


def test_imbalance_by_direct_minimisation():
    charge, end = imbalance(0.2)
    path = ln.solve(ln.Objective(gamma=0.2, horizon=4.0), product(), [2.0, 0.1])
    assert abs(noether.navigation_charge(path, RESCALE, 0.0) / charge - 1) < 2e-3
    assert abs(RESCALE.quantity(path(4.0)) - end) < 2e-3 and end > 4.04


def test_relative_metric_keeps_the_ratio():
    objective = ln.Objective(gamma=0.5, metric=relative(), horizon=2.0)
    assert max(noether.defects(objective, product(), RESCALE, [[2.0, 0.1], [0.4, 0.3]]).values()) < 1e-12
    path = ln.solve(objective, product(), [2.0, 0.1])
    t = np.linspace(0.0, 2.0, 21)
    assert np.max(np.abs(noether.navigation_charge(path, RESCALE, t))) < 1e-6
    x = path(t)
    np.testing.assert_allclose(x[:, 0] / x[:, 1], 20.0, rtol=1e-5)
    assert x[-1].prod() > 0.7  # and it did move


def cone():
    """1 − cos of the angle to the first axis: depends on the direction alone."""

    def gradient(x):
        r = np.linalg.norm(x, axis=-1, keepdims=True)
        return -np.array([1.0, 0.0]) / r + x[..., :1] * x / r**3

    return ln.losses.Function(lambda x: 1 - x[..., 0] / np.linalg.norm(x, axis=-1), gradient, dim=2)


@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_navigation_shrinks_the_norm_that_gradient_descent_grows(gamma):
    """r²ᐧ = −2∫ₜᵀ e^{−γ(s−t)}|θ̇|² ds for a scale-invariant loss: the balance of the scale charge, read backwards."""
    scale = noether.Scale(2)
    objective = ln.Objective(gamma=gamma, horizon=6.0)
    defects = noether.defects(objective, cone(), scale, [[0.5, 1.2], [-0.3, 0.8]])
    assert defects["loss"] < 1e-12 and defects["metric"] == 2.0
    path = ln.solve(objective, cone(), [0.5, 1.2])
    t = np.linspace(0.0, 6.0, 601)
    x, v = path(t), path.velocity(t)
    growth = 2 * np.sum(x * v, axis=1)
    ahead = cumulative_simpson(np.exp(-gamma * t[::-1]) * np.sum(v[::-1] ** 2, axis=1), x=-t[::-1], initial=0.0)[::-1]
    np.testing.assert_allclose(growth, -2 * np.abs(ahead) * np.exp(gamma * t), atol=2e-4)
    assert np.all(growth[:-1] < 0) and np.sum(x[-1] ** 2) < 0.99 * np.sum(x[0] ** 2)


def test_relative_metric_keeps_the_norm():
    objective = ln.Objective(gamma=0.5, metric=ln.metrics.Relative(2), horizon=2.0)
    assert noether.defects(objective, cone(), noether.Scale(2), [0.5, 1.2])["metric"] < 1e-12
    path = ln.solve(objective, cone(), [0.5, 1.2])
    x = path(np.linspace(0.0, 2.0, 21))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.3, rtol=1e-5)
    assert x[-1, 0] > 0.6


def test_finite_cost_does_not_make_the_charge_of_an_extremal_zero():
    """L = 0 and f = aθ with a > γ/2: a path of finite cost and Q ≠ 0 that is an extremal, and no minimiser."""
    a, gamma = 1.0, 0.5
    objective = ln.Objective(gamma=gamma, drift=ln.drifts.Linear(a))
    t = np.linspace(0.0, 3.0, 301)
    # ṗ = γp − ap; u = ηp: u decays at γ − a < γ/2, so that its discounted cost is finite; rotation is a symmetry
    u0, theta0 = np.array([0.0, 0.5]), np.array([1.0, 0.0])
    u = u0 * np.exp((gamma - a) * t)[:, None]
    grown = theta0 * np.exp(a * t)[:, None]
    theta = grown + u0 * (np.exp(a * t) - np.exp((gamma - a) * t))[:, None] / (2 * a - gamma)
    path = Path(objective, ln.losses.Function(lambda x: 0 * x.sum(-1), dim=2), theta, a * theta + u, t)
    assert max(noether.defects(objective, path.loss, ROTATION, theta[::100]).values()) < 1e-9
    charge = noether.navigation_charge(path, ROTATION, t)
    np.testing.assert_allclose(charge, 0.5, rtol=1e-9)
    cost = 0.25 / (2 * (gamma - 2 * (gamma - a)))  # ∫ e^{−γt}|u|²/2, finite; doing nothing costs 0
    assert 0 < cost < math.inf


def test_a_fixed_end_carries_charge_and_a_free_one_none():
    t = np.linspace(0.0, 3.0, 31)
    objective = ln.Objective(gamma=0.5, horizon=3.0)
    free = noether.navigation_charge(ln.solve(objective, hat(), [1.7, 0.4]), ROTATION, t)
    fixed = noether.navigation_charge(
        ln.solve(ln.Objective(gamma=0.5), hat(), [1.7, 0.4], horizon=3.0, endpoint=[0.0, 1.0]), ROTATION, t
    )
    assert np.max(np.abs(free)) < 1e-10
    assert np.ptp(fixed) < 1e-5 * abs(fixed[0]) and abs(fixed[0]) > 0.05


@pytest.mark.parametrize("gamma", [0.0, 0.5, 3.0])
def test_a_valley_of_rests_is_reached_without_a_charge(gamma):
    """On a ring of minima the best plan goes straight in: it has no angular momentum, and at γ = 0 costs ∫√(2L)dr."""
    plan = ln.solve(ln.Objective(gamma=gamma), hat(), [1.7, 0.4])
    assert math.hypot(*plan.asymptote) == pytest.approx(1.0, abs=1e-6)
    t = np.linspace(0.0, 3.0, 9)
    (a, b), (da, db) = plan(t).T, plan.velocity(t).T
    np.testing.assert_allclose(a * db - b * da, 0.0, atol=1e-10)
    if gamma == 0.0:
        far = math.hypot(1.7, 0.4)
        assert plan.action == pytest.approx(math.sqrt(2) * (far**3 / 3 - far + 2 / 3), rel=1e-6)


@pytest.mark.slow
def test_a_terminal_charge_that_is_not_invariant_sets_the_conserved_one():
    """Q = −e^{−γT} ξ·∇c(θ_T), by direct minimisation with c = 0.7 θ₂; constant on the way."""
    gamma, horizon, count = 0.5, 2.0, 200
    dt = horizon / count
    t = dt * np.arange(count + 1)
    speed = np.exp(-gamma * (t[:-1] + dt / 2)) / (2 * dt)
    place = dt * np.exp(-gamma * t) * np.r_[0.5, np.ones(count - 1), 0.5]
    loss, last = hat(), np.exp(-gamma * horizon)

    def cost(flat):
        x = np.vstack([[1.7, 0.4], flat.reshape(count, 2)])
        step = np.diff(x, axis=0)
        gradient = place[:, None] * loss.gradient(x)
        gradient[1:] += 2 * speed[:, None] * step
        gradient[:-1] -= 2 * speed[:, None] * step
        gradient[-1, 1] += 0.7 * last
        return speed @ np.sum(step**2, axis=1) + place @ loss.value(x) + 0.7 * last * x[-1, 1], gradient[1:].ravel()

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 60}
    optimum = minimize(cost, np.tile([1.0, 0.1], count), jac=True, method="L-BFGS-B", options=options)
    x = np.vstack([[1.7, 0.4], optimum.x.reshape(count, 2)])
    middle, velocity = (x[1:] + x[:-1]) / 2, np.diff(x, axis=0) / dt
    charge = 2 * dt * speed * np.sum(velocity * ROTATION(middle), axis=1)
    wanted = -last * 0.7 * x[-1, 0]
    assert abs(wanted) > 0.1
    np.testing.assert_allclose(charge, wanted, rtol=0.01)


def test_the_charge_of_a_task_is_moved_by_the_loss_of_that_time():
    here, there = (ln.losses.Quadratic(np.diag([1.0, h]), minimum=rest) for h, rest in ((2.0, [0, 0]), (3.0, [1, -1])))
    path = ln.solve(ln.Objective(gamma=0.3), ln.task.Phases([(0.0, here), (2.0, there)]), [1.0, 0.5])
    t, step = np.array([1.0, 3.0]), 1e-4
    before, after = (noether.navigation_charge(path, ROTATION, t + side) for side in (-step, step))
    breaking = np.exp(-0.3 * t) * noether.navigation_breaking(path, ROTATION, t).total
    np.testing.assert_allclose(breaking, (after - before) / (2 * step), rtol=1e-4)


@pytest.mark.parametrize("call", [noether.navigation_charge, noether.navigation_breaking])
def test_a_path_that_paid_another_price_has_no_such_charge(call):
    bowl = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 0.0])
    path = ln.solve(ln.Objective(gamma=0.3, price=ln.prices.Box(1.0)), bowl, [0.2, 0.5])
    with pytest.raises(ValueError, match=r"objective.price = Box.* must be None"):
        call(path, ROTATION, 0.5)
