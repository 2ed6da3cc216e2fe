"""What ``ForgottenNoise`` is to show, by the library."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import deadline_rate
from oracles.common import grid, over

_SHARED = explore.ForgottenNoise._shared
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class ForgottenNoise(explore.ForgottenNoise):
    """ForgottenNoise with its numbers."""

    def _rates(self, remaining: Array) -> tuple[Array, Array]:
        """Return the best rate and the deadline's, over their means, with 1 − z in (0, 1] to go."""
        p = self.power / (2 - self.power)
        deadline = deadline_rate(Objective(), self.stiffness**2, remaining)
        return (1 + p) * remaining**p, deadline * self.stiffness**2 / self._to_come(1.0)

    def _to_come(self, remaining: ArrayLike) -> Array:
        """Return the sum of the deadline's rates that are still to come, times ω²: ln cosh ωs, also for small ωs."""
        found: Array = np.log1p(2 * np.sinh(self.stiffness / 2 * np.asarray(remaining)) ** 2)
        return found

    def _left(self, remaining: Array) -> Array:
        """Return what a step of the deadline's schedule leaves at the end over one of the best (L7)."""
        share = self._to_come(remaining) / self._to_come(1.0)
        found: Array = (self._rates(remaining)[1] * (1 - self.power / 2)) ** 2 * share**-self.power
        return found

    def lines(self) -> dict[str, Array]:
        """Return both schedules, and log₁₀ of what a step leaves, over the share of the steps."""
        z = grid(_AXIS)
        best, deadline = self._rates(1 - z)
        heights = {"best": best, "deadline": deadline, "level": np.zeros_like(z), "late": np.log10(self._left(1 - z))}
        return over(_AXIS, z, heights)

    def said(self) -> list[str]:
        """Return numbers that the script tells."""
        here = np.array([self.share])
        best, deadline = (float(part[0]) for part in self._rates(1 - here))
        return [f"{self.power / (2 - self.power):.3f}", f"{best:.3f}", f"{deadline:.3f}", f"{self.noise():.3f}"]
