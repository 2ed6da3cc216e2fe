"""Checks of torch's objects, as ``_checks`` has them for numbers and arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from lossnav._checks import instance, instances, shown


def tensor(name: str, value: Any, allowed: str, *, ndim: int | None = None, floating: bool | None = None) -> Tensor:
    """Return ``value`` if it is a tensor with these many axes and kind of entries, or raise; ``allowed`` says which."""
    if not torch.is_tensor(value):
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    if (ndim is not None and value.ndim != ndim) or (
        floating is not None and (value.is_floating_point() != floating or value.is_complex())
    ):
        raise ValueError(f"{name} has shape {tuple(value.shape)} and dtype {value.dtype}, but it must be {allowed}")
    return value


def examples(name: str, inputs: Tensor, targets: Tensor, least: int = 1) -> None:
    """Raise unless the first axes of two tensors are the same examples, at least so many."""
    if inputs.ndim == 0 or targets.ndim == 0 or len(inputs) != len(targets) or len(inputs) < least:
        raise ValueError(
            f"{name} has inputs of shape {tuple(inputs.shape)} with targets of shape {tuple(targets.shape)}, but their "
            f"first axes must be the same examples, at least {'one' if least == 1 else least}"
        )


def module(name: str, value: Any) -> nn.Module:
    """Return ``value`` if it is a module that holds parameters, or raise."""
    instance(name, value, nn.Module, "a torch.nn.Module")
    if next(value.parameters(), None) is None:
        raise ValueError(f"{name} = {shown(value)} has no parameters, but it must have some")
    return value


def modules(name: str, value: Any) -> None:
    """Raise unless ``value`` is a sequence of modules."""
    instances(name, value, nn.Module, "a torch.nn.Module", "modules")


def parameters(name: str, value: Any) -> list[Any]:
    """Return what an optimizer is made of, tensors or dictionaries of groups, as a list, or raise."""
    if isinstance(value, Tensor):  # the kind of error and the words that callers know from torch's own optimizers
        raise TypeError(
            f"{name} = {shown(value)}, but the {name} argument given to the optimizer should be an iterable of Tensors "
            "or dicts"
        )
    try:
        items = [] if isinstance(value, str | bytes | dict) else list(value)
    except TypeError:  # it cannot be passed through
        items = []
    if not items or not all(isinstance(p, Tensor | tuple) or (isinstance(p, dict) and "params" in p) for p in items):
        raise ValueError(f"{name} = {shown(value)}, but it must be parameters, at least one, or groups of them")
    return items


def optimizer(name: str, value: Any, parameters: Iterable[Tensor], of: str) -> None:
    """Raise unless ``value`` steps without a closure and moves one of the parameters; ``of`` says whose they are.

    One that was made for another model, or for this one before it was copied, steps without an error and moves nothing.
    """
    instance(name, value, torch.optim.Optimizer, "a torch.optim.Optimizer")
    if isinstance(value, torch.optim.LBFGS):
        raise ValueError(f"{name} = LBFGS asks for the loss several times a step, but it must take its step without")
    ids = {id(p) for p in parameters}
    if not any(id(p) in ids for group in value.param_groups for p in group["params"]):
        raise ValueError(
            f"{name} = {type(value).__name__} holds none of the parameters of {of}, so that it would train nothing: "
            "make it of those parameters, and do not copy them afterwards"
        )


def device(name: str, value: Any, allowed: str = "a device") -> torch.device:
    """Return a device that torch finds on this machine, or raise."""
    try:
        if isinstance(value, bool | bytes):
            raise TypeError(f"a {type(value).__name__} names none")
        torch.empty(0, device=value)
        return torch.device(value)
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:  # torch's builds differ in it
        reason = str(error).strip().partition("\n")[0]
        text = f"{name} = {shown(value)}, but it must be {allowed} that torch finds here: {reason}"
        raise ValueError(text) from None


def bfloat16_units(place: torch.device) -> str | None:
    """Return the name of what multiplies bfloat16 directly on a device.

    Args:
        place: the device.

    Returns:
        Such as "tensor cores" or "AMX"; None if it would be emulated.
    """
    instance("place", place, torch.device, "a torch.device")
    if place.type == "cuda":
        return "tensor cores" if torch.cuda.get_device_capability(place) >= (8, 0) else None
    if place.type != "cpu":
        return None
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()  # torch before 2.10 does not tell
    names = {"amx_bf16": "AMX", "avx512_bf16": "AVX512-BF16"}
    return next((name for key, name in names.items() if capabilities.get(key)), None)
