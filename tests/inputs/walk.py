"""Recipes, how a recipe is walked, and what the inventory of public callables is."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bad_values import Argument

import lossnav
from lossnav import figures

ROOMS = [name for name in lossnav.__all__ if inspect.ismodule(getattr(lossnav, name))]

PLACES = (  # beside lossnav.__all__: rooms that the book and the documentation of others send a reader to
    "trajectory.curved",
    "trajectory.cycles",
    "trajectory.phase_plane",
    "continual.contenders",
    "continual.networks",
    "lab.paired",
    *(f"figures.{room}" for room in figures.__all__ if inspect.ismodule(getattr(figures, room))),
    "figures.style",
)


@dataclass(frozen=True)
class Recipe:
    """How to call something: good arguments, and the wrong ones of each."""

    call: Callable[..., Any]
    arguments: dict[str, Argument]
    costly: bool = False  # whether the good call computes for long, so that other tests have to make it
    rest: frozenset[str] = frozenset()  # arguments that stay at their defaults: ``call`` is for one way of two

    def good(self) -> dict[str, Any]:
        return {name: argument.good for name, argument in self.arguments.items()}


def walk(recipe: Recipe) -> tuple[int, list[str]]:
    """Replace one argument at a time; return how many calls were made, and what was wrong with the answers."""
    good, count, wrong = recipe.good(), 0, []
    for name, argument in recipe.arguments.items():
        for value in argument.bad:
            count += 1
            answer = _answer(recipe.call, {**good, name: value}, (name, *argument.also))
            if answer:
                wrong.append(f"{name} = {_picture(value)}: {answer}")
    return count, wrong


def _answer(call: Callable[..., Any], arguments: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return what is wrong with the answer to a wrong argument, or "" if it is a refusal that names it."""
    kinds = (ValueError, TypeError) if "params" in names else ValueError  # torch's own kind, where its users know it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = call(**arguments)
        except kinds as error:
            text = str(error)
            if any(re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text) for name in names):
                return ""
            return f"{type(error).__name__} without the name: {text[:90]!r}"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:90]!r}"
    return f"taken, and {_picture(answer)} returned"


def _picture(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = ""
    return f"{type(value).__name__} {text[:60]}"


def public() -> Iterator[tuple[str, Any]]:
    """Yield every public function and class with its name below ``lossnav``, each once."""
    seen = set()
    for path in [*ROOMS, *PLACES]:
        first, *inner = path.split(".")
        module = getattr(lossnav, first)
        for name in inner:
            module = importlib.import_module(f"{module.__name__}.{name}")
        names = getattr(module, "__all__", None)
        if names is None:
            own = vars(module).items()
            names = [name for name, value in own if getattr(value, "__module__", "") == module.__name__]
        for name in names:
            value = getattr(module, name)
            if name.startswith("_") or not (inspect.isfunction(value) or inspect.isclass(value)) or id(value) in seen:
                continue
            seen.add(id(value))
            yield f"{path}.{name}", value
    for name in sorted({*lossnav.__all__} - {"__version__", *ROOMS}):
        value = getattr(lossnav, name)
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value


def callables() -> Iterator[str]:
    """Yield the names of all that takes arguments: functions, constructors and methods, inherited ones included."""
    for name, value in public():
        if not inspect.isclass(value):
            if inspect.signature(value).parameters:
                yield name
            continue
        if issubclass(value, BaseException) or getattr(value, "_is_protocol", False):
            continue  # errors are made by the library; a protocol is for others to fill
        if inspect.signature(value).parameters and not inspect.isabstract(value):
            yield name
        for method in sorted({*dir(value)} - {*dir(object)}):
            member = inspect.getattr_static(value, method)
            member = getattr(member, "__func__", member)
            if method.startswith("_") and method != "__call__":
                continue
            if not inspect.isfunction(member) or not member.__module__.startswith("lossnav"):
                continue
            if getattr(member, "__isabstractmethod__", False):
                continue
            if len(inspect.signature(member).parameters) > 1:
                yield f"{name}.{method}"
