"""What ``Horizon`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from oracles.common import fixed, shaft

_SHARED = explore.Horizon._shared
_CURVATURES = np.array(_SHARED["curvatures"])
_HESSIAN = np.diag(_CURVATURES)


class Horizon(explore.Horizon):
    def steps(self) -> dict[str, Array]:
        """Return the optimal step and its three limits, shape (2,) each, infinite where a limit diverges."""
        objective, gradient = Objective(gamma=self.gamma), _HESSIAN @ np.array(self.start)
        steps = {
            "optimal": rules.update(objective, gradient, _HESSIAN, self.dt),
            "newton": rules.newton(objective, gradient, _HESSIAN, self.dt),
        }
        # Where a limit's factor is infinite (Δt = ∞, or γ = 0 for gradient descent), so is its step, along −g.
        far = np.where(gradient == 0, 0.0, -np.copysign(np.inf, gradient))
        finite = math.isfinite(self.dt)
        descent = finite and self.gamma > 0
        steps["descent"] = rules.gradient_descent(objective, gradient, _HESSIAN, self.dt) if descent else far
        steps["ballistic"] = rules.ballistic(objective, gradient, _HESSIAN, self.dt) if finite else far
        return steps

    def nearest(self) -> str:
        """Return the limit nearest to the optimal step: ``"newton"``, ``"descent"`` or ``"ballistic"``."""
        steps = self.steps()
        optimal = steps.pop("optimal")
        return min(steps, key=lambda name: float(np.linalg.norm(steps[name] - optimal)))

    def said(self) -> list[str]:
        x, y = self.steps()["optimal"]
        return [f"({fixed(x, 2)}, {fixed(y, 2)})"]

    def shows(self) -> dict[str, list[Array]]:
        r = rules.rates(Objective(gamma=self.gamma), _HESSIAN)
        times, start, steps = 9 / r[0] * np.linspace(0, 1, 121) ** 3, np.array(self.start), self.steps()
        gradient = _HESSIAN @ start
        ways = {"newton": -start, "descent": -gradient, "ballistic": -gradient / np.sqrt(_CURVATURES)}
        lines = {"path": [start * np.exp(-np.outer(times, r))]}
        for name, way in ways.items():
            step = steps[name] if np.all(np.isfinite(steps[name])) else 1e4 * way
            lines[name] = shaft(start, step, _SHARED["edge"])
        return lines
