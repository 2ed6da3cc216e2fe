"""The number that stands for a parameter in the names of its random draws, whichever process holds the parameter."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import torch
from torch import Tensor

Groups = list[dict[str, Any]]


def builder() -> torch.optim.Optimizer | None:
    """Return the ZeroRedundancyOptimizer that is building an optimizer right now, or None.

    It hands each process some of the parameters, in another order, and says nothing about the rest. Its own groups
    list all of them, in the order of the caller. There is no other way to know: it passes plain groups.
    """
    module = sys.modules.get("torch.distributed.optim.zero_redundancy_optimizer")
    if module is None:
        return None
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == module.__file__:
            caller = frame.f_locals.get("self")
            if isinstance(caller, module.ZeroRedundancyOptimizer) and not hasattr(caller, "optim"):
                return caller
        frame = frame.f_back  # type: ignore[assignment]
    return None


def number(parameter: Tensor, groups: Groups) -> int:
    """Return a whole number for a parameter: from its name, if the groups have names, else its place in them.

    Args:
        parameter: one that the groups hold.
        groups: all parameter groups of the caller, with ``param_names`` if the optimizer was given named parameters.
            A name that comes twice is told apart by how often it came before.
    """
    seen: dict[str, int] = {}
    place = 0
    for group in groups:
        names = group.get("param_names", [])
        named = len(names) == len(group["params"])
        for i, candidate in enumerate(group["params"]):
            if named:
                seen[names[i]] = seen.get(names[i], 0) + 1
            if candidate is parameter:
                return _digest(names[i], seen[names[i]]) if named else place
            place += 1
    raise LookupError(f"a parameter of shape {tuple(parameter.shape)} is in none of the groups")


def is_named(parameter: Tensor, groups: Groups) -> bool:
    """Return whether the group of a parameter has a name for each of its parameters."""
    home = next(group for group in groups if any(p is parameter for p in group["params"]))
    return len(home.get("param_names", [])) == len(home["params"])


def _digest(name: str, time: int) -> int:
    """Return a number that is no place in a list: there are fewer than 2**56 parameters."""
    digest = hashlib.blake2b(repr((name, time)).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "little") | 1 << 56
