"""``ExactStep`` in Python: its state, the exact step and the first-order one, and its static twin."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from lossnav import rules
from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.problem.objective import Objective

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class ExactStep(Curves):
    """The exact step of one mode for each Δt (M3), beside its first order and what it aims at; ηk = h = 1.

    Args:
        gamma: γ, in [0, 10].
        fading: α, at which the gradient is believed to fade, in [0, 2].
        dt: Δt that is marked, in [0.01, 100].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.5)
    fading = number_trait(_MARKS["fading"], 0.0)
    dt = number_trait(_AXIS["range"], 1.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        euler, exact = (float(step[0]) for step in self._steps(np.array([self.dt])))
        return (
            "Displacement of one mode against the time of a step, which is logarithmic. The first-order step grows "
            "without end, past the minimum and past twice its distance, above which steps grow from one to the next; "
            "the exact step ends at the minimum of the believed loss, which returns if the gradient fades. For γ = "
            f"{self.gamma:.2f} and α = {self.fading:.2f}, at the mark, the exact step is {exact:.3f} of Newton's, the "
            f"first-order one {euler:.3g}."
        )
