"""What ``FadingBelief`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from lossnav.rules.derive import coordinate
from oracles.common import grid, over

_AXIS = explore.FadingBelief._shared["axis"]


class FadingBelief(explore.FadingBelief):
    def lines(self) -> dict[str, Array]:
        """Return the forecast with its weights, and what it adds up to over 1/√V, over τ."""
        time, lasting, fading = grid(_AXIS), self._gain(0.0), self._gain(self.epsilon)
        heights = {
            "believed": np.exp(-self.epsilon * time),
            "weight": np.exp(-time / lasting),
            "counted": np.exp(-time / fading),
            "lasting": self._summed(lasting, time),
            "adam": np.full_like(time, self.size / (self.size + self.epsilon)),
            "planned": self._summed(fading, time),
        }
        return over(_AXIS, time, heights)

    def _gain(self, fading: float) -> float:
        """Return what multiplies m in the velocity of a derived rule, 1/(s₊ + α)."""
        case = coordinate.Case(metric=1.0, curvature=np.array(self.size**2), decay=0.0, fading=fading)
        return float(coordinate.numbers(Objective(gamma=0.0), case).belief)

    def _summed(self, gain: float, time: Array) -> Array:
        """Return the part of the step that is for the time up to τ, over 1/√V."""
        return -self.size * gain * np.expm1(-time / gain)

    def said(self) -> list[str]:
        gain = self._gain(self.epsilon)
        return [
            f"{self.size:.2f}",
            f"{self.epsilon:.2f}",
            f"{self.size * gain:.3f}",
            f"{float(self._summed(gain, np.array(self.time))):.3f}",
        ]
