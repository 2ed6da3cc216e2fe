"""What ``ExactStep`` is to show, by the library."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from oracles.common import compact, grid, over

_AXIS = explore.ExactStep._shared["axis"]


class ExactStep(explore.ExactStep):
    def lines(self) -> dict[str, Array]:
        """Return the displacements over Newton's, and where the believed minimum is by then, over log₁₀ Δt."""
        dt = grid(_AXIS)
        euler, exact = self._steps(dt)
        heights = {"edge": np.full_like(dt, 2.0), "target": np.exp(-self.fading * dt), "euler": euler, "exact": exact}
        return over(_AXIS, dt, heights)

    def _steps(self, dt: Array) -> tuple[Array, Array]:
        """Return the first-order step and the exact one, the matrix exponential itself."""
        r = float(rules.rates(Objective(gamma=self.gamma), [[1.0]])[0])
        gain = 1 / (r + self.gamma + self.fading)
        flow = np.array([[-r, gain], [0.0, -self.fading]])  # of displacement and gradient, which pulls towards 1
        return gain * dt, scipy.linalg.expm(dt[:, None, None] * flow)[:, 0, 1]

    def said(self) -> list[str]:
        euler, exact = (float(step[0]) for step in self._steps(np.array([self.dt])))
        return [f"{self.gamma:.2f}", f"{self.fading:.2f}", compact(exact), compact(euler)]
