"""Ballistic against the letter of Eq. 33, closed forms and torch's own RMSprop."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from drive import drive, gradients
from hypothesis import given, settings
from hypothesis import strategies as st
from optim_problem import advance, network
from references import ballistic

import lossnav as ln
from lossnav.optim import Ballistic


def test_v_is_the_weighted_sum_of_squares():
    """The recursion unrolled: v_n = (1 − β) Σ β^{n−j} g_j²."""
    grads = gradients(30)
    parameter = torch.nn.Parameter(torch.zeros(4, dtype=torch.float64))
    optimizer = Ballistic([parameter], beta=0.8, bias_correction=False)
    for g in grads:
        parameter.grad = torch.tensor(g)
        optimizer.step()
    weights = 0.2 * 0.8 ** np.arange(29, -1, -1)
    np.testing.assert_allclose(optimizer.state[parameter]["v"].numpy(), weights @ grads**2, rtol=1e-12)


@pytest.mark.parametrize("eps", [1e-8, 0.01])
def test_the_function_in_the_chapter_is_the_papers_rule(eps):
    grads = gradients(40)
    theta, v = torch.ones(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    for n, there in enumerate(drive(Ballistic, grads, lr=0.02, beta=0.9, eps=eps, bias_correction=False)):
        theta, v = ballistic(theta, v, torch.tensor(grads[n]), lr=0.02, beta=0.9, eps=eps)
        np.testing.assert_allclose(theta.numpy(), there, rtol=1e-12)


TORCHS = {
    "RMSprop": ({"bias_correction": False}, {"alpha": 0.99}),
    "Adam": ({"momentum": 0.9}, {"betas": (0.9, 0.99)}),
    "AdamW": ({"momentum": 0.9, "weight_decay": 0.3}, {"betas": (0.9, 0.99), "weight_decay": 0.3}),
}


@pytest.mark.parametrize("name", TORCHS)
def test_without_eps_it_is_torchs_optimizer(name):
    own, theirs = TORCHS[name]
    expected = drive(getattr(torch.optim, name), gradients(200), lr=0.01, eps=0.0, **theirs)
    ours = drive(Ballistic, gradients(200), lr=0.01, beta=0.99, eps=0.0, **own)
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_eps_sits_inside_the_root():
    """Where |g| is far below √ε the rule is gradient descent at rate lr/√ε; RMSprop's outside ε would give lr/ε."""
    grads = np.full((1, 1), 1e-9)
    step = 1 - drive(Ballistic, grads, lr=1e-3, beta=0.999, eps=1e-4, bias_correction=False)[0]
    np.testing.assert_allclose(step, 1e-3 * 1e-9 / math.sqrt(1e-4), rtol=1e-6)


@given(g=st.floats(1e-3, 1e6), lr=st.floats(1e-6, 1.0), beta=st.floats(0.0, 0.9999), sign=st.sampled_from([-1.0, 1.0]))
@settings(max_examples=60, deadline=None)
def test_the_first_step_in_closed_form(g, lr, beta, sign):
    """lr·g/√((1−β)g² + ε), which is lr/√(1−β) where ε does not matter, and lr with the correction."""
    grads = np.array([[sign * g]])
    eps = 1e-8
    plain = 1 - drive(Ballistic, grads, lr=lr, beta=beta, eps=eps, bias_correction=False)[0, 0]
    assert plain == pytest.approx(sign * lr * g / math.sqrt((1 - beta) * g**2 + eps), rel=1e-9, abs=1e-15)
    assert 1 - drive(Ballistic, grads, lr=lr, beta=beta, eps=0.0, bias_correction=False)[0, 0] == pytest.approx(
        sign * lr / math.sqrt(1 - beta), rel=1e-9, abs=1e-15
    )
    corrected = 1 - drive(Ballistic, grads, lr=lr, beta=beta, eps=0.0, bias_correction=True)[0, 0]
    assert corrected == pytest.approx(sign * lr, rel=1e-9, abs=1e-15)


def test_the_paper_rule_starts_with_steps_of_31_6_lr():
    step = 1 - drive(Ballistic, np.ones((1, 1)), lr=5e-4, beta=0.999, bias_correction=False)[0, 0]
    assert step / 5e-4 == pytest.approx(31.6228, abs=1e-3)


def test_under_a_constant_gradient_the_steps_shrink_to_lr():
    """v_n = (1 − βⁿ) g², so step n is lr/√(1 − βⁿ): the transient lasts about 1/(1 − β) steps."""
    path = drive(Ballistic, np.full((3000, 1), 2.0), lr=1e-3, beta=0.99, eps=0.0, bias_correction=False)[:, 0]
    steps = -np.diff(np.concatenate([[1.0], path]))
    n = np.arange(1, 3001)
    np.testing.assert_allclose(steps, 1e-3 / np.sqrt(1 - 0.99**n), rtol=1e-9)


@pytest.mark.slow
def test_it_takes_the_optimal_ballistic_step_when_its_premise_holds():
    """If g ~ N(ḡ, D·h), the premise of Eq. 33, the step is that of ``update`` at γ = 0, small Δt."""
    h = np.array([1e-2, 1.0, 100.0])
    noise = np.random.default_rng(3).normal(size=(20000, 3)) * np.sqrt(h)
    parameter = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
    optimizer = Ballistic([parameter], lr=1.0, beta=0.9995, eps=0.0, bias_correction=False)
    for g in noise:
        parameter.grad = torch.tensor(g)
        optimizer.step()
    mean = torch.tensor([1e-3, 1e-2, 0.1], dtype=torch.float64)  # small against the noise, as at the end of training
    before = parameter.detach().clone()
    parameter.grad = mean
    optimizer.step()
    direction = (parameter.detach() - before).numpy()
    dt = 1e-4
    optimal = ln.update(ln.Objective(gamma=0.0), mean.numpy(), np.diag(h), dt) / dt
    np.testing.assert_allclose(direction, optimal, rtol=0.05)
    gradient_descent = -mean.numpy()
    assert not np.allclose(direction / direction[0], gradient_descent / gradient_descent[0], rtol=0.5)


def test_bfloat16_weights_keep_learning():
    """In bfloat16 a β = 0.999 average would stop at the first value it meets; in float32 it follows the gradient."""
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.bfloat16))
    optimizer = Ballistic([parameter], beta=0.999, bias_correction=False)
    for scale in (1.0, 0.1):
        for _ in range(3000):
            parameter.grad = torch.full_like(parameter, scale)
            optimizer.step()
    v = optimizer.state[parameter]["v"].item()
    low = torch.tensor(0.1, dtype=torch.bfloat16).item() ** 2
    assert v == pytest.approx(low + (1 - low) * 0.999**3000 * (1 - 0.999**3000), rel=0.02)


def test_one_state_tensor_and_two_with_momentum():
    for momentum, tensors in ((None, {"v"}), (0.9, {"v", "m"})):
        model = network()
        optimizer = Ballistic(model.parameters(), momentum=momentum)
        advance(model, optimizer, [0])
        for p in model.parameters():
            assert {k for k, x in optimizer.state[p].items() if x.numel() == p.numel() and x.ndim == p.ndim} == tensors
            assert optimizer.state[p].keys() == {"step", *tensors}
