"""What ``Postponed`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import deadline_rate
from oracles.common import grid, over

_SHARED = explore.Postponed._shared
_AXIS = _SHARED["axis"]
_PLAN, _NOISE = float(_SHARED["plan"]), float(_SHARED["noise"])


class Postponed(explore.Postponed):
    def ends(self) -> float:
        """Return the date on which it ends; inf if it never does."""
        if self.moved == 1:
            return math.inf
        plans = math.ceil((_PLAN - self.every) / (self.every * (1 - self.moved)) - 1e-9)
        return _PLAN + self.moved * self.every * plans

    def lines(self) -> dict[str, Array]:
        """Return the rates, and log₁₀ of the errors, over time."""
        t = grid(_AXIS)
        rate, error = _course(t, self.moved, self.every)
        promised, kept = _course(t, 0.0, self.every)
        heights = {
            "rate": rate,
            "promised": promised,
            "error": np.log10(error),
            "kept": np.log10(kept),
            "plateau": np.full_like(t, np.log10(_NOISE / 2)),
        }
        return over(_AXIS, t, heights)

    def said(self) -> list[str]:
        rate, error = (float(part[0]) for part in _course(np.array([self.now]), self.moved, self.every))
        end = self.ends()
        date = "never comes" if math.isinf(end) else f"comes at {end:.2f} instead of {_PLAN:.2f}"
        return [f"{date}", f"{_NOISE / 2:.4f}", f"{self.now:.2f}", f"{rate:.3f}", f"{error:.4f}"]


def _course(times: Array, moved: float, every: float) -> tuple[Array, Array]:
    """Return the rate over that of the plateau and the error at times >= 0, plan by plan."""
    left, error = np.zeros_like(times), np.zeros_like(times)
    begun, length, first = 0.0, _PLAN, 1.0
    plan = np.floor(times / every + 1e-9)  # times at which a plan is made belong to it, in spite of rounding
    for n in range(int(np.max(plan)) + 1):
        last = length <= every
        active = plan >= n if last else plan == n
        left[active] = np.maximum(length - (times[active] - begun), 0.0)
        error[active] = _error(first, length, left[active])
        if last:
            break
        first = float(_error(first, length, np.array(length - every)))
        begun, length = (n + 1) * every, _PLAN - (1 - moved) * (n + 1) * every
    return deadline_rate(Objective(), 1.0, left), error


def _error(first: float, whole: float, left: Array) -> Array:
    """Return the error with ``left`` of a plan for ``whole`` left: the gain tanh s integrates in closed form."""
    noise = _NOISE / 3 * (np.tanh(whole) ** 3 - np.tanh(left) ** 3)
    error: Array = np.cosh(left) ** 2 * (first / np.cosh(whole) ** 2 + noise)
    return error
