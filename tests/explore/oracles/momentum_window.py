"""What ``MomentumWindow`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis.acceleration import Method
from oracles.common import grid, points

_AXIS = explore.MomentumWindow._shared["axis"]


class MomentumWindow(explore.MomentumWindow):
    def lines(self) -> dict[str, Array]:
        """Return what a step keeps, over αh."""
        bend = grid(_AXIS, 400)
        return {rule: points(_AXIS, bend, kept) for rule, kept in self._kept(bend).items()}

    def _kept(self, bend: Array) -> dict[str, Array]:
        methods = {
            "descent": Method(1.0),
            "nesterov": Method(1.0, self.beta, lookahead=True),
            "heavy": Method(1.0, self.beta),
        }
        return {rule: method.kept(bend) for rule, method in methods.items()}

    def said(self) -> list[str]:
        low, high = (1 - self.beta**0.5) ** 2, (1 + self.beta**0.5) ** 2
        factors = {rule: float(kept[0]) for rule, kept in self._kept(np.array([self.bend])).items()}
        return [
            f"{low:.3f}",
            f"{high:.3f}",
            f"{self.bend:.2f}",
            f"{factors['heavy']:.3f}",
            f"{factors['nesterov']:.3f}",
            f"{factors['descent']:.3f}",
        ]
