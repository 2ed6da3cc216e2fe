"""``fused=True``: the compiled step against numpy's arithmetic bit for bit, and what happens without a compiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from optim_problem import advance, network, vector

from lossnav.optim import Ballistic, BallisticReference, _fused, _native

OPTIONS = [
    {},
    {"momentum": 0.9},
    {"bias_correction": True, "maximize": True},
    {"momentum": 0.5, "bias_correction": True, "weight_decay": 0.1},
]
REAL = {torch.float32: np.float32, torch.float64: np.float64}


@pytest.fixture
def kernel():
    try:
        return _native.load(torch.float32)
    except _native.NoKernel as reason:
        pytest.skip(f"no kernel on this machine: {reason}")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """As in a new process on a machine that has no builds."""
    monkeypatch.setenv("LOSSNAV_KERNELS", str(tmp_path / "kernels"))
    _native._load.cache_clear()
    _fused._said.clear()
    yield tmp_path / "kernels"
    _native._load.cache_clear()
    _fused._said.clear()


def random(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def walk(parameters, steps=20, optimizer_class=Ballistic, **options):
    """Take steps along a fixed stream of gradients; return the optimizer."""
    optimizer = optimizer_class(parameters, **{"lr": 0.01, "beta": 0.9, **options})
    generator = torch.Generator().manual_seed(7)
    for _ in range(steps):
        for p in parameters:
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p.dtype)
        optimizer.step()
    return optimizer


def recursion(theta, grads, *, lr, beta, eps, weight_decay, bias_correction, momentum, maximize):
    """Ballistic with all its options in numpy, which rounds each operation once, as IEEE wants it."""
    real = theta.dtype.type
    v, m = np.zeros_like(theta), np.zeros_like(theta)
    step = real(lr if maximize else -lr)
    for n, g in enumerate(grads, start=1):
        theta = real(1 - lr * weight_decay) * theta
        v = real(beta) * v + real(1 - beta) * g * g
        m = g if momentum is None else real(momentum) * m + real(1 - momentum) * g
        v_hat = v / real(1 - beta**n) if bias_correction else v
        m_hat = m / real(1 - momentum**n) if bias_correction and momentum is not None else m
        theta = theta + step * m_hat / np.sqrt(v_hat + real(eps))
    return theta


@pytest.mark.parametrize("dtype", list(REAL), ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equals_ieee_arithmetic_bit_for_bit(kernel, options, dtype):
    settings = {"lr": 0.01, "beta": 0.97, "eps": 1e-6, "weight_decay": 0.0, "bias_correction": False, "momentum": None,
                "maximize": False, **options}  # fmt: skip
    parameter = torch.nn.Parameter(random(1003, dtype=dtype))
    grads = [random(1003, seed=k + 1, dtype=dtype) * 10.0 ** (k % 5 - 3) for k in range(30)]
    expected = recursion(parameter.detach().numpy().copy(), [g.numpy() for g in grads], **settings)
    optimizer = Ballistic([parameter], fused=True, **settings)
    for g in grads:
        parameter.grad = g
        optimizer.step()
    assert np.array_equal(parameter.detach().numpy(), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_differs_from_foreach_by_rounding_only(kernel, options, dtype):
    fused, plain = ([torch.nn.Parameter(random(40, 30, dtype=dtype))] for _ in range(2))
    walk(fused, steps=100, fused=True, **options)
    walk(plain, steps=100, **options)
    unit = torch.finfo(dtype).eps * plain[0].abs().max()
    assert (fused[0] - plain[0]).abs().max() <= 20 * unit  # 100 steps of random half units, and room for a factor four


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_neither_threads_nor_cuts_between_tensors_change_a_bit(kernel, threads):
    values, steps = random(100_003), [random(100_003, seed=k + 1) for k in range(3)]

    def run(pieces):
        parameters = [torch.nn.Parameter(x.clone()) for x in values.split(pieces)]
        optimizer = Ballistic(parameters, momentum=0.9, bias_correction=True, weight_decay=0.1, fused=True)
        for g in steps:
            for p, part in zip(parameters, g.split(pieces), strict=True):
                p.grad = part.clone()
            optimizer.step()
        return torch.cat([p.detach() for p in parameters])

    before = torch.get_num_threads()
    whole = run([100_003])
    try:
        torch.set_num_threads(threads)
        assert torch.equal(run([100_003]), whole)
        assert torch.equal(run([1, 0, 70_001, 17, 29_984]), whole)
    finally:
        torch.set_num_threads(before)


def layouts():
    square = random(6, 4, 5, 5)
    yield "channels last", square.contiguous(memory_format=torch.channels_last), square
    yield "transposed", square.transpose(0, 3), square.transpose(0, 3)
    yield "gradient in another order", square, square.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    yield "with gaps", random(6, 8)[:, ::2], random(6, 4)
    yield "one gradient for all", random(6, 8), random(1, 8).expand(6, 8)
    yield "gradient behind a minus sign", random(6), torch._neg_view(random(6, seed=3))
    yield "empty", random(0, 3), random(0, 3)
    yield "no dimensions", random(), random(seed=4)


@pytest.mark.parametrize(("value", "gradient"), [pytest.param(p, g, id=name) for name, p, g in layouts()])
def test_any_layout_in_memory_gives_the_same_bits(kernel, value, gradient):
    odd, even = torch.nn.Parameter(value.clone()), torch.nn.Parameter(value.contiguous().clone())
    odd.data = value  # a Parameter made from a clone may be laid out afresh
    ours, plain = (Ballistic([p], momentum=0.9, fused=True) for p in (odd, even))
    strides = odd.stride()
    for _ in range(3):
        odd.grad, even.grad = gradient, gradient.resolve_neg().contiguous()
        ours.step()
        plain.step()
    assert torch.equal(odd, even)
    assert odd.stride() == strides
    assert not torch.equal(odd, torch.zeros_like(odd)) or odd.numel() == 0


def test_a_state_in_another_order_is_laid_out_anew(kernel):
    """As when a model goes to channels_last after its first steps."""
    odd, even = ([torch.nn.Parameter(random(4, 3, 5, 5))] for _ in range(2))
    ours, plain = (walk(p, steps=2, fused=True) for p in (odd, even))
    odd[0].data = odd[0].data.contiguous(memory_format=torch.channels_last)
    for p, optimizer in ((odd, ours), (even, plain)):
        p[0].grad = random(4, 3, 5, 5, seed=9)
        optimizer.step()
    assert torch.equal(odd[0], even[0])
    assert torch.equal(ours.state[odd[0]]["v"], plain.state[even[0]]["v"])


def test_autograd_hears_of_the_step(kernel):
    """A backward pass through values that the step has overwritten must fail, not give wrong gradients."""
    weight = torch.nn.Parameter(random(5))
    value = (weight**2).sum()
    value.backward(retain_graph=True)
    Ballistic([weight], fused=True).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


def test_nan_and_infinite_gradients_stay_in_their_coordinate(kernel):
    weight = torch.nn.Parameter(torch.ones(100))
    weight.grad = torch.ones(100)
    weight.grad[3], weight.grad[40] = torch.nan, torch.inf
    Ballistic([weight], fused=True).step()
    bad = torch.zeros(100, dtype=torch.bool)
    bad[[3, 40]] = True
    assert torch.equal(weight.isnan(), bad)


def one_warning(match):
    """Expect one warning over several steps and dtypes, and the very bits of the list operations."""
    with pytest.warns(RuntimeWarning, match=match) as heard:
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            fused, plain = network(dtype=dtype), network(dtype=dtype)
            advance(fused, Ballistic(fused.parameters(), fused=True), range(3))
            advance(plain, Ballistic(plain.parameters()), range(3))
            assert torch.equal(vector(fused), vector(plain))
    assert len(heard) == 1, [str(w.message) for w in heard]


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_compiler_it_says_so_once_and_runs_unfused(fresh, tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    one_warning(r"Ballistic\(fused=True\) runs unfused.* because no C compiler was found")


def test_a_named_compiler_that_is_not_there(fresh, monkeypatch):
    monkeypatch.setenv("CC", "no-such-cc -O2")
    one_warning("the compiler in CC = 'no-such-cc' was not found")


def test_a_compiler_that_fails(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", script(tmp_path / "cc", "echo 'fatal error: no headers' >&2; exit 3"))
    one_warning("failed with exit status 3: fatal error: no headers")
    assert not any(fresh.iterdir())


def test_a_compiler_that_makes_rubbish(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", script(tmp_path / "cc", "echo rubbish > kernels.o; echo rubbish > kernels.so"))
    one_warning("what .*cc built does not load")
    assert not any(fresh.iterdir())


def test_a_compiler_that_hangs(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(_native, "_TIMEOUT", 0.2)
    monkeypatch.setenv("CC", script(tmp_path / "cc", "exec sleep 5"))
    one_warning("did not end within")


def test_a_compiler_without_openmp_and_without_native_code_still_builds(kernel, fresh, tmp_path, monkeypatch):
    real = shutil.which("cc")
    refuse = 'case "$*" in *-fopenmp*|*-march=native*) echo "error: unknown option" >&2; exit 1;; esac'
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'{refuse}\nexec {real} "$@"'))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain, simple = ([torch.nn.Parameter(random(50_000))] for _ in range(2))
        walk(simple, fused=True)
    monkeypatch.delenv("CC")
    _native._load.cache_clear()
    walk(plain, fused=True)
    assert len(list(fresh.iterdir())) == 2  # two compilers, two builds
    assert torch.equal(simple[0], plain[0])


PROCESS = """
import sys, warnings, torch
warnings.simplefilter("error")
from lossnav.optim import Ballistic
w = torch.nn.Parameter(torch.arange(8.0))
w.grad = torch.ones(8)
Ballistic([w], lr=0.5, fused=True).step()
print(w.tolist())
"""


def start():
    return subprocess.Popen([sys.executable, "-c", PROCESS], stdout=subprocess.PIPE, text=True)


def said(process):
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return out


@pytest.mark.slow
def test_builds_are_kept_between_processes(kernel, tmp_path, monkeypatch):
    """Three processes build at once without harm, later ones find the build, and a damaged one is built anew."""
    folder, log = tmp_path / "kernels", tmp_path / "log"
    monkeypatch.setenv("LOSSNAV_KERNELS", str(folder))
    monkeypatch.setenv("CC", script(tmp_path / "cc", f'echo called >> {log}\nexec {shutil.which("cc")} "$@"'))
    crowd = [start() for _ in range(3)]
    first = {said(process) for process in crowd}
    (build,) = folder.iterdir()
    calls = log.read_text()
    assert first == {said(start())} and log.read_text() == calls
    build.write_bytes(b"rubbish")
    assert first == {said(start())}
    assert log.read_text() != calls
    assert list(folder.iterdir()) == [build]


def test_a_folder_that_others_may_write_to_is_not_trusted(kernel, fresh):
    fresh.mkdir()
    fresh.chmod(0o777)
    weights = [torch.nn.Parameter(random(9))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        walk(weights, fused=True)
    assert not any(fresh.iterdir())


def test_what_has_no_kernel_says_so(fresh):
    class Weights(torch.nn.Parameter):
        pass

    plain, group = ([torch.nn.Parameter(random(4))] for _ in range(2))
    with pytest.warns(RuntimeWarning, match="because BallisticReference has no fused kernel"):
        optimizer = BallisticReference([{"params": group, "fused": True}], lr=0.01)
        group[0].grad = random(4, seed=1)
        optimizer.step()
    with pytest.warns(RuntimeWarning, match="because a parameter is a Weights, a subclass of Tensor"):
        walk([Weights(random(4))], fused=True)
    walk(plain, fused=True)


def by_compiler(parameters, rates, **options):
    """Take the route of devices other than the CPU."""
    optimizer = Ballistic(parameters, **options)
    for k, rate in enumerate(rates):
        (group,) = optimizer.param_groups
        group["lr"] = rate
        grads = [random(*p.shape, seed=100 + k) for p in parameters]
        with torch.no_grad():
            states = [optimizer._state_of(p, group) for p in parameters]
            _fused._compiled(Ballistic._update, "cpu")(optimizer, group, parameters, grads, states)


@pytest.mark.slow
def test_the_route_of_other_devices_compiles_once_for_all_rates(monkeypatch):
    """Traced on the CPU with ``aot_eager``; what a GPU makes of the graph is not tested here."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compile_ = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, **options: compile_(f, backend="aot_eager", **options))
    _fused._compiled.cache_clear()
    options = {"beta": 0.9, "momentum": 0.8, "bias_correction": True, "weight_decay": 0.1}
    ours, plain = ([torch.nn.Parameter(random(30)), torch.nn.Parameter(random(2, 3))] for _ in range(2))
    rates = [0.01 / (k + 1) for k in range(12)]
    by_compiler(ours, rates, **options)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2
    optimizer = Ballistic(plain, **options)
    for k, rate in enumerate(rates):
        optimizer.param_groups[0]["lr"] = rate
        for p in plain:
            p.grad = random(*p.shape, seed=100 + k)
        optimizer.step()
    for p, q in zip(ours, plain, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-7)
    _fused._compiled.cache_clear()


def test_a_failing_torch_compile_is_a_reason_not_an_error(fresh, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("not on this system\nand much more")

    monkeypatch.setattr(torch, "compile", refuse)
    _fused._compiled.cache_clear()
    with pytest.raises(_native.NoKernel, match=r"torch.compile refuses on cpu \(not on this system\)"):
        by_compiler([torch.nn.Parameter(random(3))], [0.1])


def test_the_source_travels_with_the_package():
    from importlib import resources

    assert b"EXPORT(ballistic)" in (resources.files("lossnav.optim") / "kernels.c").read_bytes()
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert "optim/kernels.c" in text
