"""Kinds of arguments that figures take, checked before anything is drawn.

A figure says above its name what it takes, out of the package's checks and a few ways to put them together: ``row``
(one of each), ``many`` (a list), ``mapping``, ``table`` (a dictionary with these entries), ``having`` (an object with
these attributes)::

    @of.takes(times=of.reals("T"), curves=of.by_rule(of.row(of.TEXT, of.reals("T"))))

A letter in a shape is a length: it is the same wherever the letter stands in one call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from matplotlib.axes import Axes

from lossnav import _checks
from lossnav.figures.style import LINES
from lossnav.lab.records import Record
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory

P = ParamSpec("P")
R = TypeVar("R")
Lengths = dict[str, tuple[int, str]]
"""Letter → length, and the argument that it was read from."""
Kind = Callable[[str, Any, Lengths], Any]
"""Maps an argument's name and value to what the figure works with, or raises ValueError."""


def takes(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that checks the arguments of a function, each by its kind, in the order in which they stand.

    What is left at its default is not checked.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        if list(signature.parameters) != list(kinds):
            raise TypeError(f"{function.__name__} has the arguments {list(signature.parameters)}, not {list(kinds)}")

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            given, lengths = signature.bind(*args, **kwargs), Lengths()
            for name, value in given.arguments.items():
                given.arguments[name] = kinds[name](name, value, lengths)
            return function(*given.args, **given.kwargs)

        return checked

    return decorate


def settle(made: Any, **kinds: Kind) -> None:
    """Check the fields of a frozen dataclass, each by its kind; for its ``__post_init__``."""
    lengths = Lengths()
    for name, kind in kinds.items():
        object.__setattr__(made, name, kind(name, getattr(made, name), lengths))


# ----------------------------------------------------------------------------------------------- one number, one word


def by(check: Callable[..., Any], *args: Any, **options: Any) -> Kind:
    """Return the kind of what passes a check of ``lossnav._checks``."""

    def kind(name: str, value: Any, _: Lengths) -> Any:
        return check(name, value, *args, **options)

    return kind


NUMBER: Kind = by(_checks.finite)
POSITIVE: Kind = by(_checks.positive)
FLAG: Kind = by(_checks.flag)
FUNCTION: Kind = by(_checks.function)
NONNEGATIVE: Kind = by(_checks.finite, low=0.0)
COUNT: Kind = by(_checks.whole, low=1)
COUNT_FROM_ZERO: Kind = by(_checks.whole, low=0)
SEED: Kind = by(_checks.whole, low=-(2**63))
TEXT: Kind = by(_checks.instance, str, "a string")
AXES: Kind = by(_checks.instance, Axes, "a matplotlib Axes")
OBJECTIVE: Kind = by(_checks.instance, Objective, "an Objective")
RULE: Kind = by(_checks.one_of, tuple(LINES))


def one_of(*words: str) -> Kind:
    """Return the kind of one of some words."""
    return by(_checks.one_of, words)


def variant(name: str, value: Any, lengths: Lengths) -> str:
    """Check a rule, or "rule, what differs"."""
    text: str = TEXT(name, value, lengths)
    _checks.one_of(name, text.split(",")[0], tuple(LINES))
    return text


def optional(kind: Kind) -> Kind:
    """Return a kind that None belongs to, too; in a ``table`` the entry may be absent."""
    return lambda name, value, lengths: None if value is None else kind(name, value, lengths)


# ------------------------------------------------------------------------------------------------------------- arrays


def reals(*shape: int | str | None, check: Callable[..., Any] = _checks.array) -> Kind:
    """Return the kind of arrays of a shape: lengths, letters, or None for any length; without a shape, of any.

    None of them is empty. ``check`` says what the entries are, by default finite numbers.
    """

    def kind(name: str, value: Any, lengths: Lengths) -> Any:
        found = check(name, value)
        if not found.size:
            raise ValueError(f"{name} = {_checks.shown(value)}, but it must have entries")
        if shape:
            if found.ndim != len(shape):
                raise ValueError(f"{name} has shape {found.shape}, but it must have {len(shape)} axes")
            for length, wanted in zip(found.shape, shape, strict=True):
                _fit(name, length, wanted, lengths)
        return found

    return kind


def positives(*shape: int | str | None) -> Kind:
    """Return the kind of arrays of numbers > 0."""
    return reals(*shape, check=_checks.positives)


def nonnegatives(*shape: int | str | None) -> Kind:
    """Return the kind of arrays of numbers >= 0."""
    return reals(*shape, check=_checks.nonnegatives)


def gapped(*shape: int | str | None) -> Kind:
    """Return the kind of arrays that may hold NaN and inf, where a line is to end."""
    return reals(*shape, check=_checks.reals)


def _fit(name: str, length: int, wanted: int | str | None, lengths: Lengths) -> None:
    """Raise unless a length is the wanted one; the first that has a letter gives it its length."""
    if isinstance(wanted, str):
        wanted, first = lengths.setdefault(wanted, (length, name))
        if length != wanted:
            raise ValueError(f"{name} has length {length}, but it must be that of {first}, {wanted}")
    elif wanted is not None and length != wanted:
        raise ValueError(f"{name} has length {length}, but it must be {wanted}")


def _interval(name: str, value: Any, lengths: Lengths) -> tuple[float, ...]:
    low, high = row(NUMBER, NUMBER)(name, value, lengths)
    if not low < high:
        raise ValueError(f"{name} = {_checks.shown(value)}, but it must be (low, high) with low < high")
    return low, high


def _box(name: str, value: Any, lengths: Lengths) -> tuple[float, ...]:
    found = row(NUMBER, NUMBER, NUMBER, NUMBER)(name, value, lengths)
    return *_interval(name, found[:2], lengths), *_interval(name, found[2:], lengths)


SPAN: Kind = _interval
"""(low, high)."""
BOX: Kind = _box
"""(x from, x to, y from, y to)."""


# -------------------------------------------------------------------------------------------------------- collections


def row(*kinds: Kind) -> Kind:
    """Return the kind of tuples and lists with one entry of each kind."""

    def kind(name: str, value: Any, lengths: Lengths) -> tuple[Any, ...]:
        entries = _checks.sequence(name, value, f"{len(kinds)} entries")
        if len(entries) != len(kinds):
            raise ValueError(f"{name} = {_checks.shown(value)}, but it must have {len(kinds)} entries")
        return tuple(one(f"{name}[{i}]", entries[i], lengths) for i, one in enumerate(kinds))

    return kind


def many(kind: Kind, count: int | str | None = None, least: int = 1) -> Kind:
    """Return the kind of lists of one kind: so many, a letter's length, or any number from ``least``."""

    def listed(name: str, value: Any, lengths: Lengths) -> list[Any]:
        entries = _checks.sequence(name, value, "entries")
        if len(entries) < least:
            raise ValueError(f"{name} = {_checks.shown(value)}, but it must have at least {least} entries")
        _fit(name, len(entries), count, lengths)
        return [kind(f"{name}[{i}]", entry, lengths) for i, entry in enumerate(entries)]

    return listed


def mapping(key: Kind, kind: Kind, count: int | str | None = None, least: int = 1, word: str = "key") -> Kind:
    """Return the kind of mappings from one kind to another: so many, a letter's length, or any number from ``least``.

    ``word`` says what a key is.
    """

    def mapped(name: str, value: Any, lengths: Lengths) -> dict[Any, Any]:
        entries: Mapping[Any, Any] = _checks.instance(name, value, (Mapping,), "a mapping")
        if len(entries) < least:
            raise ValueError(f"{name} = {_checks.shown(value)}, but it must have at least {least} entries")
        _fit(name, len(entries), count, lengths)
        return {
            key(f"a {word} of {name}", one, lengths): kind(f"{name}[{one!r}]", entry, lengths)
            for one, entry in entries.items()
        }

    return mapped


def by_rule(kind: Kind) -> Kind:
    """Return the kind of mappings from rules, keys of ``LINES``."""
    return mapping(RULE, kind, word="rule")


def apart(kind: Kind) -> Kind:
    """Return a kind whose letters have nothing to do with those of the rest."""
    return lambda name, value, _: kind(name, value, Lengths())


def table(**kinds: Kind) -> Kind:
    """Return the kind of dictionaries with these entries, beside others; they are handed on as they are."""

    def kind(name: str, value: Any, lengths: Lengths) -> Any:
        entries: Mapping[Any, Any] = _checks.instance(name, value, (Mapping,), "a mapping")
        for key, one in kinds.items():
            one(f"{name}[{key!r}]", entries.get(key), lengths)
        return entries

    return kind


def having(words: str, of: type = object, /, **kinds: Kind) -> Kind:
    """Return the kind of objects with these attributes, ``words`` for what they are; they are handed on as they are."""

    def kind(name: str, value: Any, lengths: Lengths) -> Any:
        _checks.instance(name, value, of, words)
        for key, one in kinds.items():
            if isinstance(value, type) or not hasattr(value, key):
                raise ValueError(f"{name} = {_checks.shown(value)}, but it must be {words}")
            one(f"{name}.{key}", getattr(value, key), lengths)
        return value

    return kind


# ------------------------------------------------------------------------------------------------ the package's objects


def loss(dim: int, *, marked: bool = False) -> Kind:
    """Return the kind of landscapes of D parameters; ``marked``: with a minimum that is known."""

    def kind(name: str, value: Any, _: Lengths) -> Loss:
        found: Loss = _checks.instance(name, value, Loss, "a Loss")
        if found.dim != dim:
            raise ValueError(f"{name} has {found.dim} parameters, but it must have {dim}")
        if marked and found.stationary_points() is None:
            raise ValueError(f"{name} = {_checks.shown(found)} has no known minimum, but the figure marks it")
        return found

    return kind


def trajectory(dim: int) -> Kind:
    """Return the kind of optimal paths of D parameters."""

    def kind(name: str, value: Any, _: Lengths) -> Trajectory:
        found = _checks.instance(name, value, Trajectory, "a Trajectory")
        if found.loss.dim != dim:
            raise ValueError(f"{name} has {found.loss.dim} parameters, but it must have {dim}")
        return found

    return kind


def record(**kinds: Kind) -> Kind:
    """Return the kind of recorded runs whose fields are of these kinds."""
    return having("a records.Record", Record, **kinds)


LABEL: Kind = table(label=TEXT)
"""The provenance of data, with the name that a title shows."""
SEEDS: Kind = many(SEED)
