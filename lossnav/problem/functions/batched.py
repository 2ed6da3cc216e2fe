"""Calls a user's function of one point on whole batches, if it turns out to be vectorised."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.functions import budget
from lossnav.problem.functions.arrays import OfArrays
from lossnav.problem.functions.entries import entries, read

ROWS, COLUMNS, ENTRIES, SINGLE = "(..., D)", "(D, N)", "entry by entry", "one by one"
_MANY = 20_000  # calls point by point, after which it is worth a word
_EVERY = 16  # batches between two tests of the agreement
_BATCH = 1_000  # points that a solver asks for at once, more or less


class Batched:
    """A function from θ, shape (D,), to an array of shape ``shape``, called on batches of shape (..., D).

    Attributes:
        name: the argument's name, for messages.
        owner: what the function was given to, for messages.
        layout: how it takes several points: ROWS, COLUMNS, ENTRIES, SINGLE, or None where that is not
            known yet.
        calls: how often it was called.
        function: what is called.
        counts: whether a budget counts these calls; not if the function calls another that is counted.
    """

    name: str
    owner: str
    calls: int
    function: OfArrays
    counts: bool = True

    def __init__(
        self, name: str, function: Callable[[Any], Any], shape: tuple[int, ...], owner: str = "a losses.Function"
    ):
        self.name, self.owner, self.calls = name, owner, 0
        self.layout: str | None = None
        self.function, self._shape = OfArrays(function, shape), shape
        self._region: tuple[Array, Array] | None = None  # the box of points at which the agreement was tested
        self._largest, self._since, self._warned = 0, 0, False
        self._size = 0.0  # of its values where it was first asked for several

    def __call__(self, theta: Array) -> Array:
        """Return the values at θ of shape (..., D), shape (..., *shape)."""
        if theta.ndim == 1:
            return self._one(theta)
        flat = theta.reshape(-1, theta.shape[-1])
        if not len(flat):
            return np.zeros((*theta.shape[:-1], *self._shape))
        if self.layout is None and len(flat) > 1:
            self.layout = self._detect(flat)
        result = None
        if self.layout not in (None, SINGLE):
            result = self._together(flat, self.layout)
            if result is not None and not self._agrees(flat, result):
                result = None
            if result is None:  # it only seemed to be vectorised: what it says of single points counts
                self.layout = SINGLE
        if result is None:
            result = self._each(flat)
            if self.calls > _MANY and self.layout == SINGLE and not self._warned:
                self._warn()
        return result.reshape(*theta.shape[:-1], *self._shape)

    def _call(self, argument: Array, layout: str = SINGLE) -> Array:
        return self._read(self._result(argument), argument, layout)

    def _result(self, argument: Array) -> Any:
        if self.counts:
            budget.check(1)
        self.calls += 1
        return self.function(argument)

    def _read(self, result: Any, argument: Array, layout: str) -> Array:
        """Return what the function has returned as an array; ``layout`` says what it was given."""
        if layout == ENTRIES:
            return read(result, len(argument[0].values), self._shape)
        return np.array(_checks.reals(f"{self.name}(theta)", result))  # a copy: it may fill the same array each time

    def _one(self, x: Array) -> Array:
        return self._shaped(self._call(x.copy()))  # a copy: a function that changes its argument must not change a path

    def _shaped(self, result: Array) -> Array:
        if result.shape != self._shape:
            if result.size != int(np.prod(self._shape)):
                raise ValueError(
                    f"{self.name}(theta) has shape {result.shape}, but it must have shape {self._shape}: "
                    f"it is given to {self.owner}"
                )
            result = result.reshape(self._shape)
        return result

    def _each(self, flat: Array) -> Array:
        """Return the values point by point: a solver does this 100,000 times, so what is in order is not looked at."""
        result = np.empty((len(flat), *self._shape))
        kind, shape, counted = result.dtype, self._shape, self.counts
        for place, x in zip(result, flat, strict=True) if shape else ():
            if counted:
                budget.check(1)
            self.calls += 1
            value = self.function(x.copy())  # a copy, as in ``_one``
            if type(value) is not np.ndarray or value.dtype != kind or value.shape != shape:
                value = self._shaped(self._read(value, x, SINGLE))
            place[...] = value
        if not shape:
            result[:] = [self._one(x) for x in flat]
        return result

    def _together(self, flat: Array, layout: str) -> Array | None:
        """Return the values at all points from one call, or None if that fails or has a wrong shape."""
        try:
            result = self._call(given(flat, layout), layout)
        except budget.OutOfBudget:
            raise
        except Exception:  # whatever it raises on a batch: point by point it may not, or raises what is to be seen
            return None
        if result.ndim == 0 or result.size != len(flat) * int(np.prod(self._shape)):
            return None
        if result.shape[-1 if layout == COLUMNS else 0] != len(flat):
            return None
        result = np.moveaxis(result, -1, 0) if layout == COLUMNS else result
        return result.reshape(len(flat), *self._shape)

    def _detect(self, flat: Array) -> str:
        # D + 2 unlike points, so that a function which mixes its batch axis up with D cannot pass by accident.
        dim = flat.shape[-1]
        step = 1e-3 * max(1.0, float(np.max(np.abs(flat[0]))))
        probe = flat[0] + np.linspace(0.0, step, dim + 2)[:, None] * np.arange(1, dim + 1)
        with np.errstate(all="ignore"):
            began = time.process_time()
            apart = np.array([self._one(x) for x in probe])
            point_time = (time.process_time() - began) / len(probe)
            self._size = float(np.max(np.abs(apart), initial=0.0, where=np.isfinite(apart)))
            for layout in (ROWS, COLUMNS, ENTRIES):
                together, seconds = self._timed(probe, layout)
                if together is None or not _same(together, apart, float(np.max(np.abs(apart), initial=0.0))):
                    continue
                if layout != ENTRIES and self._knows_its_constants(probe, layout):
                    return layout
                # Entries are added and multiplied one by one: a sum over a thousand data is faster point by point.
                most = _BATCH * point_time
                # What seems slow is timed again: Python may have collected its garbage.
                if layout == ENTRIES and (seconds <= most or self._timed(probe, layout)[1] <= most):
                    return layout
        return SINGLE

    def _timed(self, probe: Array, layout: str) -> tuple[Array | None, float]:
        """Return what one call gives, and the processor's seconds that it takes."""
        began = time.process_time()
        together = self._together(probe, layout)
        return together, time.process_time() - began

    def _knows_its_constants(self, probe: Array, layout: str) -> bool:
        """Return whether what has no batch in it, if a result may have such parts, does not depend on the point."""
        return True

    def _agrees(self, flat: Array, result: Array) -> bool:
        """Return whether the batch's values are those of single points, as far as that is tested."""
        columns = np.ascontiguousarray(flat.T)
        low, high = columns.min(axis=1), columns.max(axis=1)
        self._since += 1
        if self._region is None:
            chosen = {int(np.argmax(np.abs(columns).max(axis=0))), len(flat) - 1}
            self._region = low, high
        else:
            left, right = self._region
            inside = np.all(low >= left) and np.all(high <= right)
            if inside and len(flat) <= self._largest and self._since < _EVERY:
                return True
            beyond = np.maximum(left[:, None] - columns, columns - right[:, None]).max(axis=0)
            chosen = {int(np.argmax(beyond))}
            self._region = np.minimum(low, left), np.maximum(high, right)
        # Code for one θ may ask ``np.all(x < 1)``, ``x.min() > 0``, ``abs(x).max() < 3``: what holds for a point of the
        # batch, and not for all, holds for one of these.
        nearest = np.argmin([columns.max(axis=0), -columns.min(axis=0), np.abs(columns).max(axis=0)], axis=1)
        chosen |= set(nearest.tolist())
        self._largest, self._since = max(self._largest, len(flat)), 0
        scale = float(np.max(np.abs(result), initial=0.0, where=np.isfinite(result)))
        return all(self._is_of(flat[i], result[i], scale) for i in chosen)

    def _is_of(self, x: Array, value: Array, scale: float) -> bool:
        """Return whether a value is that of a point, or of one that differs from it in its last digits."""
        alone = self._one(x)
        if _same(value, alone, scale):
            return True
        # Far out sin(a·x) has lost digits: a·x, summed in another order, is another angle.
        signs = (1.0, (-1.0) ** np.arange(len(x)))
        blur = np.max([np.abs(self._one(x + 16 * np.spacing(np.abs(x)) * sign) - alone) for sign in signs], axis=0)
        # Near its minimum 1 − cos(x) is a difference of terms as large as it is elsewhere, and has their rounding.
        return bool(np.all(np.abs(value - alone) <= np.maximum(4 * blur, 8 * np.finfo(float).eps * self._size)))

    def _warn(self) -> None:
        self._warned = True
        warnings.warn(
            f"the {self.name} of {self.owner} was called {self.calls:,} times, point by point. Written for arrays "
            "of shape (..., D), with x[..., 0] for the first parameter, it is called once for thousands of points",
            UserWarning,
            stacklevel=2,
        )


def given(flat: Array, layout: str) -> Array:
    """Return points of shape (N, D) as a layout has them."""
    if layout == ENTRIES:
        return entries(flat)
    return flat.copy() if layout == ROWS else np.ascontiguousarray(flat.T)


def _same(one: Array, other: Array, scale: float) -> bool:
    """Return whether two results differ by no more than a changed order of summation explains."""
    return bool(np.allclose(one, other, rtol=1e-10, atol=1e-12 * scale, equal_nan=True))
