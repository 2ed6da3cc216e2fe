"""Laws and recursions against gradient descent itself: torch's optimizer on an invariant loss, with all its options."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from lossnav import noether

DIM = 40


def turn(beta, *, dampening=0.0, nesterov=False, decoupled=False, seed=0):
    """Root mean square angle a step of torch's SGD, whose gradients are white and orthogonal to the weights."""
    eta, decay = 0.1, 0.02 * (1 - beta)
    generator = torch.Generator().manual_seed(seed)
    weight = torch.nn.Parameter(torch.randn(DIM, generator=generator, dtype=torch.float64))
    options = {"dampening": dampening, "nesterov": nesterov, "weight_decay": 0.0 if decoupled else decay}
    optimizer = torch.optim.SGD([weight], lr=eta, momentum=beta, **options)
    angles = []
    with torch.no_grad():
        for step in range(12_000):
            pull = torch.randn(DIM, generator=generator, dtype=torch.float64)
            pull -= (pull @ weight) / (weight @ weight) * weight
            weight.grad = 0.3 * pull / weight.norm()
            before = weight.clone()
            if decoupled:
                weight.mul_(1 - eta * decay)
            optimizer.step()
            if step >= 3000:
                cosine = (before @ weight / (before.norm() * weight.norm())).item()
                angles.append(2 - 2 * cosine)
    predicted = noether.limiting_angular_speed(
        eta=eta, beta=beta, decay=decay, dampening=dampening, nesterov=nesterov, decoupled=decoupled
    )
    return math.sqrt(np.mean(angles)) / (eta * predicted)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"dampening": 0.5}, {"nesterov": True}, {"decoupled": True}],
    ids=["plain", "dampening", "nesterov", "decoupled"],
)
def test_angular_speed_with_the_options_of_an_optimizer(options):
    assert abs(turn(0.8, **options) - 1) < 0.015
    if options:
        plain = noether.limiting_angular_speed(eta=0.1, beta=0.8, decay=0.004)
        with_options = noether.limiting_angular_speed(eta=0.1, beta=0.8, decay=0.004, **options)
        assert abs(with_options / plain - 1) > 0.1  # so that the first line says something


@pytest.mark.parametrize(("beta", "low", "high"), [(0.0, 0.8, 1.0), (0.9, 1.5, 2.2)])
def test_a_gradient_without_noise_turns_more_with_momentum_and_less_without(beta, low, high):
    """On 1 − cos φ the radius shrinks until a step jumps; with β = 0, −2 ln cos φ ≥ φ² bounds what the jumps can be."""
    eta, decay, q, v, squares = 0.1, 0.05, np.array([0.3, 1.0]), np.zeros(2), []
    for _ in range(20_000):
        pull = q[1] / np.hypot(*q) ** 3
        v = beta * v - pull * np.array([-q[1], q[0]]) - decay * q
        ahead = q + eta * v
        squares.append(math.atan2(q[0] * ahead[1] - q[1] * ahead[0], q @ ahead) ** 2)
        q = ahead
    law = eta * noether.limiting_angular_speed(eta=eta, beta=beta, decay=decay)
    assert low < math.sqrt(np.mean(squares[10_000:])) / law < high


def test_the_speed_falls_to_nothing_without_decay_and_options_exclude_each_other():
    assert noether.limiting_angular_speed(eta=0.1, beta=0.9, decay=0.0) == 0.0
    for options in ({"dampening": 0.1}, {"decoupled": True}):
        with pytest.raises(ValueError, match="nesterov"):
            noether.limiting_angular_speed(eta=0.1, beta=0.9, decay=0.1, nesterov=True, **options)


def path(steps, symmetry, invariant, *, eta=0.05, beta=0.8, decay=0.03, seed=0):
    """Positions of gradient descent whose gradient has no part along the symmetry, but for ``invariant`` = False."""
    rng = np.random.default_rng(seed)
    theta, velocity, positions = rng.normal(size=symmetry.dim), np.zeros(symmetry.dim), []
    for _ in range(steps + 1):
        positions.append(theta)
        gradient, field = rng.normal(size=symmetry.dim), symmetry(theta)
        if invariant:
            gradient = gradient - gradient @ field / (field @ field) * field
        velocity = beta * velocity - gradient - decay * theta
        theta = theta + eta * velocity
    return np.array(positions)


SYMMETRIES = [noether.Translation(6, [0, 2, 3]), noether.Scale(6, [1, 4, 5]), noether.Rescale(6, [0, 1], [3, 5])]


@pytest.mark.parametrize("symmetry", SYMMETRIES, ids=lambda symmetry: type(symmetry).__name__)
def test_identity_holds_with_the_symmetry_and_shows_the_gradient_without(symmetry):
    options = {"eta": 0.05, "beta": 0.8, "decay": 0.03}
    assert noether.identity(path(200, symmetry, True), symmetry, **options).error < 1e-13
    broken = noether.identity(path(200, symmetry, False), symmetry, **options)
    assert broken.error > 0.01
    theta = path(200, symmetry, False)
    speed = np.diff(theta, axis=0) / 0.05
    gradient = 0.8 * speed[:-1] - 0.03 * theta[1:-1] - speed[1:]  # the gradient, from the update
    np.testing.assert_allclose(broken.broken, np.sum(gradient * symmetry(theta[1:-1]), axis=1), atol=1e-12)


def test_recursions_follow_the_quantities_of_the_symmetries():
    options = {"eta": 0.05, "beta": 0.8, "decay": 0.03}
    for symmetry in SYMMETRIES:
        theta = path(300, symmetry, True)
        speed = np.diff(theta, axis=0) / 0.05
        wanted = symmetry.quantity(theta)
        drive = symmetry.source(speed)
        if isinstance(symmetry, noether.Translation):
            recursion = noether.discrete_translation(wanted[0], 0.0, 300, **options)
        else:
            law = noether.discrete_radius if isinstance(symmetry, noether.Scale) else noether.discrete_rescale
            recursion = law(wanted[0], 0.0, drive, **options)
        np.testing.assert_allclose(recursion[0], wanted, atol=1e-12 * np.max(np.abs(wanted)))
        np.testing.assert_allclose(recursion[1][1:], symmetry.charge(theta[1:], speed), atol=1e-11)
    stacked = noether.discrete_radius([1.0, 2.0], [0.0, 0.1], np.ones((7, 2)), **options)
    for index, (start, charge) in enumerate(((1.0, 0.0), (2.0, 0.1))):
        single = noether.discrete_radius(start, charge, np.ones(7), **options)
        np.testing.assert_array_equal(stacked[0][:, index], single[0])


def test_symmetries_are_flows_of_their_fields():
    rng = np.random.default_rng(3)
    for symmetry in SYMMETRIES:
        theta, h = rng.normal(size=(4, 6)), 1e-4
        derivative = (symmetry.transform(theta, h) - symmetry.transform(theta, -h)) / (2 * h)
        np.testing.assert_allclose(derivative, symmetry(theta), atol=1e-7)
        np.testing.assert_allclose(
            symmetry.transform(symmetry.transform(theta, 0.3), 0.4), symmetry.transform(theta, 0.7), rtol=1e-13
        )
        # quantity is what a flow along a gradient that is orthogonal to the field conserves: ∇quantity ∝ ξ
        move = rng.normal(size=6)
        change = (symmetry.quantity(theta + h * move) - symmetry.quantity(theta - h * move)) / (2 * h)
        factor = 1.0 if isinstance(symmetry, noether.Translation) else 2.0
        np.testing.assert_allclose(change, factor * symmetry(theta) @ move, atol=1e-8)


def test_radius_of_extreme_settings():
    law = {"initial": 2.0, "mass": 0.1, "friction": 0.5}
    decaying = noether.radius_squared([0.0, 5.0], gradient_norm_squared=0.0, decay=0.1, **law)
    np.testing.assert_allclose(decaying, [2.0, 2.0 * math.exp(-2 * 0.1 * 5 / 0.5)])
    growing = noether.radius_squared(5.0, gradient_norm_squared=1.0, decay=0.0, **law)
    assert abs(growing - math.sqrt(4 + 4 * 0.1 / 0.5**3 * 5)) < 1e-12
    tiny = noether.radius_squared(5.0, gradient_norm_squared=1.0, decay=1e-14, **law)
    assert abs(tiny - growing) < 1e-12
    t = np.linspace(0, 3, 7)
    dense = np.linspace(0, 3, 60_001)
    table = noether.radius_squared(t, gradient_norm_squared=1 + t, decay=2.0, **law)
    fine = noether.radius_squared(dense, gradient_norm_squared=1 + dense, decay=2.0, **law)[::10_000]
    np.testing.assert_allclose(table, fine, rtol=1e-12)  # a straight line is integrated without error
    call = noether.radius_squared(t, gradient_norm_squared=lambda t: 1 + t, decay=2.0, **law)
    np.testing.assert_allclose(table, call, rtol=1e-9)


def test_the_continuous_radius_solves_its_equation_up_to_the_last_stable_step():
    eta, beta, decay, speeds = 0.2, 0.7, 0.4, [0.5, 2.0, 0.0]
    m, mu, state, states = eta * (1 + beta) / 2, 1 - beta, [1.3, 0.2], [[1.3, 0.2]]
    for speed in speeds:
        rate = lambda t, y, speed=speed: [2 * y[1], speed - (decay * y[0] + mu * y[1]) / m]
        state = solve_ivp(rate, (0.0, eta), state, rtol=1e-11, atol=1e-12).y[:, -1]
        states.append(state)
    solution = noether.continuous_radius(1.3, 0.2, speeds, eta=eta, beta=beta, decay=decay)
    np.testing.assert_allclose(np.transpose(solution), states, rtol=1e-8)
    assert np.isfinite(noether.continuous_radius(1.0, 0.0, [1.0], eta=1.0, beta=0.5, decay=3.0)).all()
    with pytest.raises(ValueError, match=r"eta \* decay = 3.001, but it must be <= 2"):
        noether.continuous_radius(1.0, 0.0, [1.0], eta=1.0, beta=0.5, decay=3.001)


@pytest.mark.parametrize("end", [1e3, 1e6])
def test_a_short_stretch_of_a_long_time_is_not_overlooked(end):
    """Gradients that fade at once, and a decay that remembers the end alone; in any unit of the loss."""
    options = {"initial": 1.0, "mass": 0.095, "friction": 0.1}
    gain = 4 * 0.095 / 0.1**3
    faded = noether.radius_squared(end, gradient_norm_squared=lambda t: math.exp(-t), decay=0.0, **options)
    assert faded == pytest.approx(math.sqrt(1 + gain), rel=1e-9)
    for size in (1.0, 1e-12):
        number = noether.radius_squared(end, gradient_norm_squared=size, decay=0.01, **options)
        steady = noether.radius_squared(end, gradient_norm_squared=lambda t, size=size: size, decay=0.01, **options)
        assert steady == pytest.approx(number, rel=1e-7)
