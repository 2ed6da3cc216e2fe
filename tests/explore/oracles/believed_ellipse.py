"""What ``BelievedEllipse`` is to show, by the library."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.linalg

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from oracles.common import circle, fixed, inside, rotation, shaft

_SHARED = explore.BelievedEllipse._shared
_SHORT = 1e-9  # a time in which no step is long


class BelievedEllipse(explore.BelievedEllipse):
    def covariance(self) -> Array:
        """Return C, shape (4, 4), in the order of vec g by rows."""
        long, short = _SHARED["extents"]
        rest = _SHARED["others"] / (1 + self.ratio**2)
        own = _turned(self.angle, (long**2, short**2))
        return scipy.linalg.block_diag(own, _turned(self.angle + self.turn, (rest * self.ratio**2, rest)))

    def beliefs(self) -> dict[str, Array]:
        """Return what each belief takes for C, shape (4, 4)."""
        full = self.covariance()
        moment = full.reshape(2, 2, 2, 2)  # E[gᵢⱼ gₖₗ]
        left, right = np.einsum("ijkj->ik", moment), np.einsum("ijil->jl", moment)  # E[ggᵀ], E[gᵀg]
        basis = np.kron(np.linalg.eigh(left)[1], np.linalg.eigh(right)[1])
        return {
            "scalar": np.trace(full) / 4 * np.eye(4),
            "diagonal": np.diag(np.diag(full)),
            "kronecker": np.kron(left, right) / np.trace(left),
            "eigenbasis": basis @ np.diag(np.diag(basis.T @ full @ basis)) @ basis.T,
            "full": full,
        }

    def steps(self) -> dict[str, Array]:
        """Return what each belief makes of g, shape (2,): minus its step, in units in which the scalar one is g."""
        gradient, objective = np.array([*self.gradient, 0.0, 0.0]), Objective(gamma=self.gamma)
        steps = {name: -rules.update(objective, gradient, belief, _SHORT) for name, belief in self.beliefs().items()}
        size = float(np.linalg.norm(steps["scalar"]))
        unit = float(np.linalg.norm(gradient)) / size if size else 0.0
        return {name: unit * step[:2] for name, step in steps.items()}

    def off(self) -> dict[str, float]:
        """Return the angle between each step and that of the full belief, in degrees; 0 where there is no step."""
        steps = self.steps()
        a, b = steps["full"]
        return {name: math.degrees(abs(math.atan2(a * y - b * x, a * x + b * y))) for name, (x, y) in steps.items()}

    def said(self) -> list[str]:
        long = [fixed(float(np.linalg.norm(step)), 2) for step in self.steps().values()]
        return [*long, *(f"{fixed(angle, 1)}°" for angle in self.off().values())]

    def shows(self) -> dict[str, list[Array]]:
        edge, steps = _SHARED["edge"], self.steps()
        lines = {"other": inside(_outline(self.covariance()[2:, 2:]), (-edge, edge), (-edge, edge))}
        for name, belief in self.beliefs().items():
            lines[name] = inside(_outline(belief[:2, :2]), (-edge, edge), (-edge, edge))
            lines[f"{name} step"] = shaft((0, 0), steps[name], edge)
        return lines


def _turned(angle: float, spread: Sequence[float]) -> Array:
    """Return the matrix with these eigenvalues, the first along ``angle`` in degrees."""
    axes = rotation(angle)
    return axes @ np.diag(spread) @ axes.T


def _outline(matrix: Array) -> Array:
    """Return points of the ellipse xᵀC⁻¹x = 1, closed, shape (N, 2)."""
    values, vectors = np.linalg.eigh(matrix)
    return (circle(180) * np.sqrt(values)) @ vectors.T
