"""``Certainty`` in Python: its state, its variances, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.trajectory import weights

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class Certainty(Curves):
    """One weight of a myopic learner with v(0) = 1, η = k = γ = 1: its variance, and its way (Eq. 148).

    Args:
        curvature: H of the task, in [0.25, 4].
        entropy: λ_S, in [0, 2].
        now: the time that is marked, in [0, 20].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    curvature = number_trait(_MARKS["curvature"], 1.0)
    entropy = number_trait(_MARKS["entropy"], 0.3)
    now = number_trait(_AXIS["range"], 4.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        now = np.array([self.now])
        (spread, left), (_, slow) = self._at(now, self.entropy), self._at(now, 0.0)
        return (
            "Variance over time, with entropy and without, and what is left of the way to the minimum. At t = "
            f"{self.now:.2f} the variance is {spread[0]:.3f}; {left[0]:.3f} of the way is left, and {slow[0]:.3f} "
            "without entropy."
        )
