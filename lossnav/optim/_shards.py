"""Parameters of which each process holds a part (DTensors: FSDP2's ``fully_shard``, tensor parallelism).

The rules work on one element at a time, so that a process can move its own part by itself: the state is sharded as
the parameter is, and what a rule computes with are the parts that lie here, plain tensors. What needs the whole
tensor — a random number's place in its sequence, the spread of the values — asks here for it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

PLAIN = (Tensor, torch.nn.Parameter)  # of other classes not every kernel is known


def is_sharded(tensor: Any) -> bool:
    """Return whether a tensor is a DTensor (which may also lie whole on every process)."""
    if type(tensor) in PLAIN:
        return False
    module = sys.modules.get("torch.distributed.tensor")  # who has a DTensor has imported it
    return module is not None and isinstance(tensor, module.DTensor)


def is_flattened(tensor: Tensor) -> bool:
    """Return whether a parameter is a part of many in one row, as the older FullyShardedDataParallel keeps them."""
    return bool(getattr(tensor, "_fsdp_flattened", False))


def local(tensor: Tensor) -> Tensor:
    """Return the part of a DTensor that lies on this process, in the same memory; any other tensor as it is."""
    if not is_sharded(tensor):
        return tensor
    with torch.no_grad():
        part: Tensor = tensor.to_local()  # type: ignore[attr-defined]
        return part


def whole(tensor: Tensor) -> Tensor:
    """Return all of a DTensor; every process that holds a part must ask. Any other tensor as it is."""
    full: Tensor = tensor.full_tensor() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]
    return full


def sharers(parameter: Tensor) -> tuple[Any, ...]:
    """Return the groups of processes over which a parameter is cut into parts: none if it lies whole on each."""
    shared: Any = parameter
    places = enumerate(shared.placements) if is_sharded(parameter) else ()
    return tuple(shared.device_mesh.get_group(axis) for axis, place in places if place.is_shard())


def on_any(here: bool, parameters: Iterable[Tensor], owner: Any) -> bool:
    """Return whether something holds on any process that has a part of a model on the CPU; each of them must ask.

    Args:
        here: whether it holds on this one.
        parameters: of which DTensors name the processes, by one message for each dimension of their meshes.
        owner: a ZeroRedundancyOptimizer, which names them, too; or None.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return here
    parts: list[Any] = [p for p in parameters if is_sharded(p) and p.device.type == "cpu"]
    meshes = dict.fromkeys(p.device_mesh for p in parts)
    place = next((mesh.device_type for mesh in meshes), "cpu")  # of CPU offload, where its processes talk
    processes = dict.fromkeys(group for mesh in meshes for group in mesh.get_all_groups())
    if owner is not None and any(p.device.type == "cpu" for group in owner.param_groups for p in group["params"]):
        processes[owner.process_group] = None
    held = torch.tensor(int(here), device=place)
    for group in processes:
        torch.distributed.all_reduce(held, torch.distributed.ReduceOp.MAX, group=group)
    return bool(held)


def part(full: Tensor, like: Tensor) -> Tensor:
    """Return of a tensor, which every process has whole, the part that ``like`` has here; no process talks."""
    return local(_spread_as(full, like)).to(full.device) if is_sharded(like) else full


def laid_out_as(parameter: Tensor, tensor: Tensor, what: str) -> Tensor:
    """Return ``tensor`` spread over the processes as the parameter is, itself if it is so already.

    Args:
        parameter: a parameter.
        tensor: its gradient or a tensor of its state, of the same shape.
        what: name of ``tensor`` for the error.

    Raises:
        RuntimeError: the tensor is spread over processes, and the parameter is not, or not over the same ones; or it
            is a plain tensor of another shape.
    """
    if not is_sharded(parameter):
        if is_sharded(tensor):
            raise RuntimeError(
                f"{what} of a parameter of shape {tuple(parameter.shape)} is a DTensor, but the parameter lies whole "
                "on this process: call full_tensor() on it, or load checkpoints through "
                "torch.distributed.checkpoint.state_dict"
            )
        return tensor
    if not is_sharded(tensor):
        if tensor.shape != parameter.shape:
            raise RuntimeError(
                f"{what} of a parameter of shape {tuple(parameter.shape)} has shape {tuple(tensor.shape)}, but it must "
                "be all of it or a DTensor, as the parameter is"
            )
        return _spread_as(tensor, parameter)
    sharded: Any = tensor
    wanted: Any = parameter
    if sharded.device_mesh != wanted.device_mesh:
        raise RuntimeError(
            f"{what} of a parameter of shape {tuple(parameter.shape)} lies on {sharded.device_mesh}, but the parameter "
            f"on {wanted.device_mesh}"
        )
    if sharded.placements != wanted.placements:
        sharded = sharded.redistribute(placements=wanted.placements)
    return sharded


def _spread_as(full: Tensor, like: Any) -> Tensor:
    from torch.distributed.tensor import distribute_tensor

    spread: Tensor = distribute_tensor(full.detach(), like.device_mesh, like.placements, src_data_rank=None)
    return spread


class LocalState(dict[str, Any]):
    """The state of a sharded parameter as a rule sees it: of each DTensor the part that lies here.

    What a rule assigns is kept in the true state; a tensor in the place of a DTensor becomes the part of one.

    Attributes:
        parameter: the sharded parameter, from which random numbers take shape and layout.
    """

    def __init__(self, state: dict[str, Any], parameter: Tensor) -> None:
        super().__init__({key: local(value) if torch.is_tensor(value) else value for key, value in state.items()})
        self._state, self.parameter = state, parameter

    def __setitem__(self, key: str, value: Any) -> None:
        if value is self.get(key):
            return
        super().__setitem__(key, value)
        stored = self._state.get(key)
        self._state[key] = _of_part(value, stored) if is_sharded(stored) else value


def _of_part(part: Tensor, like: Any) -> Tensor:
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        part, like.device_mesh, like.placements, run_check=False, shape=like.shape, stride=like.stride()
    )


def seen(parameter: Tensor, state: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter's state as a rule shall see it: that of a DTensor in parts, any other as it is."""
    return LocalState(state, parameter) if is_sharded(parameter) else state


def layout(parameter: Tensor, state: Mapping[str, Any]) -> Tensor:
    """Return the parameter as the user has it, given what a rule sees of it."""
    return state.parameter if isinstance(state, LocalState) else parameter
