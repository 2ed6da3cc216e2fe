"""One run shared by several processes (torchrun): each takes its part of every batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lossnav.lab.training.devices import pick_device


@dataclass(frozen=True)
class Team:
    """The processes that share a run; a team of one does nothing.

    Attributes:
        rank: number of this process.
        size: number of processes.
    """

    rank: int = 0
    size: int = 1

    def part(self, count: int) -> slice:
        """Return this process's part of ``count`` items in a row; parts differ by at most one item."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def sum(self, values: Tensor) -> Tensor:
        """Add up, in place, what the processes hold."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def gather(self, values: Tensor, place: torch.device) -> Tensor:
        """Return what each process holds, stacked by rank, on the CPU; ``place`` is where the processes compute."""
        if self.size == 1:
            return values.unsqueeze(0)
        gathered = [torch.empty_like(values, device=place) for _ in range(self.size)]
        dist.all_gather(gathered, values.to(place))
        return torch.stack(gathered).cpu()

    def wait(self) -> None:
        """Wait until every process has come here."""
        if self.size > 1:
            dist.barrier()

    def wrapped(self, model: nn.Module) -> nn.Module:
        """Return the model with gradients averaged over the processes during the backward pass."""
        if self.size == 1:
            return model
        place = next(model.parameters()).device
        return nn.parallel.DistributedDataParallel(model, device_ids=[place] if place.type == "cuda" else None)


def team(distributed: bool) -> Team:
    """Return the team of this process.

    Raises:
        RuntimeError: ``distributed`` is asked for outside of a process group.
    """
    if not distributed:
        return Team()
    if not (dist.is_available() and dist.is_initialized()):
        raise RuntimeError(
            "distributed = True, but there is no process group: start the script with torchrun, and train inside "
            "`with training.process_group() as device:`"
        )
    return Team(dist.get_rank(), dist.get_world_size())


@contextmanager
def process_group(device: Any = "auto") -> Iterator[torch.device]:
    """Join the processes that ``torchrun`` started, and leave them at the end; a context manager.

    Args:
        device: as of ``pick_device``; of several GPUs each process takes its own.

    Yields:
        This process's device.

    Raises:
        RuntimeError: the process was not started by torchrun.

    Example::

        # torchrun --nproc-per-node 2 script.py
        with training.process_group() as device:
            training.train(model, dataset, optimizer, epochs=25, seed=0, device=device, distributed=True)
    """
    if "LOCAL_RANK" not in os.environ:
        raise RuntimeError("process_group() needs the environment of torchrun: torchrun --nproc-per-node N script.py …")
    place = pick_device(device)
    if place.type == "cuda":
        place = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(place)
    cuda = place.type == "cuda"
    dist.init_process_group("nccl" if cuda else "gloo", device_id=place if cuda else None)
    try:
        yield place
    finally:
        dist.destroy_process_group()
