"""Noether's learning dynamics, supplement: T19–T33.

Channels: actions that are summed and differentiated numerically, sympy on the Lagrangians, equations of motion
integrated in Cartesian coordinates by scipy, and gradient descent itself.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from lossnav import noether

# A particle on a cone: f(q) = f(q̂) in three dimensions, not convex, with its gradient written by hand.
AXIS, TILT = np.array([0.6, -0.2, 0.5]), np.diag([1.0, -0.5, 0.3])


def potential(q):
    unit = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return unit @ AXIS + np.einsum("...i,ij,...j->...", unit, TILT, unit)


def force(q):
    """∇f: tangential, and ∝ 1/r."""
    r = np.linalg.norm(q, axis=-1, keepdims=True)
    unit = q / r
    flat = AXIS + 2 * unit @ TILT
    return (flat - np.sum(flat * unit, axis=-1, keepdims=True) * unit) / r


def moved(m, mu, k, q0, v0, t):
    """The particle's motion m q̈ + μ q̇ + kq = −∇f, in Cartesian coordinates: q, q̇, q̈, each (T, 3)."""

    def rate(_, state):
        q, v = state[:3], state[3:]
        return np.r_[v, -(mu * v + k * q + force(q)) / m]

    states = solve_ivp(rate, (0, t[-1]), np.r_[q0, v0], t_eval=t, rtol=1e-11, atol=1e-13, method="DOP853").y.T
    q, v = states[:, :3], states[:, 3:]
    return q, v, -(mu * v + k * q + force(q)) / m


# ----------------------------------------------------------------------------------------------- least action (T19–T21)

M, MU, K = 0.3, 0.5, 0.2


def lagrangian(q, v, t):
    """T25 for this particle."""
    kinetic = M / 2 * np.sum(v**2, axis=-1)
    return np.exp(MU / M * t) * (kinetic - potential(q) - K / 2 * np.sum(q**2, axis=-1))


def slopes(q, v, t):
    """∂ℒ/∂q and ∂ℒ/∂q̇, by hand."""
    weight = np.exp(MU / M * t)[..., None]
    return -weight * (force(q) + K * q), weight * M * v


NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)
TIMES = (NODES + 1) / 2  # on [0, 1]


def curve(t):
    """A curve that is no solution, with its first two derivatives."""
    q = np.stack([1 + t**2, np.sin(2 * t) - 1, np.cos(t) * t], axis=-1)
    v = np.stack([2 * t, 2 * np.cos(2 * t), np.cos(t) - t * np.sin(t)], axis=-1)
    a = np.stack([2 + 0 * t, -4 * np.sin(2 * t), -2 * np.sin(t) - t * np.cos(t)], axis=-1)
    return q, v, a


def variation(t, ends):
    """A variation, which vanishes at both ends unless ``ends``."""
    shape = np.stack([t - t**2, (t - t**2) * np.exp(t), np.sin(np.pi * t)], axis=-1)
    velocity = np.stack([1 - 2 * t, (1 - t - t**2) * np.exp(t), np.pi * np.cos(np.pi * t)], axis=-1)
    if ends:
        shape = shape + np.stack([np.cos(t), 1 + t, t], axis=-1)
        velocity = velocity + np.stack([-np.sin(t), 1 + 0 * t, 1 + 0 * t], axis=-1)
    return shape, velocity


def change_of_action(ends):
    """dS/dε of S[q + εδq], by differences of the action itself."""
    q, v, _ = curve(TIMES)
    dq, dv = variation(TIMES, ends)
    action = lambda e: WEIGHTS / 2 @ lagrangian(q + e * dq, v + e * dv, TIMES)
    rough, fine = ((action(h) - action(-h)) / (2 * h) for h in (2e-3, 1e-3))
    return (4 * fine - rough) / 3


@pytest.mark.parametrize("ends", [False, True])
def test_variation_of_the_action(ends):
    """T19."""
    q, v, _ = curve(TIMES)
    dq, dv = variation(TIMES, ends)
    by_q, by_v = slopes(q, v, TIMES)
    integral = WEIGHTS / 2 @ np.sum(by_q * dq + by_v * dv, axis=1)
    assert abs(integral - change_of_action(ends)) < 1e-9 * abs(integral)


@pytest.mark.parametrize("ends", [False, True])
def test_variation_after_integration_by_parts(ends):
    """T20: the bracket is what a variation of the ends adds."""
    q, v, a = curve(TIMES)
    dq, _ = variation(TIMES, ends)
    by_q, _ = slopes(q, v, TIMES)
    change = np.exp(MU / M * TIMES)[:, None] * (MU * v + M * a)  # d/dt ∂ℒ/∂q̇
    inner = WEIGHTS / 2 @ np.sum((by_q - change) * dq, axis=1)
    border = np.array([0.0, 1.0])
    _, by_v = slopes(*curve(border)[:2], border)
    bracket = np.sum(by_v * variation(border, ends)[0], axis=1)
    total = bracket[1] - bracket[0] + inner
    assert abs(total - change_of_action(ends)) < 1e-9 * abs(total)
    assert (abs(bracket[1] - bracket[0]) > 0.1) == ends


def test_action_is_stationary_on_solutions_and_not_beside_them():
    """T21, on a particle of the equation that sympy finds: m q̈ + μq̇ + kq = −∇f."""
    count = 4000
    t = np.linspace(0.0, 1.0, count + 1)
    q, _, _ = moved(M, MU, K, np.array([1.0, -0.5, 0.7]), np.array([0.2, 0.1, -0.4]), t)
    step, middle = 1 / count, (t[1:] + t[:-1]) / 2
    action = lambda x: step * np.sum(lagrangian((x[1:] + x[:-1]) / 2, np.diff(x, axis=0) / step, middle))
    dq = variation(t, False)[0]
    first_variation = (action(q + 1e-3 * dq) - action(q - 1e-3 * dq)) / 2e-3
    bent = q + dq * 0.1
    elsewhere = (action(bent + 1e-3 * dq) - action(bent - 1e-3 * dq)) / 2e-3
    assert abs(first_variation) < 1e-5 * abs(elsewhere)


# -------------------------------------------------------------------------------- the Bregman Lagrangian (T22–T24)

Q1, Q2, V1, V2, T = sp.symbols("q1 q2 v1 v2 t", real=True)
POINT, SPEED = sp.Matrix([Q1, Q2]), sp.Matrix([V1, V2])
ALPHA, BETA, GAMMA = sp.sin(T) / 3, sp.Rational(1, 4) + T / 5, T / 2 + T**2 / 2
RATE = sp.exp(-ALPHA)
H = Q1**4 / 12 + Q2**2 + sp.exp((Q1 - Q2) / 2) + Q1**2  # strictly convex, and no square
LOSS = Q1 * Q2 / (Q1**2 + Q2**2)  # invariant under scaling
AHEAD = {Q1: Q1 + RATE * V1, Q2: Q2 + RATE * V2}
SLOPE_H = sp.Matrix([H]).jacobian(POINT).T
DIVERGENCE = H.subs(AHEAD, simultaneous=True) - H - RATE * (SLOPE_H.T * SPEED)[0]
KINETIC = sp.exp(ALPHA) * DIVERGENCE
BREGMAN = sp.exp(GAMMA) * (KINETIC - sp.exp(ALPHA + BETA) * LOSS)
MOMENTUM = SLOPE_H.subs(AHEAD, simultaneous=True) - SLOPE_H


def test_bregman_momentum():
    """T24: e^{−γ}∂ℒ/∂q̇ = ∇h(q + e^{−α}q̇) − ∇h(q), and ∂T/∂q as the source has it on the way."""
    by_speed = sp.Matrix([BREGMAN]).jacobian(SPEED).T * sp.exp(-GAMMA)
    assert sp.simplify(sp.expand(by_speed - MOMENTUM)) == sp.zeros(2, 1)
    hessian = sp.hessian(H, (Q1, Q2))
    by_point = sp.Matrix([KINETIC]).jacobian(POINT).T - sp.exp(ALPHA) * (MOMENTUM - RATE * hessian * SPEED)
    assert sp.simplify(sp.expand(by_point)) == sp.zeros(2, 1)


def bregman_motion(loss=LOSS):
    """A solution of the Euler–Lagrange equations of ℒ, which are solved for q̈ numerically at each moment."""
    full = BREGMAN.subs(LOSS, loss) if loss is LOSS else sp.exp(GAMMA) * (KINETIC - sp.exp(ALPHA + BETA) * loss)
    by_speed = sp.Matrix([full]).jacobian(SPEED)
    parts = (by_speed.jacobian(SPEED), by_speed.jacobian(POINT), by_speed.diff(T), sp.Matrix([full]).jacobian(POINT))
    numbers = sp.lambdify((Q1, Q2, V1, V2, T), parts)

    def rate(t, state):
        inertia, mixed, explicit, pull = numbers(*state, t)
        change = (pull - explicit).ravel() - mixed @ state[2:]
        return np.r_[state[2:], np.linalg.solve(inertia, change)]

    return solve_ivp(rate, (0, 1.5), [1.0, -0.4, 0.3, 0.5], rtol=1e-11, atol=1e-12, dense_output=True).sol


def derivative(function, t, step=1e-3):
    """Return a derivative, of fourth order."""
    first = (function(t + step) - function(t - step)) / (2 * step)
    second = (function(t + 2 * step) - function(t - 2 * step)) / (4 * step)
    return (4 * first - second) / 3


def along(path, expression):
    return lambda t: sp.lambdify((Q1, Q2, V1, V2, T), expression)(*path(t), t)


FIELD = sp.Matrix(noether.Scale(2).expression([Q1, Q2]))  # ξ = ∂Q/∂s of the library, at s = 0
FLOW = sp.Matrix(noether.Scale(2).expression([V1, V2]))  # ∂Q̇/∂s: the field is linear


def test_charge_changes_by_what_the_kinetic_energy_does():
    """T23: d/dt⟨∂ℒ/∂q̇, ξ⟩ = e^γ ∂T/∂s, where the derivative by s moves q and q̇."""
    path = bregman_motion()
    charge = along(path, (sp.exp(GAMMA) * MOMENTUM.T * FIELD)[0])
    s = sp.Symbol("s")
    mapped = {q: q + s * xi for q, xi in zip((Q1, Q2, V1, V2), (*FIELD, *FLOW), strict=True)}
    right = along(path, (sp.exp(GAMMA) * KINETIC.subs(mapped, simultaneous=True)).diff(s).subs(s, 0))
    for t in (0.2, 0.7, 1.3):
        assert abs(derivative(charge, t) - right(t)) < 1e-7 * abs(right(t))


def test_learning_dynamics_of_the_bregman_lagrangian():
    """T22, with the dot on γ that the source lost, and what a loss that is not invariant adds."""
    bracket = (sp.exp(ALPHA) * (MOMENTUM - RATE * sp.hessian(H, (Q1, Q2)) * SPEED).T * FIELD)[0]
    charge, driven = (MOMENTUM.T * FIELD)[0], (MOMENTUM.T * FLOW)[0]
    for loss in (LOSS, LOSS + Q1**2 / 2):
        path = bregman_motion(loss)
        pull = sp.exp(ALPHA + BETA) * (sp.Matrix([loss]).jacobian(POINT) * FIELD)[0]
        left = lambda t: derivative(along(path, charge), t) + along(path, GAMMA.diff(T) * charge)(t)  # noqa: B023
        printed = lambda t: derivative(along(path, charge), t) + along(path, GAMMA * charge)(t)  # noqa: B023
        right = along(path, driven + bracket - pull)
        for t in (0.3, 0.8, 1.2):
            assert abs(left(t) - right(t)) < 1e-7 * abs(right(t))
            assert abs(printed(t) - right(t)) > 0.01 * abs(right(t))
        assert (abs(along(path, pull)(0.8)) < 1e-12) == (loss is LOSS)


def test_learning_dynamics_of_gradient_descent_to_second_order():
    """T22 with h = ½|q|² along gradient descent: what is left over is the error of continuous time."""
    field, beta, k = noether.Scale(3), 0.5, 0.2
    gaps = []
    for eta in (0.02, 0.01):
        path, velocity = [np.array([1.0, -0.5, 0.7])], np.zeros(3)
        for _ in range(round(4.0 / eta)):
            velocity = beta * velocity - force(path[-1]) - k * path[-1]
            path.append(path[-1] + eta * velocity)
        q = np.array(path)[round(2.0 / eta) :]
        exact = noether.identity(np.array(path), field, eta=eta, beta=beta, decay=k)
        assert exact.error < 1e-12
        speed, charge = (q[2:] - q[:-2]) / (2 * eta), np.sum((q[2:] - q[:-2]) * q[1:-1], axis=1) / (2 * eta)
        m, mu = noether.mass(eta, beta), noether.friction(beta)
        left = m * (charge[2:] - charge[:-2]) / (2 * eta) + mu * charge[1:-1]
        right = m * np.sum(speed**2, axis=1)[1:-1] - k * np.sum(q[2:-2] ** 2, axis=1)
        gaps.append(np.max(np.abs(left - right)) / np.max(np.abs(right)))
    assert gaps[0] / gaps[1] > 3.3 and gaps[1] < 1e-6


# ------------------------------------------------------------------------------- a particle on a cone (T25–T31)


def test_lagrangian_of_gradient_descent():
    """T25: sympy's equation of motion is that of gradient descent, m and μ as the library has them, to O(η²)."""
    m, mu, k = sp.symbols("m mu k", positive=True)
    q = sp.Function("q")(T)
    f = sp.Function("f")
    integrand = sp.exp(mu * T / m) * (m * q.diff(T) ** 2 / 2 - f(q) - k * q**2 / 2)
    motion = (integrand.diff(q.diff(T)).diff(T) - integrand.diff(q)) * sp.exp(-mu * T / m)
    assert sp.simplify(motion.doit() - (m * q.diff(T, 2) + mu * q.diff(T) + k * q + f(q).diff(q))) == 0
    # gradient descent without v: (θ₊ − θ)/η − β(θ − θ₋)/η = −g − kθ; its left side on any smooth path
    path, v, a = (lambda t: np.sin(2 * t)), (lambda t: 2 * np.cos(2 * t)), (lambda t: -4 * np.sin(2 * t))
    t = np.linspace(0.0, 2.0, 9)
    for beta in (0.0, 0.5, 0.9):
        gaps, heavier = [], []
        for eta in (0.02, 0.01):
            left = (path(t + eta) - path(t) - beta * (path(t) - path(t - eta))) / eta
            flat = left - noether.friction(beta) * v(t)
            gaps.append(np.max(np.abs(flat - noether.mass(eta, beta) * a(t))))
            heavier.append(np.max(np.abs(flat - 1.2 * noether.mass(eta, beta) * a(t))))
        assert 3.7 < gaps[0] / gaps[1] < 4.3 and heavier[0] / heavier[1] < 2.2


def test_lagrangian_in_radius_and_direction():
    """T26: the kinetic energy and the decay in r and q̂; the loss depends on q̂ alone."""
    m, k = sp.symbols("m k", positive=True)
    r, a, b = (sp.Function(name)(T) for name in ("r", "a", "b"))
    unit = sp.Matrix([sp.sin(a) * sp.cos(b), sp.sin(a) * sp.sin(b), sp.cos(a)])
    q = r * unit
    plain = m / 2 * (q.diff(T).T * q.diff(T))[0] - k / 2 * (q.T * q)[0]
    split = m / 2 * r.diff(T) ** 2 + (m / 2 * (unit.diff(T).T * unit.diff(T))[0] - k / 2) * r**2
    assert sp.simplify(plain - split) == 0
    points = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(potential(3.7 * points), potential(points), rtol=1e-13)


def test_radial_equation():
    """T27: exact along the Cartesian motion; and the library's equation for r², driven by |q̇|², gives the radius."""
    t = np.linspace(0.0, 6.0, 601)
    q, v, a = moved(M, MU, K, np.array([1.0, -0.5, 0.7]), np.array([0.2, 0.1, -0.4]), t)
    r = np.linalg.norm(q, axis=1)
    pace = np.sum(q * v, axis=1) / r
    r_ddot = (np.sum(v**2, axis=1) + np.sum(q * a, axis=1) - pace**2) / r
    turning = (np.sum(v**2, axis=1) - pace**2) / r**2
    assert np.max(np.abs(M * r_ddot + MU * pace - (M * turning - K) * r)) < 1e-10
    gaps = []
    for beta, eta in ((0.5, 0.02), (0.5, 0.01)):
        m, mu = noether.mass(eta, beta), noether.friction(beta)
        t = eta * np.arange(round(3.0 / eta) + 1)
        q, v, _ = moved(m, mu, K, np.array([1.0, -0.5, 0.7]), np.zeros(3), t)
        middle = moved(m, mu, K, np.array([1.0, -0.5, 0.7]), np.zeros(3), np.r_[0.0, t[:-1] + eta / 2])[1][1:]
        r2 = noether.continuous_radius(q[0] @ q[0], 0.0, np.sum(middle**2, axis=1), eta=eta, beta=beta, decay=K)[0]
        gaps.append(np.max(np.abs(r2 - np.sum(q**2, axis=1))))
    assert gaps[1] < 2e-3 and 2.5 < gaps[0] / gaps[1] < 6.0


def test_angular_equation_holds_along_the_sphere_to_second_order():
    """T28, tangentially: what it drops falls fourfold when m and k are halved; along q̂ it is no equation at all."""
    gaps, along_unit = [], []
    for small in (0.02, 0.01):
        m, k, mu = small, small, 1.0
        t = np.array([0.0, 0.5, 1.0, 1.5])
        start = np.array([1.0, -0.5, 0.7])
        q, v, a = moved(m, mu, k, start, -(force(start) + k * start) / mu, t)
        r = np.linalg.norm(q, axis=1)[1:, None]
        q, v, a = q[1:], v[1:], a[1:]
        unit, pace = q / r, np.sum(q * v, axis=1, keepdims=True) / r
        r_ddot = (np.sum(v**2 + q * a, axis=1, keepdims=True) - pace**2) / r
        turn = (v - pace * unit) / r
        spin = (a - r_ddot * unit - 2 * pace * turn) / r
        pull = -force(unit) / r**2
        exact = m * spin + (mu + 2 * m * pace / r) * turn - pull + m * np.sum(turn**2, axis=1, keepdims=True) * unit
        assert np.max(np.abs(exact)) < 1e-9
        left = m * spin + mu * turn - pull
        radial = np.sum(left * unit, axis=1, keepdims=True)
        gaps.append(np.max(np.abs(left - radial * unit)))
        along_unit.append(np.max(np.abs(radial + m * np.sum(turn**2, axis=1, keepdims=True))))
        assert np.max(np.abs(radial)) > 5 * gaps[-1]
    assert 3.3 < gaps[0] / gaps[1] < 4.7 and max(along_unit) < 1e-9


def descend(eta, beta, k, pull, steps, rng=None, dim=2):
    """Gradient descent on a cone whose tangential pull at r = 1 has a constant size; ``rng`` makes it white.

    Returns the angle of the last steps and the mean of r⁴ over the last half, from the recursion itself.
    """
    q, velocity = np.eye(dim)[0] * 1.0, np.zeros(dim)
    angles, radii = [], []
    for step in range(steps):
        r = np.linalg.norm(q)
        if rng is None:
            gradient = pull * np.array([-q[1], q[0]]) / r**2
        else:
            gradient = rng.normal(size=dim)
            gradient -= (gradient @ q) * q / r**2
            gradient *= pull / (np.linalg.norm(gradient) * r)
        velocity = beta * velocity - gradient - k * q
        new = q + eta * velocity
        if step >= steps // 2:
            cosine = q @ new / (r * np.linalg.norm(new))
            angles.append(2 * math.asin(min(1.0, math.sqrt(max(0.0, (1 - cosine) / 2)))))
            radii.append(r**4)
        q = new
    return math.sqrt(np.mean(np.square(angles))), np.mean(radii)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("white", [False, True])
def test_limiting_angular_speed(beta, white):
    """T29, whatever drives the particle: a steady pull or white noise; the angle a step is η|q̂˙|."""
    eta, k = 0.1, 0.01 * (1 - beta)
    rng = np.random.default_rng(1) if white else None
    angle, _ = descend(eta, beta, k, 0.3, round(12 / (4 * eta * k / (1 - beta))), rng, 2 if rng is None else 12)
    assert abs(angle / (eta * noether.limiting_angular_speed(eta=eta, beta=beta, decay=k)) - 1) < 0.01


def test_without_noise_the_radius_does_not_rest_and_the_angle_is_larger():
    """T29 is about a radius at rest: here f = −cos of an angle, no noise, and the weights jump again and again."""
    eta, beta, axis = 0.1, 0.9, np.array([1.0, 0.0])
    k = 0.01 * (1 - beta)
    q, velocity, squares, radii = np.array([math.cos(2.0), math.sin(2.0)]), np.zeros(2), [], []
    for _ in range(20_000):
        r = np.linalg.norm(q)
        unit = q / r
        velocity = beta * velocity + (axis - (axis @ unit) * unit) / r - k * q
        q = q + eta * velocity
        squares.append(math.acos(np.clip(unit @ q / np.linalg.norm(q), -1, 1)) ** 2)
        radii.append(r)
    law = eta * noether.limiting_angular_speed(eta=eta, beta=beta, decay=k)
    assert math.sqrt(np.mean(squares[4000:])) > 1.4 * law
    assert max(radii[4000:]) > 5 * min(radii[4000:])


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
def test_limiting_radius(beta):
    """T30 for a steady pull, and the white-noise coefficient for one that is drawn anew at every step."""
    eta, k, pull = 0.1, 0.01 * (1 - beta), 0.3
    steps = round(12 / (4 * eta * k / (1 - beta)))
    _, steady = descend(eta, beta, k, pull, steps)
    plain = noether.limiting_radius(pull, eta=eta, beta=beta, decay=k)
    assert abs(steady / plain**4 - 1) < 0.02
    noisy = descend(eta, beta, k, pull, 4 * steps, np.random.default_rng(2), 12)[1]
    white = noether.limiting_radius(pull, eta=eta, beta=beta, decay=k, gradient_noise="white")
    assert abs(noisy / white**4 - 1) < 0.05
    assert abs((white / plain) ** 4 - (1 - beta) / (1 + beta)) < 1e-12


def test_angular_equation_at_the_limiting_radius():
    """T31: at the radius of T30 the pull on q̂ has the size √(kμ²/m), whatever the gradient's."""
    eta, beta, k = 0.05, 0.9, 1e-3
    m, mu = noether.mass(eta, beta), noether.friction(beta)
    for norm in (0.01, 1.0, 30.0):
        r = noether.limiting_radius(norm, eta=eta, beta=beta, decay=k)
        assert abs(norm / r**2 - math.sqrt(k * mu**2 / m)) < 1e-12
        # and there the radial equation is at rest: T27 with the speed that T28 has without inertia
        assert abs(m * (norm / (mu * r**2)) ** 2 - k) < 1e-15


# ----------------------------------------------------------------------------- without inertia (T32, T33)


def test_radius_without_inertia():
    """T32 and T33 against the full motion T25: what inertia adds falls fourfold when m and k are halved.

    A pull of changing size drives an angle; m and k small together, times long as 1/k.
    """
    gaps, mu = [], 0.7
    for small in (0.02, 0.01):
        m, k = 0.5 * small, small
        pull = lambda t: 1.0 + 0.5 * math.sin(small * t)  # noqa: B023
        end = 3.0 / small

        def rate(t, state, m=m, k=k, pull=pull):
            r, pace, spin = state  # T27, and the angle: d/dt (r²φ̇) = (pull − μr²φ̇)/m
            return pace, ((m * spin**2 - k) * r - mu * pace) / m, (pull(t) / r**2 - mu * spin) / m - 2 * pace * spin / r

        t = np.linspace(0.0, end, 31)
        start = [0.8, 0.0, pull(0) / (mu * 0.64)]
        r = solve_ivp(rate, (0, end), start, t_eval=t, rtol=1e-10, atol=1e-12, method="LSODA").y[0]
        size = np.array([pull(x) ** 2 for x in np.linspace(0.0, end, 3001)])
        r_squared = noether.radius_squared(
            np.linspace(0.0, end, 3001), initial=0.64, gradient_norm_squared=size, mass=m, friction=mu, decay=k
        )[::100]
        gaps.append(np.max(np.abs(r_squared / r**2 - 1)))
    assert gaps[1] < 0.03 and gaps[0] / gaps[1] > 1.7, gaps


def test_average_solves_the_radial_law():
    """T33 solves T32: r² integrated as a differential equation, for a number, a function and a table."""
    m, mu, k = 0.1, 0.3, 0.05
    pull = lambda t: 1.0 + 0.8 * math.sin(t) ** 2
    t = np.linspace(0.0, 20.0, 2001)
    for source, values in ((1.7, lambda t: 1.7), (pull, pull), (np.array([pull(x) for x in t]), pull)):
        rate = lambda t, x: -2 * k / mu * x + 2 * m / (mu**3 * x) * values(t)  # noqa: B023
        wanted = solve_ivp(rate, (0, 20), [0.5], t_eval=t, rtol=1e-10, atol=1e-12).y[0]
        found = noether.radius_squared(t, initial=0.5, gradient_norm_squared=source, mass=m, friction=mu, decay=k)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)  # the table is linear in between
    rest = noether.limiting_radius(1.2, eta=2 * m / (2 - mu), beta=1 - mu, decay=k)
    late = noether.radius_squared(1e4, initial=0.5, gradient_norm_squared=1.44, mass=m, friction=mu, decay=k)
    assert abs(late - rest**2) < 1e-12  # T30 again


def test_without_momentum_it_is_the_modified_loss():
    """T32 at β = 0: −2kr² + η|∇f(q)|², |∇f(q)| = |∇f(q̂)|/r, as the source says of two earlier results."""
    eta, k, norm = 0.1, 0.02, 0.7
    r2 = noether.radius_squared([0.0, 1e-6], initial=2.0, gradient_norm_squared=norm**2, mass=noether.mass(eta, 0.0),
                                friction=noether.friction(0.0), decay=k)  # fmt: skip
    assert abs((r2[1] - r2[0]) / 1e-6 - (-2 * k * 2.0 + eta * norm**2 / 2.0)) < 1e-5
