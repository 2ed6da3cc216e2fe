"""The race's landscape in Python: what is dug, where it rests, its level sets, and the optimal laws into its wells."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.losses import Loss, Section
from lossnav.problem.losses.base import scalar
from lossnav.problem.objective import Objective
from lossnav.trajectory import phase_plane
from oracles.plans import landscape

_SHARED = explore.Race._shared
_WIDE: float = _SHARED["dug"]["wide"]
Dent = tuple[float, float]


class Dug(Loss):
    """The tilted double well, less a dip in θ₁: an integrator asks for its slope 100,000 times, so it is quick.

    Args:
        tilt: d.
        dug: where the dip is, and how deep (a hill where that is negative).
    """

    dim, calls = 2, 0

    def __init__(self, tilt: float, dug: Dent):
        self._plain, (self._place, self._depth) = landscape(tilt), dug

    def _dip(self, theta: Array) -> tuple[Array, Array]:
        z = (theta[..., 0] - self._place) / _WIDE
        return z, self._depth * np.exp(-(z**2) / 2)

    def value(self, theta: ArrayLike) -> Any:
        """Return L(θ), a float for one θ."""
        theta = self._points(theta)
        return scalar(self._plain.value(theta) - self._dip(theta)[1])

    def gradient(self, theta: ArrayLike) -> Array:
        """Return ∇L(θ), shape (..., 2)."""
        theta = self._points(theta)
        z, height = self._dip(theta)
        gradient = self._plain.gradient(theta)
        gradient[..., 0] += z * height / _WIDE
        return gradient

    def hessian(self, theta: ArrayLike) -> Array:
        """Return ∇²L(θ), shape (..., 2, 2)."""
        theta = self._points(theta)
        z, height = self._dip(theta)
        hessian = self._plain.hessian(theta)
        hessian[..., 0, 0] += (1 - z**2) * height / _WIDE**2
        return hessian


def dug_landscape(tilt: float, dug: Dent) -> Loss:
    """Return the tilted double well, less a dip in θ₁ of the depth dug[1] at dug[0]."""
    return Dug(tilt, dug) if dug[1] else landscape(tilt)


@functools.lru_cache(maxsize=64)
def rests(tilt: float, dug: Dent) -> tuple[Array, Array]:
    """Return θ₁ of the minima, and of the barriers between them, from left to right."""
    grad = Section(dug_landscape(tilt, dug), 0).gradient
    low, high = _SHARED["orbits"]
    grid = np.linspace(2.1 * low, 2.1 * high, 1500)  # holds no zero of the level landscape
    signs = np.sign(grad(grid[:, None])[:, 0])

    def roots(turn: float) -> Array:
        edges = np.flatnonzero(np.diff(signs) == turn)
        zeros = [scipy.optimize.brentq(lambda x: float(grad([x])[0]), grid[i], grid[i + 1], xtol=1e-15) for i in edges]
        return np.array(zeros)

    return roots(2.0), roots(-2.0)


@functools.lru_cache(maxsize=64)
def into_wells(gamma: float, tilt: float, dug: Dent) -> list[phase_plane.Feedback]:
    """Return the optimal law into each minimum, from left to right."""
    loss, span = Section(dug_landscape(tilt, dug), 0), tuple(_SHARED["orbits"])
    return [phase_plane.feedback(Objective(gamma=gamma), loss, float(c), span) for c in rests(tilt, dug)[0]]


def section(tilt: float, dug: Dent) -> tuple[Array, Array]:
    """Return θ₁ across the window, and the loss there for θ₂ = 0, shapes (N,)."""
    low, high = _SHARED["window"]["x"]
    x = np.linspace(low, high, 141)
    return x, np.asarray(Section(dug_landscape(tilt, dug), 0).value(x[:, None]))


def basins(tilt: float, dug: Dent) -> Iterator[Array]:
    """Yield the border of each part of {L ≤ level} in the window: θ₂ = ±√((level − L(θ₁, 0))/c)."""
    x, floor = section(tilt, dug)
    levels = _SHARED["levels"]
    for level in levels["first"] + levels["every"] * np.arange(levels["count"]):
        inside = np.flatnonzero(floor <= level)
        for part in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
            if len(part) > 1:
                half = np.stack([x[part], np.sqrt((level - floor[part]) / _SHARED["well"]["c"])], axis=-1)
                yield np.concatenate([half, half[::-1] * [1, -1]])


def edge_starts() -> Array:
    """Return the starts around the edge of the window, shape (26, 2)."""
    edge: dict[str, float] = _SHARED["starts"]
    across = np.linspace(-1, 1, int(edge["across"])) * edge["x"]
    up = np.linspace(-1, 1, int(edge["up"]))[1:-1] * edge["y"]
    rows = [(x, y) for x in across for y in (-edge["y"], edge["y"])]
    return np.array(rows + [(x, y) for y in up for x in (-edge["x"], edge["x"])])
