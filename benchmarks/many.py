"""A step over many matrices of few shapes: what one pass over the memory, and matrices that move together, save.

Two lists of tensors: 160 small ones, (64,) and (64, 64), and those of a vision transformer of six layers and 192
channels. "one by one" is the same rule as it was before: matrices of one shape did not move together and their roots
were made of eigenvectors; ``Uncertain`` was a list of operations. Muon moves matrices alone, Adam the rest beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks import machine
from benchmarks.matrices import Muon
from benchmarks.optimizers import SMALL, THIRD, Shape, collection, tensors, third
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, repeated, spread, take_turns
from lossnav import optim

WIDTH, LAYERS = 192, 6
LAYER: list[Shape] = [(3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)]
LAYER += [(3 * WIDTH,), (4 * WIDTH,), *[(WIDTH,)] * 6]
LISTS = {"160 small": SMALL, "transformer": LAYER * LAYERS}
RATE, STEPS, ROUNDS, LIMIT = 1e-7, 10, 9, 60.0
ADAMW, FUSED, MUON = "AdamW, foreach", "AdamW, fused", "torch Muon, Adam for vectors"
POLAR, BEFORE = "BallisticMatrix", "BallisticMatrix, one by one"
UNCERTAIN, LISTED = "Uncertain", "Uncertain, list of operations"


def contenders() -> dict[str, Callable[[list[Tensor]], Any]]:
    """Return what makes each optimizer from parameters."""
    makers: dict[str, Callable[[list[Tensor]], Any]] = {
        ADAMW: partial(torch.optim.AdamW, lr=RATE, foreach=True),
        FUSED: partial(torch.optim.AdamW, lr=RATE, fused=True),
        MUON: Muon,
        POLAR: partial(optim.BallisticMatrix, lr=RATE),
        BEFORE: partial(optim.BallisticMatrix, lr=RATE, root="exact", foreach=False),
        UNCERTAIN: partial(optim.Uncertain, lr=RATE),
        LISTED: partial(optim.Uncertain, lr=RATE, foreach=True),
    }
    if (library := collection()) is not None:
        makers[f"{THIRD} Muon"] = lambda params: library.Muon(
            [{"params": [p for p in params if (p.ndim > 1) is matrix], "use_muon": matrix} for matrix in (True, False)],
            lr=RATE,
        )
    return makers


def run(settings: Settings) -> Report:
    device, rows, checks = torch.device(settings.device), [], {}
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    with machine.threads(settings.threads or 1) as count:
        for label, shapes in {"tiny": [(4, 4), (4,)] * 2}.items() if settings.quick else LISTS.items():
            calls = {name: repeated(make(tensors(shapes, device)).step, STEPS) for name, make in contenders().items()}
            rounds = 2 if settings.quick else ROUNDS
            times = take_turns(calls, rounds, warm_up=1, limit=LIMIT, wait=machine.waiter(device), clock=clock)
            for name, seconds in times.items():
                rows.append([
                    f"{label}: {name}", *spread(seconds).cells(1e3 / STEPS), *ratio(seconds, times[ADAMW]).cells(),
                    *ratio(seconds, times[MUON]).cells(),
                ])  # fmt: skip
            beside = ratio(times[POLAR], times[MUON])
            checks[f"{label}: {POLAR} takes at most Muon's time: {beside}"] = beside.median <= 1
            for now, was in ((POLAR, BEFORE), (UNCERTAIN, LISTED)):
                saved = ratio(times[now], times[was])
                checks[f"{label}: {now} takes less than before: {saved}"] = saved.median < 1
    return Report(
        columns=["one step", "ms", "1st quartile", "3rd", "of AdamW, foreach", "1st quartile", "3rd", "of Muon",
                 "1st quartile", "3rd"],
        formats=[*[".3f"] * 3, *[".2f"] * 6],
        rows=rows,
        checks=checks,
        config={"lists": {name: len(shapes) for name, shapes in LISTS.items()}, "dtype": "float32", "threads": count,
                "rounds": ROUNDS, "steps": STEPS, "lr": RATE},
        device=machine.name(device),
        notes=[f"medians of {ROUNDS} rounds in which all take turns; {count} thread(s); seconds of this process alone",
               third()],
    )  # fmt: skip
