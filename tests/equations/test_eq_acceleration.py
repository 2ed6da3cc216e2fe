"""L12–L16: which actions accelerated methods make stationary, which they minimise, and where they meet navigation."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_bvp, solve_ivp
from scipy.linalg import solve_continuous_are
from scipy.special import jnp_zeros

import lossnav as ln
from lossnav.analysis import acceleration

t = sp.symbols("t", positive=True)
theta = sp.Function("theta")(t)
L = sp.Function("L")


def euler_lagrange(lagrangian):
    """Return the acceleration at which a Lagrangian of θ(t) is stationary."""
    velocity = theta.diff(t)
    residual = sp.diff(sp.diff(lagrangian, velocity), t) - sp.diff(lagrangian, theta)
    return sp.solve(residual.doit(), theta.diff(t, 2))[0]


def slope():
    return sp.diff(L(theta), theta)


def test_general_discounting_symbolically():
    Gamma, eta, k = sp.Function("Gamma")(t), sp.Function("eta")(t), sp.Function("k")(t)
    acceleration_ = euler_lagrange(sp.exp(-Gamma) * (theta.diff(t) ** 2 / (2 * eta) + k * L(theta)))
    wanted = (Gamma.diff(t) + eta.diff(t) / eta) * theta.diff(t) + eta * k * slope()
    assert sp.simplify(acceleration_ - wanted) == 0
    # only e^{−Γ}/η and ηk matter: another η with the same two gives the same motion
    g = sp.Function("g")(t)
    rescaled = euler_lagrange(
        sp.exp(-Gamma) * g * (theta.diff(t) ** 2 / (2 * eta * g) + (k / g) * L(theta))
    )  # η → ηg, e^{−Γ} → e^{−Γ}g, k → k/g
    assert sp.simplify(rescaled - wanted) == 0


def test_any_second_order_method_has_a_lagrangian():
    d, b = sp.Function("d")(t), sp.Function("b")(t)
    D = sp.Function("D")(t)  # ∫d
    motion = euler_lagrange(sp.exp(D) * (theta.diff(t) ** 2 / 2 - b * L(theta))).subs(D.diff(t), d)
    assert sp.simplify(motion + d * theta.diff(t) + b * slope()) == 0


def test_nesterov_and_bregman_lagrangians_symbolically():
    nesterov = -3 / t * theta.diff(t) - slope()
    for discount, eta, k in ((t**3, 1, -1), (t**-3, t**-6, -(t**6))):
        action = discount * (theta.diff(t) ** 2 / (2 * eta) + k * L(theta))
        assert sp.simplify(euler_lagrange(action) - nesterov) == 0
    p, C = sp.symbols("p C", positive=True)
    # Wibisono, Wilson and Jordan with α = ln p − ln t, β = p ln t + ln C, γ = p ln t and a Euclidean divergence
    alpha, beta, gamma = sp.log(p) - sp.log(t), p * sp.log(t) + sp.log(C), p * sp.log(t)
    kinetic = sp.exp(-2 * alpha) * theta.diff(t) ** 2 / 2
    bregman = sp.exp(alpha + gamma) * (kinetic - sp.exp(beta) * L(theta))
    wanted = -(p + 1) / t * theta.diff(t) - C * p**2 * t ** (p - 2) * slope()
    assert sp.simplify(euler_lagrange(bregman) - wanted) == 0
    assert sp.simplify(wanted.subs({p: 2, C: sp.Rational(1, 4)}) - nesterov) == 0


def test_signs_of_navigation_turn_into_those_of_the_heavy_ball_only_together():
    c, a = sp.symbols("c a", positive=True)
    ball = -c * theta.diff(t) - a * slope()

    def navigation(gamma, force):
        return gamma * theta.diff(t) + force * slope()

    assert sp.simplify(navigation(-c, -a) - ball) == 0
    assert all(sp.simplify(navigation(*signs) - ball) != 0 for signs in ((c, a), (-c, a), (c, -a)))
    # the film backwards: θ̇ changes its sign, θ̈ does not
    assert sp.simplify(navigation(c, a).subs(theta.diff(t), -theta.diff(t)) - navigation(-c, a)) == 0


@pytest.mark.parametrize(("h", "c", "T"), [(2.0, 0.6, 1.0), (2.0, 0.6, 5.0), (1.0, 3.0, 9.0), (0.5, 0.0, 4.0)])
def test_heavy_balls_second_variation(h, c, T):
    lowest = acceleration.lowest_variation(lambda s: np.exp(c * s), h, 0.0, T)
    assert lowest == pytest.approx((np.pi / T) ** 2 + c**2 / 4 - h, abs=1e-3 * (1 + (np.pi / T) ** 2))
    assert (lowest < 0) == (acceleration.conjugate_time(h, c) < T)


def test_nesterovs_second_variation():
    """With a free first value and x(T) = 0 the modes are J₁(z s/T)/s: (s³x')' = −z²s³x/T²."""
    for h, T in ((1.0, 2.0), (1.0, 6.0), (4.0, 1.9)):
        end = acceleration.conjugate_time(h)
        lowest = acceleration.lowest_variation(lambda s: s**3, h, 0.0, T, free_start=True)
        assert lowest == pytest.approx(h * ((end / T) ** 2 - 1), abs=2e-4 * h * (1 + (end / T) ** 2))
    flat = jnp_zeros(0, 1)[0]  # J₀' = −J₁: its first zero is that of J₁, computed another way
    assert acceleration.conjugate_time(1.0) == pytest.approx(flat, rel=1e-12)


@pytest.mark.parametrize("start", [1e-3, 0.2, 1.0, 3.0, 20.0])
def test_nesterovs_path_from_rest_crosses_the_minimum_after_its_price_is_unsound(start):
    """Sturm: t³(φ'θ − φθ') is constant, and at the start below zero; so φ = J₁(√h t)/t is negative where θ crosses."""
    for h in (0.3, 4.0):
        crossing = lambda s, y: y[0]
        crossing.terminal = True
        motion = lambda s, y, h=h: [y[1], -3 / s * y[1] - h * y[0]]
        span = (start / np.sqrt(h), (start + 9) / np.sqrt(h))
        path = solve_ivp(motion, span, [1.0, 0.0], events=crossing, rtol=1e-11, atol=1e-13)
        assert path.t_events[0][0] > acceleration.conjugate_time(h) * (1 - 1e-9) > np.sqrt(6 / h)


def test_with_a_free_end_the_minimiser_climbs():
    """Minimise ∫(½ẋ² − ½hx²)dt from x(0) = 1 over all piecewise linear paths, and compare with cos ω(T − s)/cos ωT."""
    h, n = 2.0, 800
    omega = np.sqrt(h)
    T = 0.8 * np.pi / (2 * omega)
    s, step = np.linspace(0, T, n + 1), T / n
    quad = np.zeros((n + 1, n + 1))
    for i in range(n):
        quad[i : i + 2, i : i + 2] += np.array([[1, -1], [-1, 1]]) / step - h * step * np.array([[2, 1], [1, 2]]) / 6
    assert np.linalg.eigvalsh(quad[1:, 1:])[0] > 0  # a minimum, not only stationary
    path = np.append(1.0, np.linalg.solve(quad[1:, 1:], -quad[1:, 0]))
    np.testing.assert_allclose(path, np.cos(omega * (T - s)) / np.cos(omega * T), rtol=1e-5)
    assert path[-1] > 3  # while the ball that is let go would have fallen
    # the causal path, let go at rest, is not even stationary: its condition at the free end fails
    assert abs((quad @ np.cos(omega * s))[-1]) > 0.5


def test_momentum_is_optimal_for_another_price_on_any_path():
    loss = ln.losses.Function(lambda x: (1 - x[..., 0]) ** 2 + 5 * (x[..., 1] - x[..., 0] ** 2) ** 2, dim=2)

    def path(s):
        """An arbitrary path, its velocity and its acceleration."""
        return (
            np.stack([np.sin(1.3 * s) + 0.2 * s, np.cos(s) - 0.1 * s**2], axis=-1),
            np.stack([1.3 * np.cos(1.3 * s) + 0.2, -np.sin(s) - 0.2 * s], axis=-1),
            np.stack([-1.69 * np.sin(1.3 * s), -np.cos(s) - 0.2], axis=-1),
        )

    nodes, w = np.polynomial.legendre.leggauss(60)
    s = 1.5 + nodes
    for gamma, fall in ((lambda q: 0.8 + 0 * q, lambda q: 0 * q), (lambda q: 3 / q, lambda q: -3 / q**2)):
        place, speed, turn = path(s)
        g, friction = loss.gradient(place), gamma(s)
        curvature = np.einsum("ni,nij,nj->n", speed, loss.hessian(place), speed)
        running = (
            0.5 * np.sum(turn**2 + g**2, axis=1) - curvature - fall(s) * loss.value(place)
            + 0.5 * (friction**2 - fall(s)) * np.sum(speed**2, axis=1)
        )  # fmt: skip
        charges = []
        for end in (0.5, 2.5):
            place, pace, _ = path(end)
            rate = gamma(end)
            charges.append(rate * pace @ pace / 2 + pace @ loss.gradient(place) + rate * loss.value(place))
        left = w @ running + charges[1] - charges[0]
        right = 0.5 * w @ np.sum((turn + friction[:, None] * speed + g) ** 2, axis=1)
        assert left == pytest.approx(right, rel=1e-7)  # the Hessian is a difference quotient
        assert right > 0.1


def test_the_gains_of_the_quadratic_regulator_are_curvature_and_friction():
    for h, gamma in ((0.3, 1.0), (1.0, 2.0), (2.0, 2.5)):
        cost = np.diag([h**2, gamma**2 - 2 * h])  # ½|∇L|² + θ̇²(½γ² − h), twice
        P = solve_continuous_are(np.array([[0.0, 1], [0, 0]]), np.array([[0.0], [1]]), cost, np.eye(1))
        np.testing.assert_allclose(P[1], [h, gamma], rtol=1e-9)


def test_one_curvature_can_be_walked_by_a_heavy_ball_and_two_can_not():
    r, h1, h2, r1, r2, gamma = sp.symbols("r h1 h2 r1 r2 gamma", positive=True)
    G, w = sp.symbols("Gamma w", real=True)
    assert (
        sp.simplify((theta.diff(t, 2) + 2 * r * theta.diff(t) + r**2 * theta).subs(theta, sp.exp(-r * t)).doit()) == 0
    )

    # a ball has the force w·h: ask for r² − Γr + wh = 0 where r² + γr = h, of two curvatures with different h/r
    equations = [-(G + gamma) * rate + (1 + w) * h for rate, h in ((r1, h1), (r2, h2))]
    solutions = sp.solve(equations, [G, w], dict=True)
    assert solutions == [{G: -gamma, w: -1}]  # navigation's own equation, and no ball


@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_the_ball_walks_the_optimum_of_the_curvature_it_was_made_for(gamma):
    curvatures = np.array([1.0, 9.0])
    objective = ln.Objective(gamma=gamma)
    best = ln.solve(objective, ln.losses.Quadratic(np.diag(curvatures), minimum=[0.0, 0.0]), [1.0, 1.0])
    rates = ln.rules.rates(objective, np.diag(curvatures))
    r = rates[0]
    ball = solve_ivp(  # friction 2r, force r²h: what the first mode needs
        lambda _, z: np.concatenate([z[2:], -2 * r * z[2:] - r**2 * curvatures * z[:2]]),
        (0, 5), [1.0, 1.0, *(-rates)], t_eval=np.linspace(0, 5, 51), rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    walked, wanted = ball.y[:2].T, best(ball.t)
    np.testing.assert_allclose(walked[:, 0], wanted[:, 0], atol=1e-7)
    assert np.max(np.abs(walked[:, 1] - wanted[:, 1])) > 0.1


# Beyond the numbered equations: a price of acceleration without a charge at the end.


@pytest.mark.parametrize("friction", [0.5, 3.0])
def test_the_weighted_inertia_dissipation_energy_functional_selects_the_heavy_ball(friction):
    """∫e^{−t/ε}{ε²θ̈²/2 + ενθ̇²/2 + hθ²/2}dt by a Riccati equation: gains (h, ν) to first order in ε, swinging or not."""
    gaps = []
    for small in (0.02, 0.01, 0.005):
        motion = np.array([[0.0, 1], [0, 0]]) - np.eye(2) / (2 * small)  # e^{−t/2ε} goes into the state
        cost, price = np.diag([1.0, small * friction]), np.array([[small**2]])
        P = solve_continuous_are(motion, np.array([[0.0], [1]]), cost, price)
        gaps.append(np.max(np.abs(P[1] / small**2 - [1.0, friction])))
    assert gaps[-1] < 0.02 * friction
    np.testing.assert_allclose(np.divide(gaps[:-1], gaps[1:]), 2.0, rtol=0.05)


def test_on_a_double_well_its_minimiser_tends_to_the_heavy_ball():
    """The fourth-order Euler–Lagrange equation with a free end, by collocation; no terminal charge, no reward."""
    friction, horizon, start = 0.4, 6.0, -1.3

    def ball(_, y):
        return np.array([y[1], -friction * y[1] - 4 * y[0] * (y[0] ** 2 - 1) + 0.5])

    rolled = solve_ivp(ball, (0, horizon), [start, 0.0], rtol=1e-10, atol=1e-12, dense_output=True).sol
    assert np.ptp(np.sign(np.diff(rolled(np.linspace(0, 4, 401))[0]))) == 2  # it swings
    gaps = []
    for small in (0.01, 0.005):

        def rates(_, y, rate=1 / small):
            steep = friction * rate * (y[2] - rate * y[1]) - (4 * y[0] * (y[0] ** 2 - 1) - 0.5) * rate**2
            return np.array([y[1], y[2], y[3], 2 * rate * y[3] - rate**2 * y[2] + steep])

        def ends(a, b, small=small):
            return np.array([a[0] - start, a[1], b[2], small * b[3] - b[2] - friction * b[1]])

        times = np.linspace(0, horizon, 1201)
        place, speed = rolled(times)
        pull, curvature = ball(0.0, [place, speed])[1], 12 * place**2 - 4
        guess = np.array([place, speed, pull, -friction * pull - curvature * speed])
        solution = solve_bvp(rates, ends, times, guess, tol=1e-5, max_nodes=40_000)
        assert solution.success
        watched = np.linspace(0, 4, 401)
        gaps.append(np.max(np.abs(solution.sol(watched)[0] - rolled(watched)[0])))
    assert gaps[1] < 0.06 and 1.7 < gaps[0] / gaps[1] < 2.1
