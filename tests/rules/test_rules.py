"""The optimal step: against arbitrary precision, matrix functions, the minimised sum, and its own limits."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lossnav as ln
from lossnav import rules
from lossnav.trajectory import modes


def exact_step(h, g, eta_k, gamma, dt):
    """Eq. 6 for one mode with 60 digits, in the naive form that loses them in float64."""
    with mpmath.workdps(60):
        h, g, eta_k, gamma, dt = map(mpmath.mpf, (h, g, eta_k, gamma, dt))
        rate = mpmath.sqrt(gamma**2 / 4 + eta_k * h) - gamma / 2
        return float(-(1 - mpmath.exp(-rate * dt)) / h * g)


@settings(deadline=None, max_examples=300)
@given(
    h=st.floats(-14, 6).map(lambda e: 10.0**e),
    gamma=st.floats(-8, 8).map(lambda e: 10.0**e),
    dt=st.floats(-6, 6).map(lambda e: 10.0**e),
)
def test_machine_precision_over_twenty_decades(h, gamma, dt):
    step = ln.update(ln.Objective(eta=0.7, k=1.3, gamma=gamma), [2.0], [[h]], dt)[0]
    assert step == pytest.approx(exact_step(h, 2.0, 0.7 * 1.3, gamma, dt), rel=3e-14)


def random_problem(seed, dim):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, dim, dim))
    return rng, rng.normal(size=dim), a @ a.T + 0.2 * np.eye(dim), b @ b.T + 0.2 * np.eye(dim)


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("gamma", [0.0, 0.4, 9.0])
def test_is_the_matrix_function_of_the_nonsymmetric_product(dim, gamma):
    _, g, hessian, metric = random_problem(dim, dim)
    product = np.linalg.solve(metric, hessian)
    root = scipy.linalg.sqrtm(gamma**2 / 4 * np.eye(dim) + 0.6 * product)
    shift = scipy.linalg.expm(-(root - gamma / 2 * np.eye(dim)) * 0.8)
    expected = -(np.eye(dim) - shift) @ np.linalg.solve(hessian, g)
    step = ln.update(ln.Objective(eta=0.3, k=2.0, gamma=gamma, metric=metric), g, hessian, 0.8)
    assert np.allclose(step, expected.real, rtol=1e-9, atol=1e-11)


def test_minimises_the_discrete_sum():
    """The exact minimiser of Σρⁿ{|Δθ|²_G/2ηΔt + kΔt·L} tends to update() with first order in Δt (theory §1)."""
    _, g, hessian, metric = random_problem(7, 3)
    objective = ln.Objective(eta=0.5, k=1.5, gamma=0.6, metric=metric)
    target = ln.update(objective, g, hessian, 0.5)
    errors = []
    for per_unit in (40, 80, 160):
        dt, count = 1 / per_unit, 30 * per_unit
        weights = np.exp(-0.6 * dt * np.arange(count + 1))
        bands = np.zeros((6, 3 * count))  # normal equations of the sum, unknowns θ₁ … θ_N, free end
        right = np.zeros((count, 3))
        for n in range(count):
            block = (weights[n] + (weights[n + 1] if n + 1 < count else 0)) * metric / (0.5 * dt)
            block = block + weights[n + 1] * 1.5 * dt * hessian
            right[n] = -weights[n + 1] * 1.5 * dt * g
            for j in range(3):
                bands[: 3 - j, 3 * n + j] += block[j:, j]
                if n + 1 < count:
                    bands[3 - j : 6 - j, 3 * n + j] += -weights[n + 1] * metric[:, j] / (0.5 * dt)
        path = scipy.linalg.solveh_banded(bands, right.ravel(), lower=True).reshape(count, 3)
        errors.append(np.max(np.abs(path[per_unit // 2 - 1] - target)))
    assert errors[-1] < 5e-3
    assert np.allclose(np.log2(np.divide(errors[:-1], errors[1:])), 1.0, atol=0.1)


@pytest.mark.parametrize("gamma", [0.0, 1.0, 10.0])
def test_semigroup_two_steps_are_one(gamma):
    """On one quadratic, half a step, a new gradient, and half a step more is the whole step (theory §2)."""
    _, _, hessian, metric = random_problem(3, 4)
    loss = ln.losses.Quadratic(hessian, minimum=np.arange(4.0))
    objective = ln.Objective(gamma=gamma, metric=metric)
    start = np.ones(4)
    middle = start + ln.update(objective, loss.gradient(start), hessian, 0.3)
    end = middle + ln.update(objective, loss.gradient(middle), hessian, 0.9)
    whole = start + ln.update(objective, loss.gradient(start), hessian, 1.2)
    assert np.allclose(end, whole, rtol=1e-12, atol=1e-12)


def orders(errors, factor):
    return np.log(np.divide(errors[:-1], errors[1:])) / np.log(factor)


def test_limits_with_their_orders():
    _, g, hessian, metric = random_problem(11, 3)
    make = lambda gamma: ln.Objective(eta=0.5, k=2.0, gamma=gamma, metric=metric)

    def gap(rule, gamma, dt):
        exact = ln.update(make(gamma), g, hessian, dt)
        return np.linalg.norm(exact - rule(make(gamma), g, hessian, dt)) / np.linalg.norm(exact)

    newton = gap(rules.newton, 0.1, 1e4)
    descent = [gap(rules.gradient_descent, gamma, 1e-6) for gamma in (1e2, 2e2, 4e2)]
    ballistic = [gap(rules.ballistic, gamma, 1e-9) for gamma in (4e-3, 2e-3, 1e-3)]
    assert newton < 1e-12
    assert np.allclose(orders(descent, 2), 2, atol=0.02)  # relative error ηkh/γ²
    assert np.allclose(orders(ballistic, 2), 1, atol=0.02)  # relative error O(γ)


def test_literal_shortcuts_of_the_metric_rule_are_wrong():
    """Negative control: (GH)^{−1/2} and G^{−1/2}H^{−1/2} are the ballistic preconditioner only if G and H commute."""
    g, hessian, metric = np.array([1.0, -2.0]), np.array([[5.0, 4.0], [4.0, 5.0]]), np.diag([0.2, 8.0])
    right = rules.ballistic(ln.Objective(metric=metric), g, hessian, 1.0)
    power = lambda m, p: scipy.linalg.fractional_matrix_power(m, p)
    for wrong in (power(metric @ hessian, -0.5), power(metric, -0.5) @ power(hessian, -0.5)):
        assert np.linalg.norm(-wrong @ g - right) > 0.05 * np.linalg.norm(right)
    commuting = metric @ metric + np.eye(2)
    right = rules.ballistic(ln.Objective(metric=metric), g, commuting, 1.0)
    assert np.allclose(-power(metric @ commuting, -0.5) @ g, right)


def test_geometric_mean_is_the_inverse_preconditioner():
    _, g, hessian, metric = random_problem(6, 4)
    root = scipy.linalg.sqrtm(metric)
    inner = scipy.linalg.sqrtm(np.linalg.inv(root) @ hessian @ np.linalg.inv(root))
    mean = root @ inner @ root
    assert np.allclose(rules.ballistic(ln.Objective(metric=metric), g, hessian, 1.0), -np.linalg.solve(mean, g))


def test_edges_of_dt():
    _, g, hessian, _ = random_problem(9, 3)
    objective = ln.Objective(gamma=0.5)
    assert np.all(ln.update(objective, g, hessian, 0.0) == 0.0)
    assert np.allclose(ln.update(objective, g, hessian, math.inf), -np.linalg.solve(hessian, g), rtol=1e-12)
    flat = ln.update(objective, [1.0, 2.0], np.diag([0.0, 1.0]), 0.7)
    assert flat[0] == pytest.approx(-1.0 * 0.7 / 0.5, rel=1e-15)  # h = 0: plain gradient descent, ηkΔt/γ
    step = ln.update(ln.Objective(gamma=0.0), [1e-13, 2.0], np.diag([0.0, 1.0]), math.inf)  # the first is rounding
    assert step[0] == 0.0 and step[1] == pytest.approx(-2.0)
    assert np.array_equal(rules.newton(objective, g, hessian, 0.0), rules.newton(objective, g, hessian))


def test_negative_curvature_runs_away_but_is_optimal():
    step = ln.update(ln.Objective(gamma=1.1), [0.25], [[-0.25]], 2.0)[0]
    assert step == pytest.approx(exact_step(-0.25, 0.25, 1.0, 1.1, 2.0), rel=1e-13)


@settings(deadline=None, max_examples=80)
@given(
    h=st.floats(-3, 3),
    gamma=st.sampled_from([0.0, 0.3, 2.0]),
    horizon=st.floats(0.05, 8.0),
    part=st.floats(0.0, 1.0),
)
def test_finite_horizon_against_an_integrated_equation(h, gamma, horizon, part):
    """Eq. 51's free end: integrate z̈ = γż + g + hz from the optimal speed; at the deadline ż must vanish."""
    objective = ln.Objective(gamma=gamma, horizon=horizon)
    try:
        step = ln.update(objective, [1.0], [[h]], part * horizon)[0]
    except ln.NoMinimiser:
        omega = math.sqrt(-(gamma**2) / 4 - h)
        assert omega * horizon >= math.pi - math.atan2(2 * omega, gamma) - 1e-12
        return
    with mpmath.workdps(30):
        root = mpmath.sqrt(mpmath.mpc(gamma) ** 2 / 4 + h)
        plus, minus = mpmath.mpf(gamma) / 2 + root, mpmath.mpf(gamma) / 2 - root
        assume(abs(h) >= 1e-3 and abs(root) >= 1e-3)  # there this reference is singular; the library's form is not
        start = mpmath.mpf(1) / h  # distance to the stationary point, at −1/h
        ratio = plus * mpmath.exp(plus * horizon) / (minus * mpmath.exp(minus * horizon))
        c_plus = start / (1 - ratio)
        c_minus = start - c_plus
        t = part * horizon
        reference = float(mpmath.re(c_plus * mpmath.exp(plus * t) + c_minus * mpmath.exp(minus * t)) - start)
    assert step == pytest.approx(reference, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ln.update(ln.Objective(), [1.0], [[-1.0]], 1.0), ln.NoMinimiser, "gamma above 2"),
        (lambda: ln.update(ln.Objective(gamma=1.0), [1.0], [[-0.25]], 1.0), ln.NoMinimiser, "eigenvalue -0.25"),
        (lambda: ln.update(ln.Objective(), [1.0, 0.0], np.diag([0.0, 1.0]), 1.0), ln.NoMinimiser, "flat direction"),
        (lambda: ln.update(ln.Objective(gamma=1.1), [1e-20], [[-0.25]], math.inf), ln.NoMinimiser, "runs away"),
        (lambda: ln.update(ln.Objective(), [1.0], [[1.0]], -1.0), ValueError, "dt = -1.0"),
        (lambda: ln.update(ln.Objective(), [1.0], [[1.0]], math.nan), ValueError, "dt = nan"),
        (lambda: ln.update(ln.Objective(horizon=1.0), [1.0], [[1.0]], 2.0), ValueError, "dt = 2.*horizon = 1"),
        (lambda: ln.update(ln.Objective(), [1.0], np.eye(2), 1.0), ValueError, r"^gradient .* must have shape \(2,\)"),
        (lambda: ln.update(ln.Objective(), [[1.0]], np.eye(1), 1.0), ValueError, "gradient has shape"),
        (lambda: ln.update(ln.Objective(), [np.inf], np.eye(1), 1.0), ValueError, "gradient.*finite"),
        (lambda: ln.update(ln.Objective(metric=np.eye(2)), [1.0], np.eye(1), 1.0), ValueError, "metric has shape"),
        (
            lambda: ln.update(ln.Objective(drift=ln.drifts.weight_decay(1.0)), [1.0], np.eye(1), 1.0),
            ValueError,
            "drift is set.*lossnav.solve",
        ),
        (lambda: rules.gradient_descent(ln.Objective(), [1.0], [[1.0]], 1.0), ValueError, "gamma = 0"),
        (lambda: rules.ballistic(ln.Objective(), [1.0], [[-1.0]], 1.0), ln.NoMinimiser, "eigenvalue -1"),
        (lambda: rules.newton(ln.Objective(), [1.0], [[0.0]]), ln.NoMinimiser, "eigenvalue 0"),
        (lambda: rules.ballistic(ln.Objective(), [0.0], [[0.0]], 1.0), ln.NoMinimiser, "eigenvalue 0"),
        (lambda: ln.update(ln.Objective(gamma=2.0), [1.0], [[-1.0]], 1.0), ln.NoMinimiser, "eigenvalue -1"),
        (lambda: ln.update(ln.Objective(eta=1e-200), [0.0], [[-1e-200]], 1.0), ln.NoMinimiser, "eigenvalue -1e-200"),
        (lambda: ln.update(ln.Objective(), [1.0, 0.0], np.zeros((2, 2)), 1.0), ln.NoMinimiser, "flat direction"),
    ],
)
def test_what_does_not_exist_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("gamma", [1e-200, 1e-3, 1e200])
def test_on_flat_ground_the_step_is_gradient_descent_for_every_positive_discount(gamma):
    """Also where γ² is 0 or inf in floating-point numbers."""
    objective = ln.Objective(gamma=gamma)
    np.testing.assert_allclose(ln.update(objective, [2.0], [[0.0]], 0.5), [-1.0 / gamma], rtol=1e-12)
    np.testing.assert_allclose(ln.rules.rates(ln.Objective(gamma=1e200), [[1e100]]), [1e-100], rtol=1e-12)


def test_rates_are_the_roots_of_the_characteristic_polynomial():
    _, _, hessian, metric = random_problem(13, 4)
    objective = ln.Objective(eta=0.4, k=1.7, gamma=0.9, metric=metric)
    curvature = np.sort(np.linalg.eigvals(np.linalg.solve(metric, hessian)).real)
    for rate, h in zip(rules.rates(objective, hessian), curvature, strict=True):
        roots = np.roots([1.0, -0.9, -0.4 * 1.7 * h])  # Eq. 74
        assert -rate == pytest.approx(roots.min(), rel=1e-9)


def test_one_eigendecomposition_is_all_that_is_cubic(monkeypatch):
    """D = 1000 with a metric: one ``eigh(H, G)``; another factorisation, or a product with its modes, shows."""
    dim = 1000
    rng = np.random.default_rng(0)
    metric = np.diag(rng.uniform(0.5, 2.0, dim))
    low_rank = rng.normal(size=(dim, 3))
    hessian = np.diag(rng.uniform(0.5, 2.0, dim)) + low_rank @ low_rank.T / dim
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.4, metric=metric)  # its own Cholesky check is done here, once
    gradient = rng.normal(size=dim)
    calls = []
    genuine = scipy.linalg.eigh

    def counted(*args, **kwargs):
        calls.append(np.shape(args[0]))
        with monkeypatch.context() as inside:
            for module, name, function in saved:
                inside.setattr(module, name, function)
            return genuine(*args, **kwargs)

    def refuse(name):
        def refused(*args, **kwargs):
            raise AssertionError(f"{name} was called")

        return refused

    names = "solve inv pinv svd svdvals eig eigvals eigh eigvalsh cholesky cho_factor qr lu lu_factor schur expm sqrtm"
    names += " fractional_matrix_power det slogdet lstsq matrix_power matrix_rank norm"
    saved = [(m, n, getattr(m, n)) for m in (scipy.linalg, np.linalg) for n in names.split() if hasattr(m, n)]
    for module, name, _ in saved:
        monkeypatch.setattr(module, name, refuse(f"{module.__name__}.{name}"))
    monkeypatch.setattr(scipy.linalg, "eigh", counted)
    Watched.products = 0
    monkeypatch.setattr(modes, "decompose", watched(modes.decompose))
    step = ln.update(objective, gradient, hessian, 0.8)
    monkeypatch.undo()
    assert calls == [(dim, dim)]
    assert Watched.products == 0
    # and it is the right step: H·Δθ from the flow of the linear equation, mode by mode
    h, x = genuine(hessian, metric)
    rate = np.sqrt(0.2**2 + 0.91 * h) - 0.2
    assert np.allclose(step, -x @ (-np.expm1(-rate * 0.8) / h * (x.T @ gradient)), rtol=1e-9, atol=1e-12)


class Watched(np.ndarray):
    """An array that counts its products with other matrices."""

    products = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [np.asarray(x) for x in inputs]
        if ufunc is np.matmul and all(x.ndim == 2 and min(x.shape) > 1 for x in plain):
            Watched.products += 1
        result = getattr(ufunc, method)(*plain, **kwargs)
        return result.view(Watched) if isinstance(result, np.ndarray) else result


def watched(decompose):
    def decomposed(*args):
        basis = decompose(*args)
        return type(basis)(basis.curvature, basis.directions.view(Watched))

    return decomposed


def test_the_watch_sees_a_matrix_product():
    """Negative control of the test above."""
    Watched.products = 0
    square = np.eye(3).view(Watched)
    _ = square @ np.ones(3)
    assert Watched.products == 0
    _ = square.T @ square
    assert Watched.products == 1


@pytest.mark.parametrize("gamma", [0.0, 0.4, 2.0])
@pytest.mark.parametrize("h", [-1.3, -4.0, -30.0])
def test_a_deadline_is_refused_exactly_from_the_first_focal_point(h, gamma):
    """Jacobi: the neighbour with z(0) = 0, z̈ = γż + hz, found by integration, must not have come to ż = 0 by then."""

    def turn(_, y):
        return y[1]

    turn.terminal, turn.direction = True, -1
    run = scipy.integrate.solve_ivp(
        lambda _, y: [y[1], gamma * y[1] + h * y[0]], (0, 50), [0.0, 1.0], events=turn, rtol=1e-11, atol=1e-13
    )
    focal = run.t_events[0][0]
    ln.update(ln.Objective(gamma=gamma, horizon=0.9999 * focal), [1.0], [[h]], 0.1 * focal)
    with pytest.raises(ln.NoMinimiser, match="focal point"):
        ln.update(ln.Objective(gamma=gamma, horizon=1.0001 * focal), [1.0], [[h]], 0.1 * focal)


def test_the_pace_of_two_modes_tells_discount_and_rate_apart_and_a_guessed_curvature_does_not():
    """Two shares give r²Δt² + γΔt·rΔt = ηkΔt²·h twice: two unknowns; h in a wrong unit only moves ηk."""
    objective, dt, h = ln.Objective(eta=0.7, k=1.3, gamma=0.9), 0.4, np.array([0.3, 5.0])
    for unit in (1.0, 10.0):
        shares = 1 + ln.update(objective, h, np.diag(h), dt)  # from θ − θ* = 1, so that g = h
        rate = -np.log(shares)
        fitted = np.linalg.solve(np.stack([-rate, unit * h], axis=-1), rate**2)
        assert fitted == pytest.approx([0.9 * dt, 0.7 * 1.3 * dt**2 / unit], rel=1e-9)


def test_a_discount_that_hardly_falls_within_the_plan_is_none():
    """ω/α beyond what Bessel functions are known for: the gain is ω, and on its way there it is continuous."""
    for alpha in (1e-9, 1e-10, 1e-12):
        rates = ln.rules.hyperbolic_rate(ln.Objective(), 4.0, alpha, 1.0, [0.0, 1.0], planner="committed")
        np.testing.assert_allclose(rates, 0.5 * (1 - 0.5 * alpha / 2), rtol=1e-15)


HYPERBOLIC = [(0.622, 5.05, 343.6), (1.1e-26, 5.2e8, 27.3), (0.0736, 2.2e9, 1596.6), (1.3, 1.222, 145.45),
              (9e-3, 203.0, 1.877), (4.0, 1e-4, 3000.0), (2.0, 0.7, 0.3)]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("h", "alpha", "power"), HYPERBOLIC)
def test_steep_hyperbolic_discounts_have_the_gains_that_forty_digits_say(h, alpha, power):
    """By the recurrence of K_ν up from orders below 3/2, and by the exponential integral E_p."""

    objective = ln.Objective(eta=0.7, k=1.3)

    def gain(planner):
        return mpmath.mpf(float(ln.rules.hyperbolic_rate(objective, h, alpha, power, planner=planner))) * h

    with mpmath.workdps(40):
        omega, order = mpmath.sqrt(0.7 * 1.3 * mpmath.mpf(h)), (mpmath.mpf(power) + 1) / 2
        n = int(mpmath.floor(order - 0.5))
        z, low = omega / alpha, order - n
        ratio = mpmath.besselk(low - 1, z) / mpmath.besselk(low, z)
        for m in range(n):
            ratio = 1 / (ratio + 2 * (low + m) / z)
        assert abs(gain("committed") / (omega * ratio) - 1) < 1e-12 and gain("naive") == gain("committed")

        def excess(k):
            x = 2 * k / alpha
            return (k**2 + omega**2) * mpmath.exp(x) * mpmath.expint(power, x) / alpha - k

        wise = gain("sophisticated")
        assert excess(wise * (1 - 1e-10)) > 0 > excess(wise * (1 + 1e-10))


@pytest.mark.filterwarnings("error")
def test_hyperbolic_gains_of_all_sizes_are_numbers_in_order_or_refused_by_name():
    sizes = [5e-324, 1e-100, 1e-20, 1e-3, 1.0, 1e3, 1e20, 1e100, 1e300]
    for h, alpha, power in itertools.product(sizes, repeat=3):
        try:
            naive, wise = (float(ln.rules.hyperbolic_rate(ln.Objective(), h, alpha, power, planner=who)) * math.sqrt(h)
                           for who in ("naive", "sophisticated"))  # fmt: skip
        except ValueError as error:
            assert "choose other units" in str(error) and not all(1e-20 <= x <= 1e20 for x in (h, alpha, power))
        else:
            assert 0 <= naive * (1 - 1e-9) <= wise <= 1 + 1e-9


def test_the_gain_falls_to_nothing_where_the_future_counts_for_nothing():
    """ν beyond 2^31 and beyond z: K = ω²/α(p−1) for both."""
    for planner in ("committed", "naive", "sophisticated"):
        rate = float(ln.rules.hyperbolic_rate(ln.Objective(), 4.0, 1.0, 1e15, planner=planner))
        assert rate == pytest.approx(1e-15, rel=1e-9)


def test_a_far_deadline_changes_nothing_however_strong_the_discount():
    """γ/2 − √(γ²/4 + ηkh) loses all digits where γ² ≫ ηkh."""
    for gamma in (1e6, 1e8, 1e9):
        far = ln.Objective(gamma=gamma, horizon=2 * gamma)
        assert ln.update(far, [1.0], [[1.0]], gamma)[0] == pytest.approx(math.expm1(-1.0), rel=1e-9)
        path = ln.solve(far, ln.losses.Quadratic([[1.0]], minimum=[0.0]), [1.0], method="closed_form")
        assert path.velocity(gamma)[0] == pytest.approx(-math.exp(-1) / gamma, rel=1e-9)


def test_rates_of_another_problem_are_refused():
    with pytest.raises(ValueError, match=r"objective.drift is set"):
        rules.rates(ln.Objective(drift=ln.drifts.weight_decay(1.0)), [[1.0]])
    for other in ({"gamma": 1.0}, {"terminal": 1.0}, {"drift": ln.drifts.weight_decay(1.0)}, {"horizon": 1.0}):
        with pytest.raises(ValueError, match=r"objective has gamma, terminal, drift or horizon"):
            rules.hyperbolic_rate(ln.Objective(**other), 1.0, 1.0, 1.0)
    price = ln.prices.Box(limit=1.0)
    with pytest.raises(ValueError, match=r"dt = 5, but it must be at most objective.horizon"):
        ln.update(ln.Objective(gamma=1.0, horizon=1.0, price=price), [1.0], [[1.0]], 5.0, limit="overdamped")


@pytest.mark.parametrize("price", [ln.prices.Power(1.5, 0.7), ln.prices.Toll(0.1, 0.7), ln.prices.Box(2.0, 0.7)])
def test_a_hurried_learner_under_a_price_weighs_it_against_the_slope_over_gamma(price):
    objective, slope = ln.Objective(k=1.3, gamma=2.5, price=price), np.array([0.8])
    velocity = ln.update(objective, slope, [[1.0]], 0.4, limit="overdamped") / 0.4
    cost = lambda v: float(price.value(v)) + 1.3 / 2.5 * float(slope @ v)
    assert velocity[0] < 0
    assert all(cost(velocity) < cost(share * velocity) for share in (0.9, 0.99, 1.01, 1.1))


@settings(max_examples=100, deadline=None)
@given(
    st.floats(-18, 6),
    st.floats(-11, -0.01),
    st.floats(0.05, 1),
    st.sampled_from(["committed", "naive", "sophisticated"]),
)
def test_a_step_of_a_quasi_hyperbolic_planner_leaves_a_share(curvature, impatience, bias, planner):
    share = rules.quasi_hyperbolic(10**curvature, 1 - 10**impatience, bias, planner=planner)
    assert 0 < share <= 1


@pytest.mark.parametrize("curvature", [1.0, 1e8, 1e12])
def test_a_share_that_answers_itself_has_all_its_digits_however_small_it_is(curvature):
    share = rules.quasi_hyperbolic(curvature, 0.9, 0.5, planner="sophisticated")
    later = ((1 - share) ** 2 + curvature * share**2) / (1 - 0.9 * share**2)
    assert share == pytest.approx(1 / (1 + curvature + 0.9 * 0.5 * later), rel=1e-13)


@pytest.mark.parametrize("unit", [1e-170, 1e160])
def test_relative_steps_have_the_unit_of_the_weights_whose_square_is_no_number(unit):
    theta, mean, rule = np.array([3.0, 4.0]), np.array([0.3, -0.1]), ln.Objective(0.7, 1.3, 0.5)
    step = rules.relative_step(rule, mean, theta, 0.0, 0.1)
    np.testing.assert_allclose(rules.relative_step(rule, mean / unit, unit * theta, 0.0, 0.1), unit * step, rtol=1e-12)
    np.testing.assert_allclose(
        rules.keep_norm(unit * theta, unit * step), unit * rules.keep_norm(theta, step), rtol=1e-12
    )
    along = rules.keep_norm(theta, step + 0.3 * theta)  # what goes along θ is left out
    np.testing.assert_allclose(along, rules.keep_norm(theta, step), rtol=1e-12)
