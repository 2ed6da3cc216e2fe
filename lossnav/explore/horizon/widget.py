"""``Horizon`` in Python: its state, the optimal step and its limits, and its static twin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import traitlets

from lossnav import _checks, rules
from lossnav._checks import Array
from lossnav.explore._picture import Picture, colour, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait
from lossnav.problem.objective import Objective

_SHARED = constants(__file__)
_CURVATURES = np.array(_SHARED["curvatures"])
_HESSIAN = np.diag(_CURVATURES)
_HOLD: float = _SHARED["hold"]  # farthest start
_SHORTEST: float = _SHARED["shortest"]  # Δt
_LIMITS: dict[str, dict[str, str]] = _SHARED["limits"]


def _to_json(value: float, _: Any) -> float | None:
    return None if math.isinf(value) else value  # JSON has no ∞


def _from_json(value: float | None, _: Any) -> float:
    return math.inf if value is None else float(value)


def _duration(name: str, value: float) -> float:
    if _checks.duration(name, value) < _SHORTEST:
        raise ValueError(f"{name} = {value!r}, but it must be in [{_SHORTEST}, inf]")
    return float(value)


class Horizon(Explorable):
    """The optimal step on a quadratic bowl beside Newton's, gradient descent's and the ballistic one (Eqs. 6, 7).

    h = (1/9, 1), minimum at the origin, η = k = 1 (Fig. 2c, d). Drag the start or the step; move γ and Δt. A map of the
    two groups γ²/(4ηkh) and rΔt shows for each eigendirection which limit holds to 10 %.

    Args:
        start: θ(0), two numbers in [−3.8, 3.8].
        gamma: γ, in [0, 10].
        dt: Δt, in [0.01, inf].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> Horizon(gamma=0.0, dt=0.05).nearest()
        'ballistic'
    """

    start = point_trait((-3.0, -3.0), _HOLD)
    gamma = number_trait(_SHARED["gamma"], 1.0)
    dt = traitlets.Float(1.0, min=_SHORTEST).tag(sync=True, check=_duration, to_json=_to_json, from_json=_from_json)

    def steps(self) -> dict[str, Array]:
        """Return the optimal step and its three limits, shape (2,) each, infinite where a limit diverges."""
        objective, slope = Objective(gamma=self.gamma), _HESSIAN @ np.array(self.start)
        steps = {
            "optimal": rules.update(objective, slope, _HESSIAN, self.dt),
            "newton": rules.newton(objective, slope, _HESSIAN, self.dt),
        }
        # Where a limit's factor is infinite (Δt = ∞, or γ = 0 for gradient descent), so is its step, along −g.
        far = np.where(slope == 0, 0.0, -np.copysign(np.inf, slope))
        finite = math.isfinite(self.dt)
        descent = finite and self.gamma > 0
        steps["descent"] = rules.gradient_descent(objective, slope, _HESSIAN, self.dt) if descent else far
        steps["ballistic"] = rules.ballistic(objective, slope, _HESSIAN, self.dt) if finite else far
        return steps

    def nearest(self) -> str:
        """Return the limit nearest to the optimal step: ``"newton"``, ``"descent"`` or ``"ballistic"``."""
        steps = self.steps()
        optimal = steps.pop("optimal")
        return min(steps, key=lambda name: float(np.linalg.norm(steps[name] - optimal)))

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        optimal = self.steps()["optimal"]
        name = {"newton": "Newton's", "descent": "gradient descent's", "ballistic": "the ballistic"}[self.nearest()]
        dt = "∞" if math.isinf(self.dt) else f"{self.dt:.3g}"
        return (
            "Contours of a bowl, long in θ₁ and narrow in θ₂, with the optimal path from "
            f"({signed(self.start[0], 2)}, {signed(self.start[1], 2)}) to its bottom and arrows for Newton's, gradient "
            f"descent's and the ballistic step. For γ = {self.gamma:.2f}, Δt = {dt} the optimal step is "
            f"({signed(optimal[0], 2)}, {signed(optimal[1], 2)}); {name} step is the nearest."
        )

    def picture(self) -> str:
        """Return the contours with the path, the optimal step and its limits, as an SVG document."""
        image = Picture(720, 500, _SHARED["title"])
        panel = image.square(400, _SHARED["edge"], range(-4, 5, 2), "θ₁ (h = 1/9)", "θ₂ (h = 1)")
        image.contours(panel, _CURVATURES)
        r = rules.rates(Objective(gamma=self.gamma), _HESSIAN)
        times = 9 / r[0] * np.linspace(0, 1, 121) ** 3
        image.line(panel, np.array(self.start) * np.exp(-np.outer(times, r)), colour("optimal"), 3.2, name="path")
        steps, start = self.steps(), np.array(self.start)
        slope = _HESSIAN @ start
        ways = {"newton": -start, "descent": -slope, "ballistic": -slope / np.sqrt(_CURVATURES)}
        for name, limit in _LIMITS.items():
            step = steps[name] if np.all(np.isfinite(steps[name])) else 1e4 * ways[name]
            image.arrow(panel, start, start + step, colour(name), limit["dash"], name)
        image.dot(panel, float(start[0]), float(start[1]), colour("ink"), 8.0)
        end = start + steps["optimal"]
        image.dot(panel, float(end[0]), float(end[1]), colour("optimal"), 8.0)
        dt = "∞" if math.isinf(self.dt) else f"{self.dt:.3g}"
        image.text(474, 76, f"γ = {self.gamma:.2f}, Δt = {dt}", font_weight="bold")
        for i, (name, line) in enumerate({"optimal": _SHARED["optimal"], **_LIMITS}.items()):
            y = 112 + 34 * i
            image.legend(474, y, line["name"], colour(name), line["dash"])
            image.text(706, y, _pair(steps[name]), text_anchor="end", fill=colour("soft"))
        return image.svg()


def _pair(step: Array) -> str:
    words = ["∞" if v == np.inf else "−∞" if v == -np.inf else signed(float(v), 2) for v in step]
    return f"({words[0]}, {words[1]})"
