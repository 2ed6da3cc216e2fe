"""A user's function that returns a matrix, also as nested lists, on whole batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.problem.functions.batched import COLUMNS, ROWS, Batched, given
from lossnav.problem.functions.entries import Entry, entries


class Nested(Batched):
    """A ``Batched`` whose result may be lists of lists with the batch in their entries, or the same for all points.

    ``lambda x: [[1 / x[1] ** 2, 0], [0, 1]]`` says how one matrix looks. With x of shape (D, N) the first entry has
    shape (N,) and the others are numbers: no array, but a batch of matrices all the same.
    """

    counts = False  # a budget of calls is one of the loss's

    def _read(self, result: Any, argument: Array, layout: str) -> Array:
        if layout in (ROWS, COLUMNS):
            if isinstance(result, list | tuple):
                result = _stacked(result, len(self._shape), layout)
            elif np.shape(result) == self._shape:  # no batch in it: constant, if it is what single points have
                result = np.asarray(result)
            if np.shape(result) == self._shape and layout == ROWS:
                result = np.broadcast_to(result, (len(argument), *self._shape))
        return super()._read(result, argument, layout)

    def _knows_its_constants(self, probe: Array, layout: str) -> bool:
        # Written for one θ, ``[[np.tanh(x.sum()), 0], [0, 1]]`` has one number for all points of a batch, and where it
        # hardly changes it looks like a constant. Entries tell: a constant has none.
        result = self._result(given(probe, layout))
        if isinstance(result, list | tuple):
            leaves = _leaves(result, len(self._shape))[1]
            single = np.array([np.ndim(leaf) == 0 for leaf in leaves])
        else:
            single = np.full(math.prod(self._shape), np.shape(result) == self._shape)
        if not single.any():
            return True
        try:
            outputs = np.array(self._result(entries(probe)), dtype=object)
        except budget.OutOfBudget:
            raise
        except Exception:  # as in ``_together``
            return False
        return outputs.shape == self._shape and not any(isinstance(output, Entry) for output in outputs.ravel()[single])


def _stacked(rows: Any, depth: int, layout: str) -> Array:
    """Return lists of ``depth`` levels as one array, whose batch is its last axis, or in rows its first."""
    shape, leaves = _leaves(rows, depth)
    flat = np.stack(np.broadcast_arrays(*(_checks.reals("entry", entry) for entry in leaves)))
    stacked = flat.reshape(*shape, *flat.shape[1:])
    return np.moveaxis(stacked, -1, 0) if layout == ROWS and stacked.ndim > depth else stacked


def _leaves(rows: Any, depth: int) -> tuple[list[int], list[Any]]:
    """Return the shape of lists of ``depth`` levels, and what is in them in its order."""
    shape: list[int] = []
    leaves = [rows]
    for _ in range(depth):
        shape.append(len(leaves[0]))
        if any(len(entry) != shape[-1] for entry in leaves):
            raise ValueError(f"the lists differ in length, but all must have {shape[-1]} entries")
        leaves = [inner for entry in leaves for inner in entry]
    return shape, leaves
