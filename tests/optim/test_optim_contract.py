"""What users may expect of any optimizer. Each check runs for every row of the table in optim_table.py."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import re
from itertools import product

import fresh
import pytest
import torch
from optim_problem import advance, loss, network, vector
from optim_table import ROWS

STATE_DTYPE = {torch.float64: torch.float64, torch.float32: torch.float32, torch.bfloat16: torch.float32,
               torch.float16: torch.float32}  # fmt: skip


def assert_same_bits(a, b):
    """Compare nested state dicts bit for bit."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same_bits(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for left, right in zip(a, b, strict=True):
            assert_same_bits(left, right)
    elif torch.is_tensor(a):
        assert a.dtype == b.dtype and torch.equal(a, b)
    else:
        assert a == b


CHECKPOINTED = (torch.float64, torch.bfloat16)


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    """Twenty steps of every row: in one go, and with the last ten in a process that knows only the checkpoint."""
    folder, results = tmp_path_factory.mktemp("checkpoints"), {}
    for i, (row, dtype) in enumerate(product(ROWS, CHECKPOINTED)):
        model = network(dtype=dtype)
        optimizer = row(model.parameters())
        advance(model, optimizer, range(10))
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "row": row.name, "dtype": dtype}
        torch.save(saved, folder / f"{i}.checkpoint")
        advance(model, optimizer, range(10, 20))
        results[row.name, dtype] = (model.state_dict(), optimizer.state_dict(), folder / f"{i}.result")
    done = fresh.run("import sys, optim_problem\noptim_problem.resume_all(sys.argv[1])", folder)
    assert done.returncode == 0, done.stderr
    return results


@pytest.mark.slow
@pytest.mark.parametrize("dtype", CHECKPOINTED, ids=str)
def test_a_checkpoint_continues_in_a_fresh_process_bit_for_bit(rule, dtype, resumed):
    weights, state, path = resumed[rule.name, dtype]
    fresh = torch.load(path, weights_only=True)
    assert_same_bits(dict(fresh["model"]), dict(weights))
    assert_same_bits(fresh["optimizer"], state)


def pickled(pair):
    return pickle.loads(pickle.dumps(pair))


@pytest.mark.parametrize("clone", [copy.deepcopy, pickled])
def test_copies_continue_alike_and_apart(rule, clone):
    model = network()
    optimizer = rule(model.parameters())
    advance(model, optimizer, range(5))
    twin_model, twin_optimizer = clone((model, optimizer))
    before = vector(model).clone()
    advance(twin_model, twin_optimizer, range(5, 10))
    assert torch.equal(vector(model), before)
    advance(model, optimizer, range(5, 10))
    assert torch.equal(vector(model), vector(twin_model))


def test_groups_go_their_own_way(rule):
    """Two groups with different options equal two optimizers, one for each."""
    together, apart = network(), network()
    groups = list(zip((0, 2), rule.family.groups, strict=True))
    joint = rule([{"params": together[i].parameters(), **options} for i, options in groups], **rule.sober)
    separate = [rule(apart[i].parameters(), **{**rule.sober, **options}) for i, options in groups]
    for step in range(8):
        advance(together, joint, [step])
        for optimizer in separate:
            optimizer.zero_grad()
        loss(apart, step).backward()
        for optimizer in separate:
            optimizer.step()
    assert torch.equal(vector(together), vector(apart))


def test_a_group_added_later_starts_fresh(rule):
    model, expected = network(), network()
    optimizer = rule(model[0].parameters(), **rule.sober)
    advance(model, optimizer, range(4))
    optimizer.add_param_group({"params": model[2].parameters(), "lr": 0.05})
    advance(model, optimizer, range(4, 8))

    first = rule(expected[0].parameters(), **rule.sober)
    advance(expected, first, range(4))
    second = rule(expected[2].parameters(), **{**rule.sober, "lr": 0.05})
    for step in range(4, 8):
        expected.zero_grad()
        loss(expected, step).backward()
        first.step()
        second.step()
    assert torch.equal(vector(model), vector(expected))


def test_a_closure_is_called_with_gradients_on_and_its_loss_returned(rule):
    model, expected = network(), network()
    optimizer = rule(model.parameters())

    def closure():
        optimizer.zero_grad()
        value = loss(model, 0)
        value.backward()
        return value

    with torch.no_grad():
        assert optimizer.step(closure).item() == loss(expected, 0).item()
    advance(expected, rule(expected.parameters()), [0])
    assert torch.equal(vector(model), vector(expected))
    assert optimizer.step() is None


def test_parameters_without_a_gradient_stay(rule):
    model = network()
    optimizer = rule(model.parameters())
    frozen = model[2].weight
    frozen.requires_grad_(False)
    before = frozen.clone()
    advance(model, optimizer, range(3))
    assert torch.equal(frozen, before)
    assert frozen not in optimizer.state
    optimizer.zero_grad(set_to_none=True)
    after = vector(model).clone()
    optimizer.step()
    assert torch.equal(vector(model), after)


def test_zero_gradients_do_no_harm(rule):
    """Where nothing but the gradient moves the weights they stay; a prior may pull them, but not beyond itself."""
    model = network(dtype=torch.float16)
    optimizer = rule(model.parameters(), **(rule.family.still or {}))
    before = vector(model).clone()
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    if rule.family.still is not None:
        assert torch.equal(vector(model), before)
    else:
        assert torch.isfinite(vector(model)).all()
        assert (vector(model) - before).abs().max() < 0.1 * before.abs().max()


def test_sparse_gradients_are_refused_by_name(rule):
    table = torch.nn.Embedding(4, 3, sparse=True)
    optimizer = rule(table.parameters())
    table(torch.tensor([1, 2])).sum().backward()
    before = table.weight.detach().clone()
    with pytest.raises(RuntimeError, match=r"sparse gradient .* shape \(4, 3\).* dense"):
        optimizer.step()
    assert torch.equal(table.weight, before)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_complex_parameters_are_refused_by_name(rule, dtype):
    """As ``torch.view_as_real`` they are parameters like others; which axes are a matrix's only the user knows."""
    with pytest.raises(ValueError, match=f"params .*{dtype}, but .*split a complex one with torch.view_as_real"):
        rule([torch.nn.Parameter(torch.ones(2, dtype=dtype))])
    real = torch.nn.Parameter(torch.view_as_real(torch.ones(2, 2, dtype=dtype) * (1 + 2j)).clone())
    before, optimizer = real.detach().clone(), rule([real], lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        torch.view_as_complex(real).abs().square().sum().backward()
        optimizer.step()
    assert torch.isfinite(real).all() and not torch.equal(real, before)


def test_a_refused_group_is_not_half_added(rule):
    model = network()
    optimizer = rule(model[0].parameters())
    with pytest.raises(ValueError, match="lr = -1"):
        optimizer.add_param_group({"params": model[2].parameters(), "lr": -1})
    assert len(optimizer.param_groups) == 1


def test_maximize_climbs_as_minimize_descends(rule):
    down, up = network(), network()
    descend, climb = rule(down.parameters()), rule(up.parameters(), maximize=True)
    for step in range(6):
        advance(down, descend, [step])
        climb.zero_grad()
        (-loss(up, step)).backward()
        climb.step()
    torch.testing.assert_close(vector(up), vector(down), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_dtypes(rule, dtype):
    """Parameters keep their dtype; the state is float32 at least; the result is the float64 one, rounded."""
    model, exact = network(dtype=dtype), network(dtype=torch.float64)
    with torch.no_grad():
        for p, q in zip(model.parameters(), exact.parameters(), strict=True):
            q.copy_(p)
    blind = rule.family.blind
    optimizer, oracle = rule(model.parameters(), **blind), rule(exact.parameters(), **blind)
    generator = torch.Generator().manual_seed(5)
    steps = 20
    for _ in range(steps):
        for p, q in zip(model.parameters(), exact.parameters(), strict=True):
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64).to(dtype)
            q.grad = p.grad.double()
        optimizer.step()
        oracle.step()
    for p, q in zip(model.parameters(), exact.parameters(), strict=True):
        found, expected = optimizer.state[p][rule.family.state], oracle.state[q][rule.family.state]
        assert p.dtype == dtype and found.dtype == STATE_DTYPE[dtype]
        if rule.family.turns:  # by a rotation, which keeps its length
            found, expected = found.norm(), expected.norm()
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)
    scale = vector(exact).abs().max()
    # a rounding of the parameter to its own dtype a step, half a unit in the last place each, and room for a factor 2
    near = steps * torch.finfo(dtype).eps * scale + 1e-14
    if rule.family.turns:  # directions without a gradient have no basis but rounding's: a step's length in all
        near += steps * 0.01
    assert (vector(model).double() - vector(exact)).abs().max() <= near


@pytest.mark.parametrize("to", [torch.float64, torch.bfloat16], ids=str)
def test_the_state_follows_a_model_that_changes_dtype(rule, to):
    model = network(dtype=torch.float32)
    optimizer = rule(model.parameters())
    advance(model, optimizer, range(5))
    model.to(to)
    advance(model, optimizer, range(5, 10))
    for p in model.parameters():
        assert p.dtype == to and optimizer.state[p][rule.family.state].dtype == STATE_DTYPE[to]
        assert torch.isfinite(p).all()
        assert optimizer.state[p]["step"].item() == 10


def test_steps_are_counted_however_many_they_are(rule):
    """By the kernel, without it and from a checkpoint, beyond the 2²⁴ of torch's counters in float32."""
    model = network()
    optimizer = rule(model.parameters())
    advance(model, optimizer, range(1))
    for p in model.parameters():
        optimizer.state[p]["step"].fill_(2**24)
    advance(model, optimizer, range(1, 4))
    twin = rule(model.parameters())
    twin.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    advance(model, twin, range(4, 6))
    assert all(twin.state[p]["step"].item() == 2**24 + 5 for p in model.parameters())


def test_memory_formats_are_kept(rule):
    weight = torch.nn.Parameter(torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(0)))
    plain = torch.nn.Parameter(weight.detach().clone())
    weight.data = weight.data.contiguous(memory_format=torch.channels_last)
    gradient = torch.randn(4, 3, 5, 5, generator=torch.Generator().manual_seed(1))
    for p in (weight, plain):
        optimizer = rule([p])
        p.grad = gradient.clone()
        optimizer.step()
    assert weight.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(weight, plain)


def test_schedulers_drive_the_rate(rule):
    model, expected = network(), network()
    optimizer, manual = rule(model.parameters(), lr=0.1), rule(expected.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    for step in range(6):
        advance(model, optimizer, [step])
        scheduler.step()
        manual.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * step / 6))
        advance(expected, manual, [step])
    torch.testing.assert_close(vector(model), vector(expected), rtol=1e-12, atol=1e-14)


def test_a_tensor_rate_equals_a_number(rule):
    model, expected = network(), network()
    rate = torch.tensor(0.01, dtype=torch.float64)
    advance(model, rule(model.parameters(), lr=rate), range(6))
    advance(expected, rule(expected.parameters(), lr=0.01), range(6))
    torch.testing.assert_close(vector(model), vector(expected), rtol=1e-12, atol=1e-14)


def test_an_older_state_dict_takes_defaults_for_what_it_does_not_know(rule):
    model, expected = network(), network()
    optimizer = rule(model.parameters())
    old = optimizer.state_dict()
    for group in old["param_groups"]:
        del group["foreach"], group["maximize"]
    optimizer.load_state_dict(old)
    advance(model, optimizer, range(4))
    advance(expected, rule(expected.parameters()), range(4))
    assert torch.equal(vector(model), vector(expected))


def test_loading_a_state_copies_it(rule):
    model = network()
    optimizer = rule(model.parameters())
    advance(model, optimizer, range(3))
    saved, before = optimizer.state_dict(), copy.deepcopy(optimizer.state_dict())
    twin = network()
    twin_optimizer = rule(twin.parameters())
    twin_optimizer.load_state_dict(saved)
    advance(twin, twin_optimizer, range(3, 5))
    assert all(state["step"] == 5 for state in twin_optimizer.state.values())
    assert_same_bits(saved, before)
    assert_same_bits(optimizer.state_dict(), before)


def test_bad_options_are_named_with_what_is_allowed(rule):
    model = network()
    known = inspect.signature(rule.make).parameters
    bad = [(option, value) for option, value in rule.family.bad if option in known]
    assert bad
    advance(model, optimizer := rule(model.parameters()), [0])
    (group,), before = optimizer.param_groups, vector(model).clone()
    for option, value in bad:
        words, kept = rf"^{re.escape(option)} (= |has ).*but it must be", group[option]
        with pytest.raises(ValueError, match=words):
            rule(model.parameters(), **{option: value})
        with pytest.raises(ValueError, match=words):
            rule([{"params": model.parameters(), option: value}])
        if option in ("foreach", "fused"):  # to Python 1 is True
            continue
        group[option] = value  # as schedulers and users do between steps
        with pytest.raises(ValueError, match=words):
            optimizer.step()
        group[option] = kept
    for rate, tensor in product((math.nan, math.inf, -1e-3, 1e300), (False, True)):
        group["lr"] = torch.tensor(rate, dtype=torch.float64) if tensor else rate
        with pytest.raises(ValueError, match=r"^lr = .*but it must be"):
            optimizer.step()
    assert torch.equal(vector(model), before) and all(state["step"] == 1 for state in optimizer.state.values())


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if row.compiles], ids=lambda row: row.name)
def test_the_step_compiles(row):
    """A traced step (``aot_eager`` needs no C++ compiler) gives the same weights and stops recompiling."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    model, expected = network()[0], network()[0]  # to trace takes as long as there are parameters
    optimizer, eager = row(model.parameters()), row(expected.parameters())
    step, graphs = optimizer.step, []
    for k in range(8):
        if k == 2:  # the state exists from here on
            step = torch.compile(optimizer.step, backend="aot_eager")
        generator = torch.Generator().manual_seed(k)
        for p, q in zip(model.parameters(), expected.parameters(), strict=True):
            p.grad = torch.randn(p.shape, generator=generator, dtype=p.dtype)
            q.grad = p.grad.clone()
        step()
        eager.step()
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    torch.testing.assert_close(vector(model), vector(expected), rtol=1e-12, atol=1e-14)
    assert graphs[2] >= 1 and graphs[4] == graphs[-1], f"graphs compiled by each step: {graphs}"
