"""``DecayShrinks`` in Python: its state, its lines, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav import rules
from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.problem.objective import Objective

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class DecayShrinks(Curves):
    """Where modes rest under a drift −jθ, and at which rate, against their curvature (Eqs. 124, 125).

    Args:
        decay: j, in [0, 4].
        gamma: γ, in [0, 10].
        curvature: ηkh that is marked, in [0.01, 100].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    decay = number_trait(_MARKS["decay"], 1.0)
    gamma = number_trait(_MARKS["gamma"], 1.0)
    curvature = number_trait(_AXIS["range"], 1.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        h = np.array([self.curvature])
        rate, plain = (float(self._rates(h, more)[0]) for more in (self._penalty(), 0.0))
        return (
            "Two rows against curvature: where a mode rests, from 0 for flat ones to the minimum for steep ones, and "
            f"its rate, with and without decay. The penalty is {self._penalty():.3f}; at the mark the mode rests at "
            f"{self.curvature / (self.curvature + self._penalty()):.3f} of the minimum and gets there at the rate "
            f"{rate:.3f} instead of {plain:.3f}."
        )
