"""``DoubleWell`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)


class DoubleWell(Explorable):
    """Both optimal paths of the tilted double well, their costs and the verdict, live (Fig. 1, theory §7.5).

    L = (θ₁²−1)² − θ₁/2 with η = k = 1; θ₂ separates. Drag the start, move γ. γ = 0 is outside the range: there J is
    infinite from every start, because min L is not 0.

    Args:
        start: θ₁(0), in [−1.5, 1.5].
        gamma: γ, in [0.05, 5].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = number_trait(_SHARED["start"], -0.6)
    gamma = number_trait(_SHARED["gamma"], 0.3)
