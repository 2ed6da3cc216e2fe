"""``OtherSelves`` in Python: its state."""

from __future__ import annotations

from lossnav.explore.base import Explorable, declared
from lossnav.rules.inconsistent import quasi_hyperbolic

_PLANNERS = ("committed", "sophisticated", "naive")


class _Numbers:
    """What a step of each planner leaves."""

    beta: float
    delta: float
    curvature: float
    n: int

    def shares(self) -> dict[str, float]:
        """Return which share of the distance a step leaves, by planner; the committed one's first step is not meant."""
        return {who: quasi_hyperbolic(self.curvature, self.delta, self.beta, planner=who) for who in _PLANNERS}


OtherSelves: type[Explorable] = declared(__file__, _Numbers)
