"""Eqs. 2–7 and 66–87: momentum, the optimal displacement and its three limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import sympy
from direct import measured_order, quadratic, richardson, roots, spd

import lossnav as ln
from lossnav import rules
from lossnav.euler_lagrange import derive
from lossnav.trajectory import phase_plane

RNG = np.random.default_rng(66)
DIM = 3
HESSIAN = spd(RNG, DIM)
GRADIENT, START = RNG.normal(size=(2, DIM))
CENTRE = START - np.linalg.solve(HESSIAN, GRADIENT)
LOSS = ln.losses.Quadratic(HESSIAN, minimum=CENTRE)
ETA, K = 0.8, 1.5


def matrix_rate(gamma: float, hessian: np.ndarray = HESSIAN) -> np.ndarray:
    """Return R = (γ²/4 + ηkH)^{1/2} − γ/2 by scipy's Schur-based root."""
    identity = np.eye(len(hessian))
    return scipy.linalg.sqrtm(gamma**2 / 4 * identity + ETA * K * hessian).real - gamma / 2 * identity


def direct_paths(gamma: float, horizon: float, counts=(3000, 6000)):
    return [quadratic(HESSIAN, CENTRE, START, horizon=horizon, count=n, eta=ETA, k=K, gamma=gamma) for n in counts]


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def test_simplest_objective_symbolically() -> None:
    """Eqs. 2, 66, 67: f = 0, G = I."""
    steps = derive(2)
    squares = sum(v**2 for v in steps.velocity)
    by_hand = sympy.exp(-steps.gamma * steps.t) * (squares / (2 * steps.eta) + steps.k * steps.loss)
    assert sympy.simplify(steps.lagrangian - by_hand) == 0


@pytest.mark.parametrize("gamma", [0.0, 0.4])
def test_simplest_objective_by_direct_minimisation(gamma: float) -> None:
    """Eqs. 2, 66: min J, as a sum over a long horizon, is the library's value."""
    coarse, fine = direct_paths(gamma, 40.0)
    objective = ln.Objective(ETA, K, gamma)
    assert ln.value(objective, LOSS, START) == pytest.approx(richardson(coarse.action, fine.action), rel=1e-6)
    by_formula = (START - CENTRE) @ matrix_rate(gamma) @ (START - CENTRE) / (2 * ETA)
    assert ln.value(objective, LOSS, START) == pytest.approx(by_formula, rel=1e-12)


def test_momentum_equations_for_any_loss() -> None:
    """Eqs. 3, 68, 69: θ̇ = p, ṗ = γp + ηk∇L, from the Lagrangian; friction (−γp) and a descending force fail."""
    steps = derive(2)
    solved = sympy.solve(steps.balance, steps.acceleration, dict=True)[0]
    for x, p, a in zip(steps.theta, steps.velocity, steps.acceleration, strict=True):
        force = steps.eta * steps.k * steps.loss.diff(x)
        assert sympy.simplify(solved[a] - (steps.gamma * p + force)) == 0
        assert sympy.simplify(solved[a] - (-steps.gamma * p - force)) != 0
        assert sympy.simplify(solved[a] - (-steps.gamma * p + force)) != 0


def test_momentum_is_the_discounted_average_of_future_gradients() -> None:
    """Eq. 3 on the optimum: p_t = −ηk∫_t^∞ e^{−γ(s−t)}∇L(θ_s) ds, on a double well with its gradient by hand."""
    gamma, (a, b, c, d) = 0.4, (0.8, 1.1, 1.3, -0.5)
    traj = ln.solve(ln.Objective(ETA, K, gamma), ln.losses.DoubleWell(a, b, c, d), [-0.6, 0.55])

    def gradient(theta: np.ndarray) -> np.ndarray:
        return np.stack([4 * a * theta[..., 0] * (theta[..., 0] ** 2 - b) + d, 2 * c * theta[..., 1]], axis=-1)

    for t in (0.0, 0.3, 1.0):
        s = np.linspace(t, t + 14.0, 7_001)
        weight = np.exp(-gamma * (s - t))[:, None]
        future = -ETA * K * scipy.integrate.simpson(weight * gradient(traj(s)), x=s, axis=0)
        np.testing.assert_allclose(traj.velocity(t), future, atol=3e-5)
    past = -ETA * K * gradient(traj(0.0)) / gamma
    assert np.max(np.abs(traj.velocity(0.0) - past)) > 0.5


def test_gradient_flow_and_its_correction_solve_the_feedback_equation_in_turn() -> None:
    """Eq. 4: as a field, (3) reads p·p′ = γp + ηkL′; with p = −(ηk/γ)L′ + (ηk)²γ⁻³L″L′ its residual is O(γ⁻⁴)."""
    x, stiff, small = sympy.symbols("x s epsilon", positive=True)  # s = ηk, ε = 1/γ
    loss = sympy.Function("L")(x)
    flow = -stiff * small * loss.diff(x)
    corrected = flow + stiff**2 * small**3 * loss.diff(x, 2) * loss.diff(x)
    wrong = flow - stiff**2 * small**3 * loss.diff(x, 2) * loss.diff(x)
    for field, order in ((flow, 2), (corrected, 4), (wrong, 2)):
        residual = sympy.expand(field * field.diff(x) - field / small - stiff * loss.diff(x))
        lowest = min(sympy.Poly(term, small).degree() for term in sympy.Add.make_args(residual))
        assert lowest == order


@pytest.mark.slow
def test_gradient_flow_is_the_overdamped_limit_with_its_correction() -> None:
    """Eq. 4: θ̇ + (ηk/γ)∇L = (ηk)²γ⁻³H∇L + O(γ⁻⁵), measured on the library's law in the double well."""
    section, rest = ln.losses.Section(ln.losses.DoubleWell(), axis=0), np.max(np.roots([4.0, 0.0, -4.0, -0.5]).real)
    g, h = 4 * 0.8 * (0.64 - 1) - 0.5, 12 * 0.64 - 4
    first, second = [], []
    for gamma in (40.0, 80.0):
        law = phase_plane.feedback(ln.Objective(gamma=gamma), section, rest, (0.79, 1.07))
        first.append(abs(law.speed(0.8) + g / gamma))
        second.append(abs(law.speed(0.8) + g / gamma - h * g / gamma**3))
    assert measured_order(first) == pytest.approx(3.0, abs=0.05)
    assert measured_order(second) == pytest.approx(5.0, abs=0.1)


def test_local_model_has_an_error_of_third_order() -> None:
    """Eqs. 5, 70, with the library's gradient and Hessian of Rosenbrock's valley."""
    loss, point, aside = ln.losses.Rosenbrock(b=3.0), np.array([0.4, -0.7]), np.array([0.8, -0.6])
    g, h = loss.gradient(point), loss.hessian(point)
    errors = []
    for size in (0.04, 0.02, 0.01):
        d = size * aside
        errors.append(abs(loss.value(point + d) - (loss.value(point) + g @ d + d @ h @ d / 2)))
    assert measured_order(errors) == pytest.approx(3.0, abs=0.05)


@pytest.mark.parametrize("gamma", [0.0, 0.7, 4.0])
def test_optimal_displacement_by_direct_minimisation(gamma: float) -> None:
    """Eqs. 6, 81, 82: the path and `update`, against sparse minimisation of J over a long horizon."""
    horizon = 45.0 if gamma < 4 else 60.0
    coarse, fine = direct_paths(gamma, horizon, (4000, 8000))
    path = richardson(coarse.positions, fine.positions[::2])
    objective = ln.Objective(ETA, K, gamma)
    traj = ln.solve(objective, LOSS, START)
    for index in (1, 10, 100, 400):
        t = coarse.times[index]
        step = path[index] - START
        assert relative(ln.update(objective, GRADIENT, HESSIAN, t), step) < 2e-5
        np.testing.assert_allclose(traj(t), path[index], atol=2e-6)
        wrong_sign = -(np.eye(DIM) - scipy.linalg.expm(-(matrix_rate(gamma) + gamma * np.eye(DIM)) * t))
        if gamma:  # R with +γ/2, the other root's magnitude
            assert relative(wrong_sign @ np.linalg.solve(HESSIAN, GRADIENT), step) > 1e-2


@pytest.mark.parametrize("gamma", [0.0, 0.7, 4.0])
@pytest.mark.parametrize("dt", [0.01, 1.0, 30.0])
def test_optimal_displacement_as_a_matrix_function(gamma: float, dt: float) -> None:
    """Eqs. 6, 82: scipy's sqrtm and expm, against the library's eigendecomposition."""
    shrink = np.eye(DIM) - scipy.linalg.expm(-matrix_rate(gamma) * dt)
    expected = -shrink @ np.linalg.solve(HESSIAN, GRADIENT)
    np.testing.assert_allclose(ln.update(ln.Objective(ETA, K, gamma), GRADIENT, HESSIAN, dt), expected, rtol=1e-9)


def test_steps_compose_on_one_quadratic() -> None:
    """Eq. 6 is a semigroup: two steps of Δt/2, the second from the new gradient, are one of Δt."""
    objective = ln.Objective(ETA, K, 0.7)
    whole = ln.update(objective, GRADIENT, HESSIAN, 1.2)
    half = ln.update(objective, GRADIENT, HESSIAN, 0.5)
    rest = ln.update(objective, GRADIENT + HESSIAN @ half, HESSIAN, 0.7)
    np.testing.assert_allclose(half + rest, whole, rtol=1e-12)


# Appendix E, step by step

ANGLE, L1, L2 = sympy.symbols("phi lambda_1 lambda_2", positive=True)
U = sympy.Matrix([[sympy.cos(ANGLE), -sympy.sin(ANGLE)], [sympy.sin(ANGLE), sympy.cos(ANGLE)]])
LAMBDA = sympy.diag(L1, L2)
H = U * LAMBDA * U.T
G1, G2, A1, A2 = sympy.symbols("g_1 g_2 a_1 a_2", real=True)  # gradient at θ₀, and θ₀
SLOPE, ORIGIN = sympy.Matrix([G1, G2]), sympy.Matrix([A1, A2])


def local_model(theta):
    x = sympy.Matrix(list(theta)) - ORIGIN
    return (SLOPE.T * x)[0] + (x.T * H * x)[0] / 2


LOCAL = derive(2, loss=local_model)


def is_zero(matrix) -> bool:
    return all(sympy.simplify(sympy.expand(entry)) == 0 for entry in matrix)


def test_linear_equation_of_motion() -> None:
    """Eq. 71."""
    x, v, a = (sympy.Matrix(s) for s in (LOCAL.theta, LOCAL.velocity, LOCAL.acceleration))
    by_hand = a - LOCAL.gamma * v - LOCAL.eta * LOCAL.k * (SLOPE + H * (x - ORIGIN))
    assert is_zero(sympy.Matrix(LOCAL.balance) - by_hand)
    without_gradient = a - LOCAL.gamma * v - LOCAL.eta * LOCAL.k * H * (x - ORIGIN)
    assert not is_zero(sympy.Matrix(LOCAL.balance) - without_gradient)


def test_eigencoordinates_decouple_the_equation() -> None:
    """Eqs. 72, 73: z = Uᵀ(θ−θ₀), g̃ = Uᵀg."""
    z, dz, ddz = (sympy.Matrix(sympy.symbols(f"{name}_1 {name}_2")) for name in ("z", "w", "b"))
    swap = dict(zip(LOCAL.theta, ORIGIN + U * z, strict=True)) | dict(zip(LOCAL.velocity, U * dz, strict=True))
    swap |= dict(zip(LOCAL.acceleration, U * ddz, strict=True))
    turned = U.T * sympy.Matrix(LOCAL.balance).subs(swap, simultaneous=True)
    tilde = U.T * SLOPE
    assert is_zero(turned - (ddz - LOCAL.gamma * dz - LOCAL.eta * LOCAL.k * (tilde + LAMBDA * z)))
    for i, lam in enumerate((L1, L2)):
        equation = ddz[i] - LOCAL.gamma * dz[i] - LOCAL.eta * LOCAL.k * (tilde[i] + lam * z[i])
        assert sympy.simplify(turned[i] - equation) == 0
        assert not equation.free_symbols & ({*z, *dz, *ddz} - {z[i], dz[i], ddz[i]})


def test_rates_of_each_mode() -> None:
    """Eqs. 74, 75: s² − γs − ηkλ = 0 by numpy's roots; the library's r_i are minus the negative ones."""
    for gamma in (0.0, 0.7, 9.0):
        curvature = np.linalg.eigvalsh(HESSIAN)
        decaying = [-roots(ETA, K, gamma, h)[0] for h in curvature]
        np.testing.assert_allclose(rules.rates(ln.Objective(ETA, K, gamma), HESSIAN), decaying, rtol=1e-12)
        growing = [roots(ETA, K, gamma, h)[1] for h in curvature]
        np.testing.assert_allclose(np.array(growing) - decaying, gamma, atol=1e-12)
    s, c, t, lam = sympy.symbols("s c t lambda", positive=True)
    z = c * sympy.exp(s * t)
    left = z.diff(t, 2) - LOCAL.gamma * z.diff(t) - LOCAL.eta * LOCAL.k * lam * z
    assert sympy.expand(left / z - (s**2 - LOCAL.gamma * s - LOCAL.eta * LOCAL.k * lam)) == 0
    root = LOCAL.gamma / 2 - sympy.sqrt(LOCAL.gamma**2 / 4 + LOCAL.eta * LOCAL.k * lam)
    assert sympy.expand(root**2 - LOCAL.gamma * root - LOCAL.eta * LOCAL.k * lam) == 0


def test_each_mode_decays_to_its_stationary_point() -> None:
    """Eqs. 76, 77: z_i = −g̃_i/λ_i + c_i e^{−r_i t} solves (73), and c_i fits z_i(0)."""
    t, lam, tilde, z0 = sympy.symbols("t lambda gtilde z_0", real=True)
    lam = sympy.Symbol("lambda", positive=True)
    r = sympy.sqrt(LOCAL.gamma**2 / 4 + LOCAL.eta * LOCAL.k * lam) - LOCAL.gamma / 2
    z = -tilde / lam + (z0 + tilde / lam) * sympy.exp(-r * t)
    assert sympy.simplify(z.diff(t, 2) - LOCAL.gamma * z.diff(t) - LOCAL.eta * LOCAL.k * (tilde + lam * z)) == 0
    assert sympy.simplify(z.subs(t, 0) - z0) == 0
    about_the_wrong_point = tilde / lam + (z0 - tilde / lam) * sympy.exp(-r * t)
    assert (
        sympy.simplify(
            about_the_wrong_point.diff(t, 2)
            - LOCAL.gamma * about_the_wrong_point.diff(t)
            - LOCAL.eta * LOCAL.k * (tilde + lam * about_the_wrong_point)
        )
        != 0
    )
    numbers = {lam: 0.7, tilde: -0.4, z0: 1.3, LOCAL.gamma: 0.6, LOCAL.eta: 1.4, LOCAL.k: 0.9}
    loss = ln.losses.Quadratic([[0.7]], minimum=[0.4 / 0.7])
    path, times = ln.solve(ln.Objective(eta=1.4, k=0.9, gamma=0.6), loss, [1.3]), np.linspace(0.0, 4.0, 9)
    expected = sympy.lambdify(t, z.subs(numbers))(times)
    np.testing.assert_allclose(path(times)[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_reassembled_modes_are_the_matrix_exponential(gamma: float) -> None:
    """Eqs. 78–81: each line by numpy's eigenvectors, against scipy's matrix functions and the library's path."""
    curvature, u = np.linalg.eigh(HESSIAN)
    rate = np.sqrt(gamma**2 / 4 + ETA * K * curvature) - gamma / 2
    traj = ln.solve(ln.Objective(ETA, K, gamma), LOSS, START)
    for t in (0.2, 1.5, 9.0):
        decay = np.diag(np.exp(-rate * t))
        line78 = START - u @ (np.eye(DIM) - decay) @ np.diag(1 / curvature) @ u.T @ GRADIENT
        line79 = START - (np.eye(DIM) - u @ decay @ u.T) @ (u @ np.diag(1 / curvature) @ u.T) @ GRADIENT
        np.testing.assert_allclose(line78, line79, rtol=1e-12)
        np.testing.assert_allclose(u @ decay @ u.T, scipy.linalg.expm(-matrix_rate(gamma) * t), atol=1e-12)
        np.testing.assert_allclose(u @ np.diag(1 / curvature) @ u.T, np.linalg.inv(HESSIAN), rtol=1e-9)
        np.testing.assert_allclose(traj(t), line79, rtol=1e-10, atol=1e-12)
    uncoupled = START - (np.eye(DIM) - np.diag(np.exp(-rate * 0.2))) @ np.linalg.solve(HESSIAN, GRADIENT)
    assert relative(uncoupled, traj(0.2)) > 1e-2  # without the rotation U


# The three regimes


def test_newton_is_the_limit_of_long_steps() -> None:
    """Eqs. 7 (first row), 83: the gap to −H⁻¹g closes as e^{−r_min Δt}."""
    objective = ln.Objective(ETA, K, 0.7)
    newton = -np.linalg.solve(HESSIAN, GRADIENT)
    np.testing.assert_allclose(rules.newton(objective, GRADIENT, HESSIAN), newton, rtol=1e-10)
    np.testing.assert_allclose(ln.update(objective, GRADIENT, HESSIAN, math.inf), newton, rtol=1e-10)
    gaps = [np.linalg.norm(ln.update(objective, GRADIENT, HESSIAN, dt) - newton) for dt in (40.0, 45.0)]
    slowest = min(-roots(ETA, K, 0.7, h)[0] for h in np.linalg.eigvalsh(HESSIAN))
    assert math.log(gaps[0] / gaps[1]) / 5.0 == pytest.approx(slowest, rel=1e-3)


def test_short_steps_follow_the_optimal_velocity() -> None:
    """Eq. 84: −RH⁻¹gΔt, error O(Δt²)."""
    velocity = -matrix_rate(0.7) @ np.linalg.solve(HESSIAN, GRADIENT)
    objective = ln.Objective(ETA, K, 0.7)
    errors = [np.linalg.norm(ln.update(objective, GRADIENT, HESSIAN, dt) - velocity * dt) for dt in (0.02, 0.01, 0.005)]
    assert measured_order(errors) == pytest.approx(2.0, abs=0.02)
    np.testing.assert_allclose(ln.optimal_velocity(objective, LOSS, START), velocity, rtol=1e-10)


def test_rate_matrix_when_discounting_is_strong() -> None:
    """Eq. 85: R ≈ ηkH/γ, relative error ηkh/γ² in each mode."""
    curvature, u = np.linalg.eigh(HESSIAN)
    errors = []
    for gamma in (50.0, 100.0, 200.0):
        gap = u.T @ (ETA * K * HESSIAN / gamma - matrix_rate(gamma)) @ u
        relative_gap = np.diag(gap) / (ETA * K * curvature / gamma)
        np.testing.assert_allclose(relative_gap, ETA * K * curvature / gamma**2, rtol=5e-3)
        errors.append(float(np.max(relative_gap)))
    assert measured_order(errors) == pytest.approx(2.0, abs=0.02)


def test_gradient_descent_is_the_limit_of_strong_discounting() -> None:
    """Eqs. 7 (second row), 86: −(ηk/γ)Δt g; error O(γ⁻²) for short steps, O(Δt) at fixed γ."""
    errors = []
    for gamma in (20.0, 40.0, 80.0):
        objective = ln.Objective(ETA, K, gamma)
        rule = -ETA * K / gamma * 1e-7 * GRADIENT
        np.testing.assert_allclose(rules.gradient_descent(objective, GRADIENT, HESSIAN, 1e-7), rule, rtol=1e-10)
        errors.append(relative(rule, ln.update(objective, GRADIENT, HESSIAN, 1e-7)))
    assert measured_order(errors) == pytest.approx(2.0, abs=0.02)
    objective = ln.Objective(ETA, K, 1e6)
    problem = objective, GRADIENT, HESSIAN
    slow = [relative(rules.gradient_descent(*problem, dt), ln.update(*problem, dt)) for dt in (4e3, 2e3, 1e3)]
    assert measured_order(slow) == pytest.approx(1.0, abs=0.02)


def test_ballistic_rule_is_the_limit_of_weak_discounting() -> None:
    """Eqs. 7 (third row), 87: −√(ηk)Δt H^{−1/2}g; error O(γ) for short steps, O(Δt) at γ = 0."""
    root = scipy.linalg.sqrtm(HESSIAN).real
    direction = -math.sqrt(ETA * K) * np.linalg.solve(root, GRADIENT)
    errors = []
    for gamma in (4e-3, 2e-3, 1e-3):
        objective = ln.Objective(ETA, K, gamma)
        rule = rules.ballistic(objective, GRADIENT, HESSIAN, 1e-7)
        np.testing.assert_allclose(rule, 1e-7 * direction, rtol=1e-9)
        errors.append(relative(rule, ln.update(objective, GRADIENT, HESSIAN, 1e-7)))
    assert measured_order(errors) == pytest.approx(1.0, abs=0.02)
    objective = ln.Objective(ETA, K, 0.0)
    steps = [
        relative(rules.ballistic(objective, GRADIENT, HESSIAN, dt), ln.update(objective, GRADIENT, HESSIAN, dt))
        for dt in (4e-3, 2e-3, 1e-3)
    ]
    assert measured_order(steps) == pytest.approx(1.0, abs=0.02)


def test_regimes_are_chosen_per_eigendirection() -> None:
    """Eq. 7: one step can be gradient descent along a flat direction and ballistic along a steep one."""
    objective = ln.Objective(1.0, 1.0, 1.0)
    hessian, g, dt = np.diag([1e-5, 1e5]), np.array([1.0, 1.0]), 1e-6
    step = ln.update(objective, g, hessian, dt)
    assert step[0] == pytest.approx(rules.gradient_descent(objective, g, hessian, dt)[0], rel=1e-4)
    assert step[1] == pytest.approx(rules.ballistic(objective, g, hessian, dt)[1], rel=3e-3)
    assert abs(step[0] / rules.ballistic(objective, g, hessian, dt)[0]) < 0.01
    assert abs(step[1] / rules.gradient_descent(objective, g, hessian, dt)[1]) < 0.01
