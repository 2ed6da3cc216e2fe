"""``MetricEllipse`` in Python: its state, the path and the directions under its metric, and its static twin."""

from __future__ import annotations

import math

import numpy as np

from lossnav import rules
from lossnav._checks import Array
from lossnav.explore._picture import Picture, circle, colour, rotation, signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_CURVATURES = np.array(_SHARED["curvatures"])
_HESSIAN = np.diag(_CURVATURES)
_HOLD: float = _SHARED["hold"]  # farthest start
_SIZE: float = _SHARED["size"]  # the drawn ellipse, in unit ellipses
_REACH: float = _SHARED["reach"]  # length of the arrows
_RULES: dict[str, dict[str, str]] = _SHARED["steps"]


class MetricEllipse(Explorable):
    """A bowl with a metric: the optimal path beside natural gradient, ballistic and Newton's step (Eqs. 8–10).

    L = ½θᵀHθ, H = diag(1/4, 2), η = k = 1. The metric G has det G = 1; its unit ellipse {v: vᵀGv = 1} is drawn at the
    start: velocities of one price. Drag its end, or the start; move its angle and axis ratio, and the discount rate γ.

    Args:
        start: θ(0), two numbers in [−2.6, 2.6].
        angle: from the θ₁ axis to the ellipse's long axis, in degrees, in [−90, 90].
        ratio: of the ellipse's axes, long to short, in [1, 8].
        gamma: γ, in [0, 10].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> MetricEllipse(angle=0, ratio=8**0.5).spread() < 1e-6  # G is a multiple of H
        True
    """

    start = point_trait((1.3, 1.8), _HOLD)
    angle = number_trait(_MARKS["angle"], -30.0)
    ratio = number_trait(_MARKS["ratio"], 3.0)
    gamma = number_trait(_MARKS["gamma"], 1.0)

    def metric(self) -> Array:
        """Return G, shape (2, 2), with det G = 1."""
        axes = rotation(self.angle)
        return axes @ np.diag([1 / self.ratio, self.ratio]) @ axes.T

    def path(self) -> Trajectory:
        """Return the optimal path."""
        return solve(self._objective(), Quadratic(_HESSIAN, minimum=(0.0, 0.0)), self.start)

    def directions(self) -> dict[str, Array]:
        """Return the directions of the natural-gradient, ballistic, Newton's and plain gradient step, shape (2,)."""
        slope = _HESSIAN @ np.array(self.start)
        priced, plain = Objective(gamma=1.0, metric=self.metric()), Objective(gamma=1.0)
        return {
            "natural": rules.gradient_descent(priced, slope, _HESSIAN, 1.0),
            "ballistic": rules.ballistic(priced, slope, _HESSIAN, 1.0),
            "newton": rules.newton(priced, slope, _HESSIAN),
            "descent": rules.gradient_descent(plain, slope, _HESSIAN, 1.0),
        }

    def spread(self) -> float:
        """Return the angle between the natural gradient and Newton's step, in degrees; 0 at the minimum."""
        (a, b), (c, d) = (self.directions()[name] for name in ("natural", "newton"))
        return math.degrees(abs(math.atan2(a * d - b * c, a * c + b * d)))

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        return (
            "Contours of a valley along θ₁, with the optimal path from "
            f"({signed(self.start[0], 2)}, {signed(self.start[1], 2)}) to its bottom. At the start an ellipse of "
            f"equally dear velocities, its long axis {self.ratio:.2f} times the short one and turned by "
            f"{signed(self.angle, 1)}°, and arrows for natural gradient, ballistic, Newton's and plain gradient step. "
            f"For γ = {self.gamma:.2f} the path costs J = {self.path().action:.3f}; the natural gradient and Newton's "
            f"step are {self.spread():.1f}° apart."
        )

    def picture(self) -> str:
        """Return the contours, the ellipse, the path and the directions, as an SVG document."""
        image = Picture(720, 500, _SHARED["title"])
        panel = image.square(400, _SHARED["edge"], range(-3, 4), "θ₁ (h = 1/4)", "θ₂ (h = 2)")
        image.contours(panel, _CURVATURES)
        start = np.array(self.start)
        shape = circle(360) * _SIZE * np.array([math.sqrt(self.ratio), 1 / math.sqrt(self.ratio)])
        image.inside(panel, start + shape @ rotation(self.angle).T, colour("ink"), 1.8)
        r = rules.rates(self._objective(), _HESSIAN)
        image.inside(panel, self.path()(9 / r[0] * np.linspace(0, 1, 241) ** 3), colour("optimal"), 3.2, name="path")
        ways, reach = self.directions(), min(_REACH, float(np.linalg.norm(start)))
        for name in reversed(_RULES):
            size = float(np.linalg.norm(ways[name]))
            if size > 0:
                end = start + reach / size * ways[name]
                image.arrow(panel, start, end, colour(name), _RULES[name]["dash"], name)
        image.dot(panel, float(start[0]), float(start[1]), colour("ink"), 8.0)
        image.text(474, 76, f"γ = {self.gamma:.2f}, J = {self.path().action:.3f}", font_weight="bold")
        for i, (name, line) in enumerate({"optimal": _SHARED["optimal"], **_RULES}.items()):
            image.legend(474, 112 + 34 * i, line["name"], colour(name), line["dash"])
        image.text(474, 292, f"ellipse: ratio {self.ratio:.2f}, turned by {signed(self.angle, 1)}°")
        image.text(474, 318, f"natural gradient to Newton: {self.spread():.1f}°", fill=colour("soft"))
        return image.svg()

    def _objective(self) -> Objective:
        return Objective(gamma=self.gamma, metric=self.metric())
