"""Watching an optimizer: nothing changes, and what is seen equals the regret of the recorded path."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import lossnav as ln
from lossnav.trajectory.regret import alignment

CURVATURE = np.array([1.0, 10.0])
BOWL = ln.losses.Quadratic(np.diag(CURVATURE), minimum=[0.0, 0.0])
RULES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.5),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "ballistic": lambda p: ln.optim.Ballistic(p, lr=0.05),
}


def _run(rule, seen_by=None, steps=40, closure=False):
    """Return the places, and what was seen if ``seen_by`` makes a watch."""
    weights = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    optimizer, h = rule([weights]), torch.tensor(CURVATURE)
    places = [weights.detach().numpy().copy()]

    def value():
        return (h * weights**2).sum() / 2

    def backward():
        optimizer.zero_grad()
        loss = value()
        loss.backward()
        return loss

    def train(watch):
        for _ in range(steps):
            if closure:
                optimizer.step(backward)
            else:
                loss = backward()
                if watch is not None:
                    watch.note(loss)
                optimizer.step()
            places.append(weights.detach().numpy().copy())

    if seen_by is None:
        train(None)
        return np.array(places), None
    with seen_by(optimizer, value) as watch:
        train(watch)
    return np.array(places), watch


@pytest.mark.parametrize("name", RULES)
def test_the_path_is_the_same_and_the_numbers_are_those_of_the_regret(name):
    plain, _ = _run(RULES[name])
    places, watch = _run(RULES[name], lambda o, loss: ln.watch(o, loss, every=1))
    assert np.array_equal(plain, places)
    full = ln.regret(places[:-1], ln.Objective(), BOWL)  # the last step has no loss at its end
    assert watch.steps == 40
    assert watch.regret() == pytest.approx(full.timing, rel=2e-3)
    assert watch.timing() == pytest.approx((full.timing + full.shape) / full.shape, rel=2e-3)
    assert 0 <= watch.regret() <= full.total
    np.testing.assert_allclose(watch.lengths, np.linalg.norm(np.diff(places, axis=0), axis=1), rtol=1e-12)
    np.testing.assert_allclose(watch.losses, BOWL.value(places[:-1]), rtol=1e-12)


def test_a_closure_says_the_loss_itself():
    _, noted = _run(RULES["sgd"], lambda o, _: ln.watch(o))
    _, closed = _run(RULES["sgd"], lambda o, _: ln.watch(o), closure=True)
    assert noted.timing() == closed.timing()


def test_a_step_that_calls_its_closure_again_is_seen_with_the_gradients_of_its_start():
    places, watch = _run(
        lambda p: torch.optim.LBFGS(p, lr=0.1, max_iter=4), lambda o, _: ln.watch(o), steps=6, closure=True
    )
    record, gradients = watch.record(), BOWL.gradient(places[:-1])
    np.testing.assert_allclose(record.with_step, np.sum(gradients * np.diff(places, axis=0), axis=1), rtol=1e-9)
    np.testing.assert_allclose(record.gradients, np.sum(gradients**2, axis=1), rtol=1e-9)


def test_alignment_is_that_of_small_steps_of_the_path():
    places, watch = _run(lambda p: torch.optim.SGD(p, lr=0.002, momentum=0.5), lambda o, f: ln.watch(o, f, every=1))
    rates = [0.0, 0.3, 1.0, 10.0]
    by_path = alignment(places, ln.Objective(), BOWL, rates, dt=1e-6)
    np.testing.assert_allclose(watch.alignment(rates), by_path, atol=2e-2)
    assert _run(RULES["sgd"], lambda o, f: ln.watch(o, f, every=1))[1].alignment([math.inf])[0] == pytest.approx(1.0)


def test_where_the_loss_is_flat_no_step_is_wanted():
    weights, heights = torch.nn.Parameter(torch.ones(2, dtype=torch.float64)), iter([1.0, 0.0])
    optimizer = torch.optim.SGD([weights], lr=0.1)
    with ln.watch(optimizer, lambda: next(heights) * (weights**2).sum(), every=1) as watch:
        for _ in range(2):
            weights.grad = weights.detach().clone()
            optimizer.step()
    share = watch.lengths[0] / math.hypot(*watch.lengths)
    np.testing.assert_allclose(watch.alignment([0.0, 1.0, math.inf]), share, rtol=1e-12)


def test_a_network_the_krylov_space_sees_what_the_whole_hessian_does():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    x, y = torch.randn(20, 3, dtype=torch.float64), torch.randn(20, 1, dtype=torch.float64)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

    def loss():
        return torch.nn.functional.mse_loss(net(x), y)

    flat = torch.nn.utils.parameters_to_vector
    names = [name for name, _ in net.named_parameters()]
    expected = np.zeros((3, 3))
    rates = [0.0, 1.0, math.inf]
    with ln.watch(optimizer, loss, every=1, lanczos=60) as watch:
        for _ in range(3):
            optimizer.zero_grad()
            loss().backward()
            g = torch.cat([p.grad.reshape(-1) for p in net.parameters()]).numpy()
            sizes = [p.numel() for p in net.parameters()]

            def at(vector, sizes=sizes):
                parts = [part.view_as(p) for part, p in zip(vector.split(sizes), net.parameters(), strict=True)]
                return torch.nn.functional.mse_loss(
                    torch.func.functional_call(net, dict(zip(names, parts, strict=True)), (x,)), y
                )

            before = flat(net.parameters()).detach().clone()
            values, vectors = np.linalg.eigh(torch.autograd.functional.hessian(at, before).numpy())
            optimizer.step()
            move = (flat(net.parameters()).detach() - before).numpy()
            for i, rate in enumerate(rates):
                below = 1.0 if math.isinf(rate) else np.sqrt(rate**2 / 4 + np.abs(values)) + rate / 2
                wanted = -(vectors / below) @ vectors.T @ g
                expected[i] += [move @ wanted, move @ move, wanted @ wanted]
    cosine = expected[:, 0] / np.sqrt(expected[:, 1] * expected[:, 2])
    np.testing.assert_allclose(watch.alignment(rates), cosine, rtol=1e-4)


def test_attention_is_looked_at_although_its_fast_kernel_has_no_second_derivative():
    torch.manual_seed(0)
    net = torch.nn.TransformerEncoderLayer(8, 2, 8, dropout=0.0, batch_first=True)
    x, y = torch.randn(4, 3, 8), torch.randn(4, 3, 8)
    optimizer = torch.optim.Adam(net.parameters())

    def loss():
        return torch.nn.functional.mse_loss(net(x), y)

    with ln.watch(optimizer, loss, every=1, lanczos=4) as watch:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert 0 < watch.alignment([1.0])[0] < 1


def test_what_is_not_known_is_said():
    weights = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weights], lr=0.1)
    with ln.watch(optimizer) as watch:
        with pytest.raises(ValueError, match="made no step"):
            watch.timing()
        for _ in range(2):
            weights.grad = torch.ones(2)
            optimizer.step()
        with pytest.raises(ValueError, match="was not said"):
            watch.timing()
        with pytest.raises(ValueError, match="give watch a loss"):
            watch.alignment([0.0])
    optimizer.step()
    assert watch.steps == 2  # the hooks are gone


@pytest.mark.parametrize("said", [lambda w: 1.0, lambda w: w**2, lambda w: (w.detach() ** 2).sum()])
def test_a_loss_that_is_no_scalar_of_the_weights_is_refused(said):
    weights = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weights], lr=0.1)
    with ln.watch(optimizer, loss=lambda: said(weights)):
        weights.grad = torch.ones(2)
        with pytest.raises(ValueError, match="scalar tensor that depends on the parameters"):
            optimizer.step()


def test_a_step_that_was_refused_or_empty_leaves_no_trace():
    def watched(spoil):
        weights = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
        optimizer, h = ln.optim.Belief([weights], lr=0.05), torch.tensor(CURVATURE)
        with ln.watch(optimizer, keep=2) as seen:
            for i in range(9):
                optimizer.zero_grad()
                if spoil and i == 5:
                    optimizer.step()  # there is no gradient

                def closure(factor):
                    optimizer.zero_grad()
                    loss = factor * (h * weights**2).sum()
                    loss.backward()
                    return loss

                if spoil and i == 4:
                    with pytest.raises(ValueError, match="inf or NaN"):
                        optimizer.step(lambda: closure(math.inf))
                optimizer.step(lambda: closure(1.0))
        return np.vstack([seen._table().T, [seen.timing()] * 9]), seen.record().weights

    for one, other in zip(watched(False), watched(True), strict=True):
        np.testing.assert_array_equal(one, other)
    assert other[-1][0] != other[-1][1]  # both are kept, and none twice


@pytest.mark.parametrize("size", [2, 3])
def test_parameters_that_take_turns_have_no_inner_products(size):
    a, b = (torch.nn.Parameter(torch.ones(k, dtype=torch.float64)) for k in (2, size))
    optimizer = torch.optim.SGD([a, b], lr=0.1)
    with ln.watch(optimizer, keep=4) as seen:
        for i in range(6):
            optimizer.zero_grad()
            (a if i // 2 % 2 else b).square().sum().backward()
            optimizer.step()
    again = np.array([True, False, True, False, True, False])  # does the next step move the same?
    assert np.array_equal(np.isfinite(seen._table()[:, 3]), again)
    assert np.array_equal(np.isfinite(seen._table()[1:, 5]), again[:-1])
    assert seen.record().weights.shape == (7, 4)


def test_of_complex_weights_both_parts_count():
    def products(weights):
        optimizer = torch.optim.SGD([weights], lr=0.1)
        with ln.watch(optimizer) as seen:
            for _ in range(5):
                optimizer.zero_grad()
                (weights - 1j).abs().square().sum().backward() if weights.is_complex() else (
                    (weights - torch.tensor([0.0, 1.0])).square().sum().backward()
                )
                optimizer.step()
        return seen._table()

    whole = torch.nn.Parameter(torch.tensor([1.0 + 2.0j]))
    np.testing.assert_allclose(products(whole), products(torch.nn.Parameter(torch.tensor([1.0, 2.0]))), rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_steps_in_half_precision_are_summed_in_more(dtype):
    """Products below 6e-8 are no numbers of float16, and a norm has three digits in bfloat16."""
    weights = torch.nn.Parameter((torch.linspace(1.0, 2.0, 400) * 2e-3).to(dtype))
    optimizer, rows = torch.optim.SGD([weights], lr=0.5), []
    with ln.watch(optimizer) as seen:
        for step in range(4):
            weights.grad = torch.full_like(weights, 1e-4 * (step + 1))
            before, gradient = weights.detach().double(), weights.grad.double()
            optimizer.step()
            moved = weights.detach().double() - before
            rows.append([moved.square().sum(), gradient @ moved, gradient.square().sum()])
    np.testing.assert_allclose(seen._table()[:, [0, 2, 4]], rows, rtol=1e-5)


def test_rows_of_a_table_that_move_alone_are_seen():
    def seen(sparse):
        torch.manual_seed(0)
        table, head = torch.nn.Embedding(9, 4, sparse=sparse), torch.nn.Linear(4, 2)

        def loss():
            return head(table(torch.tensor([1, 2, 2]))).square().sum()

        optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.05)
        with ln.watch(optimizer, loss, every=2, keep=46) as watch:
            for _ in range(6):
                optimizer.zero_grad()
                (value := loss()).backward()
                watch.note(value)
                optimizer.step()
        record = watch.record()
        return watch._table(), watch.alignment([0.0, 1.0]), record.weights, record.gradients

    for one, other in zip(seen(True), seen(False), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("keep", [None, 4])
@pytest.mark.parametrize("fused", [False, True])
def test_gradients_are_those_that_a_scaler_has_divided(fused, keep):
    """Torch's fused rules divide by the scale themselves, and stand still where a gradient is inf."""
    weights, h = torch.nn.Parameter(torch.ones(4)), torch.tensor([1.0, 2.0, 3.0, 4.0])
    optimizer = torch.optim.SGD([weights], lr=0.05, momentum=0.5, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=5)
    with ln.watch(optimizer, keep=keep) as seen:
        for step in range(20):
            optimizer.zero_grad()
            loss = (h * weights**2).sum() / 2 * (math.inf if step == 7 else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    reading = ln.infer(seen, family="rule")
    assert seen.steps == 19 and reading.rule == "heavy ball"
    assert reading.estimates["lr"].value == pytest.approx(0.05, rel=1e-4)
