"""How ``fused=True`` gets its kernel: compilers good and bad, the cache of builds, and the route of other devices."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import fresh as processes
import pytest
import torch
from launches import KERNEL, random, walk
from optim_problem import advance, network, vector
from references import BallisticReference

from lossnav.optim import Ballistic, Belief, Navigator, _fused, _native


def one_warning(match):
    """Expect one warning over several steps and dtypes, and the very bits of the list operations."""
    with pytest.warns(RuntimeWarning, match=match) as heard:
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            fused, plain = network(dtype=dtype), network(dtype=dtype)
            advance(fused, Ballistic(fused.parameters(), fused=True), range(3))
            advance(plain, Ballistic(plain.parameters(), fused=False), range(3))
            assert torch.equal(vector(fused), vector(plain))
    assert len(heard) == 1, [str(w.message) for w in heard]


QUICK = f'exec {shutil.which("cc")} "$@" -O0'  # a compiler that does not optimise, for tests that are not about speed


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As in a new process on a machine that has no builds; gives the folder where they will be.

    The compiler does not optimise, which takes it a second a build; a test that wants it to takes CC away.
    """
    monkeypatch.setenv("LOSSNAV_KERNELS", str(tmp_path / "kernels"))
    if shutil.which("cc"):
        monkeypatch.setenv("CC", script(tmp_path / "quick", QUICK))
    for memory in (_native._load, _fused._compiled):
        memory.cache_clear()
    _fused._said.clear()
    yield tmp_path / "kernels"
    for memory in (_native._load, _fused._compiled):
        memory.cache_clear()
    _fused._said.clear()


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


@pytest.mark.slow
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


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux lists what a process has loaded")
def test_the_kernel_runs_on_the_threads_that_torch_has(kernel, fresh):
    """A second OpenMP runtime would keep threads of its own and fight with torch's for the cores."""

    def runtimes():
        paths = {line.split(maxsplit=5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines()}
        return {path for path in paths if "omp" in path.rpartition("/")[2] and ".so" in path}

    before = runtimes()
    _native.load(torch.float32, KERNEL)
    walk([torch.nn.Parameter(random(100_000))], fused=True)
    assert runtimes() == before


PROCESS = """
import warnings, torch
warnings.simplefilter("error")
from lossnav.optim import Ballistic
w = torch.nn.Parameter(torch.arange(8.0))
w.grad = torch.ones(8)
Ballistic([w], lr=0.5, fused=True).step()
print(w.tolist())
"""


def counting_compiler(tmp_path, monkeypatch):
    """Name a compiler (a quick one) that writes down each call, and return what it writes to."""
    log = tmp_path / "log"
    monkeypatch.setenv("CC", script(tmp_path / "cc", f"echo called >> {log}\n{QUICK}"))
    return log


@pytest.mark.slow
def test_processes_that_build_at_once_leave_one_build_for_all(kernel, fresh, tmp_path, monkeypatch):
    log = counting_compiler(tmp_path, monkeypatch)
    crowd = [running.wait() for running in [processes.Running(PROCESS) for _ in range(2)]]
    assert [process.returncode for process in crowd] == [0, 0] and len({process.stdout for process in crowd}) == 1
    (build,) = fresh.iterdir()
    calls = log.read_text()
    _native.load(torch.float32, KERNEL)  # a third process finds it
    assert log.read_text() == calls and list(fresh.iterdir()) == [build]


def truncated(content: bytes) -> bytes:
    """End within the code: the system maps such a library, and kills who calls into it."""
    return content[: len(content) // 4]


def flipped(content: bytes) -> bytes:
    """Change one bit of an instruction."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        listed = subprocess.run(["readelf", "-WS", file.name], capture_output=True, text=True, check=True).stdout
    offset, size = re.search(r" \.text +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", listed).groups()
    place = int(offset, 16) + int(size, 16) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def zeroed(content: bytes) -> bytes:
    """Have the length and none of the bytes: what a crash leaves of a file that was renamed before it was written."""
    return bytes(len(content))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncated, flipped, zeroed])
def test_a_damaged_build_is_never_loaded_and_built_anew(kernel, fresh, tmp_path, monkeypatch, damage):
    if damage is flipped and shutil.which("readelf") is None:
        pytest.skip("readelf finds the instructions")
    log = counting_compiler(tmp_path, monkeypatch)
    _native.load(torch.float32, KERNEL)
    (build,) = fresh.iterdir()
    calls, content = log.read_text(), build.read_bytes()
    build.unlink()  # this process still uses the file: the damaged one is another
    build.write_bytes(damage(content))
    weight = torch.nn.Parameter(torch.arange(8.0))
    weight.grad = torch.ones(8)
    Ballistic([weight], lr=0.5).step()
    done = processes.run(PROCESS)
    assert (done.returncode, done.stdout) == (0, f"{weight.tolist()}\n"), done
    assert log.read_text() == 2 * calls
    assert list(fresh.iterdir()) == [build] and build.read_bytes() == content


def test_a_build_that_cannot_be_kept_is_used_all_the_same(kernel, fresh, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_native, "_keep", full)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        walk([torch.nn.Parameter(random(9))], fused=True)
    assert not any(fresh.iterdir())


@pytest.mark.slow
def test_folder_and_compiler_may_be_named_from_here(kernel, fresh, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOSSNAV_KERNELS", "kernels")
    script(tmp_path / "cc", QUICK)
    monkeypatch.setenv("CC", "./cc")
    _native.load(torch.float32, KERNEL)
    assert len(list(fresh.iterdir())) == 1


@pytest.mark.slow
def test_a_folder_that_others_may_write_to_is_not_trusted(kernel, fresh):
    fresh.mkdir()
    fresh.chmod(0o777)
    weights = [torch.nn.Parameter(random(9))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        walk(weights, fused=True)
    assert not any(fresh.iterdir())


def test_what_has_no_kernel_says_so(kernel, fresh):
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


def by_compiler(optimizer, rates):
    """Take the route of devices other than the CPU."""
    (group,) = optimizer.param_groups
    for k, rate in enumerate(rates):
        group["lr"] = rate
        grads = [random(*p.shape, seed=100 + k) for p in group["params"]]
        with torch.no_grad():
            states = [optimizer._state_of(p, group) for p in group["params"]]
            _fused._compiled(type(optimizer)._update, "cpu")(optimizer, group, group["params"], grads, states)


FAMILY = [
    (Ballistic, {"beta": 0.9, "momentum": 0.8, "bias_correction": True, "weight_decay": 0.1}, 0.01),
    (Belief, {"variance": "innovation", "curvature_scale": 2.0, "weight_decay": 0.1}, 0.01),
    (Belief, {"discount": math.inf}, 0.1),
    (Navigator, {"gamma": 1.0, "weight_decay": 0.1}, 0.01),
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "options", "rate"), FAMILY)
def test_the_route_of_other_devices_compiles_once_for_all_rates(rule, options, rate, fresh, monkeypatch):
    """Traced on the CPU with ``aot_eager``; what a GPU makes of the graph is not tested here."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compile_ = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, **options: compile_(f, backend="aot_eager", **options))
    ours, plain = ([torch.nn.Parameter(random(30)), torch.nn.Parameter(random(2, 3))] for _ in range(2))
    rates = [rate / (k + 1) for k in range(12)]
    by_compiler(rule(ours, **options), rates)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2
    optimizer = rule(plain, fused=False, **options)
    for k, rate in enumerate(rates):
        optimizer.param_groups[0]["lr"] = rate
        for p in plain:
            p.grad = random(*p.shape, seed=100 + k)
        optimizer.step()
    for p, q in zip(ours, plain, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-7)


def test_a_failing_torch_compile_is_a_reason_not_an_error(fresh, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("not on this system\nand much more")

    monkeypatch.setattr(torch, "compile", refuse)
    with pytest.raises(_native.NoKernel, match=r"torch.compile refuses on cpu \(not on this system\)"):
        by_compiler(Ballistic([torch.nn.Parameter(random(3))]), [0.1])


def test_the_source_travels_with_the_package():
    from importlib import resources

    shared, own = ((resources.files("lossnav.optim") / name).read_bytes() for name in ("kernels.h", "uncertain.c"))
    assert b"void step(" in shared and b"static void move(" in shared and b"static void move(" in own
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert "optim/*.[ch]" in text
