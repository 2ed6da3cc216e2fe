"""Where a run takes place: the device, and threads for several small runs at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from lossnav._checks import function as check_function
from lossnav._checks import instance, whole
from lossnav._tensors import device as check_device

Item = TypeVar("Item")
Result = TypeVar("Result")


def pick_device(device: Any = "auto") -> torch.device:
    """Return the device to train on.

    Args:
        device: "auto", which takes CUDA, else Apple's MPS, else the CPU; or what torch takes.

    Raises:
        ValueError: torch knows no such device, or this machine has none.

    Example:
        >>> pick_device("cpu")
        device(type='cpu')
    """
    if not isinstance(device, str) or device != "auto":
        return check_device("device", device, "'auto' or a device")
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None) -> list[Result]:
    """Return ``[function(item) for item in items]``, computed by threads that use one core each.

    Small models gain more from one run a core than from several cores a run; torch lets go of Python's lock in its
    kernels, so threads do (measured: 1.9 × on two cores for the paper's MLP), and a notebook can use them without
    spawning processes. Runs must not share models or generators; ``train`` and ``models`` touch no global state, so
    the results do not depend on ``workers``. Those of models with dropout do, whose draws are from torch's generator,
    which threads share.

    Args:
        function: called once an item, in any order.
        items: what to call it with.
        workers: number of threads; by default one a core, or one alone when there is a GPU.

    Returns:
        The results in the order of the items. The first exception, if any, is raised, and no new run is begun.
    """
    check_function("function", function)
    instance("items", items, Iterable, "what can be passed through")
    workers = runs_at_a_time() if workers is None else whole("workers", workers, low=1)
    with on_threads(torch.get_num_threads()):  # what a pool's threads set, they set for all
        pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
        try:
            return list(pool.map(function, items))
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Let torch's kernels use so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def runs_at_a_time() -> int:
    """Return how many small runs this machine does best at a time: one a core, or one alone when there is a GPU."""
    return cores() if pick_device().type == "cpu" else 1


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
