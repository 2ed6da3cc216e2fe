"""Arguments that are right in kind and far from usual: what a call answers to them must be finite, or a clear refusal.

``walk`` gives one wrong argument at a time. Here one or two are right but extreme: a number near the ends of what
floats hold with its square, a size beyond any memory, an array of zeros, or one of a scale of its own. Where they are
out of range they are to be refused; else what comes back has no NaN, no error comes from below the library, and nothing
takes for ever.
"""

from __future__ import annotations

import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from walk import Recipe

import lossnav as ln

SECONDS = 20.0  # of the processor
DECADES = 100.0  # of what is far: products of three such numbers are still floats
REFUSALS = (ValueError, TypeError, ln.NoMinimiser, ln.NotConverged, NotImplementedError)
OURS = ("lossnav/", "tests/")  # whose lines may raise an error


class TooLong(BaseException):
    """The time is up; no ``except Exception`` may hold it."""


def stretchable(value: Any) -> bool:
    """Whether a good argument is numbers, so that there are others of its kind."""
    if isinstance(value, list | tuple):
        return len(value) > 0 and all(map(stretchable, value)) and len({np.shape(part) for part in value}) == 1
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "if" and value.size > 0
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def stretched(value: Any, rng: np.random.Generator) -> Any:
    """Return something of the kind of a number, of a whole number or of an array, far from it."""
    if isinstance(value, int):
        # Nothing between: a size that a machine may just have the memory for would take it.
        return int(rng.choice([0, 1, 2, 3, 7, -1])) if rng.random() < 0.5 else 10 ** int(rng.integers(13, 400))
    scale = 10.0 ** (rng.uniform(-1, 1) * (12.0 if rng.random() < 0.5 else DECADES))
    if np.ndim(value) == 0:
        return float(rng.choice([0.0, -scale, scale, scale, scale]))
    array = np.array(value, dtype=float)
    if rng.random() < 0.3:  # one entry alone
        array.flat[rng.integers(array.size)] *= scale
        return array
    return array * rng.choice([0.0, scale, scale])


def calls(recipes: dict[str, Recipe], count: int, seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names of recipes and what they are called with, each recipe as often as any other."""
    rng = np.random.default_rng(seed)
    names = {name: [key for key, argument in recipe.arguments.items() if stretchable(argument.good)]
             for name, recipe in recipes.items() if not recipe.costly}  # fmt: skip
    there = sorted(name for name, keys in names.items() if keys)
    for number in range(count):
        if number % len(there) == 0:
            order = rng.permutation(len(there))
        name = there[order[number % len(there)]]
        chosen = rng.permutation(names[name])[: rng.integers(1, 3)]
        good = recipes[name].good()
        yield name, {**good, **{str(key): stretched(good[str(key)], rng) for key in chosen}}


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong in what takes the processor longer, where the system has such alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def up(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def wrong(recipe: Recipe, arguments: dict[str, Any], seconds: float = SECONDS) -> str:
    """Return what is wrong with the answer of a call, or "" if nothing is."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with limited(seconds):
                answer = recipe.call(**arguments)
        except TooLong:
            return f"no answer after {seconds:.0f} s"
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = last.filename.replace("\\", "/")
            if not isinstance(error, REFUSALS):
                return f"{type(error).__name__} in {place}:{last.lineno}: {str(error)[:90]!r}"
            if "site-packages" in place or not any(f"/{part}" in place for part in OURS):
                return f"from below, {place}:{last.lineno}, {type(error).__name__}: {str(error)[:90]!r}"
            return ""
    return "NaN came back" if _has_nan(answer) else ""


def _has_nan(found: Any) -> bool:
    """Whether a number or an array is not a number; of results that are objects nothing is asked."""
    if isinstance(found, tuple | list):
        return any(_has_nan(part) for part in found)
    if torch.is_tensor(found):
        return bool(found.is_floating_point() and found.isnan().any())
    return isinstance(found, float | np.ndarray | np.floating) and bool(
        np.any(np.isnan(np.asarray(found, dtype=float)))
    )
