"""Navigator against Eq. 6 in numpy (``lossnav.update``), its limits, and exact Hessian diagonals."""

from __future__ import annotations

import copy
import gc
import math
import weakref
from functools import partial

import numpy as np
import pytest
import torch
from drive import drive, gradients
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from optim_problem import advance, assert_resumes, loss, network, vector

import lossnav as ln
from lossnav.optim import Ballistic, Navigator


@given(
    h=st.floats(-0.9, 1e6), g=st.floats(0.01, 100), gamma=st.floats(0, 1e3), stiffness=st.floats(1e-2, 1e2),
    dt=st.floats(1e-4, 1e3), beta=st.floats(0, 0.99), steps=st.integers(1, 4),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_each_step_is_equation_6_for_a_known_curvature(h, g, gamma, stiffness, dt, beta, steps):
    """All discounts, all step lengths, saddles included where there is a minimiser; a new average is unbiased."""
    square = gamma**2 / 4 + stiffness * h
    fastest = gamma / 2 - math.sqrt(max(square, 0.0))  # the rate at which a path runs from a saddle
    assume(square > 1e-3 and fastest * dt * steps <= 50)  # there is a minimiser, not farther than a number can tell
    path = drive(
        Navigator, np.full((steps, 1), g), start=0.0, lr=dt, gamma=gamma, beta=beta, eta_k=stiffness, eps=0.0,
        negative="signed", curvature=lambda parameter, grad: torch.full_like(parameter, h),
    )  # fmt: skip
    expected = ln.update(ln.Objective(eta=stiffness, gamma=gamma), [g], [[h]], dt)
    assert path[-1, 0] == pytest.approx(steps * expected[0], rel=1e-9)


def test_on_a_diagonal_quadratic_it_follows_the_optimal_path():
    """Steps compose: ten of Δt = 0.2 end where one of Δt = 2 does, and where ``solve`` is at t = 2."""
    h = np.array([0.1, 1.0, 30.0])
    target, start = np.array([1.0, -2.0, 0.5]), np.zeros(3)
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.8)
    parameter = torch.nn.Parameter(torch.tensor(start))
    optimizer = Navigator(
        [parameter], lr=0.2, gamma=0.8, eta_k=0.7 * 1.3, eps=0.0, curvature=lambda p, g: torch.tensor(h)
    )
    for _ in range(10):
        optimizer.zero_grad()
        (0.5 * torch.tensor(h) * (parameter - torch.tensor(target)) ** 2).sum().backward()
        optimizer.step()
    path = ln.solve(objective, ln.losses.Quadratic(np.diag(h), minimum=target), start)
    np.testing.assert_allclose(parameter.detach().numpy(), path(2.0).ravel(), rtol=1e-9)


def test_without_discount_and_in_small_steps_it_is_the_ballistic_rule():
    """h = cv and ηk = c with c → 0: √(ηk/h) stays 1/√v, and lr·r = c·lr·√v vanishes: first order in Δt."""
    grads = gradients(300)
    c = 1e-16
    ours = drive(Navigator, grads, lr=0.01, beta=0.99, curvature_scale=c, eta_k=c, eps=c * 1e-8)
    theirs = drive(Ballistic, grads, lr=0.01, beta=0.99, eps=1e-8, bias_correction=True)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_with_an_infinite_discount_it_is_gradient_descent():
    fast, plain = network(), network()
    options = {"lr": 0.05, "curvature": lambda p, g: torch.zeros_like(p), "eps": 0.0}
    descend = torch.optim.SGD(plain.parameters(), lr=0.05)
    for gamma, eta_k in ((math.inf, 1.0), (1e7, 1e7)):
        model = copy.deepcopy(fast)
        advance(model, Navigator(model.parameters(), gamma=gamma, eta_k=eta_k, **options), range(200))
        if gamma == math.inf:
            advance(plain, descend, range(200))
        torch.testing.assert_close(vector(model), vector(plain), rtol=1e-10, atol=1e-12)


def test_a_long_step_is_newtons():
    grads = np.array([[3.0, -5.0]])
    path = drive(Navigator, grads, start=0.0, lr=1e9, gamma=2.0, eps=0.0, curvature=lambda p, g: p.new_tensor([2, 50]))
    np.testing.assert_allclose(path[0], [-1.5, 0.1], rtol=1e-12)


def hessian_diagonal(model, step):
    """Each second derivative by itself, from central differences of gradients."""
    point, diagonal = vector(model).clone(), []
    for i in range(len(point)):
        partials = []
        for sign in (1, -1):
            shifted = point.clone()
            shifted[i] += sign * 1e-5
            torch.nn.utils.vector_to_parameters(shifted, model.parameters())
            grads = torch.autograd.grad(loss(model, step), list(model.parameters()))
            partials.append(torch.cat([g.flatten() for g in grads])[i].item())
        diagonal.append((partials[0] - partials[1]) / 2e-5)
    torch.nn.utils.vector_to_parameters(point, model.parameters())
    return torch.tensor(diagonal, dtype=torch.float64)


def observed(optimizer, model):
    return torch.cat([optimizer.state[p]["h"].flatten() for p in model.parameters()])


def test_hutchinson_finds_the_diagonal_of_the_hessian():
    """1600 probes: unbiased, with the error of a mean, against second derivatives by finite differences."""
    model = network()
    exact = hessian_diagonal(model, 0)
    rounds = []
    for seed in range(16):
        optimizer = Navigator(model.parameters(), curvature="hutchinson", beta=0.0, probes=100, seed=seed)
        optimizer.observe(loss(model, 0))
        rounds.append(observed(optimizer, model))
    estimates = torch.stack(rounds)
    error = estimates.std(0) / 4
    assert ((estimates.mean(0) - exact).abs() < 5 * error + 1e-7).all()
    assert error.max() < 0.1 * exact.abs().max()
    assert torch.corrcoef(torch.stack([estimates.mean(0), exact]))[0, 1] > 0.99


def test_on_a_diagonal_hessian_one_probe_is_exact():
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    optimizer = Navigator([w], curvature="hutchinson", beta=0.9)
    optimizer.observe((w**4).sum())
    torch.testing.assert_close(optimizer.state[w]["h"] / (1 - 0.9), 12 * w.detach() ** 2, rtol=1e-12, atol=0)


def test_observing_equals_a_backward_pass_that_keeps_its_graph():
    model, twin = network(), network()
    options = {"lr": 0.1, "gamma": 1.0, "curvature": "hutchinson", "beta": 0.9, "probes": 2, "seed": 4}
    first, second = Navigator(model.parameters(), **options), Navigator(twin.parameters(), **options)
    for step in range(6):
        first.zero_grad()
        value = loss(model, step)
        first.observe(value)
        value.backward()
        first.step()
        second.zero_grad()
        loss(twin, step).backward(create_graph=True)
        second.step()
    torch.testing.assert_close(vector(model), vector(twin), rtol=1e-12, atol=1e-14)


def test_a_closure_may_keep_its_graph():
    model, twin = network(), network()
    options = {"curvature": "hutchinson", "gamma": 1.0}
    first, second = Navigator(model.parameters(), **options), Navigator(twin.parameters(), **options)

    def closure():
        first.zero_grad()
        value = loss(model, 0)
        value.backward(create_graph=True)
        return value

    assert first.step(closure).item() == loss(twin, 0).item()
    loss(twin, 0).backward(create_graph=True)
    second.step()
    assert torch.equal(vector(model), vector(twin))


def test_no_gradient_keeps_its_graph_after_the_step():
    """A gradient with a graph and its parameter hold each other; the step lets go."""
    model = network()
    optimizer = Navigator(model.parameters(), curvature="hutchinson")
    loss(model, 0).backward(create_graph=True)
    grad_refs = [weakref.ref(p.grad) for p in model.parameters()]
    optimizer.step()
    assert not any(p.grad.requires_grad for p in model.parameters())
    optimizer.zero_grad()
    gc.collect()
    assert all(ref() is None for ref in grad_refs)


def test_without_a_graph_the_error_says_what_to_do():
    model = network()
    optimizer = Navigator(model.parameters(), curvature="hutchinson")
    before = vector(model).clone()
    loss(model, 0).backward()
    with pytest.raises(RuntimeError, match=r"no curvature .*observe\(loss\).*create_graph=True"):
        optimizer.step()
    assert torch.equal(vector(model), before)
    with pytest.raises(RuntimeError, match="loss has no graph"):
        optimizer.observe(loss(model, 0).detach())
    with pytest.raises(RuntimeError, match="depends on none of the parameters"):
        optimizer.observe(torch.ones(1, requires_grad=True).sum())
    with pytest.raises(RuntimeError, match="is for curvature='hutchinson', but it is 'second_moment'"):
        Navigator(model.parameters()).observe(loss(model, 0))


def test_curvature_is_looked_at_every_few_steps():
    model, calls = network(), []

    def curvature(parameter, gradient):
        calls.append(parameter)
        return torch.ones_like(parameter)

    optimizer = Navigator(model.parameters(), curvature=curvature, every=3)
    due = []
    for step in range(7):
        due.append(optimizer.curvature_due())
        advance(model, optimizer, [step])
    assert due == [True, False, False, True, False, False, True]
    assert len(calls) == 3 * 4 and all(any(c is p for p in model.parameters()) for c in calls)


def test_a_hutchinson_run_resumes_bit_for_bit():
    def run(model, optimizer, steps):
        for step in steps:
            optimizer.zero_grad()
            loss(model, step).backward(create_graph=optimizer.curvature_due())
            optimizer.step()

    options = {"curvature": "hutchinson", "every": 2, "gamma": 1.0, "lr": 0.1, "seed": 7}
    assert_resumes(partial(Navigator, **options), partial(Navigator, curvature="hutchinson"), run, 5, 12)


def test_probes_leave_the_global_generator_alone():
    model = network()
    state = torch.get_rng_state()
    optimizer = Navigator(model.parameters(), curvature="hutchinson")
    optimizer.observe(loss(model, 0))
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(("negative", "used"), [("absolute", 0.1), ("clip", 0.0), ("signed", -0.1)])
def test_negative_curvature_is_treated_as_told(negative, used):
    """γ = 1, ηk = 1: h = −0.1 has a minimiser (γ²/4 = 0.25), and the step is Eq. 6 with the h that is used."""
    options = {"lr": 0.5, "gamma": 1.0, "negative": negative, "eps": 0.0}
    path = drive(Navigator, np.ones((1, 1)), start=0.0, curvature=lambda p, g: torch.full_like(p, -0.1), **options)
    assert path[0, 0] == pytest.approx(ln.update(ln.Objective(gamma=1.0), [1.0], [[used]], 0.5)[0], rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(("gamma", "eta_k"), [(1.0, 1.0), (0.3, 0.7), (1e3, 3e-3), (7.0, 1e6)])
def test_below_the_last_minimiser_the_curvature_is_held(gamma, eta_k, dtype):
    """No NaN at the edge, in any precision: the step is the limit h → −γ²/(4ηk) from above."""
    edge = -(gamma**2) / (4 * eta_k)
    dt = 2 / gamma
    w = torch.nn.Parameter(torch.zeros(1, dtype=dtype))
    optimizer = Navigator(
        [w], lr=dt, gamma=gamma, eta_k=eta_k, eps=0.0, negative="signed",
        curvature=lambda p, g: torch.full_like(p, 9 * edge),
    )  # fmt: skip
    w.grad = torch.ones_like(w)
    optimizer.step()
    near = ln.update(ln.Objective(eta=eta_k, gamma=gamma), [1.0], [[edge * (1 - 1e-9)]], dt)[0]
    assert w.item() == pytest.approx(near, rel=1e-3)


def test_a_curvature_of_the_wrong_shape_is_named():
    model = network()
    for wrong, text in ((lambda p, g: p.sum(), r"shape \(\)"), (lambda p, g: None, "None")):
        optimizer = Navigator(model.parameters(), curvature=wrong)
        loss(model, 0).backward()
        with pytest.raises(ValueError, match=rf"curvature returned {text} for a parameter of shape \(7, 5\)"):
            optimizer.step()


@pytest.mark.parametrize(("wrong", "words"), [(3.0, "loss = 3.0"), (torch.ones(2), r"loss has shape \(2,\)")])
def test_what_is_no_loss_is_named(wrong, words):
    with pytest.raises(ValueError, match=f"^{words}, but it must be a tensor with one number"):
        Navigator(network().parameters(), curvature="hutchinson").observe(wrong)


def test_what_was_seen_for_a_refused_step_is_no_part_of_the_next():
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = Navigator([w], lr=0.1, curvature="hutchinson", beta=0.0)

    def look(factor, spoil=False):
        optimizer.zero_grad()
        loss = (factor * w**2).sum()
        optimizer.observe(loss)
        loss.backward()
        if spoil:
            w.grad[0] = math.inf
        optimizer.step()

    with pytest.raises(ValueError, match=r"curvature of parameter 0 of group 0, .* inf or NaN"):
        look(math.inf)
    with pytest.raises(ValueError, match="gradient of parameter 0"):
        look(1.0, spoil=True)
    look(1.0)
    assert torch.equal(optimizer.state[w]["h"], torch.full((2,), 2.0))


@pytest.mark.parametrize("none", [True, False])
@pytest.mark.parametrize("first", ["zero_grad", "observe"])
def test_what_was_seen_for_a_step_that_a_scaler_leaves_out_counts_by_itself(first, none):
    """Of 2, 6 and 2 + 6 in two parts the average is (2·¼ + 6·½ + 8)/(1 + ½ + ¼), whichever call comes first."""
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = Navigator([w], lr=0.1, curvature="hutchinson", beta=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for parts, spoil in (([1.0], False), ([3.0], True), ([1.0, 3.0], False)):
        for i, factor in enumerate(parts):
            value = (factor * w**2).sum()
            calls = [lambda value=value: optimizer.observe(value)]
            if i == 0:
                calls.insert(first == "observe", lambda: optimizer.zero_grad(set_to_none=none))
            for call in calls:
                call()
            scaler.scale(value).backward()
        if spoil:
            w.grad[0] = math.inf
        scaler.step(optimizer)
        scaler.update()
    state = optimizer.state[w]
    assert state["step"] == 2 and state["seen"] == 3
    torch.testing.assert_close(state["h"] / (1 - 0.5**3), torch.full((2,), (0.5 + 3 + 8) / 1.75))


def test_each_group_has_its_own_number_of_probes():
    def seen(*probes):
        draw = torch.Generator().manual_seed(0)
        a, b = (torch.nn.Parameter(torch.randn(4, generator=draw)) for _ in "ab")
        groups = [{"params": [p], "probes": n} for p, n in zip((a, b), probes, strict=True)]
        optimizer = Navigator(groups, curvature="hutchinson", beta=0.0)
        half = torch.randn(8, 8, generator=draw)
        theta = torch.cat([a, b])
        optimizer.observe(theta @ half @ half.T @ theta / 2)
        return [optimizer.state[p]["h"] for p in (a, b)], (half @ half.T).diagonal().split(4)

    (few, many), (_, exact) = seen(1, 64)
    assert torch.equal(few, seen(1, 1)[0][0])
    assert (many - exact).norm() < 0.3 * (seen(1, 1)[0][1] - exact).norm()


@pytest.mark.parametrize(("name", "value"), [("curvature", "hutchinson"), ("process_group", None)])
def test_what_is_one_for_all_parameters_is_refused_of_a_group_if_it_is_another(name, value):
    group = {"params": [torch.nn.Parameter(torch.ones(2))], name: value}
    with pytest.raises(ValueError, match=f"{name} is .* for a group, but .* for all parameters"):
        Navigator([group])
    Navigator([group], **{name: value})  # so does ZeroRedundancyOptimizer
