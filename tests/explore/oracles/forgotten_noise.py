"""What ``ForgottenNoise`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from oracles.common import grid, over

_AXIS = explore.ForgottenNoise._shared["axis"]


class ForgottenNoise(explore.ForgottenNoise):
    def lines(self) -> dict[str, Array]:
        """Return both schedules, and log₁₀ of what a step leaves, over the share of the steps."""
        z = grid(_AXIS)
        best, deadline = self._rates(1 - z)
        heights = {"best": best, "deadline": deadline, "level": np.zeros_like(z), "late": np.log10(self._left(1 - z))}
        return over(_AXIS, z, heights)

    def said(self) -> list[str]:
        here = np.array([self.share])
        best, deadline = (float(part[0]) for part in self._rates(1 - here))
        return [f"{self.power / (2 - self.power):.3f}", f"{best:.3f}", f"{deadline:.3f}", f"{self.noise():.3f}"]
