"""A step of training on 128 images, forward, backward, clipping, update, in the forms that this package chooses among.

The plain form is what one gets without asking: float32, the axes in torch's own order, and a C library that gives freed
memory back to the system. ``train`` leaves it where another is faster; the table shows whether its choice is. Memory
that is kept stays so until the process ends, so each form has a process of its own; they take turns. On CUDA torch
keeps its memory anyway, and there is no such choice.
"""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from benchmarks import machine
from benchmarks.report import Report, Settings
from benchmarks.timing import ratio, spread, take_turns
from lossnav import models, optim, training
from lossnav.lab.training.arithmetic import Arithmetic, choose
from lossnav.lab.training.memory import keep_freed_memory
from lossnav.lab.training.steps import Step
from lossnav.lab.training.team import Team

NETWORKS: dict[str, Callable[..., nn.Module]] = {"cnn": models.cnn, "resnet": models.resnet, "vit": models.vit}
BATCH, CLIP, RATE = 128, 5.0, 5e-4
STEPS, ROUNDS, LIMIT = 2, 9, 45.0  # steps a turn; LIMIT in seconds a network


@dataclass(frozen=True)
class Form:
    """A way to compute one and the same step.

    Attributes:
        precision, memory_format: as ``training.train`` has them.
        kept: whether freed memory is kept.
    """

    precision: str = "float32"
    memory_format: str = "contiguous"
    kept: bool = False

    def __str__(self) -> str:
        return ", ".join([self.precision, self.memory_format, *(["memory kept"] if self.kept else [])])

    @property
    def arithmetic(self) -> Arithmetic:
        return Arithmetic(self.precision, self.memory_format)


PLAIN = Form()


def forms(place: torch.device) -> list[Form]:
    """Return the forms that make sense on a device, the plain one first.

    ``torch.compile`` is left out on CPUs: compiling takes longer than the rest of this table, and gained nothing.
    """
    possible = [PLAIN, Form(memory_format="channels_last")]
    if training.bfloat16_units(place) is not None:
        possible.append(Form("bfloat16", "channels_last"))
    if place.type == "cpu":
        possible += [Form(form.precision, form.memory_format, kept=True) for form in possible]
    return possible


def automatic(network: str, place: torch.device) -> Form:
    """Return the form that ``train`` takes unless it is told otherwise."""
    chosen = choose(NETWORKS[network](seed=0), place, "auto", "auto", False)
    kept = place.type == "cpu" and chosen.memory_format == "channels_last"
    return Form(chosen.precision, chosen.memory_format, kept=kept)


def work(
    pipe: Connection, surroundings: dict[str, str], network: str, form: Form, device: str, threads: int, batch: int
) -> None:
    """Say whether this process can take steps of that form; then take as many as the pipe says, until it says None.

    ``surroundings`` are the environment of who asks: a process that is forked from a server has the server's.
    """
    os.environ.update(surroundings)
    torch.set_num_threads(threads)
    able = not form.kept or keep_freed_memory()
    pipe.send(able)
    if not able:
        return
    place, arithmetic = torch.device(device), form.arithmetic
    model = NETWORKS[network](seed=0).to(place)
    arithmetic.prepare(model)
    optimizer = optim.Ballistic(model.parameters(), lr=RATE, beta=0.9)
    step = Step(arithmetic.compiled(model), optimizer, cross_entropy, CLIP, arithmetic, Team())
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(batch, 3, 32, 32, generator=generator).to(place)
    y = torch.randint(0, 10, (batch,), generator=generator).to(place)
    while (steps := pipe.recv()) is not None:
        losses = torch.empty(steps, device=place)
        for k in range(steps):
            losses[k] = step(x, y)
        pipe.send(losses.tolist())  # which waits for the device


@dataclass
class Contender:
    """A process that takes steps when it is called, and the losses of all its steps."""

    process: Any
    pipe: Connection
    losses: list[float]

    def __call__(self) -> None:
        self.pipe.send(STEPS)
        self.losses += self.pipe.recv()


@contextmanager
def contenders(
    network: str, wanted: list[Form], device: str, threads: int, batch: int
) -> Iterator[dict[Form, Contender]]:
    """Start a process for each form, and end them all; leaves out the forms that this system does not have."""
    context: Any = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
    started: dict[Form, Contender] = {}
    try:
        for form in wanted:
            here, there = context.Pipe()
            arguments = (there, dict(os.environ), network, form, device, threads, batch)
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            there.close()  # so that a process that dies is noticed here
            started[form] = Contender(process, here, [])
        yield {form: contender for form, contender in started.items() if contender.pipe.recv()}
    finally:
        for contender in started.values():
            with suppress(OSError):  # it has ended already
                contender.pipe.send(None)
        for contender in started.values():
            contender.process.join(10)
            contender.process.kill()


def measure(
    network: str, wanted: list[Form], device: str, threads: int, batch: int, rounds: int
) -> tuple[dict[Form, list[float]], dict[Form, list[float]]]:
    """Return the seconds of a step of each form, round by round, and the losses of its steps."""
    with contenders(network, wanted, device, threads, batch) as able:
        calls: dict[str, Callable[[], object]] = {str(form): contender for form, contender in able.items()}
        times = take_turns(calls, rounds, warm_up=2, limit=LIMIT)
        losses = {form: contender.losses for form, contender in able.items()}
    return {form: [t / STEPS for t in times[str(form)]] for form in losses}, losses


def judge(
    network: str, times: dict[Form, list[float]], losses: dict[Form, list[float]], chosen: Form
) -> dict[str, bool]:
    rival = min((form for form in times if form != chosen), key=lambda form: spread(times[form]).median)
    against = ratio(times[chosen], times[rival])
    gaps = {form: abs(each[0] - losses[PLAIN][0]) for form, each in losses.items()}
    fine = max(gap for form, gap in gaps.items() if form.precision == "float32")
    coarse = max(gap for form, gap in gaps.items())
    return {
        f'{network}: what "auto" takes ({chosen}) is the fastest, or not slower within the spread: {against} of the '
        f"time of {rival}": against.low <= 1,
        f"{network}: the same first loss, {fine:.0e} apart in float32 and {coarse:.0e} in coarser products": (
            fine <= 1e-4 and coarse <= 0.05 and all(math.isfinite(x) for each in losses.values() for x in each)
        ),
    }


def run(settings: Settings) -> Report:
    place = torch.device(settings.device)
    threads = settings.threads or (1 if settings.quick else torch.get_num_threads())
    batch, rounds = (4, 2) if settings.quick else (BATCH, ROUNDS)
    rows: list[list[Any]] = []
    checks: dict[str, bool] = {}
    missing: set[str] = set()
    for network in list(NETWORKS)[: 1 if settings.quick else None]:
        chosen = automatic(network, place)
        wanted = list(dict.fromkeys([PLAIN, replace(chosen, kept=False), chosen])) if settings.quick else forms(place)
        times, losses = measure(network, wanted, settings.device, threads, batch, rounds)
        missing |= {str(form) for form in wanted if form not in times}
        if chosen not in times:
            chosen = replace(chosen, kept=False)
        for form, seconds in times.items():
            time, gain = spread(seconds), ratio(times[PLAIN], seconds)
            rows.append(
                [f"{network}: {form}", *time.cells(1e3), batch / time.median, *gain.cells(),
                 "auto" if form == chosen else None]
            )  # fmt: skip
        checks |= judge(network, times, losses, chosen)
    return Report(
        columns=["one step", "ms", "1st quartile", "3rd", "images/s", "times the plain speed", "1st quartile", "3rd",
                 "chosen by"],
        formats=[".0f", ".0f", ".0f", ",.0f", ".2f", ".2f", ".2f", "s"],
        rows=rows,
        checks=checks,
        config={"batch_size": BATCH, "clip": CLIP, "optimizer": "Ballistic", "lr": RATE, "steps_a_turn": STEPS,
                "rounds": ROUNDS, "threads": threads},
        device=machine.name(place),
        notes=[f"{threads} thread(s); each form in a process of its own; the plain one is {PLAIN}",
               *(f"left out, for this system cannot: {form}" for form in sorted(missing))],
    )  # fmt: skip
