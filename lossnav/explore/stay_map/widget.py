"""``StayMap`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)


class StayMap(Explorable):
    """The map of staying and crossing in the double well of Fig. 1, and the two plans that belong to a point of it.

    Args:
        gamma: γ, in [0.3, 5].
        start: θ₁(0), in [−1.4, 0.6].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_SHARED["gamma"], 0.8)
    start = number_trait(_SHARED["start"], -0.55)
