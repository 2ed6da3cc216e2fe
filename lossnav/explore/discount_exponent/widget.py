"""``DiscountExponent`` in Python: its state."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import grid, over, points
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, declared
from lossnav.trajectory import modes

_SHARED = constants(__file__)
_AXIS = _SHARED["axis"]


class _Numbers:
    """The gain and its exponent over curvature."""

    gamma: float
    curvature: float

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

    def _gain(self, curvature: Array) -> tuple[Array, Array]:
        """Return the gain over ηk, and its local exponent, −½(1 − γ/2S₀), for values of ηkh."""
        fast, slow = (rate(curvature, 1.0, self.gamma) for rate in (modes.fast_rate, modes.slow_rate))
        return 1 / fast, -slow / (fast + slow)


DiscountExponent: type[Explorable] = declared(__file__, _Numbers)
