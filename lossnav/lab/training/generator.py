"""torch's own generators, which layers such as dropout draw from: seeded for a run, and kept in its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


def state(place: torch.device) -> Tensor:
    """Return the state of a device's generator, bytes (n,) on the CPU."""
    if place.type == "cuda":
        return torch.cuda.get_rng_state(place)
    return torch.mps.get_rng_state() if place.type == "mps" else torch.get_rng_state()


def restore(place: torch.device, kept: Tensor) -> None:
    """Set a device's generator to a state that it had."""
    if place.type == "cuda":
        torch.cuda.set_rng_state(kept, place)
    elif place.type == "mps":
        torch.mps.set_rng_state(kept)
    else:
        torch.set_rng_state(kept)


@contextmanager
def seeded(place: torch.device, seed: int) -> Iterator[None]:
    """Let the generators of the CPU and of ``place`` begin at a seed, and give them their states back at the end."""
    kept = {device: state(device) for device in (torch.device("cpu"), place)}
    torch.default_generator.manual_seed(seed)  # and not torch.manual_seed, which moves those of all devices
    if place.type == "cuda":
        with torch.cuda.device(place):
            torch.cuda.manual_seed(seed)
    elif place.type == "mps":
        torch.mps.manual_seed(seed)
    try:
        yield
    finally:
        for device, before in kept.items():
            restore(device, before)
