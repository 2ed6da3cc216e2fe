"""What a run in memory is of: all that changes its numbers, written down so that two runs can be compared by field.

It keeps a checkpoint from being taken for that of another run, where the run is one of objects and not of settings.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lossnav._checks import shown

_KNOWN = ("lossnav.", "torch.", "numpy.")  # what is named there needs no description of its code
_OF_TORCH = ("param_groups", "state", "defaults")  # of an optimizer: in its state_dict, or of no consequence


def describe(value: Any) -> Any:
    """Return values that JSON can hold, the same for equal settings and other ones for others.

    Tensors are described by dtype, shape and a digest of their bytes, modules by their structure and their tensors,
    functions by their names and, unless they are of this library, torch or numpy, by their source, where it can be
    read, and what they close over, optimizers by their state, and other objects by their class and attributes.
    """
    return _describe(value, ())


def differences(then: Any, now: Any, name: str = "") -> list[str]:
    """Return where two descriptions differ, as "rule.param_groups.0.lr = 0.1 there, 0.2 here"."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        names = list({**then, **now})
        return [line for key in names for line in _entry(then, now, key, name)]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(then, now, strict=True))
        return [
            line for place, (a, b) in pairs for line in differences(a, b, f"{name}.{place}" if name else str(place))
        ]
    same = type(then) is type(now) and then == now
    return [] if same else [f"{name} = {shown(then)} there, {shown(now)} here"]


def _entry(then: Mapping[str, Any], now: Mapping[str, Any], key: str, name: str) -> list[str]:
    name = f"{name}.{key}" if name else key
    if key in then and key in now:
        return differences(then[key], now[key], name)
    there, here = (shown(found[key]) if key in found else "nothing" for found in (then, now))
    return [f"{name} = {there} there, {here} here"]


def _describe(value: Any, above: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (float, np.generic)):
        number = value.item() if isinstance(value, np.generic) else value
        return number if not isinstance(number, float) or math.isfinite(number) else repr(number)
    if isinstance(value, (Tensor, np.ndarray)):
        return _tensor(torch.as_tensor(value))
    if isinstance(value, torch.Generator):
        return _tensor(value.get_state())
    if isinstance(value, type):
        return _name(value)
    if id(value) in above:
        return "itself"
    above = (*above, id(value))
    if isinstance(value, Mapping):
        return {str(key): _describe(entry, above) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_describe(entry, above) for entry in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if callable(value) and not isinstance(value, nn.Module):
        return _function(value, above)
    return _object(value, above)


def _object(value: Any, above: tuple[int, ...]) -> dict[str, Any]:
    """Describe by class and attributes; those of an optimizer that matter are public or in its state."""
    found: dict[str, Any] = {"class": _name(type(value))}
    if isinstance(value, nn.Module):
        return {**found, "modules": repr(value), "tensors": _describe(value.state_dict(), above)}
    attributes = dict(getattr(value, "__dict__", {}))
    if hasattr(value, "state_dict"):
        public = {key: x for key, x in attributes.items() if not key.startswith("_") and not _live(x)}
        attributes = {key: x for key, x in public.items() if key not in _OF_TORCH} | value.state_dict()
    if not attributes:  # a dtype, a path … which tell what they are, unless they tell where in the memory
        return found if " at 0x" in repr(value) else {**found, "value": repr(value)}
    return {**found, **{key: _describe(entry, above) for key, entry in attributes.items()}}


def _live(value: Any) -> bool:
    """Whether an attribute is a hook or a step that torch has wrapped, which is made anew in each process."""
    return isinstance(value, (FunctionType, functools.partial))


def _function(value: Any, above: tuple[int, ...]) -> Any:
    if isinstance(value, functools.partial):
        return {"partial": _describe(value.func, above), "of": _describe([value.args, value.keywords], above)}
    if getattr(value, "__self__", None) is not None and hasattr(value, "__func__"):
        return {"method": _describe(value.__func__, above), "of": _describe(value.__self__, above)}
    if not isinstance(value, FunctionType):  # compiled, or an object that can be called
        return _name(value) if hasattr(value, "__qualname__") else _object(value, above)
    if value.__module__ and f"{value.__module__}.".startswith(_KNOWN) and "<" not in value.__qualname__:
        return _name(value)
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    given = [value.__defaults__, value.__kwdefaults__, cells]
    return {"function": _name(value), "source": _source(value), "given": _describe(given, above)}


def _source(value: FunctionType) -> str:
    """Return a digest of what was written: bytecode differs from one Python to the next."""
    try:
        return hashlib.sha256(inspect.getsource(value).encode()).hexdigest()[:16]
    except (OSError, TypeError):  # typed at a prompt
        return ""


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', None) or ''}.{value.__qualname__}".lstrip(".")


def _tensor(value: Tensor) -> str:
    flat = value.detach().cpu().contiguous().reshape(-1)
    digest = hashlib.sha256(flat.view(torch.uint8).numpy().tobytes()).hexdigest() if flat.numel() else "nothing"
    return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)} {digest[:16]}"
