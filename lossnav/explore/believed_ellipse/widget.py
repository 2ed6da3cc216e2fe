"""``BelievedEllipse`` in Python: its state, five beliefs about a covariance, their steps, and its static twin."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.linalg

from lossnav import rules
from lossnav._checks import Array
from lossnav.explore._picture import Picture, circle, colour, rotation, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait
from lossnav.problem.objective import Objective

_SHARED = constants(__file__)
_MARKS, _BELIEFS = _SHARED["marks"], _SHARED["beliefs"]
_HOLD: float = _SHARED["hold"]  # farthest gradient
_SHORT = 1e-9  # a time in which no step is long


class BelievedEllipse(Explorable):
    """Five beliefs about C = E[vec g vec gᵀ] of four weights in two rows, and the step that each makes (M10–M17).

    The rows do not mix: C is block-diagonal, and the picture is that of the first row. Its ellipse has the half axes
    1.5 and 0.5; that of the other row has a trace twice as large. H = cC, η = k = c = 1.

    Args:
        gradient: g of the first row, two numbers in [−1.2, 1.2].
        angle: of the ellipse's long axis, in degrees, in [−90, 90].
        turn: by how much further the other row's is turned, in degrees, in [0, 60].
        ratio: of the axes of the other row's ellipse, in [1, 3].
        gamma: γ, in [0, 10].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> one_shape = BelievedEllipse(turn=0.0, ratio=3.0)  # C is a Kronecker product
        >>> round(one_shape.off()["kronecker"], 6)
        0.0
    """

    gradient = point_trait((0.5, 1.15), _HOLD)
    angle = number_trait(_MARKS["angle"], 35.0)
    turn = number_trait(_MARKS["turn"], 20.0)
    ratio = number_trait(_MARKS["ratio"], 1.5)
    gamma = number_trait(_MARKS["gamma"], 0.0)

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
        both = np.kron(np.linalg.eigh(left)[1], np.linalg.eigh(right)[1])
        return {
            "scalar": np.trace(full) / 4 * np.eye(4),
            "diagonal": np.diag(np.diag(full)),
            "kronecker": np.kron(left, right) / np.trace(left),
            "eigenbasis": both @ np.diag(np.diag(both.T @ full @ both)) @ both.T,
            "full": full,
        }

    def steps(self) -> dict[str, Array]:
        """Return what each belief makes of g, shape (2,): minus its step, in units in which the scalar one is g."""
        slope, objective = np.array([*self.gradient, 0.0, 0.0]), Objective(gamma=self.gamma)
        found = {name: -rules.update(objective, slope, belief, _SHORT) for name, belief in self.beliefs().items()}
        size = float(np.linalg.norm(found["scalar"]))
        unit = float(np.linalg.norm(slope)) / size if size else 0.0
        return {name: unit * step[:2] for name, step in found.items()}

    def off(self) -> dict[str, float]:
        """Return the angle between each step and that of the full belief, in degrees; 0 where there is no step."""
        steps = self.steps()
        a, b = steps["full"]
        return {name: math.degrees(abs(math.atan2(a * y - b * x, a * x + b * y))) for name, (x, y) in steps.items()}

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        off = {name: f"{angle:.1f}°" for name, angle in self.off().items()}
        x, y = (signed(value, 2) for value in self.gradient)
        return (
            f"The ellipse of a row's gradients, its long axis at {signed(self.angle, 1)}°; dotted, that of another "
            f"row, {self.turn:.1f}° further and with the axis ratio {self.ratio:.2f}. Around the same middle the "
            "ellipses that five beliefs take for it: a circle, one along the axes of the picture, one of the rows' "
            f"mean shape, one along their common axes, and the true one. For the gradient ({x}, {y}) and "
            f"γ = {self.gamma:.2f} the steps differ from the full belief's by {off['scalar']} (scalar), "
            f"{off['diagonal']} (diagonal), {off['kronecker']} (Kronecker) and {off['eigenbasis']} (eigenbasis)."
        )

    def picture(self) -> str:
        """Return the ellipses and the steps, as an SVG document."""
        image = Picture(720, 500, _SHARED["title"])
        names = ("first weight of the row", "second weight of the row")
        panel = image.square(400, _SHARED["edge"], range(-2, 3), *names)
        other = self.covariance()[2:, 2:]
        image.inside(panel, _outline(other), colour("neutral"), 1.8, _SHARED["other"]["dash"], "other")
        off, steps = self.off(), self.steps()
        for name, belief in self.beliefs().items():
            hue, dash = colour(_BELIEFS[name]["tint"]), _BELIEFS[name]["dash"]
            image.inside(panel, _outline(belief[:2, :2]), hue, 1.8, dash, name)
            image.arrow(panel, (0, 0), steps[name], hue, dash, f"{name} step")
        image.dot(panel, self.gradient[0], self.gradient[1], colour("ink"), 8.0)
        for row, (name, line) in enumerate(_BELIEFS.items()):
            image.legend(474, 76 + 44 * row, line["name"], colour(line["tint"]), line["dash"])
            length = float(np.linalg.norm(steps[name]))
            image.text(510, 94 + 44 * row, f"{off[name]:.1f}° off, length {length:.2f}", fill=colour("soft"))
        image.legend(474, 296, _SHARED["other"]["name"], colour("neutral"), _SHARED["other"]["dash"])
        image.text(474, 330, f"γ = {self.gamma:.2f}")
        return image.svg()


def _turned(angle: float, spread: Sequence[float]) -> Array:
    """Return the matrix with these eigenvalues, the first along ``angle`` in degrees."""
    axes = rotation(angle)
    return axes @ np.diag(spread) @ axes.T


def _outline(matrix: Array) -> Array:
    """Return points of the ellipse xᵀC⁻¹x = 1, closed, shape (N, 2)."""
    values, vectors = np.linalg.eigh(matrix)
    return (circle(180) * np.sqrt(values)) @ vectors.T
