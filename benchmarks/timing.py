"""Times of contenders that take turns: what else the machine does then hits all of them alike."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """A median, its quartiles and the least value."""

    low: float
    median: float
    high: float
    least: float

    def cells(self, unit: float = 1.0) -> tuple[float, float, float]:
        """Return the median and the quartiles, the first thing that tables show, in another unit."""
        return unit * self.median, unit * self.low, unit * self.high

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.low:.3g} … {self.high:.3g})"


def spread(values: Sequence[float]) -> Spread:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else 3 * [*values]
    return Spread(low, median, high, min(values))


def ratio(one: Sequence[float], other: Sequence[float]) -> Spread:
    """Return the spread of one/other, round by round."""
    return spread([a / b for a, b in zip(one, other, strict=True)])


def repeated(call: Callable[[], object], count: int) -> Callable[[], None]:
    """Return what makes a call several times."""

    def calls() -> None:
        for _ in range(count):
            call()

    return calls


def take_turns(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm_up: int = 2,
    limit: float = math.inf,
    wait: Callable[[], object] = lambda: None,
    prepare: Callable[[str], object] = lambda name: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Return the seconds of each contender in each round.

    Every round calls all of them once, in a new order: a call that leaves caches or threads in some state must not
    always meet the same successor.

    Args:
        contenders: what to call, by name.
        rounds: how often.
        warm_up: calls of each before the first round.
        limit: seconds after which no new round begins, once there are three: a busy machine may be very slow.
        wait: returns when the device has nothing more to do; called before and after each measured call.
        prepare: called with a contender's name before each of its measured calls, off the clock.
        clock: which seconds; ``time.process_time`` does not count what other processes do.
    """
    for call in contenders.values():
        for _ in range(warm_up):
            call()
    order, shuffle = list(contenders), random.Random(0).shuffle
    times: dict[str, list[float]] = {name: [] for name in contenders}
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + limit
        for k in range(rounds):
            if k >= 3 and time.perf_counter() > end:
                break
            shuffle(order)
            for name in order:
                prepare(name)
                wait()
                begin = clock()
                contenders[name]()
                wait()
                times[name].append(clock() - begin)
    finally:
        if collecting:
            gc.enable()
    return times
