"""What every landscape offers, and its one-dimensional sections."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array


class Loss(_checks.Shaped, abc.ABC):
    """A loss landscape over D parameters.

    Attributes:
        dim: D, the number of parameters.
        calls: how often a user's functions were called so far; 0 for a formula, None for what does not count.
        timed: whether it depends on time (``lossnav.problem.task``).
        positive: which parameters must stay > 0, by their places on the last axis; L means nothing elsewhere.
    """

    _axes: ClassVar = {"value": 0, "gradient": 1, "hessian": 2}
    dim: int
    calls: int | None = None
    timed: bool = False
    positive: tuple[int, ...] = ()

    @abc.abstractmethod
    def value(self, theta: ArrayLike) -> Any:
        """Return L(θ): a float for one θ, an array of shape (...) for a batch."""

    @abc.abstractmethod
    def gradient(self, theta: ArrayLike) -> Array:
        """Return ∇L(θ), shape (..., D)."""

    @abc.abstractmethod
    def hessian(self, theta: ArrayLike) -> Array:
        """Return ∇²L(θ), shape (..., D, D)."""

    def at(self, t: ArrayLike) -> Loss:
        """Return the landscape at times t >= 0: this one, unless it depends on time."""
        check_times(t)
        return self

    def stationary_points(self) -> Array | None:
        """Return all points with ∇L = 0, shape (M, D), or None when no formula for them is known."""
        return None

    def starts(self, theta0: Array) -> Array | None:
        """Return points from which a search for stationary points should begin, shape (B, D); None: spread about θ₀."""
        return None

    def summed(self, theta: Array) -> float:
        """Return the size of what L at one θ, shape (D,), is a sum of: the rounding error of L is in proportion."""
        return abs(float(self.value(theta)))

    def expression(self, symbols: Any) -> Any:
        """Return L in terms of the given symbols, or None when no formula is known."""
        return None

    def _points(self, theta: ArrayLike) -> Array:
        return _checks.points("theta", theta, self.dim)


def check_loss(loss: Any, name: str = "loss", *, timed: bool = False) -> None:
    """Raise ValueError, with this name, unless this is a landscape, which only with ``timed`` may depend on time."""
    made = "losses.Function(f, dim=D) makes one of a function or of a sympy expression"
    _checks.instance(name, loss, Loss, f"a loss from lossnav.losses: {made}")
    _checks.whole(f"{name}.dim", getattr(loss, "dim", None), low=1)
    if loss.timed and not timed:
        raise ValueError(f"{name} = {_checks.shown(loss)} depends on time, but here it must not: take its at(t)")


def check_times(t: Any) -> Array:
    """Return times as an array; raise ValueError unless all are >= 0 (inf is one: when all has settled)."""
    times = _checks.reals("t", t)
    if not np.all(times >= 0):
        raise ValueError(f"t = {_checks.shown(t)}, but all times must be >= 0")
    return times


def scalar(value: Array) -> Any:
    """Return a float for one value, the array for a batch."""
    return float(value) if np.ndim(value) == 0 else value


class Section(Loss):
    """A one-dimensional section of a loss: all coordinates but one are held.

    Args:
        loss: the landscape that is cut.
        axis: the free coordinate.
        point: where the others are held, shape (D,); None is the origin.

    Raises:
        ValueError: if ``axis`` is not one of the loss's, or ``point`` has a wrong shape.
    """

    dim = 1

    def __init__(self, loss: Loss, axis: int = 0, point: ArrayLike | None = None):
        check_loss(loss)
        self._loss, self._axis = loss, _checks.whole("axis", axis, low=0, high=loss.dim - 1)
        self._point = np.zeros(loss.dim) if point is None else _checks.array("point", point, shape=(loss.dim,))

    @property
    def calls(self) -> int | None:  # type: ignore[override]
        return self._loss.calls

    def value(self, theta: ArrayLike) -> Any:
        return self._loss.value(self._lift(theta))

    def gradient(self, theta: ArrayLike) -> Array:
        return self._loss.gradient(self._lift(theta))[..., self._axis : self._axis + 1]

    def hessian(self, theta: ArrayLike) -> Array:
        part = slice(self._axis, self._axis + 1)
        return self._loss.hessian(self._lift(theta))[..., part, part]

    def stationary_points(self) -> Array | None:
        """Return those of the loss, if all lie on the line and it separates; else there may be others on the line."""
        points = self._loss.stationary_points()
        if points is None or not self._separates(points):
            return None
        others = np.delete(points - self._point, self._axis, axis=-1)
        return points[:, self._axis : self._axis + 1] if np.allclose(others, 0) else None

    def _separates(self, points: Array) -> bool:
        """Say whether the slope along the line depends on nothing else, at 64 places around the points."""
        spread = 1 + np.max(np.abs(points), initial=0.0)
        around = np.random.default_rng(0).normal(size=(64, self._loss.dim)) * spread
        hessian = self._loss.hessian(around)
        steady = bool(np.all(hessian == hessian[:1]))  # of a quadratic one point is all there is
        return steady or not np.any(np.delete(hessian[:, self._axis], self._axis, axis=-1))

    def expression(self, symbols: Any) -> Any:
        full = [float(x) for x in self._point]
        return self._loss.expression([symbols[0] if i == self._axis else x for i, x in enumerate(full)])

    def _lift(self, theta: ArrayLike) -> Array:
        theta = self._points(theta)
        full = np.empty((*theta.shape[:-1], self._loss.dim))  # an integrator asks 100,000 times: broadcast_to is slow
        full[...] = self._point
        full[..., self._axis] = theta[..., 0]
        return full

    def __repr__(self) -> str:
        return f"Section({self._loss!r}, axis={self._axis})"
