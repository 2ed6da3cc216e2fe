"""What ``ModeMemory`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import sgd
from oracles.common import grid, over, signed

_AXIS = explore.ModeMemory._shared["axis"]


class ModeMemory(explore.ModeMemory):
    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the distances over that of one step, and of what they cannot exceed, over log₁₀ n."""
        n = grid(_AXIS)
        (law,) = sgd.stationary([self.bend], eta=1.0, beta=self.beta, batch=1, gradient_variance=[1.0], form="discrete")
        top = np.log10(2 * law[0, 0] / self._far(self.bend, np.ones(1)))
        heights = {
            "flat": np.log10(self._far(0.0, n) / self._far(0.0, np.ones(1))),
            "mode": np.log10(self._far(self.bend, n) / self._far(self.bend, np.ones(1))),
            "ceiling": np.broadcast_to(top, n.shape),
        }
        return over(_AXIS, n, heights)

    def _far(self, bend: float, n: Array) -> Array:
        return sgd.displacement(
            [bend], n, eta=1.0, beta=self.beta, batch=1, gradient_variance=[1.0], form="discrete"
        )  # fmt: skip

    def said(self) -> list[str]:
        ends = self.n + np.array([-1, 1])
        far = float(self._far(self.bend, np.array([self.n]))[0] / self._far(self.bend, np.ones(1))[0])
        c = sgd.exponent(ends, self._far(self.bend, ends))
        return [f"{self.n}", f"{far:.2f}", f"{signed(c, 2)}"]
