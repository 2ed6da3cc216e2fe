"""Points whose coordinates are whole batches, for functions that build their result of single entries.

``lambda x: np.array([[1 / x[1], 0], [0, 1]])`` takes no array for x[1], since an array and a number do not stack. It
takes anything that can be added and multiplied: here a coordinate of all points at once.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from lossnav import _checks
from lossnav._checks import Array


class Entry(NDArrayOperatorsMixin):
    """One number of each of N points: what numpy's elementwise functions take as a number, and nothing else does.

    Args:
        values: the numbers, (N,).
    """

    def __init__(self, values: Array):
        self.values = values

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if any(np.ndim(one) for one in inputs if not isinstance(one, Entry)):  # an array of numbers: each by itself
            return function(*(_boxed(one) for one in inputs))
        found = function(*(one.values if isinstance(one, Entry) else one for one in inputs))
        return tuple(map(Entry, found)) if isinstance(found, tuple) else Entry(found)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name, None)  # of an array of entries numpy asks each for its own exp, sin, …
        if isinstance(function, np.ufunc) and function.nin == 1:
            return functools.partial(function, self)
        raise AttributeError(name)

    def __bool__(self) -> NoReturn:
        raise TypeError("the points of a batch may differ in whether this is true")


def _boxed(one: Any) -> Array:
    box = np.empty(np.shape(one) if not isinstance(one, Entry) else (), dtype=object)
    box[...] = one
    return box


def entries(points: Array) -> Array:
    """Return points of shape (N, D) as one point, an array of D entries."""
    found = np.empty(points.shape[1], dtype=object)
    found[:] = [Entry(column.copy()) for column in points.T]
    return found


def read(result: Any, count: int, shape: tuple[int, ...]) -> Array:
    """Return what a function made of entries, numbers among them, as an array of shape (count, *shape).

    Raises:
        ValueError: if the result has another shape, or an entry that is no number for each point.
    """
    box = np.array(result, dtype=object)
    if box.shape != shape:
        raise ValueError(f"the result has shape {box.shape}, but it must have shape {shape}")
    found = np.empty((math.prod(shape), count))
    for row, one in zip(found, box.ravel(), strict=True):
        row[:] = _checks.reals("entry", one.values if isinstance(one, Entry) else one)
    return found.T.reshape(count, *shape)
