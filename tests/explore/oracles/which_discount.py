"""What ``WhichDiscount`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.trajectory import modes


class WhichDiscount(explore.WhichDiscount):
    """WhichDiscount with its numbers."""

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

    def said(self) -> list[str]:
        """Return numbers that the script tells."""
        here = np.array([self.gamma])
        own, descent = (float(self._regret(power, here)[0]) for power in (self.power, 1.0))
        c, other = (float(self._alignment(power, here)[0]) for power in (self.power, 1.0))
        return [f"{own:.4f}", f"{descent:.4f}", f"{float(self._still(here)[0]):.4f}", f"{c:.3f}", f"{other:.3f}"]
