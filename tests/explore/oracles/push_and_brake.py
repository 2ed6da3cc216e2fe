"""What ``PushAndBrake`` is to show, by the library."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.solve import solve
from oracles.common import grid, over, signed

_AXIS = explore.PushAndBrake._shared["axis"]


class PushAndBrake(explore.PushAndBrake):
    def lines(self) -> dict[str, Array]:
        """Return places and momenta over time."""
        t = grid(_AXIS)
        return over(_AXIS, t, self._heights(t))

    def _heights(self, t: Array) -> dict[str, Array]:
        """Return each line at times t: the path by the solver, ball and flow by the exponentials of their equations."""
        path = solve(Objective(gamma=self.gamma), Quadratic([[1.0]], minimum=[0.0]), [-1.0])
        law = np.array([[0.0, 1.0], [-1.0, -self.gamma]])
        ball = scipy.linalg.expm(t[:, None, None] * law) @ np.array([-1.0, 0.0])
        return {
            "flow": -np.exp(-t / self.gamma),
            "ball": ball[:, 0],
            "path": path(t)[:, 0],
            "gathered": ball[:, 1],
            "planned": path.velocity(t)[:, 0],
        }

    def said(self) -> list[str]:
        at = {name: float(height[0]) for name, height in self._heights(np.array([self.now])).items()}
        ball = "swings about the minimum" if self.gamma < 2 else "comes to rest without a swing"
        return [
            f"{self.gamma:.2f}",
            f"{ball}",
            f"{self.now:.2f}",
            f"{signed(at['path'], 3)}",
            f"{signed(at['planned'], 3)}",
            f"{signed(at['ball'], 3)}",
            f"{signed(at['gathered'], 3)}",
        ]
