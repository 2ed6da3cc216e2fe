"""What ``MetricEllipse`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.result import Trajectory
from lossnav.trajectory.solve import solve
from oracles.common import compact, inside, rotation, shaft

_SHARED = explore.MetricEllipse._shared
_CURVATURES = np.array(_SHARED["curvatures"])
_HESSIAN = np.diag(_CURVATURES)

_REACH: float = _SHARED["reach"]  # length of the arrows


class MetricEllipse(explore.MetricEllipse):
    def metric(self) -> Array:
        """Return G, shape (2, 2), with det G = 1."""
        axes = rotation(self.angle)
        return axes @ np.diag([1 / self.ratio, self.ratio]) @ axes.T

    def path(self) -> Trajectory:
        """Return the optimal path."""
        return solve(self._objective(), Quadratic(_HESSIAN, minimum=(0.0, 0.0)), self.start)

    def directions(self) -> dict[str, Array]:
        """Return the directions of the natural-gradient, ballistic, Newton's and plain gradient step, shape (2,)."""
        gradient = _HESSIAN @ np.array(self.start)
        priced, plain = Objective(gamma=1.0, metric=self.metric()), Objective(gamma=1.0)
        return {
            "natural": rules.gradient_descent(priced, gradient, _HESSIAN, 1.0),
            "ballistic": rules.ballistic(priced, gradient, _HESSIAN, 1.0),
            "newton": rules.newton(priced, gradient, _HESSIAN),
            "descent": rules.gradient_descent(plain, gradient, _HESSIAN, 1.0),
        }

    def spread(self) -> float:
        """Return the angle between the natural gradient and Newton's step, in degrees; 0 at the minimum."""
        (a, b), (c, d) = (self.directions()[name] for name in ("natural", "newton"))
        return math.degrees(abs(math.atan2(a * d - b * c, a * c + b * d)))

    def _objective(self) -> Objective:
        return Objective(gamma=self.gamma, metric=self.metric())

    def said(self) -> list[str]:
        return [f"{self.spread():.1f}°", f"J = {compact(self.path().action)}"]

    def shows(self) -> dict[str, list[Array]]:
        start, edge = np.array(self.start), _SHARED["edge"]
        r = rules.rates(self._objective(), _HESSIAN)
        path = self.path()(9 / r[0] * np.linspace(0, 1, 241) ** 3)
        reach = min(_REACH, float(np.linalg.norm(start)))
        arrows = {name: reach * way / np.linalg.norm(way) for name, way in self.directions().items()}
        return {"path": inside(path, (-edge, edge), (-edge, edge))} | {
            name: shaft(start, way, edge) for name, way in arrows.items()
        }
