"""What ``DiscountedRoot`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.trajectory import beliefs
from oracles.common import grid, over

_AXIS = explore.DiscountedRoot._shared["axis"]


class DiscountedRoot(explore.DiscountedRoot):
    def lines(self) -> dict[str, Array]:
        """Return the logarithms of the steps and the ratio to Adam's, over log₁₀ √V."""
        size = grid(_AXIS)
        step, adam = self._planned(size), 1 / (size + self.epsilon)
        heights = {
            "root": -np.log10(size),
            "descent": np.full_like(size, -np.log10(2 * self.epsilon)),
            "adam": np.log10(adam),
            "planned": np.log10(step),
            "ratio": step / adam,
        }
        return over(_AXIS, size, heights)

    def _planned(self, size: Array) -> Array:
        """Return the step for a unit of slope, by the model of beliefs itself."""
        return -beliefs.Beliefs(gamma=2 * self.epsilon).step(np.ones_like(size), size**2, 1.0)

    def said(self) -> list[str]:
        step = float(self._planned(np.array([self.size]))[0])
        return [
            f"{self.epsilon:.3f}",
            f"{step * self.size:.3f}",
            f"{2 * self.epsilon * step:.3f}",
            f"{step * (self.size + self.epsilon):.3f}",
        ]
