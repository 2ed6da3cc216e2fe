"""Things of the user's own: a model, data or an optimizer that MODULE:FUNCTION names."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnav._checks import one_of
from lossnav.lab.registry import RULES, Rule

if TYPE_CHECKING:
    import torch

    from lossnav.lab.data import Dataset


def check(setting: str, name: Any, known: Collection[str]) -> None:
    """Raise unless a setting has one of the names that are known, or one that says where to look."""
    if not (isinstance(name, str) and all(name.partition(":"))):
        one_of(setting, name, (*known, "MODULE:FUNCTION"))


def is_own(name: str) -> bool:
    """Whether a name is that of a thing of the user's own."""
    return ":" in name


def function(setting: str, name: str) -> Callable[..., Any]:
    """Return the function or class that MODULE:FUNCTION names, looked for in the current folder, too.

    Raises:
        ValueError: there is none; says where was looked.
    """
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in (module, module.partition(".")[0]):
            raise  # the module is there, and lacks something itself
        raise ValueError(f"{setting} = {name!r} is not found from {here}: {error}") from None
    if not callable(found):
        raise ValueError(f"{setting} = {name!r} is a {type(found).__name__}, but it must be a function")
    return found


def call(setting: str, name: str, options: Mapping[str, Any]) -> Any:
    """Return what a function of the user's returns for these options."""
    try:
        return function(setting, name)(**options)
    except TypeError as error:
        raise ValueError(f"{setting} = {name!r} cannot be called so: {error}") from None


def model(name: str, options: Mapping[str, Any], seed: int) -> torch.nn.Module:
    """Return the module that a function makes, with weights that torch draws from the seed."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        found = call("model", name, options)
    if not isinstance(found, torch.nn.Module):
        raise ValueError(f"model = {name!r} returned a {type(found).__name__}, but it must be a torch module")
    return found


def pairs(name: str, found: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and targets of a pair of tensors, or of a collection of pairs (input, target).

    Raises:
        ValueError: it is something else.
    """
    import torch

    if isinstance(found, (tuple, list)) and len(found) == 2 and all(map(torch.is_tensor, found)):
        return found[0], found[1]
    try:
        rows = [found[index] for index in range(len(found))]
        inputs = torch.stack([torch.as_tensor(row[0]) for row in rows])
        return inputs, torch.stack([torch.as_tensor(row[1]) for row in rows])
    except Exception:
        what = f"a {type(found).__name__}"
        raise ValueError(
            f"data = {name!r} returned {what}, but it must be a pair of tensors (inputs, targets), or a torch data "
            "set of such pairs, with one example at least"
        ) from None


def dataset(name: str) -> Dataset:
    """Return the data set that a function makes: a ``data.Dataset``, or inputs and labels as they are to be taken.

    Of inputs (N, …) and labels (N,) every fifth is left for testing, as of the digits, and nothing is normalised.
    """
    import torch

    from lossnav.lab import data

    found = call("data", name, {})
    if isinstance(found, data.Dataset):
        return found
    inputs, labels = pairs(name, found)
    if labels.ndim != 1 or labels.is_floating_point() or inputs.ndim < 2 or len(labels) < 2:
        raise ValueError(
            f"data = {name!r} returned inputs {tuple(inputs.shape)} and targets {tuple(labels.shape)} of "
            f"{labels.dtype}, but inputs (N, …) and labels (N,), whole numbers, are wanted"
        )
    content = hashlib.sha256(b"".join(part.cpu().contiguous().numpy().tobytes() for part in (inputs, labels)))
    where = data.Provenance(name, "a function of the user's", "unknown", {name: content.hexdigest()}, verified=False)
    as_it_is = (1.0, (0.0,) * inputs.shape[1], (1.0,) * inputs.shape[1])
    tested = torch.arange(len(labels)) % 5 == 0
    train, test = (data.Split(inputs[part], labels[part].long(), *as_it_is) for part in (~tested, tested))
    return data.Dataset(name, train, test, int(labels.max()) + 1, where)


@cache
def rule(name: str) -> Rule:
    """Return the rule of this name: of the registry, or of a module."""
    return RULES[name] if name in RULES else Rule(name, "#000000", "-", "o", name)
