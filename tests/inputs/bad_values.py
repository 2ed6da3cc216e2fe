"""Arguments by kind: a good value, and values that are wrong for the kind, one of which replaces the good one.

A kind is what the documentation of an argument says: a number in a range, a whole number, a flag, points of D
coordinates, a loss … What an argument takes beside its kind (None, an infinite time, a word) is said where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import sympy
import torch

NAN, INF = math.nan, math.inf


@dataclass(frozen=True)
class Argument:
    """A good value, values that must be refused, and further names by which the refusal may call the argument."""

    good: Any
    bad: Sequence[Any]
    also: tuple[str, ...] = ()


class Odd:
    """An object that nobody knows."""

    def __repr__(self) -> str:
        return "an odd object"


class Broken:
    """An object without a picture."""

    def __repr__(self) -> str:
        raise RuntimeError("no picture")


def _generator() -> Any:
    yield 1.0


# What is no number, whatever the range; made once, for nothing may change it.
_NO_NUMBERS: list[Any] = [
    "1.0", "", b"1.0", "x", Odd(), Broken(), {}, {1.0}, {"a": 1.0}, _generator(), len, int, math, slice(1), range(0),
    1 + 2j, 1 + 0j, np.complex64(1 + 2j), np.complex64(1), np.complex128(1 + 0j), np.array(1 + 2j),
    np.datetime64("NaT"), np.datetime64("2020-01-01"), np.timedelta64("NaT"), np.timedelta64(1, "s"), np.ma.masked,
    np.ma.masked_array(1.0, mask=True), True, False, np.True_, np.array(True), NAN, -NAN, np.float32("nan"),
    Decimal("NaN"), Decimal("sNaN"), 10**400, -(10**400), 10**5000, np.array("1.0"), np.array(None), np.array(Odd()),
    np.array({1.0}), np.array("1.0", dtype=object), torch.tensor(1.0, requires_grad=True), torch.tensor(1 + 0j),
    torch.tensor(True), torch.empty((), device="meta"), torch.tensor(NAN), sympy.Symbol("x"), sympy.I, Ellipsis,
    NotImplemented,
]  # fmt: skip
_NO_SCALARS: list[Any] = [
    [1.0], (1.0, 2.0), [], [[1.0]], np.array([1.0]), np.array([]), np.zeros((2, 2)), torch.ones(1), torch.ones(2, 2),
    [[1.0], [1.0, 2.0]], ["1.0"],
]  # fmt: skip
_INFINITE: list[Any] = [
    INF, -INF, np.float16("inf"), np.float32("-inf"), np.array(INF), Decimal("Infinity"), torch.tensor(INF), sympy.oo
]  # fmt: skip


# What is no object of a class; made once, too.
_THINGS: list[Any] = [
    "x", "", b"x", 0, 1, 1.5, NAN, True, 1j, [], [1.0], (), {}, {1.0}, Odd(), Broken(), len, int, math, np.array([1.0]),
    np.array(1.0), np.ma.masked, np.datetime64("NaT"), torch.tensor(1.0), Ellipsis, _generator(), 10**400, 10**5000,
    slice(None),
]  # fmt: skip
_NO_LISTS = [None, *(value for value in _THINGS if not isinstance(value, list | tuple | dict) and np.ndim(value) == 0)]


def number(
    good: Any, *, low: float = -INF, high: float = INF, open_low: bool = False, open_high: bool = False,
    infinite: bool = False, none: bool = False, tensor: bool = False, also: tuple[str, ...] = (),
        but: Iterable[type] = (),
) -> Argument:  # fmt: skip
    """A real number in a range. ``tensor``: 0-dim tensors are taken unread; ``but``: types that are taken, too."""
    bad = [*_NO_NUMBERS, *_NO_SCALARS]
    bad += [-INF, np.float16("-inf")] if infinite else _INFINITE
    bad += [] if none else [None]
    if low > -INF:
        below = (low - 1.0, low - 1e-3, math.nextafter(low, -INF), -1e300)
        bad += [*below, np.float32(low - 1), np.array(low - 1), int(low) - 1]
        bad += [low, np.float64(low), int(low)] if open_low else []
    if high < INF:
        bad += [high + 1.0, high * 1.5 + 1, np.float64(high + 1), 1e300]
        bad += [high, np.float64(high)] if open_high else []
    if tensor:
        bad = [value for value in bad if not torch.is_tensor(value)]
    return Argument(good, [value for value in bad if not isinstance(value, tuple(but))], also)


def positive(good: Any, **options: Any) -> Argument:
    """A number > 0."""
    return number(good, low=0.0, open_low=True, **options)


def rate(good: Any, **options: Any) -> Argument:
    """A number >= 0."""
    return number(good, low=0.0, **options)


def whole(
    good: Any, *, low: int | None = 1, high: int | None = None, none: bool = False, also: tuple[str, ...] = ()
) -> Argument:
    """A whole number in a range; a float is none."""
    bad = [*_NO_NUMBERS, *_NO_SCALARS, *_INFINITE, 0.5, 1.0, 2.7, np.float64(3.0), np.float32(2.5), Decimal(3),
           np.array(2.0), 1e300, torch.tensor(2.0)]  # fmt: skip
    huge = (10**400, 10**5000)
    bad = [value for value in bad if not (isinstance(value, int) and not isinstance(value, bool))]
    bad += [] if none else [None]
    if low is not None:
        bad += [
            low - 1,
            low - 2,
            np.int64(max(low - 1, -(2**63))) if low > -(2**63) else low - 3,
            -(10**400),
            -(10**5000),
        ]
    if high is not None:
        bad += [high + 1, *huge]
    return Argument(good, bad, also)


def flag(good: bool, *, none: bool = False) -> Argument:
    """True or False."""
    bad: list[Any] = [
        "no", "True", "", b"", 0.0, 1.0, 2, -1, 0.5, NAN, [], [True], (), {}, {True}, Odd(), Broken(), len, bool,
        np.array([True, False]), np.array([True]), torch.tensor([True, False]), 1j, math, Ellipsis, "false",
        np.float64(1),
        np.datetime64("NaT"), np.ma.masked, Decimal(1),
    ]  # fmt: skip
    return Argument(good, bad if none else [*bad, None])


def word(good: str, *, none: bool = False, but: Iterable[type] = ()) -> Argument:
    """One of some words."""
    bad: list[Any] = [
        "", "x", good + "x", good.upper() + " ", b"auto", 0, 1, 1.5, NAN, True, False, [], [good], (good,), {good},
        {good: 1},
        Odd(), Broken(), len, str, math, 1j, np.array([good, "x"]), np.array([1.0]), torch.tensor(1.0), Ellipsis,
        10**400,
        np.datetime64("NaT"), np.ma.masked,
    ]  # fmt: skip
    bad = [value for value in bad if not isinstance(value, tuple(but))]
    return Argument(good, bad if none else [*bad, None])


def text(good: str) -> Argument:
    """Any words."""
    return Argument(good, [["x"], *thing(good, but=(str,)).bad])


def thing(good: Any, *, none: bool = False, also: tuple[str, ...] = (), but: Iterable[Any] = ()) -> Argument:
    """An object of a class of ours or of torch's; ``but``: types that are taken beside it (duck typing)."""
    further = [{"eta": 1.0}, torch.ones(2), sympy.Symbol("x"), type(good), *([] if none else [None])]
    return Argument(good, [value for value in [*_THINGS, *further] if not isinstance(value, tuple(but))], also)


def function(good: Any, *, none: bool = False) -> Argument:
    """Something that can be called."""
    bad = [value for value in _THINGS if not callable(value)]
    return Argument(good, bad if none else [*bad, None])


def array(
    good: Any, *, finite: bool = True, none: bool = False, any_shape: bool = False, scalars: bool = False,
    truths: bool = False, below: float | None = None, at: bool = False, also: tuple[str, ...] = (),
        bad: Iterable[Any] = (),
) -> Argument:  # fmt: skip
    """An array of the shape of ``good``.

    Args:
        good: what is taken.
        finite: whether NaN and inf are refused.
        none: whether None is taken.
        any_shape: whether every shape is taken.
        scalars: whether one number is taken.
        truths: whether truth values are.
        below: a number that no entry may be less than, if any.
        at: whether no entry may be that number itself.
        also: further names.
        bad: further wrong values.
    """
    x = np.array(good, dtype=np.float64)
    wrong: list[Any] = [value for value in _NO_NUMBERS if not _is_plain_nan(value)]
    wrong = [value for value in wrong if not (truths and _is_truth(value))]
    wrong += [
        x + 1j, (x + 0j).astype(np.complex64), (x + 0j).tolist(), np.ma.masked_array(x, mask=np.ones(x.shape, bool)),
        [np.ma.masked_array(row, mask=True) for row in x] if x.ndim else np.ma.masked, x.astype(str),
        x.astype(str).tolist(),
        x.astype(str).astype(object), np.full(x.shape, None), np.full(x.shape, np.datetime64("NaT")),
        np.full(x.shape, np.timedelta64(1, "s")), np.full(x.shape, "1.0"), np.full(x.shape, b"1"), np.full(x.shape,
        Odd()),
        [[1.0], [1.0, 2.0]], torch.tensor(x, requires_grad=True), torch.tensor(x) + 0j, torch.tensor(x).to("meta"),
        torch.tensor(x).bfloat16(), torch.tensor(x).to_sparse() if x.ndim else torch.tensor(1j), {1.0, 2.0},
        iter([1.0]),
        np.full(x.shape, sympy.Symbol("x")), np.full(x.shape, 10**400).tolist() if x.ndim else 10**400,
        np.zeros(x.shape, dtype=[("a", float)]), (value for value in x.ravel()), dict.fromkeys(range(3)),
    ]  # fmt: skip
    if not truths:
        wrong += [np.ones(x.shape, bool), np.ones(x.shape, bool).tolist(), torch.ones(x.shape, dtype=torch.bool)]
    if finite:
        wrong += [np.full(x.shape, value) for value in (NAN, INF, -INF)]
        wrong += [np.full(x.shape, INF, np.float16), torch.full(x.shape, NAN), np.full(x.shape, NAN, np.float32)]
        if x.ndim:
            spoilt = x.copy()
            spoilt.ravel()[-1] = NAN
            wrong += [spoilt, spoilt.tolist(), np.full(x.shape, Decimal("NaN"))]
    if any_shape:
        wrong = [value for value in wrong if not isinstance(value, range)]  # an empty one is an empty array
    else:
        wrong += [
            np.zeros((*x.shape[:-1], x.shape[-1] + 1)) if x.ndim else [1.0, 2.0],
            np.zeros((7,)),
            np.zeros((0,)),
            [],
        ]
        wrong += [] if scalars or x.ndim == 0 else [1.0, np.array(1.0), 3, torch.tensor(1.0)]
    if below is not None:
        wrong += [
            np.full(x.shape, below - 1.0),
            np.full(x.shape, math.nextafter(below, -INF)),
            np.full(x.shape, -1e300),
        ]
        wrong += [np.full(x.shape, int(below) - 1), np.full(x.shape, below - 1).tolist()]
        wrong += [np.full(x.shape, below)] if at else []
    return Argument(good, [*wrong, *([] if none else [None]), *bad], also)


def points(good: Any, *, finite: bool = False, also: tuple[str, ...] = ()) -> Argument:
    """Points of shape (..., D). By default NaN and inf are handed on: what comes out is not finite either."""
    return array(good, finite=finite, also=also)


def tensor(good: Any, *, none: bool = False, also: tuple[str, ...] = (), bad: Iterable[Any] = ()) -> Argument:
    """A tensor of torch's; ``bad`` has those of a wrong shape or dtype."""
    wrong = [value for value in thing(good, none=none).bad if not torch.is_tensor(value)]
    return Argument(good, [*wrong, np.zeros(tuple(good.shape)), *bad], also)


def items(good: Any, *, also: tuple[str, ...] = (), bad: Iterable[Any] = (), but: Iterable[Any] = ()) -> Argument:
    """A sequence of something; ``bad`` has sequences of something else."""
    wrong = [*_NO_LISTS, ["x"], [Odd()], [None], ["0"], [1j], [[]], [{}]]
    return Argument(good, [*(value for value in wrong if not isinstance(value, tuple(but))), *bad], also)


def file(good: Any, *, none: bool = True) -> Argument:
    """A path."""
    wrong: list[Any] = [
        "", 0, 1, 1.5, NAN, True, 1j, [], ["x"], (), {}, {"x"}, Odd(), Broken(), len, int, math, np.array(["x"]),
        Ellipsis,
        10**400, np.ma.masked, torch.tensor(1.0),
    ]  # fmt: skip
    return Argument(good, wrong if none else [*wrong, None])


def _is_plain_nan(value: Any) -> bool:
    """Whether a value is a number that is not finite: functions of a point may hand it on."""
    if torch.is_tensor(value):
        return bool(value.numel() and not value.is_meta and not value.requires_grad and value.isnan().all())
    kind = isinstance(value, float | np.floating | Decimal)
    return kind and not (isinstance(value, Decimal) and value.is_snan()) and math.isnan(value)


def _is_truth(value: Any) -> bool:
    if torch.is_tensor(value):
        return value.dtype is torch.bool
    return isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype == bool)


def nest(good: Any, *, empty: bool = False) -> Argument:
    """A mapping, a list (of any length) or a tuple (of this length) of arguments: wrong as a whole, and in one place.

    ``empty``: whether it may have no entries.
    """
    if isinstance(good, dict):
        wrong: list[Any] = [*_NO_LISTS, [], [1.0], ()]
        arguments = good
        first = next(iter(good.values())).good
        wrong += [{key: first} for key in (Odd(), None, (), True, b"x")]
        build: Any = dict
    else:
        wrong = [*_NO_LISTS, {"x": 1.0}, ["x"], [Odd()], [None], [[]], [{}]]
        arguments = dict(enumerate(good))
        build = lambda entries: type(good)(entries.values())
        if isinstance(good, tuple):
            good_tuple = tuple(argument.good for argument in good)
            wrong += [good_tuple[:-1], (*good_tuple, good_tuple[-1])]
    good_values = {key: argument.good for key, argument in arguments.items()}
    wrong += [build({**good_values, key: value}) for key, argument in arguments.items() for value in argument.bad]
    return Argument(build(good_values), [*wrong, *([] if empty else [{} if isinstance(good, dict) else []])])
