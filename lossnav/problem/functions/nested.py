"""A user's function that returns a matrix, also as nested lists, on whole batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions.batched import COLUMNS, ROWS, Batched


class Nested(Batched):
    """A ``Batched`` whose result may be lists of lists with the batch in their entries, or the same for all points.

    ``lambda x: [[1 / x[1] ** 2, 0], [0, 1]]`` says how one matrix looks. With x of shape (D, N) the first entry has
    shape (N,) and the others are numbers: no array, but a batch of matrices all the same.
    """

    def _read(self, result: Any, argument: Array, layout: str) -> Array:
        if layout in (ROWS, COLUMNS):
            if isinstance(result, list | tuple):
                result = _stacked(result, len(self._shape), 0 if layout == ROWS else -1)
            elif np.shape(result) == self._shape:  # no batch in it: constant, if it is what single points have
                result = np.asarray(result)
            if np.shape(result) == self._shape and layout == ROWS:
                result = np.broadcast_to(result, (len(argument), *self._shape))
        return super()._read(result, argument, layout)


def _stacked(rows: Any, depth: int, axis: int) -> Array:
    """Return lists of ``depth`` levels as one array, the batch axis of the entries moved to ``axis``.

    Raises:
        ValueError: if the entries do not broadcast, or are no numbers.
    """
    shape: list[int] = []
    entries = [rows]
    for _ in range(depth):
        shape.append(len(entries[0]))
        if any(len(entry) != shape[-1] for entry in entries):
            raise ValueError(f"the lists differ in length, but all must have {shape[-1]} entries")
        entries = [inner for entry in entries for inner in entry]
    flat = np.stack(np.broadcast_arrays(*(_checks.reals("entry", entry) for entry in entries)))
    found = flat.reshape(*shape, *flat.shape[1:])
    return np.moveaxis(found, -1, 0) if axis == 0 and found.ndim > depth else found
