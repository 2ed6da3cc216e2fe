"""``OtherSelves`` in Python: its state, what its planners leave, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait, whole_trait
from lossnav.rules.inconsistent import quasi_hyperbolic

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]
_PLANNERS = ("committed", "sophisticated", "naive")


class OtherSelves(Curves):
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

    def lines(self) -> dict[str, Array]:
        """Return the shares that the next step leaves, and log₁₀ of the distances left, over the number of steps."""
        n, shares = grid(_AXIS), self.shares()
        first = {**shares, "committed": shares["naive"]}
        heights = {who: np.where(n == 0, first[who], shares[who]) for who in _PLANNERS}
        for who in _PLANNERS:
            heights[f"{who}Left"] = np.where(n == 0, 0.0, np.log10(first[who]) + (n - 1) * np.log10(shares[who]))
        return over(_AXIS, n, heights)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        lines = self.lines()
        told = (f"{who} {m:.4f} and {10 ** lines[f'{who}Left'][self.n, 1]:.4f}" for who, m in self.shares().items())
        return (
            "Which share of the distance the next step leaves, for three planners, and below it the distance left over "
            f"the number of steps, falling from 1. A step leaves, and {self.n} of them have left: {'; '.join(told)}."
        )
