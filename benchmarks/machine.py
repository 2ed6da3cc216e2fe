"""What else the machine does while times are measured, and how many threads the libraries use.

The load average would count the benchmark that ran a minute ago. Here the work of *other* processes is counted: the
processor time that the system has given to all, less what it has given to this process and to those that it started.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

from lossnav import records
from lossnav.lab.training.devices import on_threads

LOOK = 1.0  # seconds
BUSY = 0.1  # of the cores: threads that wait for each other at the end of every loop stall by more than that
STAT = Path("/proc/stat")


@dataclass(frozen=True)
class Clock:
    """Seconds since some moment: on the wall, of processor time for all, and of that for this process's family."""

    wall: float
    everyone: float
    own: float

    @classmethod
    def read(cls) -> Clock | None:
        """Return the clock now, or None where the system does not tell.

        Processes that this one has started count as its own once they have ended and been waited for.
        """
        try:
            spent = [float(ticks) for ticks in STAT.read_text(encoding="utf-8").splitlines()[0].split()[1:9]]
        except (OSError, ValueError, IndexError):
            return None
        user, nice, system, _idle, _waiting, interrupts, soft, stolen = spent
        everyone = (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")
        return cls(time.perf_counter(), everyone, sum(os.times()[:4]))


def others(before: Clock | None, after: Clock | None) -> float | None:
    """Return how many cores other processes (and other guests of the same host) kept busy between two readings."""
    if before is None or after is None or after.wall <= before.wall:
        return None
    work = (after.everyone - before.everyone) - (after.own - before.own)
    return max(work / (after.wall - before.wall), 0.0)


def look() -> float | None:
    """Return how many cores other processes keep busy, seen over a second in which this one sleeps."""
    before = Clock.read()
    time.sleep(LOOK)
    return others(before, Clock.read())


def is_busy(load: float | None) -> bool:
    """Return whether others hold so much of the machine that times say little."""
    return load is not None and load > BUSY * (os.cpu_count() or 1)


def in_words(before: float | None, during: float | None) -> str:
    """Return the work of others as a reader needs it to judge times."""
    if before is None or during is None:
        return "unknown"
    return f"other processes kept {before:.2f} of {os.cpu_count()} cores busy before the run, {during:.2f} during it"


def name(device: str | torch.device) -> str:
    """Return what a table's times belong to: the graphics processor, or the processor and its number of cores."""
    place = torch.device(device)
    return torch.cuda.get_device_name(place) if place.type == "cuda" else records.processor()


def waiter(device: str | torch.device) -> Callable[[], object]:
    """Return what waits until the device has nothing more to do."""
    place = torch.device(device)
    return (lambda: None) if place.type == "cpu" else getattr(torch, place.type).synchronize


@contextmanager
def threads(count: int | None) -> Iterator[int]:
    """Let torch and the libraries under numpy and scipy use ``count`` threads, or what torch chooses; yield how many.

    numpy and scipy each bring a BLAS of their own, with threads of its own, which torch's number does not reach.
    """
    count = count or torch.get_num_threads()
    with on_threads(count), threadpool_limits(count, user_api="blas"):
        yield count
