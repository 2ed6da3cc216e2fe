"""Paths under a metric that depends on θ: a circle, a constant metric, and the minimised sum."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

import lossnav as ln
from lossnav.trajectory import blocks, curved
from lossnav.trajectory.motion import acceleration
from lossnav.trajectory.transcription import Transcription


def half_plane(theta):
    return [[1 / theta[1] ** 2, 0], [0, 1 / theta[1] ** 2]]


FLAT = ln.losses.Function(lambda x: 0 * x.sum(-1), dim=2)


class Fit(ln.losses.Function):
    """The mean negative log-likelihood of a normal distribution with parameters (μ, σ); truth (0, 1)."""

    def __init__(self):
        super().__init__(
            lambda x: np.log(x[..., 1]) + (x[..., 0] ** 2 + 1) / (2 * x[..., 1] ** 2) - 0.5, self._slope, dim=2
        )

    @staticmethod
    def _slope(x):
        mu, sigma = x[..., 0], x[..., 1]
        return np.stack([mu / sigma**2, 1 / sigma - (mu**2 + 1) / sigma**3], axis=-1)

    def stationary_points(self):
        return np.array([[0.0, 1.0]])


def fisher(theta):
    return [[1 / theta[1] ** 2, 0], [0, 2 / theta[1] ** 2]]


def summed(price, loss, start, horizon, count, gamma):
    """Minimise the sum with midpoint velocities and metric diag(price)/θ₂², end free, by L-BFGS from rest."""
    dt = horizon / count
    between = np.exp(-gamma * dt * (np.arange(count) + 0.5))
    at = dt * np.exp(-gamma * dt * np.arange(count + 1)) * np.r_[0.5, np.ones(count - 1), 0.5]

    def total(flat):
        theta = np.vstack([start, flat.reshape(count, 2)])
        step, height = np.diff(theta, axis=0), (theta[1:, 1] + theta[:-1, 1]) / 2
        momentum = between[:, None] * price * step / (dt * height[:, None] ** 2)
        kinetic = (momentum * step).sum(1) / 2
        gradient = at[:, None] * loss.gradient(theta)
        gradient[1:] += momentum
        gradient[:-1] -= momentum
        gradient[1:, 1] -= kinetic / height
        gradient[:-1, 1] -= kinetic / height
        return kinetic.sum() + at @ loss.value(theta), gradient[1:].ravel()

    options = {"maxiter": 20_000, "maxfun": 40_000, "maxcor": 40, "ftol": 1e-16, "gtol": 1e-10}
    bounds = [(None, None), (0.1, 9)] * count
    guess = np.tile(start, count)
    result = scipy.optimize.minimize(total, guess, jac=True, method="L-BFGS-B", options=options, bounds=bounds)
    return dt * np.arange(count + 1), np.vstack([start, result.x.reshape(count, 2)]), result.fun


@pytest.mark.parametrize(("width", "gamma"), [(0.4, 0.0), (1.0, 0.8), (2.0, 0.0)])
def test_geodesic_of_the_half_plane_is_a_circle(width, gamma):
    """x = ρ tanh s, y = ρ sech s; without a loss s̈ = γṡ, and at γ = 0 J = (2 artanh(w/ρ))²/2ηT."""
    objective = ln.Objective(eta=0.7, gamma=gamma, metric=half_plane)
    path = curved.solve(objective, FLAT, [-width, 1.0], horizon=2.0, endpoint=[width, 1.0])
    radius = math.hypot(width, 1.0)
    end = math.atanh(width / radius)
    t = np.linspace(0, 2, 21)
    s = end * (2 * (np.expm1(gamma * t) / math.expm1(2 * gamma) if gamma else t / 2) - 1)
    assert np.allclose(path(t), radius * np.stack([np.tanh(s), 1 / np.cosh(s)], axis=-1), atol=1e-6)
    assert gamma or path.action == pytest.approx((2 * end) ** 2 / (2 * 0.7 * 2.0), rel=1e-6)
    assert path.converged and path.is_minimum


@pytest.mark.parametrize(("turn", "shortest"), [(0.9 * math.pi, True), (1.5 * math.pi, False)])
def test_a_great_circle_is_shortest_up_to_the_antipode(turn, shortest):
    """The sphere in stereographic coordinates, along the equator |x| = 1: the antipode is a conjugate point."""
    objective = ln.Objective(metric=lambda x: (4 / (1 + (x**2).sum(-1)) ** 2)[..., None, None] * np.eye(2))
    angle = turn * np.linspace(0.0, 1.0, 401)
    equator = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    on_it = Transcription(objective, FLAT, 1.0, 400, endpoint=equator[-1])
    assert on_it.residual(on_it.gradient(equator)[on_it.free]) < 1e-3 * turn**2
    assert on_it.action(equator) == pytest.approx(turn**2 / 2, rel=1e-4)
    diagonal, below = on_it.hessian(equator)
    factored = blocks.factor(blocks.banded(diagonal[on_it.free], below[1:-1]))
    assert (factored is not None) is shortest
    path = curved.solve(objective, FLAT, equator[0], horizon=1.0, endpoint=equator[-1])
    assert path.action == pytest.approx(min(turn, 2 * math.pi - turn) ** 2 / 2, rel=1e-6) and path.is_minimum


@pytest.mark.parametrize("turn", [[0.0, 0.0, 0.0], [0.7, 0.0, 0.0]])
def test_paths_over_a_pole_are_dearer_and_not_followed_to_the_last_digit(turn):
    """The sphere in angles: wherever the poles lie, the best is a great circle; one with a corner took minutes."""
    goal, start = scipy.spatial.transform.Rotation.from_rotvec(turn).apply([[0.28, 0.8, 0.53], [0.06, -0.8, -0.59]])
    goal, start = goal / np.linalg.norm(goal), start / np.linalg.norm(start)

    def value(x):
        across, along = np.sin(x[..., 0]), np.cos(x[..., 0])
        return 1 - goal[0] * across * np.cos(x[..., 1]) - goal[1] * across * np.sin(x[..., 1]) - goal[2] * along

    flat = ln.Objective(gamma=0.5, horizon=3.0)
    circle = ln.solve(flat, lambda x: 1 - np.cos(x[..., 0]), [np.arccos(goal @ start)])
    sphere = replace(flat, metric=lambda x: np.diag([1, np.sin(x[0]) ** 2]))
    path = ln.solve(sphere, value, [np.arccos(start[2]), np.arctan2(start[1], start[0])])
    assert path.action == pytest.approx(circle.action, rel=1e-8)
    assert path.error < 1e-8 and all(1e-6 < other.error < 1e-3 for other in path.candidates[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("price", "metric"), [([1.0, 1.0], half_plane), ([1.0, 2.0], fisher)])
def test_free_end_against_the_minimised_sum(price, metric):
    fit, start, gamma = Fit(), np.array([1.5, 0.6]), 0.5
    path = curved.solve(ln.Objective(gamma=gamma, metric=metric, horizon=3.0), fit, start)
    t, coarse, low = summed(np.array(price), fit, start, 3.0, 60, gamma)
    _, fine, high = summed(np.array(price), fit, start, 3.0, 120, gamma)
    assert np.max(np.abs(path(t) - (4 * fine[::2] - coarse) / 3)) < 2e-4
    assert path.action == pytest.approx((4 * high - low) / 3, rel=2e-5)

    def dropped(theta, velocity):
        return gamma * velocity + fit.gradient(theta) * theta[:, 1:] ** 2 / np.array(price)

    short = curved.solve(path.objective, fit, start, motion=dropped)
    assert np.max(np.abs(short(t) - fine[::2])) > 0.05
    assert short.action > path.action * 1.001  # its J, in the objective's own metric, is larger


def test_infinite_horizon_conserves_what_it_must():
    """γ = 0: |θ̇|²_G/2η = kL − kL(θ*) all along; γ > 0: γJ = kL(θ₀) − |θ̇₀|²_G/2η (theory §7.1)."""
    fit, start = Fit(), np.array([1.5, 0.6])
    path = curved.solve(ln.Objective(0.8, 1.3, metric=fisher), fit, start)
    t = np.linspace(0, 6, 25)
    kinetic = path.objective.kinetic(path(t), path.velocity(t))
    assert np.allclose(kinetic, 1.3 * fit.value(path(t)), atol=2e-6)
    path = curved.solve(ln.Objective(0.8, 1.3, 0.6, metric=fisher), fit, start)
    kinetic = path.objective.kinetic(start, path.velocity(0.0))
    assert 0.6 * path.action == pytest.approx(1.3 * fit.value(start) - kinetic, rel=1e-5)
    assert np.allclose(path.asymptote, [0, 1]) and np.allclose(path(60.0), [0, 1], atol=1e-6)


def plain(theta):
    return np.diag([math.exp(-theta[1]), 0.5])  # takes one point at a time


def batched(theta):
    return [[np.exp(-theta[1]), 0], [0, 0.5]]


class Uncertain(ln.losses.Function):
    """kL̄ − λ_S·S of one weight in (μ, ln v), H = 2, λ_S = 0.8."""

    def __init__(self):
        super().__init__(
            lambda x: x[..., 0] ** 2 + np.exp(x[..., 1]) - 0.4 * x[..., 1],
            lambda x: np.stack([2 * x[..., 0], np.exp(x[..., 1]) - 0.4], axis=-1),
            dim=2,
        )

    def stationary_points(self):
        return np.array([[0.0, math.log(0.4)]])


@pytest.mark.parametrize(("metric", "most"), [(plain, 60_000), (batched, 150)])
def test_a_plain_function_is_not_called_more_often_than_it_must(metric, most):
    """Point by point it was 1.4 million calls, and 54 s where the solver of Sec. 6 takes 0.06."""
    count = 0

    def counted(theta):
        nonlocal count
        count += 1
        return metric(theta)

    start = [1.0, math.log(0.4)]
    path = curved.solve(ln.Objective(gamma=0.5, metric=counted), Uncertain(), start)
    assert count <= most
    exact = curved.solve(ln.Objective(gamma=0.5, metric=ln.metrics.Fisher(spread="log_variance")), Uncertain(), start)
    plan = ln.uncertainty.plan(
        ln.uncertainty.Problem(gamma=0.5, entropy=0.8), ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1.0], [0.4]
    )
    t = np.linspace(0, 8, 33)
    assert np.allclose(path(t), exact(t), atol=1e-7)
    assert np.allclose(path(t), np.hstack([plan.mean(t), plan.log_variance(t)]), atol=1e-6)
    assert path.action == pytest.approx(plan.action, rel=1e-8)


SWIRL = ln.drifts.Function(lambda x: [x[1] ** 2 - x[0], x[0] * x[1]], lambda x: [[-1.0, 2 * x[1]], [x[1], x[0]]], dim=2)


def tilted(theta):
    x, y = theta
    return [[2 + x**2, x * y / 2], [x * y / 2, 1 + y**4]]


@pytest.mark.parametrize("metric", [tilted, fisher, ln.metrics.Relative(2), np.array([[2.0, 0.3], [0.3, 1.0]])])
@pytest.mark.parametrize("drift", [None, SWIRL, ln.drifts.rotation(0.7)])
def test_the_numbers_are_those_of_the_derived_equations(metric, drift):
    """The solver's θ̈ against the one that sympy derives from the Lagrangian."""
    objective = ln.Objective(0.7, 1.3, 0.4, metric=metric, drift=drift)
    theta, velocity = np.random.default_rng(0).uniform(0.3, 1.5, size=(2, 20, 2))
    loss = ln.losses.Rosenbrock()
    derived = ln.euler_lagrange(objective, loss).acceleration(theta, velocity)
    computed = acceleration(objective, theta, velocity, loss.gradient(theta))
    assert np.allclose(computed, derived, rtol=1e-9, atol=1e-9)


BOWL = ln.losses.Quadratic(np.eye(2), minimum=[0.0, 1.0])
TURNING = ln.Objective(drift=ln.drifts.rotation(1.0))
CURVED = ln.Objective(gamma=0.5, metric=half_plane)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: curved.solve(TURNING, BOWL, [1.0, 1.0]), ValueError, "drift = None"),
        (lambda: curved.solve(CURVED, BOWL, [1.0, 1.0], horizon=2.0), ValueError, "horizon = 2.*endpoint is not"),
        (
            lambda: curved.solve(ln.Objective(gamma=1.0, metric=lambda x: np.diag([x[1], 1.0])), BOWL, [1.0, -1.0]),
            ValueError,
            "metric.*eigenvalue -1.*positive definite",
        ),
    ],
)
def test_errors_name_the_argument(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_on_flat_ground_a_learner_stays(gamma):
    path = curved.solve(replace(CURVED, gamma=gamma), FLAT, [1.0, 1.0])
    assert path.action == 0.0 and np.all(path([0.0, 3.0]) == 1.0)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize(("length", "time", "cost"), [(1e-12, 1.0, 1.0), (1.0, 1e9, 1.0), (1e6, 1e-7, 1e12)])
def test_paths_under_a_metric_of_ratios_do_not_feel_the_units(each, length, time, cost):
    """θ → length·θ leaves the metric as it is; t → time·t, J → cost·J."""

    def solved(length, time, cost):
        loss = ln.losses.Quadratic(
            np.array([[2.0, 0.3], [0.3, 1.0]]) / length**2, minimum=np.array([1.0, 2.0]) * length
        )
        objective = ln.Objective(0.7 / (time * cost), 1.3 * cost / time, 0.4 / time, ln.metrics.Relative(2, each=each))
        path = ln.solve(objective, loss, np.array([2.0, 0.7]) * length)
        return path(np.array([0.3, 1.0, 4.0]) * time) / length, path.action / cost, path.is_minimum

    (base, action, sure), (scaled, again, also) = solved(1.0, 1.0, 1.0), solved(length, time, cost)
    assert np.allclose(scaled, base, rtol=1e-6) and again == pytest.approx(action, rel=1e-8) and sure and also
