"""``Postponed`` in Python: its state, its plans, and its static twin."""

from __future__ import annotations

import math

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import deadline_rate

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]
_PLAN, _NOISE = float(_SHARED["plan"]), float(_SHARED["noise"])


class Postponed(Curves):
    """A learner that plans for a deadline which every new plan finds farther away (L18), with noise.

    One direction of curvature h, γ = c = 0, time in units of 1/√(ηkh): the gain is tanh s with s left, and noise enters
    as dm/dt = −2Km + K²Σ with Σ = 0.1. The first plan is for a time of 4.

    Args:
        moved: p, how fast the date moves beside time, in [0, 1]: 0 is a date that is kept.
        every: τ, time from plan to plan, in [0.25, 3]. A plan that is shorter is carried out to its end.
        now: time that is marked, in [0, 12].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Postponed(moved=0.5, every=1.0).ends(), Postponed(moved=1.0).ends()
        (7.0, inf)
    """

    moved = number_trait(_MARKS["moved"], 1.0)
    every = number_trait(_MARKS["every"], 2.0)
    now = number_trait(_AXIS["range"], 6.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        rate, error = (float(part[0]) for part in _course(np.array([self.now]), self.moved, self.every))
        end = self.ends()
        date = "never comes" if math.isinf(end) else f"comes at {end:.2f} instead of {_PLAN:.2f}"
        return (
            f"The rate of a learner whose deadline {date}, and below it the mean square of its error with noise, "
            f"beside those of one that keeps its date, and a plateau's {_NOISE / 2:.4f}. At {self.now:.2f} the rate is "
            f"{rate:.3f} of its plateau, and the error {error:.4f}."
        )


def _course(times: Array, moved: float, every: float) -> tuple[Array, Array]:
    """Return the rate over that of the plateau and the error at times >= 0, plan by plan."""
    left, error = np.zeros_like(times), np.zeros_like(times)
    begun, length, first = 0.0, _PLAN, 1.0
    plan = np.floor(times / every + 1e-9)  # times at which a plan is made belong to it, in spite of rounding
    for n in range(int(np.max(plan)) + 1):
        last = length <= every
        here = plan >= n if last else plan == n
        left[here] = np.maximum(length - (times[here] - begun), 0.0)
        error[here] = _error(first, length, left[here])
        if last:
            break
        first = float(_error(first, length, np.array(length - every)))
        begun, length = (n + 1) * every, _PLAN - (1 - moved) * (n + 1) * every
    return deadline_rate(Objective(), 1.0, left), error


def _error(first: float, whole: float, left: Array) -> Array:
    """Return the error with ``left`` of a plan for ``whole`` left: the gain tanh s integrates in closed form."""
    noise = _NOISE / 3 * (np.tanh(whole) ** 3 - np.tanh(left) ** 3)
    found: Array = np.cosh(left) ** 2 * (first / np.cosh(whole) ** 2 + noise)
    return found
