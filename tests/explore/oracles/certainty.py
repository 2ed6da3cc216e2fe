"""What ``Certainty`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.trajectory import weights
from oracles.common import grid, over

_AXIS = explore.Certainty._shared["axis"]


class Certainty(explore.Certainty):
    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the variances and what is left of the way, with entropy and without, over time."""
        t = grid(_AXIS)
        heights: dict[str, Array] = {}
        for variance, left, entropy in (("bayes", "slow", 0.0), ("forgets", "left", self.entropy)):
            spread, way = self._at(t, entropy)
            heights |= {variance: np.log10(spread), left: way}
        return over(_AXIS, t, heights)

    def _at(self, t: Array, entropy: float) -> tuple[Array, Array]:
        known = {"curvature": self.curvature, "entropy": entropy, "initial": 1.0, "eta": 1.0, "k": 1.0, "gamma": 1.0}
        return weights.overdamped_variance(t, **known), weights.overdamped_offset(t, **known)

    def said(self) -> list[str]:
        now = np.array([self.now])
        (spread, left), (_, slow) = self._at(now, self.entropy), self._at(now, 0.0)
        return [f"{self.now:.2f}", f"{spread[0]:.3f}", f"{left[0]:.3f}", f"{slow[0]:.3f}"]
