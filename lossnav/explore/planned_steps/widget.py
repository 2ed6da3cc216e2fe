"""``PlannedSteps`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)


class PlannedSteps(Explorable):
    """Steps on L = θ²/2, η = k = 1, planned together or one at a time, and the path they become (Eqs. 17, 18, 53).

    Args:
        gamma: γ, in [0, 4].
        dt: Δt, in [0.05, 2].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_SHARED["gamma"], 0.5)
    dt = number_trait(_SHARED["dt"], 1.0)
