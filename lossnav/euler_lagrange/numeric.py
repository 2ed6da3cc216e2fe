"""Numbers for what has no formula, and derivatives of a path from its positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective

_MOST = 400  # times at which a path is looked at, where none are asked for
_STENCIL = np.arange(-3, 4)
# Central differences over seven points: of order six, and for the second derivative also of order four.
_FIRST = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
_SECOND = np.array([[2, -27, 270, -490, 270, -27, 2], [0, -15, 240, -450, 240, -15, 0]]) / 180


class NumericTerms:
    """Values of undefined functions L, f_i, G_ij and of their derivatives, for the compiled equations."""

    def __init__(self, objective: Objective, loss: Loss):
        self._objective, self._loss = objective, loss
        self._place: Array | None = None  # where G and its slope were evaluated last
        self._matrices: Any = None
        self._slopes: Any = None

    def source(self, atom: Any, theta: Sequence[Any]) -> Callable[[Array], Array]:
        """Return the function of points, (..., D) → (...), that stands for an atom such as ∂f_1/∂θ_2."""
        partial = atom.is_Derivative
        letter, _, digits = (atom.expr if partial else atom).func.__name__.partition("_")
        index = _indices(digits, 2 if letter == "G" else 1)
        axis = theta.index(atom.variables[0]) if partial else None
        if letter == "L":
            return lambda points: self._loss.gradient(points)[..., axis]
        if letter == "f":
            drift = self._objective.drift
            assert drift is not None  # f appears only where the objective has a drift
            if axis is None:
                return lambda points: drift(points)[..., index[0]]
            return lambda points: drift.jacobian(points)[..., index[0], axis]
        if axis is None:
            return lambda points: self._metric(points)[..., index[0], index[1]]
        return lambda points: self._metric_slope(points)[..., index[0], index[1], axis]

    def _metric(self, points: Array) -> Array:
        """Return G, shape (..., D, D); every entry of it asks for the same points, which are evaluated once."""
        if self._place is not points:
            self._place, self._slopes = points, None
            self._matrices = self._objective.metric_at(points)
        return self._matrices

    def _metric_slope(self, points: Array) -> Array:
        """Return ∂G_ij/∂θ_k, shape (..., D, D, D)."""
        self._metric(points)
        if self._slopes is None:
            self._slopes = self._objective.metric_on(self._loss.dim).derivative(points)
        return self._slopes


def _indices(digits: str, count: int) -> tuple[int, ...]:
    """Return zero-based indices from a component's name: '2' → (1,), '12' → (0, 1), '1_12' → (0, 11)."""
    if not digits:
        return (0,) * count
    parts = digits.split("_") if "_" in digits or count == 1 else digits
    return tuple(int(part) - 1 for part in parts)


def sample_times(traj: Any, times: ArrayLike | None) -> tuple[Array, Array]:
    """Return interior times, shape (T,), and at each the spacing of the path's grid, cut to stay inside."""
    _checks.function("traj", traj)
    if not hasattr(traj, "times"):
        raise ValueError(f"traj = {_checks.shown(traj)}, but it must be a Trajectory, or a function with times")
    grid = _checks.reals("traj.times", traj.times)
    end = float(getattr(traj, "end", math.inf))
    if times is None:
        inner = grid[3:-3] if len(grid) > 8 else grid[1:-1]
        chosen = inner[:: max(1, math.ceil(len(inner) / _MOST))]
    else:
        chosen = _checks.array("times", np.atleast_1d(_checks.array("times", times)), shape=("T",))
    place = np.clip(np.searchsorted(grid, chosen, side="right") - 1, 0, len(grid) - 2)
    spacing = np.diff(grid)[place]
    room = chosen if math.isinf(end) else np.minimum(chosen, end - chosen)
    spacing = np.minimum(spacing, room / 3 * (1 - 1e-12))  # 3 · (x/3) may be more than x
    if len(chosen) == 0 or not np.all(spacing > 0):
        raise ValueError(f"times = {_checks.shown(times)}, but they must lie strictly inside (0, {end:g})")
    return chosen, spacing


def path_derivatives(traj: Any, times: Array, spacing: Array) -> tuple[Array, Array, Array]:
    """Return θ, θ̇, θ̈ at the times, shape (T, D) each, from positions alone."""
    on_grid = getattr(traj, "method", "") in ("action", "bvp", "curved")
    best = _differences(traj, times, spacing)
    for halvings in range(1, 1 if on_grid else 10):
        finer = _differences(traj, times, spacing / 2**halvings)
        closer = finer[3] < best[3]
        for kept, new in zip(best, finer, strict=True):
            kept[closer] = new[closer]
    return best[0], best[1], best[2]


def _differences(traj: Any, times: Array, step: Array) -> tuple[Array, Array, Array, Array]:
    """Return θ, θ̇, θ̈ by the sixth-order rule and how far θ̈ is from the fourth-order one, shape (T,)."""
    nodes = times[:, None] + step[:, None] * _STENCIL
    path = np.asarray(traj(nodes.ravel())).reshape(*nodes.shape, -1)
    first = np.einsum("s,tsd->td", _FIRST, path) / step[:, None]
    second, rough = (np.einsum("s,tsd->td", rule, path) / step[:, None] ** 2 for rule in _SECOND)
    return path[:, 3].copy(), first, second, np.linalg.norm(second - rough, axis=-1)
