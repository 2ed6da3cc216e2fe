"""``FadingBelief`` in Python: its state, the forecast and what it adds up to, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.problem.objective import Objective
from lossnav.rules.derive import coordinate

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class FadingBelief(Curves):
    """Adam's ε as the rate at which a gradient is believed to fade (M2): the forecast, and the step it adds up to.

    γ = 0, ηk = c = 1, so that ε = α.

    Args:
        epsilon: ε = α, in [0, 4].
        size: √V, in [0.25, 4].
        time: τ that is marked, in [0, 6].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    epsilon = number_trait(_MARKS["epsilon"], 0.5)
    size = number_trait(_MARKS["size"], 1.0)
    time = number_trait(_AXIS["range"], 1.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        gain = self._gain(self.epsilon)
        return (
            "Above, over the time from now: a believed gradient that fades, its weight in the plan, and their product. "
            "Below, what the product adds up to: it levels off at Adam's step, lower than where nothing fades. For √V "
            f"= {self.size:.2f} and ε = {self.epsilon:.2f} the step is {self.size * gain:.3f} of 1/√V, and "
            f"{float(self._summed(gain, np.array(self.time))):.3f} of that unit is for the time up to the mark."
        )
