"""Eqs. 8–10, 88–93: a metric, symbolically from the Lagrangian and by direct minimisation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import sympy
from direct import measured_order, quadratic, richardson, spd
from sympy.calculus.euler import euler_equations

import lossnav as ln
from lossnav import rules
from lossnav.euler_lagrange import derive

T = sympy.Symbol("t", real=True)
ETA, K, GAMMA = sympy.symbols("eta k gamma", positive=True)
DIM = 2
HALF = sympy.Rational(1, 2)
PATHS = [sympy.Function(f"x{i}")(T) for i in range(DIM)]
SPEEDS = [path.diff(T) for path in PATHS]
POINT = sympy.symbols(f"y:{DIM}", real=True)


def general_metric() -> sympy.Matrix:
    return sympy.Matrix(DIM, DIM, lambda i, j: sympy.Function(f"G{min(i, j)}{max(i, j)}")(*POINT))


def constant_metric() -> sympy.Matrix:
    return sympy.Matrix(DIM, DIM, lambda i, j: sympy.Symbol(f"G{min(i, j)}{max(i, j)}"))


LOSS = sympy.Function("L")(*POINT)
ALONG = dict(zip(POINT, PATHS, strict=True))


def on_path(expression):
    return expression.subs(ALONG, simultaneous=True).doit()


def lagrangian(metric: sympy.Matrix):
    """Eq. 89 along a path, written out here."""
    v = sympy.Matrix(SPEEDS)
    return sympy.exp(-GAMMA * T) * ((v.T * on_path(metric) * v)[0] / (2 * ETA) + K * on_path(LOSS))


def from_variation(metric: sympy.Matrix) -> list:
    """ηe^{γt}(d/dt ∂ℒ/∂θ̇ − ∂ℒ/∂θ) by sympy's own calculus of variations."""
    equations = euler_equations(lagrangian(metric), PATHS, T)
    return [sympy.expand(-(e.lhs - e.rhs).doit() * ETA * sympy.exp(GAMMA * T)) for e in equations]


def vanishes(expression) -> bool:
    return sympy.simplify(sympy.expand(sympy.sympify(expression).doit())) == 0


def printed(metric: sympy.Matrix, row: int, first=1, second=HALF):
    """Eq. 90, left less right; ``first`` and ``second`` are the weights of the two connection terms."""
    result = -ETA * K * LOSS.diff(POINT[row])
    for j in range(DIM):
        result += metric[row, j] * (PATHS[j].diff(T, 2) - GAMMA * SPEEDS[j])
        for m in range(DIM):
            coefficient = first * metric[row, j].diff(POINT[m]) - second * metric[j, m].diff(POINT[row])
            result += coefficient * SPEEDS[j] * SPEEDS[m]
    return on_path(result)


def test_objective_prices_speed_by_the_place() -> None:
    """Eqs. 8, 88: the integrand by hand; and J of a geodesic of the half-plane, which is known."""
    objective = ln.Objective(0.7, 1.3, 0.4, metric=lambda x: [[1 / x[1] ** 2, 0], [0, 3 / x[1] ** 2]])
    loss = ln.losses.Quadratic([[2.0, 0.3], [0.3, 1.0]], minimum=[0.0, 0.0])
    theta, velocity = np.array([0.4, 1.7]), np.array([-0.3, 0.9])
    by_hand = (0.3**2 + 3 * 0.9**2) / 1.7**2 / 1.4 + 1.3 * (2 * 0.4**2 + 0.6 * 0.4 * 1.7 + 1.7**2) / 2
    assert objective.cost_rate(loss, theta, velocity) == pytest.approx(by_hand, rel=1e-14)
    away = objective.kinetic([0.4, 3.4], velocity)
    assert away == pytest.approx(objective.kinetic(theta, velocity) / 4, rel=1e-14)  # twice as high, four times cheaper
    # the half-plane's geodesic (ρ tanh s, ρ sech s) has unit speed everywhere; the chord between its ends is dearer
    hyperbolic = ln.Objective(0.7, metric=lambda x: [[1 / x[1] ** 2, 0], [0, 1 / x[1] ** 2]])
    s = np.linspace(-1.2, 1.2, 201)
    circle = 2 * np.stack([np.tanh(s), 1 / np.cosh(s)], axis=-1)
    rate = 2 * np.stack([1 / np.cosh(s) ** 2, -np.tanh(s) / np.cosh(s)], axis=-1)
    np.testing.assert_allclose(hyperbolic.kinetic(circle, rate), 1 / 1.4, rtol=1e-12)
    chord = circle[0] + np.outer((s + 1.2) / 2.4, circle[-1] - circle[0])
    pace = np.broadcast_to((circle[-1] - circle[0]) / 2.4, chord.shape)
    assert np.mean(hyperbolic.kinetic(chord, pace)) > 1.2 / 1.4


def test_lagrangian_with_a_metric() -> None:
    """Eq. 89: the library's, entry by entry, for an undetermined G(θ)."""
    steps = derive(2, metric="general")
    v, g = steps.velocity, steps.metric
    form = g[0, 0] * v[0] ** 2 + (g[0, 1] + g[1, 0]) * v[0] * v[1] + g[1, 1] * v[1] ** 2
    by_hand = sympy.exp(-steps.gamma * steps.t) * (form / (2 * steps.eta) + steps.k * steps.loss)
    assert vanishes(steps.lagrangian - by_hand)
    assert all(entry.has(*steps.theta) for entry in g) and g[0, 1] == g[1, 0]


def test_equations_of_motion_with_connection_terms() -> None:
    """Eq. 90 in components, for any G(θ) and L; either connection term dropped, or the half, fails."""
    metric = general_metric()
    rows = from_variation(metric)
    assert all(vanishes(rows[n] - printed(metric, n)) for n in range(DIM))
    for first, second in ((0, 0), (1, 0), (0, HALF), (1, 1), (HALF, HALF)):
        assert not vanishes(rows[0] - printed(metric, 0, first, second))


def test_connection_terms_are_christoffel_symbols() -> None:
    """Eq. 90 multiplied by G⁻¹."""
    metric = general_metric()
    inverse = metric.inv()
    v = SPEEDS
    for i in range(DIM):
        bent = short = sympy.Integer(0)
        for n in range(DIM):
            for j in range(DIM):
                for m in range(DIM):
                    down = (metric[n, j].diff(POINT[m]) + metric[n, m].diff(POINT[j]) - metric[j, m].diff(POINT[n])) / 2
                    plain = metric[n, j].diff(POINT[m]) - metric[j, m].diff(POINT[n]) / 2
                    bent += inverse[i, n] * down * v[j] * v[m]
                    short += inverse[i, n] * plain * v[j] * v[m]
        assert vanishes(bent - short)


def test_the_library_derives_the_same_equations() -> None:
    """Eqs. 90, 91: the library's balance against the calculus of variations done here."""
    for kind, metric in (("general", general_metric()), ("constant", constant_metric())):
        steps = derive(2, metric=kind, eta=ETA, k=K, gamma=GAMMA)
        swap = dict(zip(steps.metric, metric, strict=True)) | {steps.loss: LOSS}
        moves = dict(zip(steps.velocity, SPEEDS, strict=True))
        moves |= {a: p.diff(T, 2) for a, p in zip(steps.acceleration, PATHS, strict=True)}
        names = dict(zip(steps.theta, POINT, strict=True))
        renamed = {old.subs(names): new for old, new in swap.items()}
        for row, expected in zip(steps.balance, from_variation(metric), strict=True):
            here = row.subs(names).subs(renamed).doit().subs(moves)
            assert vanishes(on_path(here) - expected)


def test_equations_of_motion_with_a_constant_metric() -> None:
    """Eqs. 9, 91: G⁻¹ turns the force, as one equation and as a pair; with G(θ) put in, both fail."""
    metric = constant_metric()

    def pair(matrix: sympy.Matrix) -> sympy.Matrix:
        """G(ṗ − γp − ηkG⁻¹∇L) with p = θ̇."""
        p = sympy.Matrix(SPEEDS)
        force = matrix.inv() * sympy.Matrix([LOSS.diff(y) for y in POINT])
        return on_path(matrix) * (p.diff(T) - GAMMA * p - ETA * K * on_path(force))

    assert all(vanishes(a - b) for a, b in zip(pair(metric), from_variation(metric), strict=True))
    curved = general_metric()
    assert not any(vanishes(a - b) for a, b in zip(pair(curved), from_variation(curved), strict=True))


def test_local_model_is_of_second_order() -> None:
    """Eq. 92: the error of the local quadratic model falls with the third power of the distance."""
    loss = ln.losses.Rosenbrock()
    theta, way = np.array([0.4, -0.3]), np.array([0.6, 0.8])
    g, hessian = loss.gradient(theta), loss.hessian(theta)
    steps = (4e-2, 2e-2, 1e-2)
    errors = [
        abs(loss.value(theta + s * way) - loss.value(theta) - s * g @ way - s**2 / 2 * way @ hessian @ way)
        for s in steps
    ]
    assert measured_order(errors) == pytest.approx(3, abs=0.05)


def noncommuting(seed: int, dim: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return spd(rng, dim), spd(rng, dim), rng.normal(size=dim)


def test_linear_motion_with_a_metric() -> None:
    """Eq. 93: the minimised sum obeys it, with second order; and X takes the modes apart."""
    metric, hessian, g = noncommuting(0)
    eta, k, gamma, start = 0.8, 1.4, 0.6, np.array([0.2, -0.5, 1.0])
    minimum = start - np.linalg.solve(hessian, g)
    good, wrong = [], []
    for count in (400, 800, 1600):
        path = quadratic(hessian, minimum, start, horizon=8.0, count=count, eta=eta, k=k, gamma=gamma, metric=metric)
        x, dt = path.positions, 8.0 / count
        acceleration, velocity = (x[2:] - 2 * x[1:-1] + x[:-2]) / dt**2, (x[2:] - x[:-2]) / (2 * dt)
        force = eta * k * (g + (x[1:-1] - start) @ hessian)
        left = acceleration - gamma * velocity
        good.append(float(np.max(np.abs(left - np.linalg.solve(metric, force.T).T))))
        wrong.append(float(np.max(np.abs(left - force @ metric))))
    assert measured_order(good) == pytest.approx(2, abs=0.05) and good[-1] < 1e-4
    assert wrong[-1] > 0.1  # G in place of G⁻¹
    h, x = scipy.linalg.eigh(hessian, metric)
    inverse = np.linalg.inv(x)
    np.testing.assert_allclose(inverse @ np.linalg.solve(metric, g), x.T @ g, atol=1e-12)
    np.testing.assert_allclose(inverse @ np.linalg.solve(metric, hessian) @ x, np.diag(h), atol=1e-12)


@pytest.mark.parametrize(("dim", "gamma"), [(2, 0.0), (3, 0.9), (3, 5.0)])
def test_displacement_with_a_metric_by_direct_minimisation(dim: int, gamma: float) -> None:
    """Eq. 10 before its limits: the minimised sum, the matrix function of G⁻¹H, and the library."""
    metric, hessian, g = noncommuting(dim, dim)
    eta, k, dt, horizon = 0.7, 1.3, 0.5, 30.0
    ends = []
    for count in (3000, 6000):
        path = quadratic(
            hessian,
            -np.linalg.solve(hessian, g),
            np.zeros(dim),
            horizon=horizon,
            count=count,
            eta=eta,
            k=k,
            gamma=gamma,
            metric=metric,
        )
        ends.append(path.positions[round(dt / horizon * count)])
    direct = richardson(*ends)
    product = np.linalg.solve(metric, hessian)
    rate = scipy.linalg.sqrtm(gamma**2 / 4 * np.eye(dim) + eta * k * product).real - gamma / 2 * np.eye(dim)
    by_hand = -(np.eye(dim) - scipy.linalg.expm(-rate * dt)) @ np.linalg.solve(hessian, g)
    np.testing.assert_allclose(by_hand, direct, atol=2e-6)
    objective = ln.Objective(eta, k, gamma, metric=metric)
    np.testing.assert_allclose(ln.update(objective, g, hessian, dt), by_hand, atol=1e-11)
    plain = ln.update(ln.Objective(eta, k, gamma), g, hessian, dt)
    assert np.linalg.norm(plain - direct) > 0.05 * np.linalg.norm(direct)


def test_three_limits_with_a_metric() -> None:
    """Eq. 10: each row by hand, and the measured order at which the step tends to it."""
    metric, hessian, g = noncommuting(4)
    eta, k = 0.7, 1.3
    natural = np.linalg.solve(metric, g)
    newton = -np.linalg.solve(hessian, g)
    root = scipy.linalg.sqrtm(np.linalg.solve(metric, hessian)).real

    def gap(gamma: float, dt: float, row: np.ndarray) -> float:
        step = ln.update(ln.Objective(eta, k, gamma, metric=metric), g, hessian, dt)
        return float(np.linalg.norm(step - row) / np.linalg.norm(step))

    assert gap(0.5, 1e3, newton) < 1e-12
    assert measured_order(
        [gap(gamma, 1e-7, -eta * k / gamma * 1e-7 * natural) for gamma in (100, 200, 400)]
    ) == pytest.approx(2, abs=0.02)  # relative error ηkh/γ²
    ballistic = np.sqrt(eta * k) * root @ newton
    assert measured_order([gap(gamma, 1e-9, ballistic * 1e-9) for gamma in (4e-3, 2e-3, 1e-3)]) == pytest.approx(
        1, abs=0.02
    )
    assert measured_order([gap(0.0, dt, ballistic * dt) for dt in (4e-3, 2e-3, 1e-3)]) == pytest.approx(1, abs=0.02)
    patient, hasty = ln.Objective(eta, k, 0.0, metric=metric), ln.Objective(eta, k, 3.0, metric=metric)
    np.testing.assert_allclose(rules.ballistic(patient, g, hessian, 0.2), 0.2 * ballistic, rtol=1e-9)
    np.testing.assert_allclose(rules.gradient_descent(hasty, g, hessian, 0.2), -eta * k / 3 * 0.2 * natural, rtol=1e-9)
    np.testing.assert_allclose(rules.newton(hasty, g, hessian), newton, rtol=1e-9)


def test_literal_roots_are_not_the_ballistic_rule() -> None:
    """Eq. 10, third row: the velocity of the minimised sum is (G # H)⁻¹g; the shortcuts hold only if GH = HG."""
    metric, hessian, g = np.diag([0.2, 8.0]), np.array([[5.0, 4.0], [4.0, 5.0]]), np.array([1.0, -2.0])

    def power(matrix: np.ndarray, exponent: float) -> np.ndarray:
        return scipy.linalg.fractional_matrix_power(matrix, exponent).real

    def start_velocity(h: np.ndarray) -> np.ndarray:
        speeds = []
        for count in (4000, 8000):
            path = quadratic(h, -np.linalg.solve(h, g), np.zeros(2), horizon=20.0, count=count, metric=metric)
            x = path.positions
            speeds.append((-3 * x[0] + 4 * x[1] - x[2]) / (2 * 20.0 / count))
        return richardson(*speeds)

    def right(h: np.ndarray) -> np.ndarray:
        half = power(metric, 0.5)
        inner = power(np.linalg.inv(half) @ h @ np.linalg.inv(half), 0.5)
        return np.linalg.inv(half @ inner @ half)

    def shortcuts(h: np.ndarray) -> list[np.ndarray]:
        first, second = power(metric, -0.5), power(h, -0.5)
        return [power(metric @ h, -0.5), first @ second, second @ first]

    best = start_velocity(hessian)
    np.testing.assert_allclose(-right(hessian) @ g, best, rtol=1e-3)
    np.testing.assert_allclose(
        power(np.linalg.solve(metric, hessian), 0.5) @ np.linalg.inv(hessian), right(hessian), atol=1e-10
    )
    for wrong in shortcuts(hessian):
        assert np.linalg.norm(-wrong @ g - best) > 0.05 * np.linalg.norm(best)
    together = np.diag([3.0, 0.5])
    for fine in shortcuts(together):
        np.testing.assert_allclose(-fine @ g, start_velocity(together), rtol=1e-3)


def bent_sum(count: int, horizon: float, start: np.ndarray, gamma: float) -> np.ndarray:
    """Minimise discretised J with G = diag(1, 2)/θ₂² and L = ½|θ − (0, 1)|², end free; midpoint metric."""
    dt, price = horizon / count, np.array([1.0, 2.0])
    between = np.exp(-gamma * dt * (np.arange(count) + 0.5))
    at = dt * np.exp(-gamma * dt * np.arange(count + 1)) * np.r_[0.5, np.ones(count - 1), 0.5]

    def total(flat: np.ndarray) -> tuple[float, np.ndarray]:
        theta = np.vstack([start, flat.reshape(count, 2)])
        step, height = np.diff(theta, axis=0), (theta[1:, 1] + theta[:-1, 1]) / 2
        momentum = between[:, None] * price * step / (dt * height[:, None] ** 2)
        kinetic = (momentum * step).sum(1) / 2
        away = theta - [0.0, 1.0]
        gradient = at[:, None] * away
        gradient[1:] += momentum
        gradient[:-1] -= momentum
        gradient[1:, 1] -= kinetic / height
        gradient[:-1, 1] -= kinetic / height
        return float(kinetic.sum() + at @ (away**2).sum(1) / 2), gradient[1:].ravel()

    options = {"maxiter": 20_000, "maxfun": 40_000, "maxcor": 40, "ftol": 1e-16, "gtol": 1e-11}
    bounds = [(None, None), (0.05, None)] * count
    optimum = scipy.optimize.minimize(
        total, np.tile(start, count), jac=True, method="L-BFGS-B", options=options, bounds=bounds
    )
    return np.vstack([start, optimum.x.reshape(count, 2)])


def test_connection_terms_by_direct_minimisation() -> None:
    """Eq. 90: the minimiser of the sum obeys it, with falling error; (9) with G(θ) put in it does not."""
    gamma, horizon, start = 0.5, 2.0, np.array([1.5, 0.6])
    good, wrong = [], []
    for count in (20, 40, 80):
        x, dt = bent_sum(count, horizon, start, gamma), horizon / count
        here = x[1:-1]
        acceleration, velocity = (x[2:] - 2 * here + x[:-2]) / dt**2, (x[2:] - x[:-2]) / (2 * dt)
        price = np.array([1.0, 2.0]) / here[:, 1:] ** 2
        short = acceleration - gamma * velocity - (here - [0.0, 1.0]) / price
        u, v, y = velocity[:, 0], velocity[:, 1], here[:, 1]
        bent = np.stack([-2 * u * v / y, u**2 / (2 * y) - v**2 / y], axis=-1)  # Γ of diag(1, 2)/y², by hand
        good.append(float(np.max(np.abs(short + bent))))
        wrong.append(float(np.max(np.abs(short))))
    assert measured_order(good) == pytest.approx(2, abs=0.4)
    assert good[-1] < 0.05 * wrong[-1] and wrong[-1] > 0.3


# Beyond the numbered equations


def test_a_step_that_survives_all_names_is_diagonal_in_the_modes() -> None:
    """Random covariant rules, in units up to 10⁸ apart and for indefinite H; and one that a mixture of names breaks."""
    rng = np.random.default_rng(12)
    for _ in range(60):
        dim = int(rng.integers(2, 6))
        scale = 10.0 ** rng.uniform(-4, 4, dim)
        metric = spd(rng, dim) * np.outer(scale, scale)
        square = rng.normal(size=(dim, dim))
        hessian = (square + square.T) * np.outer(scale, scale)
        mixed = rng.normal(size=(dim, dim)) / scale[:, None]  # other units, and other mixtures

        def rule(metric: np.ndarray, hessian: np.ndarray) -> np.ndarray:
            """A polynomial of HG⁻¹ whose coefficients are any functions of its invariants."""
            ratio = hessian @ np.linalg.inv(metric)
            first, second = np.trace(ratio), np.trace(ratio @ ratio)
            inner = np.cos(second) * np.eye(len(metric)) + np.sin(first) * ratio + ratio @ ratio / (1 + second)
            return np.linalg.inv(metric) @ inner

        there, unit = rule(metric, hessian), np.outer(scale, scale)
        renamed = mixed @ rule(mixed.T @ metric @ mixed, mixed.T @ hessian @ mixed) @ mixed.T
        assert np.abs((renamed - there) * unit).max() < 1e-4 * np.abs(there * unit).max()
        modes = scipy.linalg.eigh(hessian, metric)[1]
        inside = np.linalg.solve(modes, np.linalg.solve(modes, there).T)
        assert np.abs(inside - np.diag(np.diag(inside))).max() < 1e-9 * np.abs(inside).max()
        own = np.linalg.solve(modes, np.linalg.inv(modes).T)  # plain gradient descent, P = I: not covariant
        assert np.abs(own - np.diag(np.diag(own))).max() > 1e-6 * np.abs(own).max()
