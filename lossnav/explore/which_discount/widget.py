"""``WhichDiscount`` in Python: its state, regrets and alignments, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.trajectory import modes

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class WhichDiscount(Curves):
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

    def _rates(self, power: float, gamma: Array) -> tuple[Array, Array]:
        """Return the rates of a rule, shape (2,), and those of the optimum, shape (M, 2), in both directions."""
        h = np.array([1.0, self.kappa])
        return h**power, np.stack([modes.slow_rate(h, 1.0, float(g)) for g in gamma])

    def _regret(self, power: float, gamma: Array) -> Array:
        """Return the regret over V of a rule at its best pace, shape (M,): (L25) in each direction, convex in λ."""
        q, r = self._rates(power, gamma)
        low, high = np.min(r / q, axis=1), np.max(r / q, axis=1)
        for _ in range(60):
            a = (low + high)[:, None] / 2 * q
            rises = np.sum(q * (a - r) * (gamma[:, None] + a + r) / (gamma[:, None] + 2 * a) ** 2, axis=1) >= 0
            low, high = np.where(rises, low, (low + high) / 2), np.where(rises, (low + high) / 2, high)
        a = (low + high)[:, None] / 2 * q
        found: Array = np.sum((a - r) ** 2 / (gamma[:, None] + 2 * a), axis=1) / np.sum(r, axis=1)
        return found

    def _still(self, gamma: Array) -> Array:
        _, r = self._rates(0.0, gamma)
        found: Array = np.sum(r**2, axis=1) / (gamma * np.sum(r, axis=1))
        return found

    def _alignment(self, power: float, gamma: Array) -> Array:
        """Return C of (L26) for steps that are short, shape (M,)."""
        q, r = self._rates(power, gamma)
        found: Array = np.sum(r, axis=1) / np.sqrt(np.sum(q) * np.sum(r**2 / q, axis=1))
        return found

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        here = np.array([self.gamma])
        own, descent = (float(self._regret(power, here)[0]) for power in (self.power, 1.0))
        c, other = (float(self._alignment(power, here)[0]) for power in (self.power, 1.0))
        return (
            "Regret over the least cost against the discount rate: that of both rules, and of standing still, falls "
            "without end for large rates. Below, the alignment of each rule, which has a peak or an end of its own. At "
            f"the mark your rule regrets {own:.4f}, gradient descent {descent:.4f} and standing still "
            f"{float(self._still(here)[0]):.4f}; their alignments are {c:.3f} and {other:.3f}."
        )
