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
        if any(np.ndim(x) for x in inputs if not isinstance(x, Entry)):  # an array of numbers: each by itself
            return function(*(_boxed(x) for x in inputs))
        result = function(*(x.values if isinstance(x, Entry) else x for x in inputs))
        return tuple(map(Entry, result)) if isinstance(result, tuple) else Entry(result)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name, None)  # of an array of entries numpy asks each for its own exp, sin, …
        if isinstance(function, np.ufunc) and function.nin == 1:
            return functools.partial(function, self)
        raise AttributeError(name)

    def __bool__(self) -> NoReturn:
        raise TypeError("the points of a batch may differ in whether this is true")


def _boxed(value: Any) -> Array:
    box = np.empty(np.shape(value) if not isinstance(value, Entry) else (), dtype=object)
    box[...] = value
    return box


def entries(points: Array) -> Array:
    """Return points of shape (N, D) as one point, an array of D entries."""
    point = np.empty(points.shape[1], dtype=object)
    point[:] = [Entry(column.copy()) for column in points.T]
    return point


def read(result: Any, count: int, shape: tuple[int, ...]) -> Array:
    """Return what a function made of entries, numbers among them, as an array of shape (count, *shape).

    Raises:
        ValueError: if the result has another shape, or an entry that is no number for each point.
    """
    box = np.array(result, dtype=object)
    if box.shape != shape:
        raise ValueError(f"the result has shape {box.shape}, but it must have shape {shape}")
    values = np.empty((math.prod(shape), count))
    for row, entry in zip(values, box.ravel(), strict=True):
        row[:] = _checks.reals("entry", entry.values if isinstance(entry, Entry) else entry)
    return values.T.reshape(count, *shape)
