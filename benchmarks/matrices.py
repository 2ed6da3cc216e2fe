"""What an optimizer that knows rows and columns costs in a training step, beside Adam, Muon, SOAP and Shampoo.

A step is a forward and a backward pass on a batch and an update. All updates move tensors of the network's shapes with
the same gradients, and take turns with the passes; what is compared is (passes + update)/(passes + Adam's update).
Bases turn every 20 steps, so that a turn of those rules is 20 updates. "products alone" is the floor of a rule with
two bases: a gradient into them and the step back, four products of matrices and nothing else. On CPUs the clock is that
of the process, in one thread unless told otherwise, so that other processes do not count.

SOAP and Shampoo are those of a collection, with our averages, our 20 steps between refreshes, and no basis for a side
beyond 1024. Of its Shampoos the one that keeps whole factors would need roots of 8192 × 8192 matrices for the CNN, many
minutes each; the other one, whose factors are those of blocks, has blocks of 256 and roots by singular values here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks import machine
from benchmarks.optimizers import THIRD, Shape, collection, tensors, third
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, repeated, spread, take_turns
from lossnav import models, optim

BATCHES = {"mlp": (128, 512), "cnn": (128,)}
INPUTS: dict[str, Shape] = {"mlp": (784,), "cnn": (3, 32, 32), "tiny": (20,)}
EVERY, OTHERS, ROUNDS, LIMIT = 20, 4, 5, 150.0  # updates a turn; seconds
RATE, RMSPROP = 1e-6, 3  # the second is the collection's number for grafting a length: SOAP and ours need none
ADAM, MUON, FLOOR = "torch Adam", "torch Muon, Adam for vectors", "two bases, products alone"
SOAP, SHAMPOO = f"{THIRD} SOAP", f"{THIRD} ScalableShampoo"
OURS, LONGEST, BLOCK = "BallisticMatrix, eigenbasis", 1024, 256
BLOCKS = f"{OURS}, block=128"
MOST = {"cnn, batch 128": 1.25, "mlp, batch 128": 3.0}
Times = dict[str, list[float]]


def network(name: str) -> nn.Module:
    if name == "cnn":
        return models.cnn(seed=0)
    return models.mlp(seed=0) if name == "mlp" else models.mlp(INPUTS["tiny"][0], (16, 8), seed=0)


class Muon:
    """torch's Muon for matrices and its Adam for the rest."""

    def __init__(self, params: list[Tensor]) -> None:
        self.parts = [
            torch.optim.Muon([p for p in params if p.ndim == 2], lr=RATE),
            torch.optim.Adam([p for p in params if p.ndim != 2], lr=RATE),
        ]

    def step(self) -> None:
        for part in self.parts:
            part.step()


def contenders(name: str) -> dict[str, Callable[[list[Tensor]], Any]]:
    """Return what makes each optimizer from parameters."""
    makers: dict[str, Callable[[list[Tensor]], Any]] = {ADAM: lambda p: torch.optim.Adam(p, lr=RATE), MUON: Muon}
    for kind in ("eigenbasis", "kronecker", "likelihood", "polar"):
        makers[f"BallisticMatrix, {kind}"] = partial(optim.BallisticMatrix, lr=RATE, curvature=kind)
    if name == "mlp":
        ours = partial(optim.BallisticMatrix, lr=RATE, curvature="eigenbasis")
        makers[f"{OURS}, max_dim=512"] = partial(ours, max_dim=512, long="identity")
        makers[BLOCKS] = partial(ours, block=128)
    if (library := collection()) is not None:
        same = {"lr": RATE, "betas": (0.9, 0.99), "weight_decay": 0.0}
        makers[SOAP] = partial(library.SOAP, precondition_frequency=EVERY, max_precondition_dim=LONGEST, **same)
        makers[SHAMPOO] = partial(
            library.ScalableShampoo, preconditioning_compute_steps=EVERY, start_preconditioning_step=1,
            block_size=BLOCK, use_svd=True, graft_type=RMSPROP, **same,
        )  # fmt: skip
    return makers


def products(shapes: list[Shape], device: torch.device) -> Callable[[], None]:
    """Return what turns a gradient of each matrix into two bases and a step back."""
    matrices = [x for x in tensors(shapes, device) if x.ndim == 2]
    bases = [[torch.eye(n, device=device) if n <= LONGEST else None for n in x.shape] for x in matrices]

    @torch.no_grad()
    def turned() -> None:
        for x, (left, right) in zip(matrices, bases, strict=True):
            y = x if left is None else left.mT @ x
            y = y if right is None else y @ right
            y = y if left is None else left @ y
            y = y if right is None else y @ right.mT

    return turned


def measure(name: str, batches: tuple[int, ...], device: torch.device, rounds: int) -> tuple[Times, dict[int, Any]]:
    """Return the seconds of one update of each rule, and of the passes on each batch."""
    model = network(name).to(device)
    shapes: list[Shape] = [(len(p), p[0].numel()) if p.ndim > 1 else (len(p),) for p in model.parameters()]
    calls: dict[Any, Callable[[], object]] = {FLOOR: repeated(products(shapes, device), OTHERS)}
    counts: dict[Any, int] = {FLOOR: OTHERS, **dict.fromkeys(batches, 1)}
    for rule, make in contenders(name).items():
        counts[rule] = OTHERS if rule in (ADAM, MUON) or "polar" in rule else EVERY
        calls[rule] = repeated(make(tensors(shapes, device)).step, counts[rule])
    for batch in batches:
        x = torch.randn(batch, *INPUTS[name], device=device)
        y = torch.zeros(batch, dtype=torch.long, device=device)

        def passes(x: Tensor = x, y: Tensor = y) -> None:
            model.zero_grad()
            cross_entropy(model(x), y).backward()

        calls[batch] = passes
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    times = take_turns(calls, rounds, warm_up=2, limit=LIMIT, wait=machine.waiter(device), clock=clock)
    each: dict[Any, list[float]] = {key: [t / counts[key] for t in seconds] for key, seconds in times.items()}
    return {key: t for key, t in each.items() if isinstance(key, str)}, {batch: each[batch] for batch in batches}


def run(settings: Settings) -> Report:
    device, rows = torch.device(settings.device), []
    of_step, of_muon, of_soap = {}, {}, {}
    with machine.threads(settings.threads or 1) as count:
        for name, batches in {"tiny": (4,)}.items() if settings.quick else BATCHES.items():
            updates, passes = measure(name, batches, device, 2 if settings.quick else ROUNDS)
            for batch, spent in passes.items():
                steps = {key: [a + b for a, b in zip(spent, t, strict=True)] for key, t in updates.items()}
                for key, step in steps.items():
                    place, update = (f"{name}, batch {batch}", key), spread(updates[key])
                    of_step[place], of_muon[place] = ratio(step, steps[ADAM]), ratio(updates[key], updates[MUON])
                    of_soap[place] = ratio(updates[key], updates[SOAP]) if SOAP in updates else None
                    rows.append([
                        ": ".join(place), 1e3 * spread(spent).median, *update.cells(1e3), *of_step[place].cells(),
                        of_muon[place].median,
                        None if (beside := of_soap[place]) is None else beside.median,
                    ])  # fmt: skip
    return Report(
        columns=["one step", "passes, ms", "update, ms", "1st quartile", "3rd", "of a step with Adam", "1st quartile",
                 "3rd", "of Muon's update", "of SOAP's update"],
        formats=[".1f", ".1f", ".1f", ".1f", ".2f", ".2f", ".2f", ".2f", ".2f"],
        rows=rows,
        checks={} if settings.quick else judge(of_step, of_muon, of_soap),
        config={"dtype": "float32", "threads": count, "rounds": ROUNDS, "every": EVERY, "lr": RATE, "longest": LONGEST,
                "block": BLOCK},
        device=machine.name(device),
        notes=[f"medians of {ROUNDS} rounds in which all take turns; {count} thread(s); seconds of this process alone",
               third()],
    )  # fmt: skip


Ratios = dict[tuple[str, str], Any]


def judge(of_step: Ratios, of_muon: Ratios, of_soap: Ratios) -> dict[str, bool]:
    """Say whether a step costs as little as was asked, and an update no more than Muon's, or SOAP's."""
    asked = {
        f"{label}: a step takes at most {most:g} of one with Adam: {of_step[label, OURS]}, of which two bases need "
        f"{of_step[label, FLOOR].median:.2f}": of_step[label, OURS].median <= most
        for label, most in MOST.items()
    }
    (wide,) = {label for label, rule in of_step if rule == BLOCKS and label in MOST}
    asked[f"{wide}: the same with blocks: {of_step[wide, BLOCKS]}"] = of_step[wide, BLOCKS].median <= MOST[wide]
    beside = {
        f"{label}: an update takes at most {whose} time: {ratios[label, OURS]}": ratios[label, OURS].median <= 1
        for whose, ratios in (("Muon's", of_muon), ("SOAP's", of_soap))
        for label in MOST
        if ratios[label, OURS] is not None
    }
    return asked | beside
