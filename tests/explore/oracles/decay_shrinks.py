"""What ``DecayShrinks`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore, rules
from lossnav._checks import Array
from lossnav.problem.objective import Objective
from oracles.common import grid, over

_AXIS = explore.DecayShrinks._shared["axis"]


class DecayShrinks(explore.DecayShrinks):
    def lines(self) -> dict[str, Array]:
        """Return the resting places and the logarithms of the rates, over log₁₀ ηkh."""
        h = grid(_AXIS)
        rate, plain = self._rates(h, self._penalty()), self._rates(h, 0.0)
        return over(_AXIS, h, {"share": h / (h + self._penalty()), "rate": np.log10(rate), "plain": np.log10(plain)})

    def _penalty(self) -> float:
        return self.decay * (self.decay + self.gamma)

    def _rates(self, h: Array, more: float) -> Array:
        """Return the rates of modes in the loss that decay makes of theirs, curvatures ascending."""
        return rules.rates(Objective(gamma=self.gamma), np.diag(h + more))

    def said(self) -> list[str]:
        h = np.array([self.curvature])
        rate, plain = (float(self._rates(h, more)[0]) for more in (self._penalty(), 0.0))
        return [
            f"{self._penalty():.3f}",
            f"{100 * self.curvature / (self.curvature + self._penalty()):.1f}",
            f"{rate:.3f}",
            f"{plain:.3f}",
        ]
