"""``MomentumWindow`` in Python: its state, what is kept, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.analysis.acceleration import Method
from lossnav.explore._curves import Curves, grid, points
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class MomentumWindow(Curves):
    """What a step of gradient descent, heavy ball and Nesterov's method keeps of a mode, against αh.

    Args:
        beta: momentum β, in [0, 0.99].
        bend: αh that is marked, in [0, 4].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    beta = number_trait(_MARKS["beta"], 0.5)
    bend = number_trait(_AXIS["range"], 1.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        low, high = (1 - self.beta**0.5) ** 2, (1 + self.beta**0.5) ** 2
        said = {rule: float(kept[0]) for rule, kept in self._kept(np.array([self.bend])).items()}
        return (
            f"What a step keeps of a mode against its curvature. The heavy ball's line is level from {low:.3f} to "
            f"{high:.3f} and rises beyond; Nesterov's dips to 0 at 1. At αh = {self.bend:.2f} the heavy ball keeps "
            f"{said['heavy']:.3f}, Nesterov {said['nesterov']:.3f}, gradient descent {said['descent']:.3f}."
        )
