"""One estimate for all replicas of a model: the mean over the processes of what each sees in its own data."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from lossnav._checks import shown
from lossnav.optim._base import _state_dtype

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # an integer of each size in bytes


def check_process_group(process_group: Any) -> Any:
    """Return the argument, or raise ``ValueError``."""
    known = isinstance(process_group, str) and process_group == "auto"
    if known or process_group is None or (dist.is_available() and isinstance(process_group, dist.ProcessGroup)):
        return process_group
    raise ValueError(
        f"process_group = {shown(process_group)}, but it must be 'auto', None or a process group of torch.distributed"
    )


def found(process_group: Any) -> Any:
    """Return the group of several processes that an argument means, or None for this process alone.

    "auto" is all processes if torch.distributed is initialised (the group's methods are those of ``dist``).
    """
    if process_group is None or not (dist.is_available() and dist.is_initialized()):
        return None
    group = dist.group.WORLD if process_group == "auto" else process_group
    return group if dist.get_world_size(group) > 1 else None


@torch.no_grad()
def average(
    group: Any, params: Sequence[Tensor], names: Sequence[Any], estimates: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return the mean over the processes of each estimate; one that a process does not have counts as zero.

    Args:
        group: the processes.
        params: the parameters that all of them hold, plain tensors.
        names: for each what else must be the same on all processes, with a ``repr`` that tells.
        estimates: for each a tensor of the parameter's shape, or None.

    Returns:
        The means, in the dtype of the state; None where no process has an estimate. They are the same on all
        processes, bit for bit, as the gradients of DistributedDataParallel are.

    Raises:
        RuntimeError: the processes do not hold replicas, or not all of them came here.
    """
    have = _shake_hands(group, params, names, estimates)
    sums = _sums(group, params, estimates)
    size = dist.get_world_size(group)
    return [total / size if some else None for total, some in zip(sums, have, strict=True)]


def _shake_hands(
    group: Any, params: Sequence[Tensor], names: Sequence[Any], estimates: Sequence[Tensor | None]
) -> list[bool]:
    """Check that all processes hold the same; return for each parameter whether any has an estimate."""
    layout = [(tuple(p.shape), str(p.dtype), name) for p, name in zip(params, names, strict=True)]
    digest = int.from_bytes(hashlib.blake2b(repr(layout).encode(), digest_size=7).digest(), "little")
    place = params[0].device
    mine = torch.stack([torch.tensor(digest, device=place), _checksum(params, place)])
    rows = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    try:
        dist.all_gather(rows, mine, group=group)
    except RuntimeError as error:
        raise RuntimeError(
            f"the curvature could not be averaged over process_group ({str(error).strip().splitlines()[0][:200]}): all "
            "of its processes must look at the curvature in the same steps; if this one trains alone, pass "
            "process_group=None"
        ) from error
    table = torch.stack(rows).cpu()
    for column, what in enumerate(("parameters (their shapes, order, seeds or counts of steps)", "weights")):
        if (table[:, column] != table[0, column]).any():
            raise RuntimeError(
                f"the processes hold different {what}, so that a mean of their curvatures says nothing: process_group "
                "must be a group of replicas (as in DistributedDataParallel), or None where this process trains alone"
            )
    have = torch.tensor([estimate is not None for estimate in estimates], dtype=torch.int32, device=place)
    dist.all_reduce(have, group=group)
    return [bool(some) for some in have.cpu()]


def _checksum(params: Sequence[Tensor], place: torch.device) -> Tensor:
    """Return the sum of the weights' bits as integers: other weights have another, but for a rare accident."""
    total = torch.zeros((), dtype=torch.int64, device=place)
    for p in params:
        total += p.detach().view(_BITS[p.element_size()]).sum(dtype=torch.int64).to(place)
    return total


def _sums(group: Any, params: Sequence[Tensor], estimates: Sequence[Tensor | None]) -> list[Tensor]:
    """Return the sums over the processes, with one message for all tensors of a device and dtype."""
    sums: list[Tensor] = [
        torch.zeros_like(p, dtype=_state_dtype(p)) if e is None else e.detach().to(_state_dtype(p))
        for p, e in zip(params, estimates, strict=True)
    ]
    homes: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for i, total in enumerate(sums):
        homes.setdefault((total.device, total.dtype), []).append(i)
    for places in homes.values():
        flat = torch.cat([sums[i].reshape(-1) for i in places])
        dist.all_reduce(flat, group=group)
        for i, values in zip(places, flat.split([sums[i].numel() for i in places]), strict=True):
            sums[i] = values.view(sums[i].shape)
    return sums
