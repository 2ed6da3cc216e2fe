"""Things of the user's own: a model, data or an optimizer that MODULE:FUNCTION names, and rules that are derived."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnav._checks import one_of, shown
from lossnav.lab.registry import RULES, Rule

if TYPE_CHECKING:
    import torch

    from lossnav.lab.data import Dataset

DERIVE = "derive:"


def check(setting: str, name: Any, known: Collection[str]) -> None:
    """Raise unless a setting has one of the names that are known, or one that says where to look."""
    if not (isinstance(name, str) and all(name.partition(":"))):
        derived = (f"{DERIVE}NAME=VALUE,…",) if setting == "optimizer" else ()
        one_of(setting, name, (*known, "MODULE:FUNCTION", *derived))


def is_own(name: str) -> bool:
    """Whether a name is that of a thing of the user's own."""
    return ":" in name


def function(setting: str, name: str) -> Callable[..., Any]:
    """Return the function or class that MODULE:FUNCTION names, looked for in the current folder, too.

    Raises:
        ValueError: there is none; says where was looked.
    """
    module, _, attribute = name.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        imported = getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in (module, module.partition(".")[0]):
            raise  # the module is there, and lacks something itself
        raise ValueError(f"{setting} = {name!r} is not found from {folder}: {error}") from None
    if not callable(imported):
        raise ValueError(f"{setting} = {name!r} is a {type(imported).__name__}, but it must be a function")
    return imported


def call(setting: str, name: str, options: Mapping[str, Any]) -> Any:
    """Return what a function of the user's returns for these options; what it raises itself is its own error.

    Raises:
        ValueError: it does not take them.
    """
    made = function(setting, name)
    try:
        inspect.signature(made).bind(**options)
    except TypeError as error:
        raise ValueError(f"{setting} = {name!r} cannot be called so: {error}") from None
    return made(**options)


def model(name: str, options: Mapping[str, Any], seed: int) -> torch.nn.Module:
    """Return the module that a function makes, with weights that torch draws from the seed."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = call("model", name, options)
    if not isinstance(network, torch.nn.Module):
        raise ValueError(f"model = {name!r} returned a {type(network).__name__}, but it must be a torch module")
    return network


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
        kind = f"a {type(found).__name__}"
        raise ValueError(
            f"data = {name!r} returned {kind}, but it must be a pair of tensors (inputs, targets), or a torch data "
            "set of such pairs, with one example at least"
        ) from None


def dataset(name: str) -> Dataset:
    """Return the data set that a function makes: a ``data.Dataset``, or inputs and labels as they are to be taken.

    Of inputs (N, …) and labels (N,) every fifth is left for testing, as of the digits, and nothing is normalised.
    """
    import torch

    from lossnav.lab import data

    returned = call("data", name, {})
    if isinstance(returned, data.Dataset):
        return returned
    inputs, labels = pairs(name, returned)
    if labels.ndim != 1 or labels.is_floating_point() or inputs.ndim < 2 or not 2 <= len(labels) == len(inputs):
        raise ValueError(
            f"data = {name!r} returned inputs {tuple(inputs.shape)} and targets {tuple(labels.shape)} of "
            f"{labels.dtype}, but inputs (N, …) and labels (N,), whole numbers, are wanted"
        )
    if labels.min() < 0:
        raise ValueError(f"data = {name!r} returned the label {int(labels.min())}, but classes are counted from 0")
    content = hashlib.sha256(b"".join(part.cpu().contiguous().numpy().tobytes() for part in (inputs, labels)))
    where = data.Provenance(name, "a function of the user's", "unknown", {name: content.hexdigest()}, verified=False)
    as_it_is = (1.0, (0.0,) * inputs.shape[1], (1.0,) * inputs.shape[1])
    tested = torch.arange(len(labels)) % 5 == 0
    train, test = (data.Split(inputs[part], labels[part].long(), *as_it_is) for part in (~tested, tested))
    return data.Dataset(name, train, test, int(labels.max()) + 1, where)


@cache
def rule(name: str) -> Rule:
    """Return the rule of this name: of the registry, of a module, or "derive:" and what is assumed."""
    if name in RULES:
        return RULES[name]
    if name.startswith(DERIVE):
        return Assumed(name, "#000000", "-", "o", name)
    function("optimizer", name)  # which is found by its name from now on, or is refused
    return Rule(name, "#000000", "-", "o", name)


class Assumed(Rule):
    """A rule that ``derive`` makes of assumptions, "derive:gamma=1e-3,dt=0.01,belief=Filter(beta=0.9)"."""

    def maker(self) -> Any:
        """Return a function from parameters to the derived optimizer.

        Raises:
            ValueError: what is assumed is not written as it must be, or is not allowed.
        """
        from lossnav.problem.objective import Objective
        from lossnav.rules.derive import derive

        assumed = assumptions(self.optimizer)
        objective = {key: assumed.pop(key) for key in ("eta", "k", "gamma", "horizon", "terminal") if key in assumed}
        for name in assumed:
            one_of(f"a name in {self.optimizer!r}", name, tuple(inspect.signature(derive).parameters)[1:])
        return derive(Objective(**objective), **assumed).optimizer


def assumptions(name: str) -> dict[str, Any]:
    """Return the arguments of "derive:NAME=VALUE,…": numbers, and calls of what ``lossnav.assume`` offers.

    Raises:
        ValueError: it is written otherwise.
    """
    from lossnav.rules import assume

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in assume.__all__:
            keywords = {entry.arg: value(entry.value) for entry in node.keywords if entry.arg}
            return getattr(assume, node.func.id)(*map(value, node.args), **keywords)
        return float("inf") if isinstance(node, ast.Name) and node.id == "inf" else ast.literal_eval(node)

    try:
        written = ast.parse(f"derive({name.removeprefix(DERIVE)})", mode="eval").body
        assert isinstance(written, ast.Call) and not written.args
        return {entry.arg: value(entry.value) for entry in written.keywords if entry.arg}
    except (SyntaxError, AssertionError, ValueError, TypeError) as error:
        why = f" ({error})" if str(error) else ""
        raise ValueError(
            f"optimizer = {shown(name)}{why}, but it must be derive:NAME=VALUE,… with numbers (gamma=1e-3) and "
            f"assumptions ({', '.join(assume.__all__)}), "
            "as in derive:gamma=1e-3,dt=0.01,belief=Filter(0.9),curvature=SecondMoment(0.999)"
        ) from None
