"""What ``DiscountExponent`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore


class DiscountExponent(explore.DiscountExponent):
    def said(self) -> list[str]:
        gain, exponent = (float(part[0]) for part in self._gain(np.array([self.curvature])))
        return [
            f"{0.75 * self.gamma**2:.3g}",
            f"{self.gamma:.2f}",
            f"{self.curvature:.3g}",
            f"{gain:.3g}",
            f"{exponent:.3f}",
        ]
