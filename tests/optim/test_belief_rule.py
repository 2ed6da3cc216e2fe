"""Belief against its limits: torch's own optimizers, the paper's class, an AdaBelief written here, Eq. 6, mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch
from drive import drive, gradients
from hypothesis import given, settings
from hypothesis import strategies as st
from optim_problem import advance, network, vector

import lossnav as ln
from lossnav.optim import Ballistic, Belief


def train(optimizer_class, **options):
    """Some hundred noisy steps of a little network, every weight at every step: shape (250, weights)."""
    model = network()
    optimizer = optimizer_class(model.parameters(), **options)
    path = []
    for step in range(250):
        advance(model, optimizer, [step])
        path.append(vector(model).clone())
    return torch.stack(path)


LIMITS = {
    "SGD": (
        {"lr": math.inf, "lr_overdamped": 0.05, "betas": (0.0, 0.999)},
        torch.optim.SGD, {"lr": 0.05},
    ),
    "RMSprop": (
        {"lr": 0.003, "betas": (0.0, 0.99), "eps": 1e-8, "bias_correction": False},
        torch.optim.RMSprop, {"lr": 0.003, "alpha": 0.99, "eps": 1e-8},
    ),
    "Adam": ({"lr": 0.003}, torch.optim.Adam, {"lr": 0.003}),
    "Adam, large eps": (
        {"lr": 0.003, "betas": (0.8, 0.95), "eps": 0.1}, torch.optim.Adam,
        {"lr": 0.003, "betas": (0.8, 0.95), "eps": 0.1},
    ),
    "AdamW": (
        {"lr": 0.003, "weight_decay": 0.2, "maximize": True}, torch.optim.AdamW,
        {"lr": 0.003, "weight_decay": 0.2, "maximize": True},
    ),
    "the paper's ballistic": (
        {"lr": 0.003, "betas": (0.0, 0.99), "bias_correction": False, "eps": 0.0, "eps_inside": 1e-3},
        Ballistic, {"lr": 0.003, "beta": 0.99, "eps": 1e-3, "bias_correction": False},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_limits_over_hundreds_of_steps(name):
    ours, optimizer_class, theirs = LIMITS[name]
    if ours.get("maximize"):  # climbing a squared error does not end; the sign is what is tested
        ours, theirs = {**ours, "lr": 1e-5}, {**theirs, "lr": 1e-5}
    torch.testing.assert_close(train(Belief, **ours), train(optimizer_class, **theirs), rtol=1e-10, atol=1e-10)


def adabelief(grads, lr, beta1, beta2, eps):
    """AdaBelief from its definition, in numpy: s averages (g − m)², both averages corrected, eps after the root."""
    theta, m, s, path = np.ones(grads.shape[1]), 0.0, 0.0, []
    for n, g in enumerate(grads, start=1):
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * (g - m) ** 2
        theta = theta - lr * (m / (1 - beta1**n)) / (np.sqrt(s / (1 - beta2**n)) + eps)
        path.append(theta)
    return np.array(path)


def test_the_centred_variance_is_adabelief():
    grads = gradients(1000) + 0.5
    ours = drive(Belief, grads, lr=0.01, betas=(0.9, 0.99), eps=1e-8, variance="centred")
    np.testing.assert_allclose(ours, adabelief(grads, 0.01, 0.9, 0.99, 1e-8), rtol=1e-10, atol=1e-10)


def test_a_large_curvature_scale_makes_the_step_newtons():
    """−m̂/(cV̂), with both averages taken here as sums."""
    grads = gradients(60)
    beta1, beta2, c = 0.9, 0.99, 50.0
    path = drive(Belief, grads, lr=1e6, betas=(beta1, beta2), curvature_scale=c)
    steps = np.diff(path, axis=0, prepend=np.ones((1, 4)))
    for n in range(1, 61):
        w1, w2 = beta1 ** np.arange(n - 1, -1, -1), beta2 ** np.arange(n - 1, -1, -1)
        expected = -(w1 @ grads[:n] / w1.sum()) / (c * (w2 @ grads[:n] ** 2 / w2.sum()))
        np.testing.assert_allclose(steps[n - 1], expected, rtol=1e-6)  # differences of a path that is of order 1e3


@pytest.mark.parametrize("damping", [1e-6, 1e-2, 1.0, 1e2, 1e6])
@pytest.mark.parametrize("v", [1e-12, 1e-4, 1.0, 1e6])
def test_the_step_solves_its_quadratic_in_fifty_digits(damping, v):
    """S is the root of V S²/lr_b² + S/lr_s = 1: the caps of the two rates, joined. mpmath shares no code with it."""
    lr = 0.37
    slow = lr / damping
    with mpmath.workdps(50):
        a, b = mpmath.mpf(v) / mpmath.mpf(lr) ** 2, 1 / mpmath.mpf(slow)
        root = (-b + mpmath.sqrt(b**2 + 4 * a)) / (2 * a)
    g = math.sqrt(v)
    grads = np.full((1, 1), g)
    path = drive(Belief, grads, start=0.0, lr=lr, lr_overdamped=slow, betas=(0.0, 0.9))
    assert -path[0, 0] / g == pytest.approx(float(root), rel=1e-13)


@given(
    h=st.floats(1e-8, 1e6), g=st.floats(-100, 100), gamma=st.floats(1e-3, 1e3), stiffness=st.floats(1e-2, 1e2),
    dt=st.floats(1e-4, 1e3),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_with_known_curvature_it_is_equation_6(h, g, gamma, stiffness, dt):
    """V is made h by a first gradient √h; the second one is g, and β₂ is so close to 1 that V keeps its value."""
    c = 2.5
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = Belief(
        [parameter], lr=math.sqrt(stiffness / c) * dt, lr_overdamped=stiffness * dt / gamma, betas=(0.0, 0.999),
        curvature_scale=c,
    )  # fmt: skip
    parameter.grad = torch.full((1,), g, dtype=torch.float64)
    state = optimizer._state_of(parameter, optimizer.param_groups[0])
    state["v"].fill_(h / c)  # the average right before the bias correction of a long run
    state["step"].fill_(1e6)
    decayed = 0.999 * h / c + 0.001 * g**2
    optimizer.step()
    objective = ln.Objective(eta=stiffness, k=1.0, gamma=gamma)
    expected = ln.update(objective, [g], [[c * decayed]], dt)[0]
    assert parameter.item() == pytest.approx(expected, rel=1e-10, abs=1e-300)


def test_the_step_never_exceeds_either_rate():
    grads = gradients(200)
    options = {"betas": (0.0, 0.99), "bias_correction": True}
    for slow in (1e-4, 1e-2, 1.0):
        path = drive(Belief, grads, lr=0.01, lr_overdamped=slow, **options)
        step = np.abs(np.diff(path, axis=0, prepend=np.ones((1, 4))))
        w = 0.99 ** np.arange(199, -1, -1)
        root = np.sqrt([w[-n:] @ grads[:n] ** 2 / w[-n:].sum() for n in range(1, 201)])
        assert (step <= np.minimum(slow, 0.01 / root) * np.abs(grads) + 1e-15).all()  # differences of numbers near 1


def test_the_innovation_is_an_unbiased_variance_and_the_others_are_not():
    """Noise N(2, 1), β₁ = .9: E q = 1 for innovations from the second step on, 2β₁²/(1+β₁) centred, 5 uncentred."""
    count, size = 400, 4000
    grads = np.random.default_rng(5).normal(2.0, 1.0, size=(count, size))
    by_kind = {}
    for kind in ("innovation", "centred", "uncentred"):
        parameter = torch.nn.Parameter(torch.zeros(size, dtype=torch.float64))
        optimizer = Belief([parameter], variance=kind, betas=(0.9, 0.0), lr=1e-3)  # v is the latest datum itself
        means = []
        for g in grads:
            parameter.grad = torch.tensor(g)
            optimizer.step()
            means.append(optimizer.state[parameter]["v"].mean().item())
        by_kind[kind] = np.array(means)
    error = 4 * math.sqrt(2 / size)
    assert np.abs(by_kind["innovation"][1:] - 1).max() < 1.6 * error  # the largest of 399 means
    assert by_kind["innovation"][1:].mean() == pytest.approx(1.0, abs=error / 5)
    assert by_kind["centred"][100:].mean() == pytest.approx(2 * 0.81 / 1.9, abs=error / 5)
    assert by_kind["uncentred"].mean() == pytest.approx(5.0, abs=error)


def test_a_weight_that_never_saw_a_gradient_stays_where_it_is_even_without_eps():
    path = drive(Belief, np.zeros((3, 2)), lr=0.01, eps=0.0)
    assert (path == 1.0).all()


def test_a_schedule_may_end_at_zero():
    for slow in (math.inf, 0.1):
        path = drive(Belief, np.array([[0.0, 1.0]]), lr=0.0, lr_overdamped=slow, eps=0.0)
        assert (path == 1.0).all()


def test_one_cycle_moves_beta1_as_it_does_for_adam():
    ours, theirs = network(), network()
    pair = Belief(ours.parameters()), torch.optim.Adam(theirs.parameters())
    plans = [torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.01, total_steps=20) for o in pair]
    for step in range(19):
        for model, optimizer, plan in zip((ours, theirs), pair, plans, strict=True):
            advance(model, optimizer, [step])
            plan.step()
    assert pair[0].param_groups[0]["betas"] == pair[1].param_groups[0]["betas"]
    torch.testing.assert_close(vector(ours), vector(theirs), rtol=1e-10, atol=1e-12)


def test_discounting_is_adams_epsilon_where_the_noise_is_large():
    """ε = lr_b/(2 lr_s): S → lr_b/(√V + ε) for V ≫ ε², and lr_s = lr_b/(2ε) instead of lr_b/ε for V ≪ ε²."""
    lr, eps = 0.01, 1e-3
    for g, ratio in ((10.0, 1.0), (1e-7, 0.5)):
        grads = np.full((1, 1), g)
        believed = 1 - drive(Belief, grads, lr=lr, lr_overdamped=lr / (2 * eps))[0, 0]
        adam = 1 - drive(torch.optim.Adam, grads, lr=lr, eps=eps)[0, 0]
        assert believed / adam == pytest.approx(ratio, rel=1e-3)
