"""``RegretRace`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_MARKS, _LINES, _ADAM = _SHARED["marks"], _SHARED["lines"], _SHARED["adam"]
_HOLD: float = _SHARED["hold"]


class RegretRace(Explorable):
    """Six rules on L = ½(θ₁² + κθ₂²) with η = k = 1, and what each regrets in J, by speed and by direction.

    Gradient descent, heavy ball and Nesterov's method have their textbooks' tuning; steps are joined by straight lines,
    and each rule gets the time of a step for which its path costs least.

    Args:
        start: θ(0), both entries in [−1.1, 1.1].
        gamma: γ, in [0, 10]; it changes the bill, and the optimal path, alone.
        kappa: κ, in [1, 100].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((1.0, 1.0), _HOLD)
    gamma = number_trait(_MARKS["gamma"], 0.5)
    kappa = number_trait(_MARKS["kappa"], 10.0)
