"""``OtherSelves`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait
from lossnav.rules.inconsistent import quasi_hyperbolic

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]
_PLANNERS = ("committed", "sophisticated", "naive")


class OtherSelves(Explorable):
    """Three planners with the discounts 1, βδ, βδ², …: committed, sophisticated and naive (L19).

    A step that leaves the share m of the distance costs (1 − m)² + (h/e) m². Committed, the first step is the naive
    one's, and the later ones are those without β.

    Args:
        beta: β, in [0.05, 1].
        delta: δ, in [0.8, 0.99].
        curvature: h/e, in [0.01, 1].
        n: number of steps that is marked, in [0, 40].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> {who: round(m, 3) for who, m in OtherSelves(beta=0.1, delta=0.99, curvature=0.05).shares().items()}
        {'committed': 0.804, 'sophisticated': 0.925, 'naive': 0.935}
    """

    beta = number_trait(_MARKS["beta"], 0.25)
    delta = number_trait(_MARKS["delta"], 0.99)
    curvature = number_trait(_MARKS["curvature"], 0.1)
    n = whole_trait(_AXIS["range"], 10)

    def shares(self) -> dict[str, float]:
        """Return which share of the distance a step leaves, by planner; the committed one's first step is not meant."""
        return {who: quasi_hyperbolic(self.curvature, self.delta, self.beta, planner=who) for who in _PLANNERS}
