"""One step of each optimizer over 20 million float32 parameters, side by side with torch's and a third collection.

A step cannot be faster than memory: it reads parameters, gradients and state and writes parameters and state. These
bytes over the time are the bandwidth in the table; torch.add of two tensors into a third, counted alike (two read, one
written), says what the machine gives. All contenders move the same parameters with the same gradients, in turns.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import Tensor

from benchmarks import machine
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, spread, take_turns
from lossnav import Objective, assume, derive, optim

Shape = tuple[int, ...]
LARGE: list[Shape] = [(1000, 1000)] * 20
SMALL: list[Shape] = [(64, 64) if i % 2 else (64,) for i in range(160)]
ROUNDS, LIMIT = 25, 60.0  # seconds
RATE = 1e-7  # so small that the parameters stay where they are for all
YARDSTICK, OURS = "torch Adam, fused", "Ballistic, fused"
ADD = "add: two streams in, one out"
DERIVED = "Adam, derived and generated"
THIRD = "pytorch_optimizer"


def contenders() -> Iterator[tuple[str, Callable[[Any], torch.optim.Optimizer]]]:
    """Yield a name and what makes the optimizer from parameters."""
    ours: dict[str, tuple[Any, dict[str, Any]]] = {
        "Ballistic": (optim.Ballistic, {}),
        "Ballistic with momentum": (optim.Ballistic, {"momentum": 0.9, "bias_correction": True}),
        "Belief": (optim.Belief, {}),
        "Belief, finite step": (optim.Belief, {"lr_overdamped": 1e-6, "curvature_scale": 1.0}),
        "Navigator": (optim.Navigator, {"gamma": 1.0}),
    }
    theirs: dict[str, tuple[Any, dict[str, Any]]] = {
        "torch Adam": (torch.optim.Adam, {}),
        "torch SGD": (torch.optim.SGD, {}),
        "torch SGD with momentum": (torch.optim.SGD, {"momentum": 0.9}),
    }
    for name, (rule, options) in (ours | theirs).items():
        for form in ("fused", "foreach"):
            yield f"{name}, {form}", _maker(rule, lr=RATE, **{form: True}, **options)
    derived = derive(Objective(), belief=assume.Filter(0.9, fading=1e-8), curvature=assume.SecondMoment(0.999), dt=RATE)
    yield f"{DERIVED}, fused", _maker(derived.optimizer, fused=True)
    yield f"{DERIVED}, foreach", _maker(derived.optimizer, foreach=True)
    yield "torch RMSprop, foreach", _maker(torch.optim.RMSprop, lr=RATE, foreach=True)
    for name in ("AdaBelief", "Lion") if (library := collection()) is not None else ():
        yield f"{THIRD} {name}", _maker(getattr(library, name), lr=RATE)


def collection() -> Any:
    """Return the module of a third collection of optimizers, or None where it is not installed."""
    try:
        return importlib.import_module(THIRD)
    except ImportError:
        return None


def _maker(rule: Any, **options: Any) -> Callable[[Any], torch.optim.Optimizer]:
    return lambda params: rule(params, **options)


def tensors(shapes: list[Shape], device: torch.device) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    params: list[Tensor] = []
    for shape in shapes:
        p = torch.nn.Parameter(torch.randn(shape, generator=generator).to(device))
        p.grad = (1e-2 * torch.randn(shape, generator=generator)).to(device)
        params.append(p)
    return params


def state_tensors(optimizer: torch.optim.Optimizer) -> int:
    """Return how many tensors of a parameter's size it remembers for each."""
    (p, *_) = optimizer.param_groups[0]["params"]
    return sum(torch.is_tensor(x) and x.shape == p.shape for x in optimizer.state[p].values())


def measure(shapes: list[Shape], device: torch.device, rounds: int) -> tuple[dict[str, list[float]], dict]:
    """Return the seconds of a step of each contender, and how many state tensors it has."""
    params = tensors(shapes, device)
    optimizers = {name: make(params) for name, make in contenders()}
    a, b, c = (torch.randn(sum(p.numel() for p in params)).to(device) for _ in range(3))
    calls: dict[str, Callable[[], object]] = {name: o.step for name, o in optimizers.items()}
    calls[ADD] = lambda: torch.add(a, b, out=c)
    times = take_turns(calls, rounds, limit=LIMIT, wait=machine.waiter(device))
    if not all(p.isfinite().all() for p in params):
        raise RuntimeError("a parameter is no longer finite: the times are not those of ordinary numbers")
    return times, {name: state_tensors(o) for name, o in optimizers.items()}


def run(settings: Settings) -> Report:
    device = torch.device(settings.device)
    with machine.threads(settings.threads) as count:
        shapes: list[Shape] = [(100, 100)] * 2 if settings.quick else LARGE
        large, states = measure(shapes, device, 2 if settings.quick else ROUNDS)
        small, _ = measure(SMALL, device, 2 if settings.quick else 2 * ROUNDS)
    size = sum(torch.Size(shape).numel() for shape in shapes)
    moved = {ADD: 3 * 4 * size, **{name: (3 + 2 * s) * 4 * size for name, s in states.items()}}
    speed = {name: moved[name] / spread(times).median for name, times in large.items()}
    rows = []
    for name in (ADD, *states):
        time, against = spread(large[name]), ratio(large[name], large[YARDSTICK])
        rows.append(
            [name, *time.cells(1e3), 1e3 * time.least, *against.cells(), speed[name] / 1e9,
             100 * speed[name] / speed[ADD], states.get(name), 1e6 * spread(small[name]).median]
        )  # fmt: skip
    return Report(
        columns=["one step", "ms", "1st quartile", "3rd", "least", "of fused Adam", "1st quartile", "3rd", "GB/s",
                 "% of add", "state tensors", "160 small, µs"],
        formats=[".2f", ".2f", ".2f", ".2f", ".3f", ".3f", ".3f", ".1f", ".0f", "d", ".0f"],
        rows=rows,
        checks=judge(large, states, speed[OURS] / speed[ADD]),
        config={"shapes": f"{len(shapes)} of {shapes[0]}", "small": f"{len(SMALL)} of (64,) and (64, 64)",
                "dtype": "float32", "threads": count, "rounds": len(large[OURS]), "lr": RATE},
        device=machine.name(device),
        notes=[f"medians of {len(large[OURS])} rounds in which all take turns; {count} threads", third()],
    )  # fmt: skip


def judge(large: dict[str, list[float]], states: dict[str, int], share: float) -> dict[str, bool]:
    fused = ratio(large[OURS], large[YARDSTICK])
    foreach = ratio(large[OURS], large["torch Adam, foreach"])
    return {
        f"Ballistic takes at most 0.9 of torch's fused Adam: {fused}": fused.median <= 0.9,
        f"and at most 0.3 of its foreach Adam: {foreach}": foreach.median <= 0.3,
        **{
            f"{name} takes at most {most:g} of torch's {rival}: {against}": against.median <= most
            for name, rival, most in (
                (f"{DERIVED}, foreach", "torch Adam, foreach", 1.15),
                ("Belief, foreach", "torch Adam, foreach", 1.15),
                (f"{DERIVED}, fused", YARDSTICK, 0.9),
            )
            for against in [ratio(large[name], large[rival])]
        },
        f"at least 75 % of the bandwidth of an addition: {100 * share:.0f} %": share >= 0.75,
        f"one state tensor: {states[OURS]}": states[OURS] == 1,
    }


def third() -> str:
    """Say which version of the third collection took part."""
    try:
        return f"third collection: {THIRD} {version(THIRD)}"
    except PackageNotFoundError:
        return f"third collection left out: pip install {THIRD} adds it"
