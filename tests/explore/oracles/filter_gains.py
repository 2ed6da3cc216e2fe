"""What ``FilterGains`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.trajectory import beliefs
from oracles.common import grid, over

_AXIS = explore.FilterGains._shared["axis"]


class FilterGains(explore.FilterGains):
    def lines(self) -> dict[str, Array]:
        """Return the logarithms of both weights and their ratio, over log₁₀ n."""
        n = grid(_AXIS)
        exact, adam = (gains[n.astype(int) - 1] for gains in self._gains(_AXIS["range"][1]))
        return over(_AXIS, n, {"exact": np.log10(exact), "adam": np.log10(adam), "ratio": adam / exact})

    def _gains(self, count: int) -> tuple[Array, Array]:
        return beliefs.kalman_gains(self.beta, count), beliefs.corrected_gains(self.beta, count)

    def said(self) -> list[str]:
        exact, adam = (float(gains[-1]) for gains in self._gains(self.n))
        return [f"{1 - self.beta:.4f}", f"{self.n}", f"{100 * adam:.2f}", f"{100 * exact:.2f}", f"{adam / exact:.3f}"]
