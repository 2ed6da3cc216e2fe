"""``DiscountExponent`` in Python: its state."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import grid, over, points
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class DiscountExponent(Explorable):
    """What a planner that discounts multiplies a gradient by, over curvature, and the local exponent of that (M17).

    Args:
        gamma: γ, in [0.1, 10].
        curvature: ηkh that is marked, in [1e-4, 1e4].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> exponent = DiscountExponent(gamma=2.0).lines()["exponent"][:, 1]  # from flat to steep
        >>> bool(-0.001 < exponent[0] < 0) and bool(-0.5 < exponent[-1] < -0.49)
        True
    """

    gamma = number_trait(_MARKS["gamma"], 1.0)
    curvature = number_trait(_AXIS["range"], 0.1)

    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the gain and of its limits, and the exponent, over log₁₀ ηkh."""
        h = grid(_AXIS)
        gain, exponent = self._gain(h)
        heights = {
            "flat": np.full_like(h, -np.log10(self.gamma)),
            "steep": -0.5 * np.log10(h),
            "gain": np.log10(gain),
            "shampoo": np.full_like(h, -0.25),
            "exponent": exponent,
        }
        up = np.array(_SHARED["rows"]["exponent"]["range"])
        crossing = points(_AXIS, np.full_like(up, 0.75 * self.gamma**2), up)
        return {"crossing": crossing, **over(_AXIS, h, heights)}
