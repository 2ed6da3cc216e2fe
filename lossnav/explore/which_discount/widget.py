"""``WhichDiscount`` in Python: its state."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class WhichDiscount(Explorable):
    """What a path seems to be optimal for: its regret over the least cost, and its alignment, for each γ (L25, L26).

    Paths e^{−λhᵖt} from (1, 1) on two curvatures 1 and κ, η = k = 1, at the pace λ that suits each best.

    Args:
        power: p of your rule, in [0, 1]: 0 is Newton's, ½ the optimum of γ = 0, 1 gradient descent.
        kappa: condition number κ, in [2, 100].
        gamma: discount rate γ that is marked, in [0.01, 300].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> alignment = WhichDiscount(power=1.0).lines()["ownC"]  # gradient descent is the optimum of a large γ
        >>> bool(alignment[-1, 1] > 0.999 > alignment[0, 1])
        True
    """

    power = number_trait(_MARKS["power"], 0.25)
    kappa = number_trait(_MARKS["kappa"], 10.0)
    gamma = number_trait(_AXIS["range"], 1.0)

    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the regrets, and the alignments, over log₁₀ γ."""
        gamma = grid(_AXIS)
        heights = {
            "own": np.log10(np.maximum(self._regret(self.power, gamma), _SHARED["floor"])),
            "descent": np.log10(np.maximum(self._regret(1.0, gamma), _SHARED["floor"])),
            "still": np.log10(self._still(gamma)),
            "ownC": self._alignment(self.power, gamma),
            "descentC": self._alignment(1.0, gamma),
        }
        return over(_AXIS, gamma, heights)
