"""``PushAndBrake`` in Python: its state, its paths, and its static twin."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._picture import signed
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.problem.losses import Quadratic
from lossnav.problem.objective import Objective
from lossnav.trajectory.solve import solve

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class PushAndBrake(Curves):
    """The optimal path, whose discount pushes, a heavy ball, whose friction brakes, and gradient flow (Eq. 3, 4).

    One mode with ηkh = 1, from θ = −1 to the minimum at 0; the ball starts at rest.

    Args:
        gamma: discount rate of the path and friction of the ball, over √(ηkh), in [0.1, 10].
        now: time that is marked, in [0, 12].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.5)
    now = number_trait(_AXIS["range"], 3.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        at = {name: float(height[0]) for name, height in self._heights(np.array([self.now])).items()}
        ball = "swings about the minimum" if self.gamma < 2 else "comes to rest without a swing"
        return (
            "Place and momentum over time. The optimal path starts with its largest momentum and slows down towards "
            "the minimum, which it never passes; the heavy ball starts from rest and, at "
            f"γ = {self.gamma:.2f}, {ball}. At t = {self.now:.2f} the path is at {signed(at['path'], 3)} with momentum "
            f"{signed(at['planned'], 3)}, the ball at {signed(at['ball'], 3)} with {signed(at['gathered'], 3)}."
        )
