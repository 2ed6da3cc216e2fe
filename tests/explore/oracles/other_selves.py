"""What ``OtherSelves`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from oracles.common import grid, over

_AXIS = explore.OtherSelves._shared["axis"]
_PLANNERS = ("committed", "sophisticated", "naive")


class OtherSelves(explore.OtherSelves):
    def lines(self) -> dict[str, Array]:
        """Return the distances left, over the naive one's, and log₁₀ of them, over the number of steps."""
        n = grid(_AXIS)
        left = self._left(n)
        heights = {who: left[who] / left["naive"] for who in _PLANNERS}
        return over(_AXIS, n, heights | {f"{who}Left": np.log10(left[who]) for who in _PLANNERS})

    def _first(self) -> dict[str, float]:
        return {**self.shares(), "committed": self.shares()["naive"]}

    def _left(self, n: Array) -> dict[str, Array]:
        shares, first = self.shares(), self._first()
        return {who: np.where(n == 0, 1.0, first[who] * shares[who] ** (n - 1.0)) for who in _PLANNERS}

    def said(self) -> list[str]:
        shares, left = self.shares(), self._left(np.array(self.n))
        share = shares if self.n else self._first()
        less = {who: 100 * (1 - shares[who] / shares["naive"]) for who in _PLANNERS}
        told = [f"{share[who]:.4f} {left[who]:.4f}" for who in _PLANNERS]
        return [f"{less['sophisticated']:.2f} {less['committed']:.1f}", *told]
