"""What ``Renamed`` is to show, by the library."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from oracles.common import circle

_SHARED = explore.Renamed._shared
_H, _G = np.array(_SHARED["hessian"]), np.array(_SHARED["metric"])
_RULES = {
    "descent": (rules.gradient_descent, False),
    "half": (rules.ballistic, False),
    "natural": (rules.gradient_descent, True),
    "ballistic": (rules.ballistic, True),
    "newton": (rules.newton, True),
}  # the rule, and whether it knows the metric


class Renamed(explore.Renamed):
    def lines(self) -> dict[str, Array]:
        """Return the level line, what has one length in ψ, and the paths of gradient flows with each rule, in θ."""
        start, ring = self._start(), circle(240)
        height = np.einsum("i,ij,j", start, _H, start) / np.einsum("ti,ij,tj->t", ring, _H, ring)
        return {
            "level": np.sqrt(height)[:, None] * ring,
            "ball": start + _SHARED["ball"] / np.sqrt(self.unit) * ring @ self._names().T,
            "oldDescent": self._path("descent", np.eye(2)),
            "oldHalf": self._path("half", np.eye(2)),
            **{rule: self._path(rule, self._names()) for rule in _RULES},
        }

    def _start(self) -> Array:
        return np.array([self.first, _SHARED["second"]])

    def _names(self) -> Array:
        return np.array([[1.0, self.mix], [0.0, self.unit]])

    def _path(self, rule: str, M: Array) -> Array:
        """Return ψ̇ = the rule's step in ψ, followed and carried to θ, shape (241, 2)."""
        motion = np.stack([_step(rule, M, column) for column in np.eye(2)], axis=1)  # of ψ, for each of its axes
        left = 1 - 0.999 * np.linspace(0, 1, 241) ** 3  # of the slow mode
        t = np.log(left) / np.max(np.linalg.eigvals(motion).real)
        return (M @ scipy.linalg.expm(t[:, None, None] * motion) @ np.linalg.solve(M, self._start())).copy()

    def _turned(self, rule: str) -> float:
        """Return the angle between the first direction under these names and under the old ones, in degrees."""
        ways = [M @ _step(rule, M, np.linalg.solve(M, self._start())) for M in (np.eye(2), self._names())]
        cross = ways[0][0] * ways[1][1] - ways[0][1] * ways[1][0]
        return float(np.degrees(np.abs(np.arctan2(cross, ways[0] @ ways[1]))))

    def said(self) -> list[str]:
        turned = {rule: self._turned(rule) for rule in _RULES}
        return [
            f"{turned['descent']:.1f}",
            f"{turned['half']:.1f}",
            f"{turned['natural']:.1f}",
            f"{turned['ballistic']:.1f}",
            f"{turned['newton']:.1f}",
        ]


def _step(rule: str, names: Array, psi: Array) -> Array:
    """Return the step of a rule at ψ, where θ = names·ψ; the minimum is at 0."""
    step, priced = _RULES[rule]
    hessian = names.T @ _H @ names
    objective = Objective(gamma=1.0, metric=names.T @ _G @ names if priced else None)
    return step(objective, hessian @ psi, hessian, 1.0)
