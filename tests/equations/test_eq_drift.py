"""Eqs. 11, 94–132: drift, symbolically from the Lagrangian, by direct minimisation, and by residuals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import scipy.special
import sympy
from direct import Path, richardson, spd
from sympy import I as i
from sympy import exp

import lossnav as ln
from lossnav import helmholtz
from lossnav.euler_lagrange import derive

T = sympy.Symbol("t", positive=True)
ETA, K, H, RATE, J = sympy.symbols("eta k h q j", positive=True)
GAMMA = sympy.Symbol("gamma", nonnegative=True)
STAR, START = sympy.symbols("zstar z0")
S = sympy.sqrt(GAMMA**2 / 4 + ETA * K * H)
PLANE = RATE * sympy.Matrix([[0, -1], [1, 0]])

GENERAL = derive(2, drift="general", eta=ETA, k=K, gamma=GAMMA)
THETA, VELOCITY, ACCELERATION = (sympy.Matrix(v) for v in (GENERAL.theta, GENERAL.velocity, GENERAL.acceleration))
JACOBIAN = GENERAL.drift.jacobian(THETA)
SLOPE = sympy.Matrix([GENERAL.loss.diff(x) for x in GENERAL.theta])
BALANCE = sympy.Matrix(GENERAL.balance)


def vanishes(expression) -> bool:
    entries = sympy.Matrix([expression]) if not isinstance(expression, sympy.MatrixBase) else expression
    return entries.applyfunc(lambda x: sympy.simplify(sympy.expand(x))).is_zero_matrix


def drifting(
    hessian: np.ndarray,
    minimum: np.ndarray,
    start: np.ndarray,
    jacobian: np.ndarray,
    *,
    horizon: float,
    count: int,
    eta: float = 1.0,
    k: float = 1.0,
    gamma: float = 0.0,
) -> Path:
    """Minimise the discretised J with f = 𝐉θ: slips at the middle of each step, trapezoid loss, one sparse solve."""
    dim, dt = len(start), horizon / count
    t = dt * np.arange(count + 1)
    ones = np.ones(count)
    step = scipy.sparse.diags_array([-ones, ones], offsets=[0, 1], shape=(count, count + 1)) / dt
    mean = scipy.sparse.diags_array([ones, ones], offsets=[0, 1], shape=(count, count + 1)) / 2
    slip = scipy.sparse.kron(step, np.eye(dim)) - scipy.sparse.kron(mean, jacobian)
    between = np.repeat(np.exp(-gamma * (t[:-1] + dt / 2)) * dt / eta, dim)
    at = k * dt * np.exp(-gamma * t) * np.r_[0.5, np.ones(count - 1), 0.5]
    pull = scipy.sparse.kron(scipy.sparse.diags_array(at), hessian).tocsc()
    full = (slip.T @ scipy.sparse.diags_array(between) @ slip + pull).tocsc()
    target = np.tile(minimum, count + 1)
    right = pull @ target
    x = np.concatenate([start, np.zeros(count * dim)])
    x[dim:] = scipy.sparse.linalg.spsolve(full[dim:, dim:], right[dim:] - full[dim:, :dim] @ start)
    slips, away = slip @ x, x - target
    return Path(t, x.reshape(-1, dim), float(slips @ (between * slips) + away @ (pull @ away)) / 2)


def extrapolated(*args, horizon: float, count: int, **options) -> tuple[np.ndarray, np.ndarray, float]:
    """Times, positions and J of the direct minimisation, the leading error removed."""
    coarse, fine = (drifting(*args, horizon=horizon, count=n, **options) for n in (count, 2 * count))
    return coarse.times, richardson(coarse.positions, fine.positions[::2]), richardson(coarse.action, fine.action)


def skew(rng: np.random.Generator, dim: int) -> np.ndarray:
    a = rng.normal(size=(dim, dim))
    return a - a.T


def test_objective_charges_for_the_slip_alone() -> None:
    """Eqs. 11, 94: the library's integrand, by hand; going with the drift costs the loss only."""
    rng = np.random.default_rng(0)
    metric, drift = spd(rng, 3), ln.drifts.Linear(rng.normal(size=(3, 3)), rng.normal(size=3))
    objective = ln.Objective(0.6, 1.7, 0.3, metric=metric, drift=drift)
    loss = ln.losses.Quadratic(spd(rng, 3), minimum=rng.normal(size=3))
    theta, velocity = rng.normal(size=(2, 3))
    slip = velocity - drift.matrix(3) @ theta - drift.offset(3)
    by_hand = slip @ metric @ slip / 1.2 + 1.7 * loss.value(theta)
    assert objective.cost_rate(loss, theta, velocity) == pytest.approx(by_hand, rel=1e-12)
    assert objective.cost_rate(loss, theta, drift(theta)) == pytest.approx(1.7 * loss.value(theta), rel=1e-12)
    # A smooth path, summed: J of a path that goes with the flow is the discounted loss along it.
    objective = ln.Objective(gamma=0.5, drift=ln.drifts.rotation(2.0), horizon=3.0)
    bowl = ln.losses.Quadratic(1e-9 * np.eye(2), minimum=[0.0, 0.0])
    assert ln.solve(objective, bowl, [1.0, 0.0]).action < 1e-8


def test_lagrangian_with_drift() -> None:
    """Eq. 95, with a general metric."""
    steps = derive(2, metric="general", drift="general")
    slip = sympy.Matrix(steps.velocity) - steps.drift
    by_hand = exp(-steps.gamma * steps.t) * ((slip.T * steps.metric * slip)[0] / (2 * steps.eta) + steps.k * steps.loss)
    assert vanishes(steps.lagrangian - by_hand)


def test_equations_of_motion_in_components() -> None:
    """Eq. 96, for any drift and loss; the two index orders must not be swapped."""
    f, x, v, a = GENERAL.drift, GENERAL.theta, GENERAL.velocity, GENERAL.acceleration

    def row(n: int, swapped: bool = False):
        def part(component: int, axis: int):
            return f[axis].diff(x[component]) if swapped else f[component].diff(x[axis])

        left = a[n] - sum(part(n, m) * v[m] for m in range(2)) - GAMMA * (v[n] - f[n])
        right = ETA * K * GENERAL.loss.diff(x[n]) - sum((v[m] - f[m]) * part(m, n) for m in range(2))
        return left - right

    assert all(vanishes(row(n) - BALANCE[n]) for n in range(2))
    assert not vanishes(row(0, swapped=True) - BALANCE[0])


def test_jacobian_of_a_drift() -> None:
    """Eq. 97: rows are components of f, columns are parameters, against differences."""
    field = ln.drifts.Function(
        lambda x: [x[0] * x[1] ** 2, np.sin(x[0])], lambda x: [[x[1] ** 2, 2 * x[0] * x[1]], [np.cos(x[0]), 0]], dim=2
    )
    theta, step = np.array([0.7, -1.2]), 1e-5
    columns = [(field(theta + step * e) - field(theta - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(field.jacobian(theta), np.stack(columns, axis=-1), atol=1e-9)
    assert np.max(np.abs(field.jacobian(theta) - np.stack(columns))) > 1
    np.testing.assert_array_equal(ln.drifts.rotation(2.0).jacobian(theta), [[0.0, -2.0], [2.0, 0.0]])


def test_equations_of_motion_in_vector_form() -> None:
    """Eqs. 98, 99: with 𝐉 and 𝐉ᵀ, and solved for the acceleration; 𝐉 in place of 𝐉ᵀ fails."""
    slip = VELOCITY - GENERAL.drift
    vector = ACCELERATION - JACOBIAN * VELOCITY - GAMMA * slip - ETA * K * SLOPE + JACOBIAN.T * slip
    assert vanishes(vector - BALANCE)
    bracket = GAMMA * sympy.eye(2) + JACOBIAN - JACOBIAN.T
    extra = (JACOBIAN.T - GAMMA * sympy.eye(2)) * GENERAL.drift
    assert vanishes(ACCELERATION - bracket * VELOCITY - ETA * K * SLOPE - extra - BALANCE)
    wrong = (JACOBIAN - GAMMA * sympy.eye(2)) * GENERAL.drift
    assert not vanishes(ACCELERATION - bracket * VELOCITY - ETA * K * SLOPE - wrong - BALANCE)
    assert vanishes(VELOCITY.T * (JACOBIAN - JACOBIAN.T) * VELOCITY)  # it turns, and does no work


def test_linear_drift_and_quadratic_loss() -> None:
    """Eqs. 100, 101."""
    matrix = sympy.Matrix(2, 2, sympy.symbols("J11 J12 J21 J22"))
    hessian = sympy.Matrix([[H, sympy.Symbol("g")], [sympy.Symbol("g"), 2 * H]])
    star = sympy.Matrix(sympy.symbols("m1 m2"))

    def drift(theta):
        return list(matrix * sympy.Matrix(theta))

    def loss(theta):
        away = sympy.Matrix(theta) - star
        return (away.T * hessian * away)[0] / 2

    for bowl in (None, loss):
        steps = derive(2, drift=drift, loss=bowl, eta=ETA, k=K, gamma=GAMMA)
        grad = sympy.Matrix([steps.loss.diff(x) for x in steps.theta]) if bowl is None else hessian * (THETA - star)
        extra = (matrix.T - GAMMA * sympy.eye(2)) * matrix * THETA
        motion = (GAMMA * sympy.eye(2) + matrix - matrix.T) * VELOCITY + ETA * K * grad + extra
        assert vanishes(ACCELERATION - motion - sympy.Matrix(steps.balance))


def test_rotation_without_control() -> None:
    """Eq. 102: e^{Qt}θ₀ solves θ̇ = Qθ, keeps |θ|, and is free of charge."""
    rng = np.random.default_rng(1)
    q, start = skew(rng, 4), rng.normal(size=4)
    t, step = np.linspace(0, 2, 5), 1e-5
    for time in t[1:]:
        now = scipy.linalg.expm(q * time) @ start
        rate = (scipy.linalg.expm(q * (time + step)) - scipy.linalg.expm(q * (time - step))) @ start / (2 * step)
        np.testing.assert_allclose(rate, q @ now, atol=1e-8)
        assert np.linalg.norm(now) == pytest.approx(np.linalg.norm(start), rel=1e-12)
        assert ln.Objective(drift=ln.drifts.Linear(q)).kinetic(now, q @ now) < 1e-24


def test_rotation_on_a_round_bowl() -> None:
    """Eq. 103."""
    star = sympy.Matrix(sympy.symbols("m1 m2"))
    steps = derive(
        2,
        drift=lambda theta: list(PLANE * sympy.Matrix(theta)),
        eta=ETA,
        k=K,
        gamma=GAMMA,
        loss=lambda theta: H / 2 * sum((x - m) ** 2 for x, m in zip(theta, star, strict=True)),
    )
    motion = (
        (GAMMA * sympy.eye(2) + 2 * PLANE) * VELOCITY
        + ETA * K * H * (THETA - star)
        - (PLANE**2 + GAMMA * PLANE) * THETA
    )
    assert vanishes(ACCELERATION - motion - sympy.Matrix(steps.balance))


@pytest.mark.parametrize("dim", [2, 5])
def test_eigenvectors_take_the_modes_apart(dim: int) -> None:
    """Eqs. 104–106: Q = UMU†, and the equation of motion in z = U†θ, one component at a time."""
    rng = np.random.default_rng(dim)
    q = skew(rng, dim)
    rates, u = np.linalg.eigh(-1j * q)  # −iQ is Hermitian
    m = np.diag(1j * rates)
    np.testing.assert_allclose(u @ m @ u.conj().T, q, atol=1e-12)
    np.testing.assert_allclose(u.conj().T @ u, np.eye(dim), atol=1e-12)
    gamma, scale = 0.7, 1.9
    theta, velocity, star = rng.normal(size=(3, dim))
    motion = (gamma * np.eye(dim) + 2 * q) @ velocity + scale * (theta - star) - (q @ q + gamma * q) @ theta
    z, speed, goal = (u.conj().T @ v for v in (theta, velocity, star))
    vector = (gamma * np.eye(dim) + 2 * m) @ speed + scale * (z - goal) - (m @ m + gamma * m) @ z
    modes = (gamma + 2j * rates) * speed + scale * (z - goal) + (rates**2 - 1j * gamma * rates) * z
    np.testing.assert_allclose(u.conj().T @ motion, vector, atol=1e-12)
    np.testing.assert_allclose(modes, vector, atol=1e-12)


def mode(z):
    """Eq. 106 as a residual."""
    force = (RATE**2 - i * GAMMA * RATE) * z
    return z.diff(T, 2) - (GAMMA + 2 * i * RATE) * z.diff(T) - ETA * K * H * (z - STAR) - force


def test_roots_of_a_mode() -> None:
    """Eqs. 107–109: inserting e^{st}; q cancels in the discriminant; −r decays and turns with the drift."""
    s, c = sympy.symbols("s c")
    polynomial = s**2 - (GAMMA + 2 * i * RATE) * s - (ETA * K * H + RATE**2 - i * GAMMA * RATE)
    inserted = sympy.expand(mode(c * exp(s * T)).subs(STAR, 0) / (c * exp(s * T)))
    assert vanishes(inserted - polynomial)
    roots = [i * RATE + GAMMA / 2 + sign * S for sign in (1, -1)]
    assert all(vanishes(polynomial.subs(s, root)) for root in roots)
    discriminant = (GAMMA / 2 + i * RATE) ** 2 + ETA * K * H + RATE**2 - i * GAMMA * RATE
    assert vanishes(sympy.diff(sympy.expand(discriminant), RATE))
    rate = S - GAMMA / 2 - i * RATE
    assert vanishes(roots[1] + rate)
    numbers = {ETA: 0.5, K: 2.0, H: 1.5, GAMMA: 0.8, RATE: 3.0}
    zeros = np.roots([1.0, -(0.8 + 6j), -(1.5 + 9 - 2.4j)])
    slow = zeros[np.argmin(zeros.real)]
    assert complex(-rate.subs(numbers)) == pytest.approx(slow, rel=1e-12)
    assert slow.real < 0 < slow.imag < 3.0 + 1e-12


def test_solution_of_a_mode() -> None:
    """Eqs. 110–114: it solves (106), starts at z(0), and rests at b z*; the conjugate b fails."""
    rate = S - GAMMA / 2 - i * RATE
    place = ETA * K * H / (ETA * K * H + RATE**2 - i * GAMMA * RATE)
    constant = START - place * STAR
    path = place * STAR + constant * exp(-rate * T)
    assert vanishes(mode(path))
    assert vanishes(path.subs(T, 0) - START)
    assert vanishes(exp(-rate * T) * START + (1 - exp(-rate * T)) * place * STAR - path)
    assert not vanishes(mode(path.subs(place, sympy.conjugate(place))))
    a, b = (sympy.diag(*[v.subs(RATE, sign * RATE) for sign in (1, -1)]) for v in (exp(-rate * T), place))
    start, star = sympy.Matrix([START, 2]), sympy.Matrix([STAR, 3])
    together = a * start + (sympy.eye(2) - a) * b * star
    assert vanishes(together[0] - path)
    assert vanishes(together[1] - path.subs(RATE, -RATE).subs({START: 2, STAR: 3}))


@pytest.mark.parametrize(("dim", "gamma"), [(2, 0.0), (2, 1.3), (4, 0.7)])
def test_rotation_by_direct_minimisation(dim: int, gamma: float) -> None:
    """Eqs. 115–118: path, propagator and end, from the discretised J and from the library."""
    rng = np.random.default_rng(7 + dim)
    q, start, star = skew(rng, dim), *rng.normal(size=(2, dim))
    eta, k, h = 0.8, 1.3, 2.0
    scale, identity = eta * k * h, np.eye(dim)
    rates, u = np.linalg.eigh(-1j * q)
    r = math.sqrt(gamma**2 / 4 + scale) - gamma / 2 - 1j * rates
    b = (u * (scale / (scale + rates**2 - 1j * gamma * rates)) @ u.conj().T).real
    np.testing.assert_allclose(b, scale * np.linalg.inv(scale * identity - q @ q - gamma * q), atol=1e-12)

    def position(time: float) -> np.ndarray:
        a = (u * np.exp(-r * time)) @ u.conj().T
        np.testing.assert_allclose(a, np.exp(-r[0].real * time) * scipy.linalg.expm(q * time), atol=1e-12)
        return (a @ start + (identity - a) @ b @ star).real

    options = {"eta": eta, "k": k, "gamma": gamma}
    times, direct, _ = extrapolated(h * identity, star, start, q, horizon=24.0, count=4800, **options)
    early = times <= 4.0
    by_hand = np.array([position(time) for time in times[early]])
    assert np.max(np.abs(by_hand - direct[early])) < 2e-7
    middle = direct[len(times) // 2]  # at rest, and far from the deadline
    np.testing.assert_allclose(middle, b @ star, atol=5e-5)
    loss = ln.losses.Quadratic(h * identity, minimum=star)
    traj = ln.solve(ln.Objective(**options, drift=ln.drifts.Linear(q)), loss, start)
    np.testing.assert_allclose(traj(times[early]), by_hand, atol=1e-11)
    np.testing.assert_allclose(traj.asymptote, b @ star, atol=1e-12)
    if gamma:
        assert np.max(np.abs(b.T @ star - middle)) > 1e-2  # turning the other way fails


def test_rotation_in_the_plane() -> None:
    """Eqs. 119–121: the generator turns counter-clockwise, its exponential, and the spiral solves the motion."""
    turn = sympy.Matrix([[sympy.cos(RATE * T), -sympy.sin(RATE * T)], [sympy.sin(RATE * T), sympy.cos(RATE * T)]])
    assert vanishes(turn.diff(T) - PLANE * turn) and turn.subs(T, 0) == sympy.eye(2)
    quarter = turn.subs(T, sympy.pi / (2 * RATE)) * sympy.Matrix([1, 0])
    assert quarter == sympy.Matrix([0, 1])
    np.testing.assert_array_equal(ln.drifts.rotation(3.0).matrix(2), np.array(PLANE.subs(RATE, 3), dtype=float))
    away = exp(-(S - GAMMA / 2) * T) * turn * sympy.Matrix(sympy.symbols("x1 x2"))
    motion = (GAMMA * sympy.eye(2) + 2 * PLANE) * away.diff(T) + (
        ETA * K * H * sympy.eye(2) - PLANE**2 - GAMMA * PLANE
    ) * away
    assert vanishes(away.diff(T, 2) - motion)


def test_orange_dot_of_the_paper_is_misplaced() -> None:
    """Theory §8 item 5: Fig. 3c's end is −0.5·4/104; the plotted −0.000185 lacks the factor 104."""
    options = {"horizon": 16.0, "count": 3200}
    minimum, start = np.array([0.0, -0.5]), np.array([1.5, 1.5])
    times, direct, _ = extrapolated(4 * np.eye(2), minimum, start, 10 * np.array([[0.0, -1.0], [1.0, 0.0]]), **options)
    end = direct[len(times) // 2]
    assert end[1] == pytest.approx(-0.019231, abs=5e-6)
    assert abs(end[1] + 0.000185) > 0.01


def test_weight_decay_equation_of_motion() -> None:
    """Eqs. 122, 123: j(j+γ), not the code's j(j−γ)."""
    hessian = sympy.Matrix([[H, sympy.Symbol("g")], [sympy.Symbol("g"), 2 * H]])
    star = sympy.Matrix(sympy.symbols("m1 m2"))

    def loss(theta):
        away = sympy.Matrix(theta) - star
        return (away.T * hessian * away)[0] / 2

    steps = derive(2, drift=lambda theta: [-J * x for x in theta], loss=loss, eta=ETA, k=K, gamma=GAMMA)
    balance = sympy.Matrix(steps.balance)
    left = ACCELERATION - GAMMA * VELOCITY
    assert vanishes(left - ETA * K * hessian * (THETA - star) - J * (J + GAMMA) * THETA - balance)
    collected = (ETA * K * hessian + J * (J + GAMMA) * sympy.eye(2)) * THETA - ETA * K * hessian * star
    assert vanishes(left - collected - balance)
    assert not vanishes(left - ETA * K * hessian * (THETA - star) - J * (J - GAMMA) * THETA - balance)


def test_rates_of_weight_decay() -> None:
    """Eqs. 124, 125: they solve (122) for one mode; both forms of r; r → j as k → 0."""
    root = sympy.sqrt((GAMMA / 2 + J) ** 2 + ETA * K * H)
    rate, place = root - GAMMA / 2, ETA * K * H / (ETA * K * H + J * (J + GAMMA))
    z = place * STAR + (START - place * STAR) * exp(-rate * T)
    residual = z.diff(T, 2) - GAMMA * z.diff(T) - ETA * K * H * (z - STAR) - J * (J + GAMMA) * z
    assert vanishes(residual)
    assert vanishes(root**2 - (GAMMA**2 / 4 + ETA * K * H + J * (J + GAMMA)))
    assert vanishes(rate.subs(K, 0) - J)
    wrong = sympy.sqrt(GAMMA**2 / 4 + ETA * K * H + J * (J - GAMMA)) - GAMMA / 2
    numbers = {ETA: 0.5, K: 2.0, H: 1.5, GAMMA: 0.8, J: 0.6, STAR: 1.0, START: -1.0, T: 0.7}
    assert abs(residual.subs(numbers)) < 1e-12
    assert abs(residual.subs(rate, wrong).subs(numbers)) > 1e-2


@pytest.mark.parametrize("gamma", [0.0, 1.1])
def test_weight_decay_by_direct_minimisation(gamma: float) -> None:
    """Eqs. 124–128 with a full Hessian; the code's sign j(j−γ) fails once γ > 0."""
    rng = np.random.default_rng(11)
    hessian, start, star = spd(rng, 3), *rng.normal(size=(2, 3))
    eta, k, j = 0.9, 1.4, 0.8
    h, u = np.linalg.eigh(hessian)

    def claim(sign: float) -> tuple[np.ndarray, np.ndarray]:
        stiff = eta * k * h + j * (j + sign * gamma)
        rates = np.sqrt(gamma**2 / 4 + stiff) - gamma / 2
        a = np.einsum("im,tm,jm->tij", u, np.exp(-np.outer(times, rates)), u)
        b = (u * (eta * k * h / stiff)) @ u.T
        return a @ start + (np.eye(3) - a) @ b @ star, b

    options = {"eta": eta, "k": k, "gamma": gamma}
    times, direct, action = extrapolated(hessian, star, start, -j * np.eye(3), horizon=24.0, count=3600, **options)
    early = times <= 5.0
    path, b = claim(+1)
    assert np.max(np.abs(path - direct)[early]) < 2e-7
    stiff = eta * k * hessian + j * (j + gamma) * np.eye(3)
    np.testing.assert_allclose(b, eta * k * hessian @ np.linalg.inv(stiff), atol=1e-12)
    if gamma:
        assert np.max(np.abs(claim(-1)[0] - direct)[early]) > 0.05
        objective = ln.Objective(**options, drift=ln.drifts.weight_decay(j))
        traj = ln.solve(objective, ln.losses.Quadratic(hessian, minimum=star), start)
        assert traj.action == pytest.approx(action, rel=1e-6)
        np.testing.assert_allclose(traj.asymptote, b @ star, atol=1e-12)


def helmholtz_drift():
    """φ and f = −∇φ + w with w = (−∂₂ψ, ∂₁ψ), free of divergence, for undefined φ and ψ."""
    x, y = GENERAL.theta
    phi, psi = (sympy.Function(name)(x, y) for name in ("phi", "psi"))
    w = sympy.Matrix([-psi.diff(y), psi.diff(x)])
    gradient = sympy.Matrix([phi.diff(x), phi.diff(y)])
    return phi, w, w - gradient


def test_first_order_form_with_a_split_drift() -> None:
    """Eqs. 129, 130: the motion as two equations, and the Jacobian of the parts."""
    phi, w, f = helmholtz_drift()
    steps = derive(2, drift=list(f), eta=ETA, k=K, gamma=GAMMA)
    jacobian = f.jacobian(THETA)
    assert vanishes(jacobian + sympy.hessian(phi, GENERAL.theta) - w.jacobian(THETA))
    assert vanishes((jacobian - jacobian.T) - (w.jacobian(THETA) - w.jacobian(THETA).T))
    assert vanishes(sympy.trace(w.jacobian(THETA)))
    gradient = sympy.Matrix([steps.loss.diff(x) for x in steps.theta])
    change = (GAMMA * sympy.eye(2) + jacobian - jacobian.T) * VELOCITY + ETA * K * gradient
    change += (jacobian.T - GAMMA * sympy.eye(2)) * f
    assert vanishes(ACCELERATION - change - sympy.Matrix(steps.balance))


def test_one_force_is_always_a_gradient() -> None:
    """Eq. 131: 𝐉ᵀf = ∇½|f|²; 𝐉f is not. And it is what the library's equations add to ∇L at rest, undiscounted."""
    half = (GENERAL.drift.T * GENERAL.drift)[0] / 2
    gradient = sympy.Matrix([half.diff(x) for x in GENERAL.theta])
    assert vanishes(JACOBIAN.T * GENERAL.drift - gradient)
    assert not vanishes(JACOBIAN * GENERAL.drift - gradient)
    at_rest = dict.fromkeys([*VELOCITY, *ACCELERATION, GAMMA], 0)
    assert vanishes(BALANCE.subs(at_rest) + ETA * K * SLOPE + gradient)


def test_effective_loss() -> None:
    """Eq. 132 and the line before it; the sign of γφ matters; the library's effective loss is that function."""
    phi, w, f = helmholtz_drift()
    steps = derive(2, drift=list(f), eta=ETA, k=K, gamma=GAMMA)
    turning = w.jacobian(THETA)

    def residual(sign: int):
        effective = steps.loss + ((f.T * f)[0] / 2 + sign * GAMMA * phi) / (ETA * K)
        gradient = sympy.Matrix([effective.diff(x) for x in steps.theta])
        change = (GAMMA * sympy.eye(2) + turning - turning.T) * VELOCITY + ETA * K * gradient - GAMMA * w
        return ACCELERATION - change - sympy.Matrix(steps.balance)

    assert vanishes(residual(+1))
    assert not vanishes(residual(-1))
    rng = np.random.default_rng(2)
    drift = ln.drifts.Linear(rng.normal(size=(3, 3)), rng.normal(size=3))
    objective, loss = ln.Objective(0.7, 1.6, 0.9, drift=drift), ln.losses.Quadratic(spd(rng, 3), minimum=np.ones(3))
    effective_loss = helmholtz.effective_loss(objective, loss, helmholtz.split_affine(drift))
    theta = rng.normal(size=(4, 3))
    matrix, c = drift.matrix(3), drift.offset(3)
    height = -np.einsum("ni,ij,nj->n", theta, (matrix + matrix.T) / 4, theta) - theta @ c
    by_hand = loss.value(theta) + (np.sum(drift(theta) ** 2, axis=1) / 2 + 0.9 * height) / (0.7 * 1.6)
    np.testing.assert_allclose(effective_loss.value(theta), by_hand, rtol=1e-12)


# Beyond the numbered equations


@pytest.mark.parametrize("gamma", [0.4, 1.5])
def test_round_formula_fails_on_an_oval_bowl(gamma: float) -> None:
    """Rotation with anisotropic H: the Riccati law is right, (115) with the matrix H for h is not."""
    q, hessian = 2.0 * np.array([[0.0, -1.0], [1.0, 0.0]]), np.diag([0.5, 6.0])
    start, star = np.array([1.5, 1.5]), np.array([1.0, -1.0])
    times, direct, action = extrapolated(hessian, star, start, q, horizon=20.0, count=4000, gamma=gamma)
    objective = ln.Objective(gamma=gamma, drift=ln.drifts.Linear(q))
    traj = ln.solve(objective, ln.losses.Quadratic(hessian, minimum=star), start)
    early = times <= 4.0
    np.testing.assert_allclose(traj(times[early]), direct[early], atol=1e-6)
    rest = np.linalg.solve(hessian + q.T @ q - gamma * q, hessian @ star)  # (101) at rest
    np.testing.assert_allclose(traj.asymptote, rest, atol=1e-10)
    naive = hessian @ np.linalg.inv(hessian - q @ q - gamma * q) @ star
    assert np.linalg.norm(naive - rest) > 0.1
    tail = math.exp(-20 * gamma) / gamma  # what the deadline cuts off
    assert traj.action == pytest.approx(action, rel=1e-6 + 2 * tail)


def test_a_gradient_drift_can_be_moved_into_the_loss() -> None:
    """J[f, L] = J[0, L_eff] − φ(θ₀)/η for f = −∇φ, not linear."""
    eta, k, gamma, j = 0.8, 1.2, 0.6, 0.9
    drift = ln.drifts.Function(lambda x: -j * np.tanh(x), lambda x: np.diag(-j / np.cosh(x) ** 2), dim=2)
    loss = ln.losses.Quadratic([[1.5, 0.5], [0.5, 0.8]], minimum=[0.4, 1.6])

    def phi(x):
        return j * np.sum(np.log(np.cosh(x)), axis=-1)

    def effective(x):
        return loss.value(x) + (np.sum((j * np.tanh(x)) ** 2, axis=-1) / 2 + gamma * phi(x)) / (eta * k)

    start = np.array([2.0, -1.0])
    there = ln.solve(ln.Objective(eta, k, gamma, drift=drift), loss, start)
    here = ln.solve(ln.Objective(eta, k, gamma), ln.losses.Function(effective, dim=2), start)
    assert there.action == pytest.approx(here.action - phi(start) / eta, rel=1e-6)
    np.testing.assert_allclose(there.asymptote, here.asymptote, atol=1e-6)


def test_end_is_no_minimum_of_the_effective_loss() -> None:
    """Theory §8 item 9: with a rotation and γ > 0 the gradient of L_eff at the end is γw/ηk, not zero."""
    drift = ln.drifts.rotation(2.0)
    loss = ln.losses.Quadratic(4 * np.eye(2), minimum=[0.0, -1.0])
    for gamma in (0.0, 1.5):
        objective = ln.Objective(0.7, 1.3, gamma, drift=drift)
        end = ln.solve(objective, loss, [1.0, 1.0], method="action").asymptote
        effective = helmholtz.effective_loss(objective, loss, helmholtz.split_affine(drift))
        np.testing.assert_allclose(effective.gradient(end), gamma * drift(end) / (0.7 * 1.3), atol=1e-6)


def test_optimal_law_turns_as_the_drift_does() -> None:
    """θ̇ = f − η∇V: the antisymmetric part of G·(Jacobian of the law) is that of G𝐉."""
    rng = np.random.default_rng(5)
    metric, jacobian = spd(rng, 3), 0.5 * rng.normal(size=(3, 3))
    objective = ln.Objective(0.7, 1.3, 0.8, metric=metric, drift=ln.drifts.Linear(jacobian))
    loss = ln.losses.Quadratic(spd(rng, 3), minimum=rng.normal(size=3))
    base = ln.optimal_velocity(objective, loss, np.zeros(3))
    law = metric @ np.stack([ln.optimal_velocity(objective, loss, e) - base for e in np.eye(3)], axis=-1)
    np.testing.assert_allclose(law - law.T, metric @ jacobian - (metric @ jacobian).T, atol=1e-10)


def test_overtaking_without_discount() -> None:
    """γ = 0: J_T less T·rest converges to the excess, a deadline saves |f|²/2ηS, and other paths lose by any margin."""
    h, q, start = 4.0, 2.0 * np.array([[0.0, -1.0], [1.0, 0.0]]), np.array([1.5, 1.5])
    star = np.array([0.0, -0.5])
    loss, drift = ln.losses.Quadratic(h * np.eye(2), minimum=star), ln.drifts.Linear(q)
    traj = ln.solve(ln.Objective(drift=drift), loss, start)
    assert traj.action == np.inf
    held = drift(traj.asymptote)
    rest = held @ held / 2 + loss.value(traj.asymptote)
    saving = held @ held / (2 * math.sqrt(h))
    for horizon in (9.0, 12.0):
        _, _, action = extrapolated(h * np.eye(2), star, start, q, horizon=horizon, count=int(400 * horizon))
        assert action - horizon * rest == pytest.approx(traj.excess - saving, abs=2e-6)
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def cost(position, velocity, horizon: float) -> float:
        t = horizon * (nodes + 1) / 2
        return float(horizon / 2 * weights @ traj.objective.cost_rate(loss, position(t), velocity(t)))

    assert cost(traj, traj.velocity, 12.0) - 12 * rest == pytest.approx(traj.excess, abs=1e-8)

    def alone(t):
        return np.array([scipy.linalg.expm(q * s) @ start for s in t])

    def lead(horizon: float) -> float:
        return cost(alone, lambda t: alone(t) @ q.T, horizon) - cost(traj, traj.velocity, horizon)

    assert lead(0.2) < 0 < lead(1.0) < lead(3.0) - 5


def test_a_bowl_with_a_current_that_is_not_linear_does_not_hold() -> None:
    """γ = 0, f = q·e^{−2θ₁}(−θ₂, θ₁): round the unit circle the mean loss is 1 − I₁(2)/I₀(2), below min L_eff."""

    def carried(q: float) -> float:
        """The mean loss in time of a particle that is let go, by integration of the drift."""

        def flow(_, x):
            return q * np.exp(-2 * x[0]) * np.array([-x[1], x[0]])

        period = scipy.integrate.quad(lambda angle: math.exp(2 * math.cos(angle)) / q, 0, 2 * math.pi)[0]
        t = np.linspace(0, period, 401)
        x = scipy.integrate.solve_ivp(flow, (0, period), [1.0, 0.0], "DOP853", t, rtol=1e-10, atol=1e-11).y
        assert np.abs(x[:, -1] - [1.0, 0.0]).max() < 1e-6  # round, and back
        x = x[:, :-1]
        return float(np.mean(((x[0] - 1) ** 2 + x[1] ** 2) / 2))

    def resting(q: float) -> float:
        x, y = np.meshgrid(np.linspace(-1, 6, 1401), np.linspace(-2, 2, 401))
        square = q**2 * np.exp(-4 * x) * (x**2 + y**2)
        return float(np.min(((x - 1) ** 2 + y**2 + square) / 2))

    mean = 1 - scipy.special.iv(1, 2) / scipy.special.iv(0, 2)
    assert carried(20.0) == pytest.approx(mean, rel=1e-6) and carried(2.0) == pytest.approx(mean, rel=1e-6)
    assert mean < 0.31 and resting(20.0) > 0.49  # never rests
    assert resting(2.0) < 0.04  # a weak one is better resisted


@pytest.mark.parametrize(("grows", "carried_off"), [(False, True), (True, False)])
def test_that_no_loop_pays_keeps_a_path_only_if_the_loss_itself_grows(grows: bool, carried_off: bool) -> None:
    """f = 1.2θ, L_eff with one minimum, at 0, and growing; L tends to ½, or, with a bowl added, it grows, too."""

    def loss(x):
        return 0.5 + 0.5 / (1 + x**2) + 0.25 * grows * x**2

    x = np.linspace(-40, 40, 8001)
    effective = loss(x) + (1.2 * x) ** 2 / 2
    assert abs(x[np.argmin(effective)]) < 1e-9 and np.all(np.diff(effective[4000:]) > 0)
    t = np.linspace(0, 60, 20001)
    free = np.mean(loss(0.5 * np.exp(1.2 * t)))  # per unit of time, of a learner who lets go: no effort
    assert (free < 0.52) == carried_off and (free > effective.min()) == (not carried_off)


def test_steps_and_local_plans_turn_without_a_drift() -> None:
    """The velocity of the optimum is a gradient if f is; a step of it, and Eq. 6 made anew everywhere, are none."""

    def value(x):  # any smooth V is the value of the loss (γV + |∇V|²/2)
        return (x[0] ** 2 - 1) ** 2 / 4 + x[1] ** 2 / 2 + 0.8 * x[0] * x[1] ** 2

    symbols = sympy.symbols("x y", real=True)
    gradient = sympy.Matrix([value(symbols)]).jacobian(symbols)
    hessian_at = sympy.lambdify([symbols], sympy.hessian(value(symbols), symbols))
    velocity = sympy.lambdify([symbols], -gradient.T)
    place = np.array([0.3, 0.7])

    def odd(matrix: np.ndarray) -> float:
        return float(abs(matrix[0, 1] - matrix[1, 0]) / np.linalg.norm(matrix))

    def stepped(time: float) -> np.ndarray:
        def both(_, z):  # the path and its derivative by the start
            return np.concatenate([velocity(z[:2]).ravel(), (-hessian_at(z[:2]) @ z[2:].reshape(2, 2)).ravel()])

        end = scipy.integrate.solve_ivp(both, (0, time), [*place, 1, 0, 0, 1], rtol=1e-11, atol=1e-13).y[2:, -1]
        return (end.reshape(2, 2) - np.eye(2)) / time

    assert odd(hessian_at(place)) < 1e-12 < 1e-3 < odd(stepped(0.1)) < 0.05 * odd(stepped(1.0))

    def planned(x, gamma: float) -> np.ndarray:
        x = np.asarray(x)
        g = np.array([np.sinh(x[0]) - x[0] * (x[1] - x[0] ** 2 / 2), x[1] - x[0] ** 2 / 2])
        hessian = np.array([[np.cosh(x[0]) - x[1] + 1.5 * x[0] ** 2, -x[0]], [-x[0], 1.0]])
        return ln.update(ln.Objective(gamma=gamma), g, hessian, 1e-4) / 1e-4

    def turned(gamma: float) -> float:
        sides = [(planned(place + e, gamma) - planned(place - e, gamma)) / 2e-4 for e in 1e-4 * np.eye(2)]
        return odd(np.stack(sides, axis=-1))

    assert turned(0.0) > 0.1 > turned(1.0) > 1e-3 > 1e-5 > turned(30.0)
