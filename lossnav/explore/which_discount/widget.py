"""``WhichDiscount`` in Python: its state."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, declared
from lossnav.trajectory import modes

_SHARED = constants(__file__)
_AXIS = _SHARED["axis"]


class _Numbers:
    """Regrets and alignments over the discount rate."""

    power: float
    kappa: float
    gamma: float

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

    def _regret(self, power: float, gamma: Array) -> Array:
        """Return the regret over V of a rule at its best pace, shape (M,): (L25) in each direction, convex in λ."""
        q, r = self._rates(power, gamma)
        low, high = np.min(r / q, axis=1), np.max(r / q, axis=1)
        for _ in range(60):
            a = (low + high)[:, None] / 2 * q
            rises = np.sum(q * (a - r) * (gamma[:, None] + a + r) / (gamma[:, None] + 2 * a) ** 2, axis=1) >= 0
            low, high = np.where(rises, low, (low + high) / 2), np.where(rises, (low + high) / 2, high)
        a = (low + high)[:, None] / 2 * q
        regret: Array = np.sum((a - r) ** 2 / (gamma[:, None] + 2 * a), axis=1) / np.sum(r, axis=1)
        return regret

    def _still(self, gamma: Array) -> Array:
        _, r = self._rates(0.0, gamma)
        regret: Array = np.sum(r**2, axis=1) / (gamma * np.sum(r, axis=1))
        return regret

    def _alignment(self, power: float, gamma: Array) -> Array:
        """Return C of (L26) for steps that are short, shape (M,)."""
        q, r = self._rates(power, gamma)
        alignment: Array = np.sum(r, axis=1) / np.sqrt(np.sum(q) * np.sum(r**2 / q, axis=1))
        return alignment

    def _rates(self, power: float, gamma: Array) -> tuple[Array, Array]:
        """Return the rates of a rule, shape (2,), and those of the optimum, shape (M, 2), in both directions."""
        h = np.array([1.0, self.kappa])
        return h**power, np.stack([modes.slow_rate(h, 1.0, float(g)) for g in gamma])


WhichDiscount: type[Explorable] = declared(__file__, _Numbers)
