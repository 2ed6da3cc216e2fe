"""What ``DiscountExponent`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.trajectory import modes


class DiscountExponent(explore.DiscountExponent):
    """DiscountExponent with its numbers."""

    def _gain(self, curvature: Array) -> tuple[Array, Array]:
        """Return the gain over ηk, and its local exponent, −½(1 − γ/2S₀), for values of ηkh."""
        fast, slow = (rate(curvature, 1.0, self.gamma) for rate in (modes.fast_rate, modes.slow_rate))
        return 1 / fast, -slow / (fast + slow)

    def said(self) -> list[str]:
        """Return numbers that the script tells."""
        gain, exponent = (float(part[0]) for part in self._gain(np.array([self.curvature])))
        return [
            f"{0.75 * self.gamma**2:.3g}",
            f"{self.gamma:.2f}",
            f"{self.curvature:.3g}",
            f"{gain:.3g}",
            f"{exponent:.3f}",
        ]
