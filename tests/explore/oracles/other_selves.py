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
        """Return the shares that the next step leaves, and log₁₀ of the distances left, over the number of steps."""
        n, shares = grid(_AXIS), self.shares()
        first = {**shares, "committed": shares["naive"]}
        heights = {who: np.where(n == 0, first[who], shares[who]) for who in _PLANNERS}
        for who in _PLANNERS:
            heights[f"{who}Left"] = np.where(n == 0, 0.0, np.log10(first[who]) + (n - 1) * np.log10(shares[who]))
        return over(_AXIS, n, heights)

    def said(self) -> list[str]:
        lines = {name: line[self.n, 1] for name, line in self.lines().items()}
        told = (f"{who} {lines[who]:.4f} and {10 ** lines[f'{who}Left']:.4f}" for who in _PLANNERS)
        return [f"{self.n}", f"{'; '.join(told)}"]
