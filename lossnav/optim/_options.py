"""What the options of a learning rule and its step counter may be; nothing here knows which rule it is."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lossnav._checks import nonnegative, shown

Group = dict[str, Any]
# Larger numbers would leave the arithmetic of a step: beside gradients in float32, and squared (ε²) in float64.
_LARGEST = {torch.float32: 1e30, torch.float64: 1e150}


def largest_of(group: Group) -> float:
    """Return the largest number that the steps of a group's parameters can be made with."""
    wide = all(p.dtype == torch.float64 for p in group["params"])
    return _LARGEST[torch.float64 if wide else torch.float32]


def check_size(name: str, value: Any, largest: float, reciprocal: bool = False) -> None:
    """Raise if a finite number (inf is a limit of its own) or its reciprocal is too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return
    kind = "float32" if largest == _LARGEST[torch.float32] else "float64"
    if abs(value) > largest:
        raise ValueError(f"{name} = {shown(value)}, but it must be <= {largest:g} where a step is made in {kind}")
    if reciprocal and abs(value) < 1 / largest:
        raise ValueError(f"{name} = {shown(value)}, but it must be >= {1 / largest:g} where a step is made in {kind}")


def counter(step: Any = 0) -> Tensor:
    """Return a step counter as the state holds it; a file may hold a number in its place, or a tensor of one.

    Float32, which torch's optimizers have, stands still at 2²⁴: draws, turns and looks would be those of one step then.
    """
    if torch.is_tensor(step):
        if step.numel() != 1:
            raise ValueError(f"step has shape {tuple(step.shape)}, but it must be a number >= 0")
        if step.dtype == torch.float64 and step.ndim == 0:
            return step
        step = step.item()
    return torch.tensor(nonnegative("step", step), dtype=torch.float64)


def check_rate(name: str, value: Any) -> None:
    """Raise unless ``value`` is a finite number >= 0; a 0-dim tensor is not read (that could stall a GPU)."""
    if torch.is_tensor(value):
        if value.ndim != 0 or not value.is_floating_point():
            description = f"shape {tuple(value.shape)} and dtype {value.dtype}"
            raise ValueError(f"{name} has {description}, but it must be a real number or a 0-dim tensor")
    else:
        nonnegative(name, value)


def count(step: Tensor) -> Any:
    """Return a step counter as a number; under ``torch.compile`` it stays a tensor, so that no step recompiles."""
    return step.double() if torch.compiler.is_compiling() else step.item()
