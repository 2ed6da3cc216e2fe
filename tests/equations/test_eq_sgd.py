"""K1–K51: the limiting dynamics of SGD, as corrected; what the source prints fails where it differs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import sympy
from scipy.integrate import quad, quad_vec, solve_ivp

import lossnav as ln
from lossnav import sgd

RNG = np.random.default_rng(51)
DIM, ETA, BETA, BATCH, SIGMA2, DECAY = 3, 0.08, 0.8, 8, 0.7, 0.05
BASIS = np.linalg.qr(RNG.normal(size=(DIM, DIM)))[0]
RHO = np.array([2.0, 0.6, 0.05])
HESSIAN = BASIS @ np.diag(RHO) @ BASIS.T
IDENTITY = np.eye(DIM)
KAPPA = BATCH * (1 - BETA**2)
MASS, FRICTION = ETA * (1 + BETA) / 2, 1 - BETA
SETTING = {"eta": ETA, "beta": BETA, "batch": BATCH, "decay": DECAY}
CENTRE = BASIS @ np.array([0.4, -0.8, 1.5])

TILTED, ANISOTROPIC = np.array([[2.5, -1.5], [-1.5, 2.5]]), np.diag([4.0, 1.0])  # Fig. 3


def drift_matrix(hessian: np.ndarray = HESSIAN) -> np.ndarray:
    """K6, written out again: d(θ, v)/dt = −A(θ − μ, v)."""
    nothing = np.zeros_like(hessian)
    stiff = (hessian + DECAY * np.eye(len(hessian))) / MASS
    return np.block([[nothing, -np.eye(len(hessian))], [stiff, FRICTION / MASS * np.eye(len(hessian))]])


def noise_matrix(sigma: np.ndarray) -> np.ndarray:
    """K6: D in the block of velocities."""
    nothing = np.zeros_like(sigma)
    return np.block([[nothing, nothing], [nothing, FRICTION / MASS * sigma]])


def any_noise() -> np.ndarray:
    half = np.random.default_rng(4).normal(size=(DIM, DIM))
    return half @ half.T


def chain(sigma: np.ndarray, eta: float = ETA, hessian: np.ndarray = HESSIAN) -> tuple[np.ndarray, np.ndarray]:
    """Return the step of K2 as a matrix on (θ, v), and the stationary covariance of it by scipy's solver."""
    dim, stiff = len(hessian), hessian + DECAY * np.eye(len(hessian))
    step = np.block([[np.eye(dim) - eta * stiff, eta * BETA * np.eye(dim)], [-stiff, BETA * np.eye(dim)]])
    kick = np.vstack([eta * np.eye(dim), np.eye(dim)])
    return step, scipy.linalg.solve_discrete_lyapunov(step, kick @ sigma @ kick.T / BATCH)


def integrated(drift: np.ndarray, diffusion: np.ndarray, t: float, s: float) -> np.ndarray:
    """K21: ∫₀^{min} e^{−A(t−u)} 2D e^{−Aᵀ(s−u)} du by adaptive quadrature."""

    def integrand(u: float) -> np.ndarray:
        return scipy.linalg.expm(-drift * (t - u)) @ (2 * diffusion) @ scipy.linalg.expm(-drift * (s - u)).T

    return quad_vec(integrand, 0.0, min(t, s), epsabs=1e-12, epsrel=1e-10)[0]


# ------------------------------------------------------------------------------------------ from the update to the SDE


def test_displacements_and_their_law() -> None:
    """K1: |Δ_n|² ∝ n^c: 2 while the velocity lasts, 1 where it is forgotten, 0 where the minimum holds."""
    theta, _ = sgd.simulate([0.3, 0.0], 400, start=0.0, noise=None, gradient_variance=[1.0, 1.0], paths=3000, seed=1,
                            eta=0.05, beta=0.95, batch=1)  # fmt: skip
    flat = theta[:, 200:, 1] - theta[:, 200:201, 1]  # after ten memories of the velocity
    n = np.array([1, 2, 3, 150, 200])
    square = np.mean(flat[:, n] ** 2, axis=0)
    np.testing.assert_allclose(square, sgd.displacement(0.0, n, eta=0.05, beta=0.95, batch=1, gradient_variance=1.0,
                                                        form="discrete"), rtol=0.15)  # fmt: skip
    assert sgd.exponent(n[:3], square[:3]) > 1.85
    far = np.array([1000, 10_000])
    options = {"eta": 0.05, "beta": 0.95, "batch": 1, "gradient_variance": 1.0, "form": "discrete"}
    assert sgd.exponent(far, sgd.displacement(0.0, far, **options)) == pytest.approx(1.0, abs=0.02)
    assert sgd.exponent(far, sgd.displacement(0.3, far, **options)) == pytest.approx(0.0, abs=0.02)


def test_update_is_torchs() -> None:
    """K2 step by step: torch.optim.SGD with coupled decay, whose buffer is −v."""
    import torch

    rho, start = torch.tensor([1.5, 0.2], dtype=torch.float64), [1.0, -2.0]
    weights = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=0.1, momentum=0.9, weight_decay=0.03)
    theta, v = sgd.simulate(rho.numpy(), 30, start=start, eta=0.1, beta=0.9, decay=0.03, batch=1, noise=0.0)
    for k in range(30):
        optimizer.zero_grad()
        (0.5 * (rho * weights**2).sum()).backward()
        optimizer.step()
        buffer = optimizer.state[weights]["momentum_buffer"].numpy()
        np.testing.assert_allclose(weights.detach().numpy(), theta[0, k + 1], rtol=1e-12)
        np.testing.assert_allclose(-buffer, v[0, k + 1], rtol=1e-12)


def test_eliminating_the_velocity_gives_two_differences_and_the_second_order_equation() -> None:
    """K3: exact; then m θ̈ + μ θ̇ + λθ = −g with the first omitted term (η²/6)(1 − β)θ⃛."""
    before, now, v, eta, beta, decay, g = sympy.symbols("before now v eta beta lambda g")
    velocity = beta * v - g - decay * now
    forward = (now + eta * velocity - now) / eta - beta * (now - before) / eta + decay * now + g
    assert sympy.simplify(forward.subs(v, (now - before) / eta)) == 0
    t = sympy.symbols("t")
    x = sympy.Function("x")
    shifted = {s: sum(s**n * eta**n * x(t).diff(t, n) / sympy.factorial(n) for n in range(4)) for s in (1, -1)}
    left = (shifted[1] - x(t)) / eta - beta * (x(t) - shifted[-1]) / eta
    model = eta / 2 * (1 + beta) * x(t).diff(t, 2) + (1 - beta) * x(t).diff(t)
    assert sympy.expand(left - model - eta**2 / 6 * (1 - beta) * x(t).diff(t, 3)) == 0


@pytest.mark.parametrize(("root", "right"), [(1.0, True), (0.5, False)])
def test_noise_of_the_second_order_equation(root: float, right: bool) -> None:
    """K4: v's noise is 2/(√(ηS)(1 + β))·Σ^{1/2}; with the root over 1 + β too, as printed, variances come out wrong."""
    sigma, errors = any_noise(), []
    for eta in (ETA, ETA / 2):
        mass = eta * (1 + BETA) / 2
        stiff = (HESSIAN + DECAY * IDENTITY) / mass
        drift = np.block([[0 * IDENTITY, -IDENTITY], [stiff, FRICTION / mass * IDENTITY]])
        noise = np.kron(np.diag([0.0, 1.0]), (2 / (np.sqrt(eta * BATCH) * (1 + BETA) ** root)) ** 2 * sigma)
        law = scipy.linalg.solve_continuous_lyapunov(drift, noise)
        exact = chain(sigma, eta)[1]
        errors.append(np.trace(law[:DIM, :DIM]) / np.trace(exact[:DIM, :DIM]) - 1)
        ours = sgd.regression(HESSIAN, **{**SETTING, "eta": eta}, gradient_covariance=sigma).spread
        assert np.allclose(ours, law, rtol=1e-8, atol=1e-12) == right
    if right:
        assert 1.8 < errors[0] / errors[1] < 2.2 and abs(errors[0]) < 0.05, "an error of first order in η"
    else:
        assert min(map(abs, errors)) > 0.5


# ------------------------------------------------------------------------------------------------- linear regression


def test_linear_regression_is_this_process() -> None:
    """K5, K45: mean b-centred force, ridge minimum, Σ = σ²H for a true linear model, and not for a wrong one."""
    x = np.random.default_rng(0).normal(size=(200_000, DIM)) @ np.linalg.cholesky(HESSIAN).T
    errors = np.random.default_rng(1).normal(size=len(x)) * np.sqrt(SIGMA2)
    y = x @ CENTRE + errors
    hessian, b = x.T @ x / len(x), x.T @ y / len(x)
    ridge = np.linalg.solve(hessian + DECAY * IDENTITY, b)
    stacked = np.vstack([x, np.sqrt(len(x) * DECAY) * IDENTITY])
    np.testing.assert_allclose(np.linalg.lstsq(stacked, np.r_[y, np.zeros(DIM)], rcond=None)[0], ridge, rtol=1e-9)
    process = sgd.regression(hessian, **SETTING, noise=SIGMA2, minimum=ridge)
    state = np.r_[CENTRE + 1.0, 0.3, -0.1, 0.2]
    force = -((x.T @ (x @ state[:DIM] - y)) / len(x) + DECAY * state[:DIM] + FRICTION * state[DIM:]) / MASS
    np.testing.assert_allclose(-process.drift @ (state - process.centre), np.r_[state[DIM:], force], rtol=1e-9)
    least = np.linalg.solve(hessian, b)
    for target, close in ((y, True), (y + 0.8 * x[:, 0] ** 2 - 0.8 * HESSIAN[0, 0], False)):
        gradients = (x @ least - target)[:, None] * x
        size = np.mean((x @ least - target) ** 2)
        gap = np.linalg.norm(np.cov(gradients.T) - size * hessian) / np.linalg.norm(size * hessian)
        assert (gap < 0.03) == close


def test_a_regression_without_response_decays_and_has_no_noise() -> None:
    """App. B: with y ≡ 0 one step is θ − (η/S)Σx_i²·θ: the square of x, which the source drops."""
    x, theta = np.array([0.5, -2.0, 1.5]), 0.7
    step = theta - ETA * np.mean([(x_i * theta - 0.0) * x_i for x_i in x])
    assert step == pytest.approx(theta - ETA / 3 * np.sum(x**2) * theta)
    assert step != pytest.approx(theta - ETA / 3 * np.sum(x) * theta)


def test_matrices_of_the_process() -> None:
    """K6, K46: the library's, against an integration of K4's drift, and against its noise."""
    process = sgd.regression(HESSIAN, **SETTING, noise=SIGMA2, minimum=CENTRE)
    np.testing.assert_allclose(process.drift, drift_matrix(), rtol=1e-12)
    noise = 4 * SIGMA2 * HESSIAN / (ETA * BATCH * (1 + BETA) ** 2)
    np.testing.assert_allclose(2 / process.kappa * process.diffusion[DIM:, DIM:], noise, rtol=1e-12)
    assert process.kappa == pytest.approx(KAPPA)
    start = np.r_[1.0, 0.0, -1.0, 0.2, 0.0, 0.4]

    def law(_: float, state: np.ndarray) -> np.ndarray:
        theta, v = state[:DIM], state[DIM:]
        return np.r_[v, -(HESSIAN @ (theta - CENTRE) + DECAY * (theta - CENTRE) + FRICTION * v) / MASS]

    exact = solve_ivp(law, (0, 1.5), start, rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(process.mean(1.5, start), exact, atol=1e-8)


@pytest.mark.parametrize("eta", [0.002, 0.08, 0.6])
def test_mean_is_a_damped_oscillator_in_each_eigendirection(eta: float) -> None:
    """K7: a_l(t)q_l and b_l(t)q_l against the matrix exponential in the full space."""
    mass = eta * (1 + BETA) / 2
    drift = np.block(
        [[0 * IDENTITY, -IDENTITY], [(HESSIAN + DECAY * IDENTITY) / mass, FRICTION / mass * IDENTITY]]
    )  # fmt: skip
    theta, v = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.4])
    for t in (0.0, 0.3, 4.0):
        place, speed = np.zeros(DIM), np.zeros(DIM)
        for rho, q in zip(RHO, BASIS.T, strict=True):
            a, b = sgd.Mode(rho + DECAY, eta=eta, beta=BETA).mean(t, q @ theta, q @ v)
            place, speed = place + a * q, speed + b * q
        np.testing.assert_allclose(np.r_[place, speed], scipy.linalg.expm(-drift * t) @ np.r_[theta, v], atol=1e-9)


def test_the_spiral_is_around_the_ridge_solution() -> None:
    """K7 and F.2: not around that of ordinary least squares unless λ = 0."""
    theta = np.zeros(DIM)
    v = np.zeros(DIM)
    for _ in range(5000):
        v = BETA * v - HESSIAN @ (theta - CENTRE) - DECAY * theta
        theta = theta + ETA * v
    np.testing.assert_allclose(theta, np.linalg.solve(HESSIAN + DECAY * IDENTITY, HESSIAN @ CENTRE), atol=1e-8)
    assert np.linalg.norm(theta - CENTRE) > 0.1


def test_two_time_covariance() -> None:
    """K8: κ⁻¹(B − e^{−At}Be^{−Aᵀt})e^{Aᵀ(t−s)} for SGD's matrices, against quadrature of the noise."""
    a, d = drift_matrix(), noise_matrix(SIGMA2 * HESSIAN)
    b = scipy.linalg.solve_continuous_lyapunov(a, 2 * d)
    for t, s in ((0.2, 0.2), (0.5, 2.0)):
        direct = integrated(a, d, t, s) / KAPPA
        np.testing.assert_allclose(sgd.covariance(a, d, KAPPA, t, s), direct, atol=1e-9 * np.abs(direct).max())
        early = scipy.linalg.expm(-a * t)
        formula = (b - early @ b @ early.T) @ scipy.linalg.expm(a.T * (t - s)) / KAPPA
        np.testing.assert_allclose(formula, direct, atol=1e-9 * np.abs(direct).max())


def test_stationary_law() -> None:
    """K9: N((μ, 0), B/κ), reached from any start; the lag decays with e^{−Aᵀ(s−t)}; symmetric A ≻ 0 is not needed."""
    process = sgd.regression(HESSIAN, **SETTING, noise=SIGMA2, minimum=CENTRE)
    late = integrated(process.drift, process.diffusion, 60.0, 60.0) / KAPPA
    np.testing.assert_allclose(process.spread, late, atol=1e-6 * np.abs(late).max())
    np.testing.assert_allclose(process.mean(200.0, np.ones(2 * DIM)), np.r_[CENTRE, 0, 0, 0], atol=1e-8)
    assert np.linalg.eigvalsh(process.drift + process.drift.T)[0] < 0 < np.min(np.linalg.eigvals(process.drift).real)
    lagged = sgd.covariance(process.drift, process.diffusion, KAPPA, 1.0, 1.4, stationary=True)
    np.testing.assert_allclose(lagged, process.spread @ scipy.linalg.expm(-process.drift.T * 0.4), atol=1e-10)
    modes = sgd.stationary(RHO, **SETTING, noise=SIGMA2)
    np.testing.assert_allclose(np.einsum("ij,ik,kj->j", BASIS, process.spread[:DIM, :DIM], BASIS), modes[:, 0, 0])


# ------------------------------------------------------------------------------ modified loss, currents, predictions


def gaussian(symbols: list, mean: list, spread: sympy.Matrix) -> sympy.Expr:
    away = sympy.Matrix([x - m for x, m in zip(symbols, mean, strict=True)])
    return sympy.exp(-(away.T * spread.inv() * away)[0] / 2) / sympy.sqrt(spread.det())


def test_fokker_planck_carries_the_gaussian_of_the_process() -> None:
    """K10: with −Ax in place of −∇Φ and J with κ⁻¹; the density moves as mean and covariance do."""
    x, y, kappa = sympy.symbols("x y kappa", positive=True)
    a, d = sympy.Matrix([[1, -2], [3, 2]]), sympy.Matrix([[2, 1], [1, 3]])
    mean = sympy.Matrix([sympy.Rational(1, 2), 1])
    spread = sympy.Matrix([[2, 1], [1, 2]]) / kappa
    p = gaussian([x, y], list(mean), spread)
    s = sympy.symbols("s")
    moved = gaussian([x, y], list(mean - s * a * mean), spread + s * (2 * d / kappa - a * spread - spread * a.T))
    change = moved.diff(s).subs(s, 0)
    place = sympy.Matrix([x, y])

    def balance(weight: sympy.Expr) -> sympy.Expr:
        pull = -a * place * p
        flux = [pull[i] - weight * ((d[i, 0] * p).diff(x) + (d[i, 1] * p).diff(y)) for i in (0, 1)]
        return change + flux[0].diff(x) + flux[1].diff(y)

    assert sympy.simplify(balance(1 / kappa) / p) == 0
    assert sympy.simplify(balance(sympy.Integer(1)) / p) != 0, "without κ⁻¹, as (34)–(35) print it"


def current_by_differences(process: sgd.OrnsteinUhlenbeck, here: np.ndarray) -> np.ndarray:
    """J = −A(x − μ)p − κ⁻¹D∇p, with ∇p by central differences of the density."""
    step = 1e-5 * np.sqrt(np.diag(process.spread))
    gradient = [(process.density(here + e) - process.density(here - e)) / (2 * e.sum()) for e in np.diag(step)]
    drift = -process.drift @ (here - process.centre) * process.density(here)
    return drift - process.diffusion @ np.array(gradient) / process.kappa


def test_modified_loss_and_current() -> None:
    """K11: p = e^{−κΨ}, J = −QUx p, against −Ax p − κ⁻¹∇·(Dp)."""
    process = sgd.regression(HESSIAN, **SETTING, noise=SIGMA2, minimum=CENTRE)
    here = process.centre + np.linalg.cholesky(process.spread) @ np.array([0.5, -1.0, 0.3, 0.8, -0.2, 0.4])
    direct = current_by_differences(process, here)
    np.testing.assert_allclose(process.current(here), direct, atol=1e-6 * np.abs(direct).max())
    ratio = process.density(here) / process.density(process.centre)
    away = here - process.centre
    assert np.log(ratio) == pytest.approx(-away @ np.linalg.solve(process.spread, away) / 2, rel=1e-9)
    assert np.log(ratio) == pytest.approx(-KAPPA * process.modified_loss(here), rel=1e-9)


def test_split_of_sgds_matrices() -> None:
    """K12, K47: Q and U in closed form; the library solves for them."""
    q, u = sgd.decompose(drift_matrix(), noise_matrix(SIGMA2 * HESSIAN))
    nothing = 0 * IDENTITY
    inverse = np.linalg.inv(HESSIAN)
    expected = np.block([[nothing, -SIGMA2 * HESSIAN], [SIGMA2 * HESSIAN, nothing]])
    np.testing.assert_allclose(q, expected, atol=1e-9)
    theta = 2 * inverse @ (HESSIAN + DECAY * IDENTITY) / (ETA * (1 + BETA) * SIGMA2)
    np.testing.assert_allclose(u, scipy.linalg.block_diag(theta, inverse / SIGMA2), rtol=1e-7, atol=1e-7)


def test_modified_loss_of_positions_is_round_without_decay() -> None:
    """K13, K49: (θ−μ)ᵀH⁻¹(H+λI)(θ−μ)/(η(1+β)σ²); Var(qθ) is the same in all directions for λ ≪ ρ, not ∝ 1/ρ."""
    process = sgd.regression(HESSIAN, **SETTING, noise=SIGMA2, minimum=CENTRE)
    away = np.array([0.3, -0.7, 1.1])
    form = away @ np.linalg.solve(HESSIAN, (HESSIAN + DECAY * IDENTITY) @ away) / (ETA * (1 + BETA) * SIGMA2)
    assert process.modified_loss(np.r_[CENTRE + away, 0, 0, 0]) == pytest.approx(form)
    variances = sgd.stationary(RHO, **{**SETTING, "decay": 0.0}, noise=SIGMA2)[:, 0, 0]
    np.testing.assert_allclose(variances, ETA * SIGMA2 / (2 * BATCH * (1 - BETA)), rtol=1e-12)
    exact = [chain(SIGMA2 * np.eye(1) * r, hessian=np.array([[r - DECAY]]))[1][0, 0] for r in RHO]
    np.testing.assert_allclose(exact, variances, rtol=0.06)


def test_modified_loss_of_velocities_slows_flat_directions() -> None:
    """K14, K50: ½vᵀH⁻¹v/σ²: Var(qv) = σ²ρ/κ."""
    process = sgd.regression(HESSIAN, **SETTING, noise=SIGMA2, minimum=CENTRE)
    v = np.array([0.3, -0.7, 1.1])
    form = v @ np.linalg.solve(HESSIAN, v) / (2 * SIGMA2)
    assert process.modified_loss(np.r_[CENTRE, v]) == pytest.approx(form)
    _, exact = chain(SIGMA2 * HESSIAN)
    along = np.einsum("ij,ik,kj->j", BASIS, exact[DIM:, DIM:], BASIS)
    np.testing.assert_allclose(along, SIGMA2 * RHO / KAPPA, rtol=0.06)


def test_current_turns_clockwise_in_every_plane() -> None:
    """K15, K51: j = [v; −(2/η(1+β))(H+λI)(θ−μ)], without σ²; circulation −2σ²ρ/κ; the chain turns likewise."""
    process = sgd.regression(HESSIAN, **SETTING, noise=SIGMA2, minimum=CENTRE)
    state = process.centre + np.array([0.3, -0.1, 0.2, 0.5, 0.4, -0.9])
    theta, v = state[:DIM] - CENTRE, state[DIM:]
    expected = np.r_[v, -2 / (ETA * (1 + BETA)) * (HESSIAN + DECAY * IDENTITY) @ theta]
    np.testing.assert_allclose(process.flow(state), expected, rtol=1e-7)
    turns = np.einsum("ij,ik,kj->j", BASIS, process.circulation[:DIM, DIM:], BASIS)
    np.testing.assert_allclose(turns, -2 * SIGMA2 * RHO / KAPPA, rtol=1e-7)
    step, law = chain(SIGMA2 * HESSIAN)
    lagged = step @ law  # E[(θ, v)_{k+1}(θ, v)_kᵀ]
    swept = (lagged[DIM:, :DIM] - lagged[:DIM, DIM:]) / ETA
    along = np.einsum("ij,ik,kj->j", BASIS, swept, BASIS)
    np.testing.assert_allclose(along, sgd.circulation(RHO, **SETTING, noise=SIGMA2, form="discrete"), rtol=1e-8)
    assert np.all(along < 0)


def test_current_needs_noise_that_commutes_with_the_hessian() -> None:
    """K15 beyond Σ ∝ H (correction): right for any Σ that commutes with H, wrong for one that does not."""
    state = np.array([0.3, -0.1, 0.2, 0.5, 0.4, -0.9])
    plain = np.r_[state[DIM:], -2 / (ETA * (1 + BETA)) * (HESSIAN + DECAY * IDENTITY) @ state[:DIM]]
    commuting = BASIS @ np.diag([0.2, 1.5, 0.4]) @ BASIS.T
    for sigma, right in ((commuting, True), (any_noise(), False)):
        process = sgd.regression(HESSIAN, **SETTING, gradient_covariance=sigma)
        gap = np.linalg.norm(process.flow(state) - plain) / np.linalg.norm(plain)
        assert gap < 1e-6 if right else gap > 0.01
        np.testing.assert_allclose(process.current(state), current_by_differences(process, state), rtol=1e-5)


def test_streamlines_keep_the_energy_of_each_plane() -> None:
    """K15 (correction): orbits fill tori, not the level set; they turn at ω for every ζ, also overdamped."""
    process = sgd.regression(np.diag(RHO), **SETTING, noise=SIGMA2)
    start = np.array([0.3, -0.1, 0.2, 0.5, 0.4, -0.9])
    run = solve_ivp(lambda _, z: process.flow(z), (0, 20), start, rtol=1e-10, atol=1e-12).y
    modes = [sgd.Mode(r + DECAY, eta=ETA, beta=BETA) for r in RHO]
    assert {mode.regime for mode in modes} == {"overdamped", "underdamped"}
    for l, mode in enumerate(modes):
        energy = mode.omega**2 * run[l] ** 2 + run[DIM + l] ** 2
        np.testing.assert_allclose(energy, energy[0], rtol=1e-6)
        angle = np.unwrap(np.arctan2(mode.omega * run[l], run[DIM + l]))
        assert angle[-1] - angle[0] == pytest.approx(20 * mode.omega, rel=1e-5)


@pytest.mark.parametrize("of", ["proportional", "any"])
def test_speed(of: str) -> None:
    """K16: η² tr Σ/(S(1−β²)) for any Σ and any λ, against the recursion's covariance; its error is O(ηh)."""
    sigma = SIGMA2 * HESSIAN if of == "proportional" else any_noise()
    errors = []
    for eta in (ETA, ETA / 2):
        _, law = chain(sigma, eta)
        step = eta**2 * np.trace(law[DIM:, DIM:])
        speed = sgd.speed(np.zeros(1), **{**SETTING, "eta": eta}, gradient_variance=[np.trace(sigma)])
        errors.append(speed / step - 1)
        along = np.einsum("ij,ik,kj->j", BASIS, sigma, BASIS)
        exact = sgd.speed(RHO, **{**SETTING, "eta": eta}, gradient_variance=along, form="discrete")
        assert exact == pytest.approx(step, rel=1e-9)
    assert abs(errors[0]) < 0.05 and 1.8 < errors[0] / errors[1] < 2.2


def test_displacement_after_n_steps() -> None:
    """K17 with ηk: near the recursion's for high momentum; with k in its place, as printed, far off."""
    options = {**SETTING, "eta": 0.01, "beta": 0.95, "noise": SIGMA2}
    near = sgd.displacement(RHO, 200, form="discrete", **options)
    assert sgd.displacement(RHO, 200, form="riemann", **options) == pytest.approx(near, rel=0.02)
    n = 3000
    exact = sgd.displacement(RHO, n, form="discrete", **options)
    printed = n * RHO.sum()
    for k in range(1, n):
        correlations = [float(sgd.Mode(r + DECAY, eta=0.01, beta=0.95).autocorrelation(float(k))) for r in RHO]
        printed += 2 * (n - k) * RHO @ correlations
    printed *= 0.01**2 * SIGMA2 / (BATCH * (1 - 0.95**2))
    assert abs(printed / exact - 1) > 0.5


def test_correlations_of_velocities_integrate_to_zero_in_every_regime() -> None:
    """K17 (correction): overdamped, too, C_l changes sign, once, at artanh(α/γ)/α."""
    for h in (0.05, 0.23, 2.0):
        mode = sgd.Mode(h, eta=ETA, beta=BETA)
        total, _ = quad(lambda t, m=mode: float(m.autocorrelation(t)), 0, 400, limit=2000, epsabs=1e-11)
        assert abs(total) < 1e-8
    mode = sgd.Mode(0.05, eta=ETA, beta=BETA)
    alpha = np.sqrt(mode.gamma**2 - mode.omega**2)
    zero = scipy.optimize.brentq(lambda t: float(mode.autocorrelation(t)), 1e-6, 20)
    assert mode.regime == "overdamped" and zero == pytest.approx(np.arctanh(alpha / mode.gamma) / alpha, rel=1e-9)
    assert np.all(mode.autocorrelation(np.linspace(1.001 * zero, 300, 2000)) < 0)


def test_defects_of_the_riemann_sum() -> None:
    """K17 (correction): x coth x in a flat direction, a spurious slope (x/3)E|δ|² in a curved one; neither in K17c."""
    for beta, n in ((0.0, 10**4), (0.9, 10**4)):
        x = (1 - beta) / (1 + beta)
        options = {"eta": 0.1, "beta": beta, "batch": 1, "gradient_variance": 1.0}
        flat = [float(sgd.displacement(0.0, n, form=form, **options)) for form in ("riemann", "sde", "discrete")]
        assert flat[0] / flat[2] == pytest.approx(x / np.tanh(x), rel=1e-3)
        assert flat[1] / flat[2] == pytest.approx(1.0, rel=1e-3)
        ends = np.array([20_000, 40_000])
        displacements = {form: sgd.displacement(0.01, ends, form=form, **options) for form in ("riemann", "sde")}
        slopes = {form: np.ptp(values) / 20_000 for form, values in displacements.items()}
        assert slopes["riemann"] / sgd.speed(0.01, **options) == pytest.approx(x / 3, rel=0.07)
        assert slopes["sde"] < 1e-9
    for beta, ratio in ((0.0, 0.57), (0.5, 0.81), (0.9, 0.965), (0.99, 0.996)):  # and what K17c is not free of
        options = {"eta": 1e-3, "beta": beta, "batch": 1, "noise": 1.0}
        first = sgd.displacement(1.0, 1, **options) / sgd.displacement(1.0, 1, form="discrete", **options)
        assert first == pytest.approx(ratio, abs=0.006)
    for beta in (0.0, 0.9, 0.99):
        options = {"eta": 1.0, "beta": beta, "batch": 1, "noise": 1.0}
        last = sgd.displacement(1.0, 10**5, **options) / sgd.displacement(1.0, 10**5, form="discrete", **options)
        assert last == pytest.approx(1 - 1 / (2 * (1 + beta)), rel=1e-6)


def test_exponent_of_a_power_law_spectrum() -> None:
    """K1, K17 (correction): c ≈ 1/a in a window; 1/a + 1 − b for Σ ∝ ρ^b, 1/a < b < 1 + 1/a; 2/a before friction."""
    rho = np.arange(1, 4001.0) ** -2.0
    n = np.unique(np.geomspace(300, 30_000, 12).astype(int))
    options = {"eta": 0.1, "beta": 0.9, "batch": 1, "form": "discrete"}

    def fitted(n: np.ndarray, **more: object) -> float:
        return sgd.exponent(n, sgd.displacement(rho, n, **{**options, **more}))

    assert fitted(n, noise=1.0) == pytest.approx(0.5, abs=0.03)
    assert fitted(n, gradient_variance=rho**0.7) == pytest.approx(0.8, abs=0.04)
    assert fitted(n, gradient_variance=rho**0.3) == pytest.approx(1.0, abs=0.05)  # not 1.2: flat modes outweigh
    assert fitted(n, gradient_variance=rho**2.0) == pytest.approx(0.0, abs=0.03)  # not −0.5: all is saturated
    assert fitted(n, noise=1.0, decay=0.01) < 0.1
    early = np.unique(np.geomspace(30, 1000, 12).astype(int))
    assert fitted(early, noise=1.0, beta=0.99999) == pytest.approx(1.0, abs=0.06)


def test_distances_do_not_determine_the_spectrum() -> None:
    """Nine spikes match a smooth spectrum at all times; so, roughly, does one without any noise in its middle."""
    n = np.unique(np.geomspace(1, 5000, 60).astype(int))
    curvatures = np.geomspace(1e-3, 40, 241)
    walk = {"eta": 0.05, "beta": 0.9, "batch": 1, "form": "discrete", "gradient_variance": np.ones(1)}
    each = np.stack([sgd.displacement(np.array([h]), n, **walk) for h in curvatures], axis=1)
    noise = np.exp(-0.5 * (np.log(curvatures) / 1.5) ** 2)
    curve = each @ noise

    def missed(indices: np.ndarray) -> float:
        parts = each[:, indices] / curve[:, None]
        weights, _ = scipy.optimize.nnls(parts, np.ones(len(n)))
        return float(np.max(np.abs(parts @ weights - 1)))

    assert missed(np.linspace(0, 240, 11).astype(int)[1:-1]) < 0.02
    hole = (curvatures >= 0.25) & (curvatures <= 4)
    assert noise[hole].sum() > 0.6 * noise.sum()
    assert missed(np.flatnonzero(~hole)) < 0.2


# -------------------------------------------------------------------------------------- general Ornstein–Uhlenbeck

GENERAL = np.array([[1.0, 2.0, 0.0], [-1.0, 0.8, 0.3], [0.2, 0.0, 0.6]])
NOISE = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 0.2]])
START, MIDDLE, HEAT = np.array([1.0, -1.0, 0.5]), np.array([0.2, 0.1, -0.3]), 2.5


def test_solution_on_one_path() -> None:
    """K18, K19: Euler's scheme and the integral with the same dW meet with the step; the sampler has its moments."""
    gaps = []
    half = np.linalg.cholesky(2 * NOISE / HEAT)
    for count in (2000, 8000):
        dt = 1.0 / count
        dw = np.random.default_rng(1).normal(size=(8000, 3)) * np.sqrt(1 / 8000)
        dw = dw.reshape(count, -1, 3).sum(1) @ half.T
        x = START.copy()
        for kick in dw:
            x = x + GENERAL @ (MIDDLE - x) * dt + kick
        late = scipy.linalg.expm(-GENERAL)
        value = late @ START + (np.eye(3) - late) @ MIDDLE
        step, memory = scipy.linalg.expm(-GENERAL * dt), np.zeros(3)
        for kick in dw:
            memory = step @ (memory + kick)
        gaps.append(np.linalg.norm(x - value - memory))
    assert gaps[1] < 0.4 * gaps[0] < 0.01
    process = sgd.OrnsteinUhlenbeck(GENERAL, NOISE, kappa=HEAT, centre=MIDDLE)
    paths = process.sample(1.0, 1, start=START, paths=20_000, seed=3)[:, 1]
    spread = integrated(GENERAL, NOISE, 1.0, 1.0) / HEAT
    assert np.all(np.abs(paths.mean(0) - value) < 4 * np.sqrt(np.diag(spread) / 20_000))
    np.testing.assert_allclose(np.cov(paths.T), spread, atol=4 * spread.max() / np.sqrt(10_000))


def test_mean_of_the_solution() -> None:
    """K20 against an integration of its equation."""
    process = sgd.OrnsteinUhlenbeck(GENERAL, NOISE, kappa=HEAT, centre=MIDDLE)
    run = solve_ivp(lambda _, x: GENERAL @ (MIDDLE - x), (0, 2.3), START, rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(process.mean(2.3, START), run, atol=1e-8)


def test_covariance_as_an_integral() -> None:
    """K21, K22: the library against adaptive quadrature; K25: T ≤ S multiplies the variance by e^{Aᵀ(T−S)}."""
    for t, s in ((0.7, 1.9), (1.9, 0.7), (1.3, 1.3)):
        covariance = sgd.covariance(GENERAL, NOISE, HEAT, t, s)
        np.testing.assert_allclose(covariance, integrated(GENERAL, NOISE, t, s) / HEAT, atol=1e-10)
    variance = sgd.covariance(GENERAL, NOISE, HEAT, 0.7, 0.7)
    late = scipy.linalg.expm(GENERAL.T * (0.7 - 1.9))
    np.testing.assert_allclose(sgd.covariance(GENERAL, NOISE, HEAT, 0.7, 1.9), variance @ late, atol=1e-12)


def test_lyapunov_equation_and_the_variance_from_it() -> None:
    """K23, K24, K30: B from Kronecker products; (B − e^{−AT}Be^{−AᵀT})/κ is the covariance at T."""
    eye = np.eye(3)
    b = np.linalg.solve(np.kron(GENERAL, eye) + np.kron(eye, GENERAL), (2 * NOISE).ravel()).reshape(3, 3)
    process = sgd.OrnsteinUhlenbeck(GENERAL, NOISE, kappa=HEAT, centre=MIDDLE)
    np.testing.assert_allclose(process.spread * HEAT, b, rtol=1e-9)
    late = scipy.linalg.expm(-GENERAL * 0.9)
    variance = (b - late @ b @ late.T) / HEAT
    np.testing.assert_allclose(sgd.covariance(GENERAL, NOISE, HEAT, 0.9, 0.9), variance, atol=1e-12)


def test_split_of_the_drift() -> None:
    """K26: A = (D + Q)U with U⁻¹ = B; then U⁻¹Aᵀ = D − Q, for A that is not symmetric."""
    q, u = sgd.decompose(GENERAL, NOISE)
    np.testing.assert_allclose((NOISE + q) @ u, GENERAL, atol=1e-9)
    np.testing.assert_allclose(np.linalg.solve(u, GENERAL.T), NOISE - q, atol=1e-9)
    b = integrated(GENERAL, NOISE, 80.0, 80.0)
    np.testing.assert_allclose(np.linalg.inv(u), b, atol=1e-7)


def test_equation_of_the_skew_part() -> None:
    """K27: QA + AQ = AD − DA for a symmetric A; in general AQ + QAᵀ = AD − DAᵀ, which fixes Q also for SGD."""
    q, _ = sgd.decompose(TILTED, ANISOTROPIC)
    np.testing.assert_allclose(q @ TILTED + TILTED @ q, TILTED @ ANISOTROPIC - ANISOTROPIC @ TILTED, atol=1e-10)
    for a, d in ((GENERAL, NOISE), (drift_matrix(), noise_matrix(SIGMA2 * HESSIAN))):
        q, _ = sgd.decompose(a, d)
        np.testing.assert_allclose(scipy.linalg.solve_sylvester(a, a.T, a @ d - d @ a.T), q, atol=1e-8)
    q, _ = sgd.decompose(GENERAL, NOISE)
    symmetric_form = q @ GENERAL + GENERAL @ q - (GENERAL @ NOISE - NOISE @ GENERAL)
    assert np.abs(symmetric_form).max() > 0.05, "K27 itself needs A = Aᵀ"


def test_skew_part_in_eigencoordinates() -> None:
    """K28, K29: Q̃_ij = D̃_ij(λ_i − λ_j)/(λ_i + λ_j) with A's eigenvalues λ; U = (D + Q)⁻¹A."""
    half = np.random.default_rng(9).normal(size=(3, 3))
    a, d = half @ half.T + np.eye(3), NOISE + 0.1 * np.eye(3)
    values, vectors = np.linalg.eigh(a)
    inner = vectors.T @ d @ vectors * np.subtract.outer(values, values) / np.add.outer(values, values)
    by_hand = vectors @ inner @ vectors.T
    q, u = sgd.decompose(a, d)
    np.testing.assert_allclose(q, by_hand, atol=1e-10)
    np.testing.assert_allclose(u, np.linalg.solve(d + by_hand, a), atol=1e-9)


def test_law_at_a_time_and_for_ever() -> None:
    """K30, K31, K32 by Monte Carlo: 40,000 exact paths of two steps, from a point and from the stationary law."""
    process = sgd.OrnsteinUhlenbeck(TILTED, ANISOTROPIC, kappa=1.0)
    count = 40_000
    paths = process.sample(0.3, 2, start=[1.0, 0.0], paths=count, seed=5)
    late = scipy.linalg.expm(-TILTED * 0.6)
    b = np.linalg.inv(process.curvature)
    spread = b - late @ b @ late.T
    np.testing.assert_allclose(np.cov(paths[:, 2].T), spread, atol=4 * 1.5 * spread.max() / np.sqrt(count))
    rest = process.sample(0.3, 1, paths=count, seed=6)
    for k in (0, 1):
        np.testing.assert_allclose(np.cov(rest[:, k].T), b, atol=4 * 1.5 * b.max() / np.sqrt(count))
    lagged = np.einsum("pi,pj->ij", rest[:, 0], rest[:, 1]) / count
    np.testing.assert_allclose(lagged, b @ scipy.linalg.expm(-TILTED.T * 0.3), atol=4 * b.max() / np.sqrt(count))
    np.testing.assert_allclose(lagged, sgd.covariance(TILTED, ANISOTROPIC, 1.0, 2.0, 2.3, stationary=True), atol=0.05)


# ------------------------------------------------------------------------------------------- the variational picture


def adjoint(weight: sympy.Expr | int) -> sympy.Expr:
    """Return L†p − ∇·(∇Φ p + weight·∇·(Dp)) in two dimensions, with L† from the Itô generator by parts."""
    x, y = sympy.symbols("x y")
    kappa = sympy.symbols("kappa", positive=True)
    p, phi, f = (sympy.Function(name)(x, y) for name in ("p", "phi", "f"))
    d = [[sympy.Function("d11")(x, y), sympy.Function("d12")(x, y)], [None, sympy.Function("d22")(x, y)]]
    d[1][0] = d[0][1]
    axes = (x, y)
    generator = -sum(phi.diff(z) * f.diff(z) for z in axes)
    generator += sum(d[i][j] * f.diff(axes[i], axes[j]) for i in (0, 1) for j in (0, 1)) / kappa
    # integrating p·Lf by parts until f stands bare is Euler's operator with respect to f
    by_parts = sympy.euler_equations(p * generator, [f], [x, y])[0].lhs
    flux = [phi.diff(axes[i]) * p + weight * sum((d[i][j] * p).diff(axes[j]) for j in (0, 1)) for i in (0, 1)]
    return sympy.simplify(by_parts - flux[0].diff(x) - flux[1].diff(y))


def test_fokker_planck_with_any_diffusion() -> None:
    """K33, K34, K35: ∂_t p = ∇·(∇Φ p + κ⁻¹∇·(Dp)) is the adjoint of the Itô generator; without κ⁻¹ it is not."""
    assert adjoint(1 / sympy.symbols("kappa", positive=True)) == 0
    assert adjoint(1) != 0


def test_detailed_balance_and_its_absence() -> None:
    """K36: D = I in a potential has J ≡ 0; Fig. 3 has J ≢ 0, and yet ∇·J = 0."""
    here, step = np.array([0.6, -0.3]), 1e-5
    reversible = sgd.OrnsteinUhlenbeck(TILTED, np.eye(2))
    moving = sgd.OrnsteinUhlenbeck(TILTED, ANISOTROPIC)
    assert np.abs(reversible.current(here)).max() < 1e-12 < 1e-2 < np.abs(moving.current(here)).max()
    np.testing.assert_allclose(moving.current(here), current_by_differences(moving, here), atol=1e-8)
    out = sum(
        (current_by_differences(moving, here + e) - current_by_differences(moving, here - e)) @ e
        for e in 1e2 * step * np.eye(2)
    )
    assert abs(out) / (2 * (1e2 * step) ** 2) < 1e-4


def test_gibbs_law_of_isotropic_noise() -> None:
    """K37: U = A and Q = 0 for D = I; and e^{−κΦ} is stationary in one dimension for a quartic Φ."""
    q, u = sgd.decompose(TILTED, np.eye(2))
    np.testing.assert_allclose(u, TILTED, atol=1e-12)
    np.testing.assert_allclose(q, 0, atol=1e-12)
    x = sympy.symbols("x")
    kappa = sympy.symbols("kappa", positive=True)
    phi = x**4 / 4 - x**2 / 2 + x / 5
    p = sympy.exp(-kappa * phi)
    assert sympy.simplify(phi.diff(x) * p + p.diff(x) / kappa) == 0


def test_free_energy_is_a_divergence() -> None:
    """K38: F = E_pΦ − H(p)/κ = KL(p‖p_ss)/κ − log(Z)/κ, for a mixture in a quartic potential, by quadrature."""
    kappa = 2.0

    def phi(x: float) -> float:
        return x**4 / 4 - x**2 / 2 + x / 5

    def p(x: float) -> float:
        return (0.3 * np.sqrt(2) * np.exp(-2 * (x - 1) ** 2) + 0.7 * np.exp(-((x + 1) ** 2))) / np.sqrt(np.pi)

    z = quad(lambda x: np.exp(-kappa * phi(x)), -6, 6)[0]
    energy = quad(lambda x: p(x) * phi(x), -6, 6)[0] + quad(lambda x: p(x) * np.log(p(x)), -6, 6)[0] / kappa
    divergence = quad(lambda x: p(x) * (np.log(p(x)) + kappa * phi(x) + np.log(z)), -6, 6)[0]
    assert energy == pytest.approx(divergence / kappa - np.log(z) / kappa, rel=1e-9)
    assert divergence > 0.05


def test_wasserstein_distance_and_the_half_in_its_flow() -> None:
    """K39: couplings by an assignment problem; and with ½W₂² (not W₂²) one step goes at the process's own speed."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.normal(0, 1, 400)), rng.normal(1.5, 2.0, 400)
    cost = np.subtract.outer(x, y) ** 2
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    assert cost[rows, columns].mean() == pytest.approx(np.mean((x - np.sort(y)) ** 2), rel=1e-12)
    assert cost[rows, columns].mean() == pytest.approx(1.5**2 + 1.0, rel=0.25)
    # Gaussians in Φ = ½ax²: F = ½a(m² + s²) − log(s)/κ, W₂² = (m − m₀)² + (s − s₀)²
    a, kappa, m0, s0, h = 1.3, 2.0, 1.0, 0.4, 1e-4
    for weight, speed in ((0.5, 1.0), (1.0, 0.5)):
        # where h·∂F + weight·∂W₂² = 0: for the mean a line, for the width a parabola
        mean = 2 * weight * m0 / (2 * weight + h * a)
        width = max(np.roots([2 * weight + h * a, -2 * weight * s0, -h / kappa]))
        process = sgd.OrnsteinUhlenbeck([[a]], [[1.0]], kappa=kappa)
        later = process.mean(h, [m0])[0]
        assert (mean - m0) / (later - m0) == pytest.approx(speed, rel=1e-3)
        wider = np.sqrt(np.exp(-2 * a * h) * s0**2 + sgd.covariance([[a]], [[1.0]], kappa, h, h)[0, 0])
        assert (width - s0) / (wider - s0) == pytest.approx(speed, rel=1e-2)


def test_current_of_a_process_built_from_its_modified_loss() -> None:
    """K40, K41: for any Ψ and D(x), drift −(D + Q)∇Ψ + κ⁻¹∇·D leaves e^{−κΨ} stationary, with j = −Q∇Ψ."""
    x, y = sympy.symbols("x y")
    kappa, c = sympy.symbols("kappa c", positive=True)
    psi = sympy.Function("psi")(x, y)
    d = [[sympy.Function("a")(x, y), sympy.Function("b")(x, y)], [None, sympy.Function("e")(x, y)]]
    d[1][0] = d[0][1]
    axes = (x, y)
    gradient = [psi.diff(z) for z in axes]
    spread = [sum(d[i][k].diff(axes[k]) for k in (0, 1)) for i in (0, 1)]
    turned = [c * gradient[1], -c * gradient[0]]  # Q∇Ψ
    drift = [-sum(d[i][k] * gradient[k] for k in (0, 1)) - turned[i] + spread[i] / kappa for i in (0, 1)]
    j = [drift[i] - spread[i] / kappa + sum(d[i][k] * gradient[k] for k in (0, 1)) for i in (0, 1)]
    assert [sympy.simplify(j[i] + turned[i]) for i in (0, 1)] == [0, 0]
    p = sympy.exp(-kappa * psi)
    flux = [drift[i] * p - sum((d[i][k] * p).diff(axes[k]) for k in (0, 1)) / kappa for i in (0, 1)]
    assert sympy.simplify(flux[0] - j[0] * p) == 0
    assert sympy.simplify(flux[0].diff(x) + flux[1].diff(y)) == 0
    assert sympy.simplify(j[0].diff(x) + j[1].diff(y)) == 0, "divergence-free, which is not conservative"
    assert sympy.simplify(j[0].diff(y) - j[1].diff(x)) != 0


def test_free_energy_falls_without_a_divergence_free_current() -> None:
    """K41 (correction): KL to the stationary law falls under any Markov generator, whatever its currents."""
    rng = np.random.default_rng(2)
    rates = rng.exponential(size=(6, 6))
    generator = rates - np.diag(rates.sum(1))
    rest = scipy.linalg.null_space(generator.T)[:, 0]
    rest = rest / rest.sum()
    p = rng.dirichlet(np.ones(6))
    later = [p @ scipy.linalg.expm(generator * t) for t in np.linspace(0, 1, 9)]
    values = [np.sum(q * np.log(q / rest)) for q in later]
    assert np.all(np.diff(values) < 0)
    flow = rest[:, None] * generator
    assert np.abs(flow - flow.T).max() > 1e-2, "no detailed balance here"


def test_quadratic_potentials_and_their_current() -> None:
    """K42, K43, K44: Fig. 3: drift −∇Φ, density e^{−κΨ}, flow −QU(x − μ); ∇·j = 0 and j ⊥ ∇Ψ."""
    centre, kappa = np.array([-0.04375, -0.00625]), 2e4
    process = sgd.OrnsteinUhlenbeck(TILTED, ANISOTROPIC, kappa=kappa, centre=centre)
    np.testing.assert_allclose(np.linalg.inv(process.curvature), [[2.1625, 0.9375], [0.9375, 0.9625]], rtol=1e-9)
    potential = ln.losses.Quadratic(TILTED, minimum=centre)
    here, step = np.array([0.03, 0.02]), 1e-6
    score = [
        (np.log(process.density(here + e)) - np.log(process.density(here - e))) / (2 * step) for e in step * np.eye(2)
    ]
    j = -potential.gradient(here) - ANISOTROPIC @ np.array(score) / kappa
    np.testing.assert_allclose(process.flow(here), j, atol=1e-6)
    np.testing.assert_allclose(score, -kappa * process.curvature @ (here - centre), rtol=1e-5)
    assert abs(j @ (process.curvature @ (here - centre))) < 1e-6 * np.linalg.norm(j)
    assert abs(np.trace(process.skew @ process.curvature)) < 1e-10
    assert process.circulation[0, 1] == pytest.approx(2 * 0.9 / kappa), "counter-clockwise"
    sizes = np.linalg.norm(process.flow(here)) * np.linalg.norm(potential.gradient(here))
    assert abs(process.flow(here) @ potential.gradient(here)) > 0.03 * sizes, "not along level sets of Φ"


def test_loss_with_decay() -> None:
    """K48: Φ = ½(θ−μ)ᵀ(H+λI)(θ−μ) is L + λ|θ|²/2 up to a constant, around the ridge minimum."""
    loss = ln.losses.Quadratic(HESSIAN, minimum=CENTRE)
    ridge = np.linalg.solve(HESSIAN + DECAY * IDENTITY, HESSIAN @ CENTRE)

    def total(theta: np.ndarray) -> float:
        return float(loss.value(theta)) + DECAY / 2 * theta @ theta

    for theta in RNG.normal(size=(4, DIM)):
        form = (theta - ridge) @ (HESSIAN + DECAY * IDENTITY) @ (theta - ridge) / 2
        assert total(theta) - total(ridge) == pytest.approx(form, rel=1e-9)


# Beyond the numbered equations


def test_equipartition_and_its_offset() -> None:
    """G.3: mean L_λ is mean kinetic energy plus min L_λ; the printed (λ/2)|μ|² is not that offset."""
    _, law = chain(SIGMA2 * HESSIAN)
    potential = np.trace((HESSIAN + DECAY * IDENTITY) @ law[:DIM, :DIM]) / 2
    assert potential == pytest.approx(MASS * np.trace(law[DIM:, DIM:]) / 2, rel=1e-9)
    assert potential == pytest.approx(ETA * SIGMA2 * RHO.sum() / (4 * BATCH * (1 - BETA)), rel=0.06)
    ridge = np.linalg.solve(HESSIAN + DECAY * IDENTITY, HESSIAN @ CENTRE)
    loss = ln.losses.Quadratic(HESSIAN, minimum=CENTRE)
    offset = float(loss.value(ridge)) + DECAY / 2 * ridge @ ridge
    assert abs(offset / (DECAY / 2 * ridge @ ridge) - 1) > 0.05


def test_curved_noise_of_a_regression_solves_its_own_equation() -> None:
    """§7: Σ → Σ(μ) + E[xxᵀPxxᵀ] − HPH with independent batches, against SGD on the data."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(40, 2)) * [1.0, 0.5], rng.normal(size=40)
    hessian = x.T @ x / 40
    least = np.linalg.lstsq(x, y, rcond=None)[0]
    gradients = (x @ least - y)[:, None] * x
    eta, beta, size = 0.2, 0.5, 2
    stiff, kick = hessian, np.vstack([eta * np.eye(2), np.eye(2)])
    step = np.block([[np.eye(2) - eta * stiff, eta * beta * np.eye(2)], [-stiff, beta * np.eye(2)]])
    plain = p = scipy.linalg.solve_discrete_lyapunov(step, kick @ (gradients.T @ gradients / 40) @ kick.T / size)
    for _ in range(60):
        weights = np.einsum("ni,ij,nj->n", x, p[:2, :2], x)
        sigma = gradients.T @ gradients / 40 + x.T @ (weights[:, None] * x) / 40 - hessian @ p[:2, :2] @ hessian
        p = scipy.linalg.solve_discrete_lyapunov(step, kick @ sigma @ kick.T / size)
    paths = 4000
    theta, v = np.tile(least, (paths, 1)), np.zeros((paths, 2))
    squares = []
    for k in range(260):
        rows = rng.integers(40, size=(paths, size))
        left = np.einsum("psi,pi->ps", x[rows], theta) - y[rows]
        v = beta * v - np.einsum("ps,psi->pi", left, x[rows]) / size
        theta = theta + eta * v
        if k >= 60 and k % 10 == 0:
            squares.append(np.sum((theta - least) ** 2))
    measured = np.mean(squares) / paths
    assert measured == pytest.approx(np.trace(p[:2, :2]), rel=0.04)
    assert measured > 1.1 * np.trace(plain[:2, :2])


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
def test_oscillation_window_and_orders(beta: float) -> None:
    """(1−√β)² < ηh < (1+√β)² for the recursion; frequencies are off by O(ηh), slow rates by O(η²)."""
    for steep in (0.5, 0.999, 1.001, 5.0):
        h = steep * (1 - np.sqrt(beta)) ** 2
        if h < (1 + np.sqrt(beta)) ** 2 and beta > 0:
            roots = np.roots([1, -(1 + beta - h), beta])
            assert bool(np.abs(roots.imag).max() > 0) == (steep > 1)
    errors = []
    for eta in (0.02, 0.01):
        h = 0.1 * (1 - beta) ** 2 / (2 * 0.02 * (1 + beta))  # overdamped
        mode = sgd.Mode(h, eta=eta, beta=beta)
        slow = mode.omega**2 / (mode.gamma + np.sqrt(mode.gamma**2 - mode.omega**2))
        errors.append(abs(-np.log(np.max(np.roots([1, -(1 + beta - eta * h), beta]).real)) / eta / slow - 1))
    assert 3.3 < errors[0] / errors[1] < 4.7 if beta > 0 else errors[0] / errors[1] > 1.9


@pytest.mark.parametrize("bath", ["SGD's", "of heat", "crossed"])
def test_a_film_of_positions_has_a_direction_only_if_noise_and_hessian_do_not_commute(bath: str) -> None:
    """The current of K15 turns in a heat bath, too (Σ ∝ I): as reversal flips v, it breaks no detailed balance."""
    sigma = {"SGD's": SIGMA2 * HESSIAN, "of heat": IDENTITY, "crossed": any_noise()}[bath]
    process = sgd.regression(HESSIAN, **SETTING, gradient_covariance=sigma)
    step, law = chain(sigma)  # the recursion and scipy's Lyapunov equation, without the library
    continuous = sgd.covariance(process.drift, process.diffusion, process.kappa, 0.0, 1.5, stationary=True)
    for later in (continuous[:DIM, :DIM], (np.linalg.matrix_power(step, 9) @ law)[:DIM, :DIM]):
        asymmetry = np.abs(later - later.T).max() / np.abs(later).max()
        assert asymmetry > 0.02 if bath == "crossed" else asymmetry < 1e-9
    state = np.array([0.3, -0.1, 0.2, 0.5, 0.4, -0.9])
    assert np.linalg.norm(process.flow(state)) > 1  # while it turns in all three
    if bath != "crossed":
        lagged = step @ law
        swept = BASIS.T @ (lagged[DIM:, :DIM] - lagged[:DIM, DIM:]) @ BASIS
        assert np.all(np.diag(swept) < 0)
