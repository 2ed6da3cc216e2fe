"""A path in stretches between the switches of its loss, side by side in one boundary-value problem.

Stretch i is passed at times ``begin_i + pace_i·s`` while s goes from 0 to ``unit``, for all of them at once. The last
has the pace 1: without a switch s is the time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lossnav._checks import Array
from lossnav.problem.losses import Loss

_LOGARITHMIC = 60  # nodes between the fastest time and the whole


@dataclass(frozen=True, eq=False)
class Stretches:
    """The stretches of [0, span].

    Attributes:
        loss: what depends on time.
        begins, ends, paces: shape (M,) each.
        unit: the length of the last.
    """

    loss: Loss
    begins: Array
    ends: Array
    paces: Array
    unit: float

    @property
    def count(self) -> int:
        """M."""
        return len(self.begins)

    def times(self, i: int, s: Array) -> Array:
        """Return the times of stretch i, shape (N,); at its end those just before the switch."""
        return np.minimum(self.begins[i] + self.paces[i] * s, self.latest(i))

    def latest(self, i: int) -> float:
        """Return the last time at which the loss is that of stretch i; inf if it stays so."""
        end = float(self.ends[i])
        switches = i < self.count - 1 or end in getattr(self.loss, "switches", ())
        return float(np.nextafter(end, 0.0)) if switches else np.inf

    def mesh(self, nodes: int) -> Array:
        """Return s, finer where a path is fast: after the start, and around switches."""
        u = np.linspace(0.0, 1.0, nodes)
        return self.unit * (u**2 if self.count == 1 else np.sin(np.pi / 2 * u) ** 2)

    def resolving(self, s: Array, rate: float) -> Array:
        """Return a mesh that has nodes also where modes of this rate fall off, however long the stretches are."""
        first = 0.1 / (rate * float(np.max(self.paces))) if rate > 0 else self.unit
        if first >= s[1]:
            return s
        early = np.geomspace(first, self.unit, _LOGARITHMIC)[:-1]
        return np.unique(np.concatenate([s, early] if self.count == 1 else [s, early, self.unit - early[::-1]]))

    def on(self, s: Array) -> Array:
        """Return all times of a mesh in s, in order."""
        return np.unique(self.begins[:, None] + self.paces[:, None] * s)

    def read(self, solution: Callable[[Array], Array], rows: Callable[[int], slice], t: Array) -> Array:
        """Return rows of what a solution in s says of times t within the span, shape (T, R)."""
        if self.count == 1:
            return solution(t)[rows(0)].T
        which = np.searchsorted(self.begins[1:], t, side="right")
        found = np.empty((len(t), len(range(*rows(0).indices(2**31)))))
        for i in range(self.count):
            here = which == i
            if np.any(here):
                s = (t[here] - self.begins[i]) / self.paces[i]
                found[here] = solution(np.minimum(s, self.unit))[rows(i)].T
        return found


def stretches(loss: Loss, span: float) -> Stretches:
    """Return the stretches of [0, span] between the switches of a loss."""
    switches = [switch for switch in getattr(loss, "switches", ()) if switch < span]
    begins, ends = np.array([0.0, *switches]), np.array([*switches, span])
    lengths = ends - begins
    return Stretches(loss, begins, ends, lengths / lengths[-1], float(lengths[-1]))
