"""What a run in memory is of: all that changes its numbers, written down so that two runs can be compared by field.

It keeps a checkpoint from being taken for that of another run, where the run is one of objects and not of settings.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lossnav._checks import shown

_KNOWN = ("lossnav.", "torch.", "numpy.")  # what is named there needs no description of its code
_OF_TORCH = ("param_groups", "state", "defaults")  # of an optimizer: in its state_dict, or of no consequence
_OF_ANY_MODULE = vars(nn.Module()).keys()
_PLAIN = (bool, int, float, str, list, tuple, set, dict, np.generic, np.ndarray, Tensor, torch.dtype)


def differences(then: Any, now: Any) -> list[str]:
    """Return where two descriptions differ, as "rule.param_groups.0.lr = 0.1 there, 0.2 here"."""
    flat = [dict(_leaves(description)) for description in (then, now)]
    differing = []
    for name in flat[0] | flat[1]:
        there, here = (shown(leaves[name]) if name in leaves else "nothing" for leaves in flat)
        if name not in flat[0] or name not in flat[1] or flat[0][name] != flat[1][name]:
            differing.append(f"{name} = {there} there, {here} here")
    return differing


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of a description by their places."""
    if isinstance(value, (dict, list)) and value:
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(entry, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def describe(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Return values that JSON can hold, the same for equal settings and other ones for others.

    Tensors are described by dtype, shape and a digest of their bytes, modules by their structure, their tensors and
    what else they were told, functions by their names and, unless they are of this library, torch or numpy, by their
    source, where it can be read, and what they close over, optimizers by their state, and other objects by their class
    and attributes.

    Args:
        value: anything.
        above: the objects that it is an attribute of, by their ids.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.Generator):
        value = value.get_state()
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(value.copy())  # torch warns of arrays that cannot be written to
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, type):
        return _name(value)
    if id(value) in above:
        return "itself"
    inside = functools.partial(describe, above=(*above, id(value)))
    if isinstance(value, Mapping):
        return {str(key): inside(entry) for key, entry in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return [inside(entry) for entry in value]
    if isinstance(value, functools.partial):
        return inside({"partial": value.func, "of": [value.args, value.keywords]})
    if hasattr(value, "__func__"):
        return inside({"method": value.__func__, "of": value.__self__})
    if isinstance(value, FunctionType) and not _is_known(value):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        bound_values = [value.__defaults__, value.__kwdefaults__, cells]
        return {"function": _name(value), "source": _source(value), "given": inside(bound_values)}
    if hasattr(value, "__qualname__"):  # a function of ours, or a compiled one
        return _name(value)
    return {"class": _name(type(value)), **inside(_attributes(value))}


def told(module: nn.Module) -> dict[str, Any]:
    """Return what tells a module from others of its class and of equal tensors: its own attributes, described.

    Those are values, and functions by their names; its picture does not show all of them (the heads of an attention).
    """
    attributes = {key: x for key, x in vars(module).items() if key not in _OF_ANY_MODULE}
    functions = {key: _name(x) for key, x in attributes.items() if hasattr(x, "__qualname__")}
    return functions | {key: describe(x) for key, x in attributes.items() if isinstance(x, _PLAIN)}


def _attributes(value: Any) -> dict[str, Any]:
    """Return what tells an object from others of its class; of an optimizer what is public or in its state."""
    if isinstance(value, nn.Module):
        settings = {name: told(module) for name, module in value.named_modules()}
        tensors = {**dict(value.named_buffers()), **value.state_dict()}
        return {"told": settings, "modules": repr(value), "tensors": tensors}
    attributes: dict[str, Any] = dict(getattr(value, "__dict__", {}))
    if hasattr(value, "state_dict"):  # hooks, and steps that torch has wrapped, are made anew in each process
        live = (FunctionType, functools.partial)
        public = {key: x for key, x in attributes.items() if not key.startswith("_") and not isinstance(x, live)}
        return {key: x for key, x in public.items() if key not in _OF_TORCH} | value.state_dict()
    return attributes or ({} if " at 0x" in repr(value) else {"value": repr(value)})  # a dtype, a path, a set …


def _is_known(value: FunctionType) -> bool:
    return f"{value.__module__}.".startswith(_KNOWN) and "<" not in value.__qualname__


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
