"""Eqs. 15, 16, 143–149: uncertain weights, symbolically from the Lagrangian and by minimising the discretised J."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import sympy
import torch
from direct import measured_order, richardson, spd
from sympy import exp, log, pi, sqrt

import lossnav as ln
from lossnav import uncertainty as un
from lossnav.euler_lagrange import derive

ETA, K, GAMMA, ENTROPY = sympy.symbols("eta k gamma lambda_S", positive=True)
T = sympy.Symbol("t", real=True)
X = sympy.Symbol("x", real=True)
MU, W, S = sympy.symbols("mu w s", real=True)  # mean, and velocities of mean and variance
V, DT = sympy.symbols("v dt", positive=True)


def vanishes(expression) -> bool:
    return sympy.simplify(sympy.expand(expression)) == 0


def gaussian(mean, variance):
    return exp(-((X - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance)


def moment(polynomial, mean, variance):
    """E of a polynomial in X under N(mean, variance), from the moments of a Gaussian that sympy integrates."""
    spread = sympy.Symbol("u", positive=True)
    centred = sympy.Poly(sympy.expand(polynomial.subs(X, X + mean)), X)
    raw = {
        power: sympy.integrate(X**power * gaussian(0, spread), (X, -sympy.oo, sympy.oo)).subs(spread, variance)
        for (power,) in centred.monoms()
    }
    return sum(coefficient * raw[power] for (power,), coefficient in centred.terms())


def log_density(mean, variance):
    return -((X - mean) ** 2) / (2 * variance) - log(2 * pi * variance) / 2


def uncertain(dim: int = 1, loss=None):
    """The library's symbolic derivation with θ = (μ, v), metric diag(1/v, 1/2v²) and loss L̄ − (λ_S/2k)Σ ln v."""
    if loss is None:
        average = sympy.Function("L")
        loss = lambda mu, v: average(*mu, *v)

    def metric(x):
        return sympy.diag(*[1 / v for v in x[dim:]], *[1 / (2 * v**2) for v in x[dim:]])

    def potential(x):
        return loss(x[:dim], x[dim:]) - ENTROPY / (2 * K) * sum(log(v) for v in x[dim:])

    return derive(2 * dim, metric=metric, loss=potential, eta=ETA, k=K, gamma=GAMMA)


# A loss in closed form that is not quadratic: a cubic, averaged by hand, E[θ³] = μ³ + 3μv.
CUBIC = ln.losses.Function(
    lambda x: x[..., 0] ** 3 / 3 + x[..., 0] ** 2, lambda x: x**2 + 2 * x, lambda x: (2 * x + 2)[..., None], dim=1
)


def cubic(mu, v):
    return (mu[0] ** 3 + 3 * mu[0] * v[0]) / 3 + mu[0] ** 2 + v[0]


PROBLEM = un.Problem(eta=0.7, k=1.3, gamma=0.6, entropy=0.9)
NUMBERS = {ETA: 0.7, K: 1.3, GAMMA: 0.6, ENTROPY: 0.9}


def states(seed: int, dim: int, count: int = 5) -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=dim), rng.uniform(0.3, 2, dim), *rng.normal(size=(2, dim))) for _ in range(count)]


def numbers(steps, mu, v, mu_dot, v_dot) -> dict:
    return {
        **NUMBERS,
        **dict(zip(steps.theta, [*mu, *v], strict=True)),
        **dict(zip(steps.velocity, [*mu_dot, *v_dot], strict=True)),
    }


def solved(steps) -> list:
    """The accelerations (μ̈…, v̈…) of a derivation."""
    solution = sympy.solve(steps.balance, steps.acceleration, dict=True)[0]
    return [solution[a] for a in steps.acceleration]


def test_kl_divergence_of_neighbours_is_the_fisher_metric() -> None:
    """The kinetic term, from ∫p ln(p/q): both orders of KL agree to O(dt³); the library's KL, by quadrature."""
    now, later = (MU, V), (MU + W * DT, V + S * DT)
    for first, second in ((now, later), (later, now)):
        divergence = moment(log_density(*first) - log_density(*second), *first)
        speed = sympy.series(divergence, DT, 0, 3).removeO() / DT**2
        assert vanishes(speed - (W**2 / V + S**2 / (2 * V**2)) / 2)
    rng = np.random.default_rng(0)
    for _ in range(4):
        a, b = rng.normal(size=2)
        p, q = rng.uniform(0.2, 3, 2)

        def integrand(x, a=a, b=b, p=p, q=q):
            ratio = -((x - a) ** 2) / (2 * p) + (x - b) ** 2 / (2 * q) + math.log(q / p) / 2
            return math.exp(-((x - a) ** 2) / (2 * p)) / math.sqrt(2 * math.pi * p) * ratio

        by_sum = scipy.integrate.quad(integrand, a - 14 * math.sqrt(p), a + 14 * math.sqrt(p), limit=200)[0]
        assert un.kl_divergence(a, p, b, q) == pytest.approx(by_sum, rel=1e-9)
    dt = 1e-5  # the library's kinetic term is the limit of KL/dt²/η
    mu, v, mu_dot, v_dot = states(1, 3, 1)[0]
    step = np.sum(un.kl_divergence(mu + dt * mu_dot, v + dt * v_dot, mu, v)) / dt**2
    assert PROBLEM.kinetic(v, mu_dot, v_dot) == pytest.approx(step / PROBLEM.eta, rel=1e-4)


def test_entropy_of_gaussian_weights() -> None:
    """Eq. 143, from −∫p ln p, and its share in the library's potential."""
    entropy = moment(-log_density(MU, V), MU, V)
    assert vanishes(entropy - log(2 * pi * sympy.E * V) / 2)
    loss = un.average(ln.losses.Quadratic(1e-12 * np.eye(3), minimum=np.zeros(3)))
    for mu, v, *_ in states(2, 3):
        for w in (0.5 * v, 3.0 * v):
            change = sum(float((entropy.subs(V, b) - entropy.subs(V, a)).evalf()) for a, b in zip(v, w, strict=True))
            rise = PROBLEM.potential(loss, mu, w) - PROBLEM.potential(loss, mu, v)
            assert rise == pytest.approx(-PROBLEM.entropy * change, abs=1e-9)


def test_equations_in_momenta() -> None:
    """Eq. 144: d/dt of the momenta equals the forces, as the library derives both from the Lagrangian."""
    steps = uncertain()
    (mu, v), (mu_dot, v_dot) = steps.theta, steps.velocity
    average = sympy.Function("L")(mu, v)
    faded = exp(-GAMMA * steps.t)
    momenta = [faded * mu_dot / (ETA * v), faded * v_dot / (2 * ETA * v**2)]
    speeds = (mu_dot**2 / v**2 + v_dot**2 / v**3) / (2 * ETA)
    forces = [faded * K * average.diff(mu), faded * (-speeds + K * average.diff(v) - ENTROPY / (2 * v))]
    for derived, printed in zip([*steps.momenta, *steps.forces], [*momenta, *forces], strict=True):
        assert vanishes((derived - printed) / faded)


def test_accelerations() -> None:
    """Eq. 145 for any averaged loss; a flipped sign of either speed term fails; the library on a cubic."""
    steps = uncertain()
    (mu, v), (mu_dot, v_dot) = steps.theta, steps.velocity
    average = sympy.Function("L")(mu, v)
    mean, variance = solved(steps)
    assert vanishes(mean - (GAMMA + v_dot / v) * mu_dot - ETA * K * v * average.diff(mu))
    at_rest = GAMMA * v_dot + 2 * ETA * K * v**2 * average.diff(v) - ETA * ENTROPY * v
    assert vanishes(variance - at_rest - v_dot**2 / v + mu_dot**2)
    assert not vanishes(variance - at_rest - v_dot**2 / v - mu_dot**2)
    assert not vanishes(mean - (GAMMA - v_dot / v) * mu_dot - ETA * K * v * average.diff(mu))
    steps = uncertain(loss=cubic)
    exact = solved(steps)
    for state in states(4, 1):
        library = np.ravel(un.acceleration(PROBLEM, un.average(CUBIC), *state))
        np.testing.assert_allclose(library, [float(a.subs(numbers(steps, *state))) for a in exact], rtol=1e-9)


def test_average_of_a_quadratic_loss() -> None:
    """Eq. 146 and its average, with a Hessian that is not diagonal: exact moments, and a sum over Gaussian nodes."""
    g, h, start = sympy.symbols("g h theta0", real=True)
    exact = moment(g * (X - start) + h * (X - start) ** 2 / 2, MU, V)
    assert vanishes(exact - g * (MU - start) - h * (MU - start) ** 2 / 2 - h * V / 2)
    rng = np.random.default_rng(5)
    hessian = spd(rng, 2) - 0.7 * np.eye(2)  # of any signature
    loss = ln.losses.Quadratic(hessian, gradient=rng.normal(size=2))
    nodes, weights = np.polynomial.hermite.hermgauss(5)
    for mu, v, *_ in states(6, 2):
        grid = np.stack(np.meshgrid(*(m + np.sqrt(2 * s) * nodes for m, s in zip(mu, v, strict=True))), axis=-1)
        share = np.multiply.outer(weights, weights) / np.pi
        by_sum = float(np.sum(share.T * loss.value(grid)))
        assert un.average(loss).value(mu, v) == pytest.approx(by_sum, rel=1e-12)
        by_hand = loss.value(mu) + np.diag(hessian) @ v / 2
        assert by_hand == pytest.approx(by_sum, rel=1e-12)


def test_equations_on_a_quadratic_loss() -> None:
    """Eqs. 15, 16, 147, two coupled weights; the library's accelerations at random states."""
    h = sympy.Matrix(2, 2, sympy.symbols("h11 h12 h12 h22", real=True))
    g = sympy.Matrix(sympy.symbols("g1 g2", real=True))
    start = sympy.Matrix(sympy.symbols("a1 a2", real=True))

    def loss(mu, v):
        away = sympy.Matrix(mu) - start
        return (g.T * away)[0] + (away.T * h * away)[0] / 2 + (h[0, 0] * v[0] + h[1, 1] * v[1]) / 2

    steps = uncertain(2, loss)
    mean, speed = sympy.Matrix(steps.theta[:2]), steps.velocity
    grad = g + h * (mean - start)
    accelerations = solved(steps)
    for i in range(2):
        v, m, s = steps.theta[2 + i], speed[i], speed[2 + i]
        assert vanishes(accelerations[i] - (GAMMA + s / v) * m - ETA * K * v * grad[i])
        force = ETA * K * h[i, i] * v**2 - ETA * ENTROPY * v + s**2 / v - m**2
        assert vanishes(accelerations[2 + i] - GAMMA * s - force)
    rng = np.random.default_rng(7)
    hessian, gradient, origin = spd(rng, 2), rng.normal(size=2), rng.normal(size=2)
    bowl = un.average(ln.losses.Quadratic(hessian, gradient=gradient - hessian @ origin))
    values = dict(zip([*h, *g, *start], [*hessian.ravel(), *gradient, *origin], strict=True))
    for state in states(8, 2):
        exact = [float(a.subs(values | numbers(steps, *state))) for a in accelerations]
        np.testing.assert_allclose(np.ravel(un.acceleration(PROBLEM, bowl, *state)), exact, rtol=1e-9)


def minimised(loss, start, *, horizon: float, count: int, gamma: float, entropy: float, eta: float, k: float):
    """Minimise the discretised J over (μ, ℓ) at all nodes by damped Newton; derivatives by torch. Free end.

    ``loss(t, mu, v)`` is the averaged loss at the nodes, with t the times; speeds at mid-steps, trapezoid potential.
    """
    dt = horizon / count
    t = torch.linspace(0, horizon, count + 1, dtype=torch.float64)
    between = torch.exp(-gamma * (t[:-1] + dt / 2)) * dt
    at = torch.exp(-gamma * t) * dt
    at[0], at[-1] = at[0] / 2, at[-1] / 2
    first = torch.tensor([start[0], math.log(start[1])], dtype=torch.float64)

    def total(flat):
        x = torch.cat([first[None, :], flat.reshape(count, 2)])
        rate, middle = (x[1:] - x[:-1]) / dt, (x[1:, 1] + x[:-1, 1]) / 2
        kinetic = (rate[:, 0] ** 2 * torch.exp(-middle) + rate[:, 1] ** 2 / 2) / (2 * eta)
        potential = k * loss(t, x[:, 0], torch.exp(x[:, 1])) - entropy / 2 * x[:, 1]
        return between @ kinetic + at @ potential

    gradient, hessian = torch.func.grad(total), torch.func.hessian(total)
    x = first.repeat(count)
    for _ in range(60):
        g, h = gradient(x), hessian(x)
        lowest = float(torch.linalg.eigvalsh(h)[0])
        if lowest <= 0:
            h = h + (1e-9 - lowest) * 1.5 * torch.eye(len(x), dtype=torch.float64)
        step = -torch.linalg.solve(h, g)
        size = 1.0
        while total(x + size * step) > total(x) + 1e-13 and size > 1e-6:
            size /= 2
        x = x + size * step
        if float(step.abs().max()) < 1e-9:
            return t.numpy(), x.reshape(count, 2).numpy(), float(total(x)), lowest
    raise AssertionError("the reference minimisation did not converge")


def errors_of(loss, average, start, counts, horizon=3.0, gamma=0.6, switches=(), **plan_options):
    """Largest distances of the minimised J from the library's plan, per step count; and the lowest eigenvalues."""
    problem = un.Problem(eta=0.7, k=1.3, gamma=gamma, entropy=0.9)
    path = un.plan(
        problem, average, [start[0]], [start[1]], horizon=horizon, switches=switches, tol=1e-10, **plan_options
    )
    gaps, actions, lowest = [], [], []
    for count in counts:
        t, x, action, low = minimised(
            loss, start, horizon=horizon, count=count, gamma=gamma, entropy=0.9, eta=0.7, k=1.3
        )
        exact = np.hstack([path.mean(t), path.log_variance(t)])[1:]
        gaps.append(float(np.max(np.abs(x - exact))))
        actions.append(action)
        lowest.append(low)
    assert richardson(*actions[-2:]) == pytest.approx(path.action, rel=1e-5)
    return gaps, lowest


def test_plan_minimises_the_discretised_objective() -> None:
    """Eqs. 15, 16, 147 as a boundary-value problem, against a minimisation that knows none of them: order 2."""
    bowl = ln.losses.Quadratic([[2.0]], minimum=[1.5])
    gaps, lowest = errors_of(lambda t, mu, v: (mu - 1.5) ** 2 + v, bowl, (0.0, 0.2), (40, 80))
    assert min(lowest) > 0
    assert gaps[-1] < 2e-3
    assert measured_order(gaps) == pytest.approx(2.0, abs=0.15)


def test_overdamped_limit() -> None:
    """Eq. 148: full plans approach it with an error ∝ 1/γ², its closed forms solve it, with and without entropy."""

    def gap(gamma: float) -> float:
        problem = un.Problem(eta=0.7, k=1.3, gamma=gamma, entropy=0.9)
        loss = ln.losses.Quadratic([[2.0]], minimum=[0.0])
        path = un.plan(problem, loss, [1.0], [2.0])
        settled = np.array([gamma])  # far behind the first 1/γ, half-way to the rest
        mean, variance = path.mean(settled)[0], path.variance(settled)[0]
        rates = un.overdamped_rate(problem, un.average(loss), mean, variance)
        return max(
            abs(path.mean_rate(settled)[0, 0] / rates[0][0] - 1),
            abs(path.log_rate(settled)[0, 0] * variance[0] / rates[1][0] - 1),
        )

    near, far = gap(20.0), gap(40.0)
    assert far < 2e-3
    assert near / far == pytest.approx(4.0, rel=0.1)
    pace = {"eta": 0.7, "k": 1.3, "gamma": 5.0}
    t = np.linspace(0, 12, 7)
    for entropy, h in ((0.9, 2.0), (0.0, 2.0), (0.9, 0.0), (0.9, -0.1), (1e-9, 2.0)):

        def law(_, y, entropy=entropy, h=h):  # (148) as printed, of a weight at distance y₀ from the minimum
            mean = -pace["eta"] * pace["k"] * y[1] * h * y[0]
            return [mean / 5.0, (pace["eta"] * entropy * y[1] - pace["eta"] * pace["k"] * h * y[1] ** 2) / 5.0]

        path = scipy.integrate.solve_ivp(law, (0, 12), [1.0, 0.6], t_eval=t, rtol=1e-11, atol=1e-13)
        options = {"initial": 0.6, "curvature": h, "entropy": entropy, **pace}
        np.testing.assert_allclose(un.overdamped_variance(t, **options), path.y[1], rtol=1e-8)
        np.testing.assert_allclose(un.overdamped_offset(t, **options), path.y[0], rtol=1e-8)
    bayes = 0.6 / (1 + 0.7 * 1.3 * 2.0 * 0.6 * t / 5.0)
    np.testing.assert_allclose(un.overdamped_variance(t, initial=0.6, curvature=2.0, entropy=0.0, **pace), bayes)


def test_resting_variance() -> None:
    """Eq. 149: the minimum of the potential over v, found without a derivative, and the end of a plan."""
    for h, k, entropy in ((2.0, 1.0, 0.8), (0.3, 1.7, 0.2), (40.0, 0.5, 3.0)):
        problem = un.Problem(k=k, entropy=entropy, gamma=0.4)
        loss = ln.losses.Quadratic([[h]], minimum=[0.7])
        minimum = scipy.optimize.minimize_scalar(
            lambda ell, problem=problem, loss=loss: problem.potential(un.average(loss), [0.7], [math.exp(ell)]),
            bounds=(-12, 6),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert un.equilibrium_variance(h, k, entropy) == pytest.approx(math.exp(minimum.x), rel=1e-6)
        path = un.plan(problem, loss, [0.0], [1.0])
        late = path.variance(60.0 / un.relaxation_rate(1.0, 0.4, entropy))
        np.testing.assert_allclose(late, entropy / (k * h), rtol=1e-6)


# Beyond the numbered equations


def test_a_foreseen_switch_minimises_the_discretised_objective() -> None:
    """Phases, joined with continuous velocities, against one minimisation in which the loss jumps half-way."""

    def loss(t, mu, v):
        share = torch.where((t - 1.5).abs() < 1e-9, 0.5, (t > 1.5).double())  # at the jump, the mean of both sides
        return (1 - share) * (mu**2 + v) + share * ((mu - 1.0) ** 2 + v) / 4

    before, after = (ln.losses.Quadratic([[h]], minimum=[m]) for h, m in ((2.0, 0.0), (0.5, 1.0)))
    gaps, lowest = errors_of(loss, before, (0.3, 0.2), (40, 80), switches=[(1.5, after)], foreseen=True)
    assert min(lowest) > 0
    assert gaps[-1] < 2e-3
    assert measured_order(gaps) == pytest.approx(2.0, abs=0.25)


def test_a_loss_with_wells_minimises_the_discretised_objective() -> None:
    wells = un.Wells([[0.0]], [1.0], [0.5], bowl=0.3)

    def loss(t, mu, v):
        wide = 0.25 + v
        return 0.15 * (mu**2 + v) - torch.sqrt(0.25 / wide) * torch.exp(-(mu**2) / (2 * wide))

    gaps, lowest = errors_of(loss, wells, (1.2, 0.05), (40, 80))
    assert min(lowest) > 0
    assert gaps[-1] < 2e-2
    assert measured_order(gaps) == pytest.approx(2.0, abs=0.3)


def test_one_rate_of_return_needs_a_diagonal_hessian() -> None:
    """Means return at the rates of ηλ_S·diag(H)⁻¹H, which is ηλ_S for a diagonal H alone; log-variances at that one."""
    eta, gamma, entropy = 1.0, 0.5, 0.8
    for hessian in (np.diag([2.0, 0.3]), np.array([[2.0, 1.2], [1.2, 1.0]])):
        stiff, vectors = np.linalg.eig(eta * entropy * hessian / np.diag(hessian)[:, None])
        start = [1e-3, 0.5e-3]
        plan = un.plan(
            un.Problem(eta=eta, gamma=gamma, entropy=entropy), ln.losses.Quadratic(hessian, minimum=[0.0, 0.0]),
            mean=start, variance=entropy / np.diag(hessian),
        )  # fmt: skip
        modes = np.linalg.solve(vectors, plan.mean(np.array([3.0, 4.0])).T)
        rates = np.log(np.abs(modes[:, 0] / modes[:, 1]))
        np.testing.assert_allclose(rates, np.sqrt(gamma**2 / 4 + stiff) - gamma / 2, rtol=1e-3)
        same = np.allclose(rates, un.relaxation_rate(eta, gamma, entropy), rtol=1e-3)
        assert same == (hessian[0, 1] == 0)


def test_half_way_to_a_new_task_takes_ln_two_over_rho_if_it_is_curved_like_the_old() -> None:
    """Eq. 148 by integration, at rest on a curvature of 1 when the minimum jumps and the curvature is another."""
    half = {}
    for curvature in (0.25, 1.0, 4.0):

        def flow(_, z, curvature=curvature):  # z = (distance, precision), ρ = 1
            return [-curvature * z[0] / z[1], curvature - z[1]]

        def there(_, z):
            return z[0] - 0.5

        run = scipy.integrate.solve_ivp(flow, (0, 9), [1.0, 1.0], events=there, rtol=1e-10, atol=1e-12)
        half[curvature] = float(run.t_events[0][0])
    assert half[1.0] == pytest.approx(math.log(2), rel=1e-8)
    assert half[4.0] < 0.25 and half[0.25] > 1.5


@pytest.mark.parametrize(("factor", "hurries"), [(4.0, True), (0.25, False)])
def test_a_planner_hurries_while_uncertainty_lasts_and_waits_where_it_grows(factor, hurries) -> None:
    """At γ = 0 a variance that stayed would move the mean at √(ηkvH); v comes back to λ_S/kH, here 0.4."""
    plan = un.plan(
        un.Problem(entropy=0.8, gamma=0.0), ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1e-3], [0.4 * factor]
    )
    rate = -float(plan.mean_rate(0.0)[0, 0]) / 1e-3
    assert (rate > 1.05 * math.sqrt(2.0 * 0.4 * factor)) is hurries and rate / math.sqrt(0.8) < max(factor, 1.0)
