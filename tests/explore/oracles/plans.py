"""The optimal plans in the tilted double well, for the explorables that show them."""

from __future__ import annotations

import functools

import numpy as np
import scipy.integrate

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.losses import DoubleWell as Landscape
from lossnav.problem.losses import Section
from lossnav.problem.objective import Objective
from lossnav.trajectory import phase_plane

_SHARED = explore.DoubleWell._shared
_UNTIL: float = _SHARED["until"]


def landscape(tilt: float = _SHARED["well"]["d"]) -> Landscape:
    """Return the loss of both weights."""
    return Landscape(**{**_SHARED["well"], "d": tilt})


@functools.lru_cache(maxsize=16)
def laws(gamma: float) -> dict[str, phase_plane.Feedback]:
    """Return the optimal law into each well at one discount rate: "stay" into the left, "cross" into the right one."""
    loss = Section(landscape(), 0)
    left, _, right = landscape().stationary_points()[:, 0]
    wells = {"stay": float(left), "cross": float(right)}
    objective = Objective(gamma=gamma)
    return {name: phase_plane.feedback(objective, loss, well, tuple(_SHARED["orbits"])) for name, well in wells.items()}


def course(law: phase_plane.Feedback, start: float, until: float = _UNTIL, count: int = 120) -> tuple[Array, Array]:
    """Return times and places of the path from ``start``, shapes (T,), up to ``until``; about ``count`` of them.

    With θ − c = (θ₀ − c)e^{−s}, c the target, the time is a smooth integral over s even as the path slows down:
    dt = (θ − c)/(−p) ds.
    """
    away = start - law.target
    if abs(away) < 1e-9:
        return np.array([0.0, until]), np.array([start, start])
    s = np.linspace(0.0, 16.0, 1601)
    x = law.target + away * np.exp(-s)
    pace = (law.target - x) / law.speed(x)
    t = scipy.integrate.cumulative_simpson(pace, x=s, initial=0.0)
    shown = t <= until
    every = np.flatnonzero(shown)[:: max(1, int(shown.sum() / count))]
    return np.append(t[every], until), np.append(x[every], np.interp(until, t, x))


class Plans:
    """What the plans from a start cost, and which is optimal, for explorables that have these two traits."""

    start: float
    gamma: float

    def actions(self) -> dict[str, float]:
        """Return J of the path that stays and of the path that crosses, NaN for one that does not exist."""
        return {name: float(law.action(self.start)) for name, law in laws(self.gamma).items()}

    def verdict(self) -> str:
        """Return which path is optimal, ``"stay"`` or ``"cross"``."""
        actions = self.actions()
        return min(actions, key=lambda name: np.inf if np.isnan(actions[name]) else actions[name])
