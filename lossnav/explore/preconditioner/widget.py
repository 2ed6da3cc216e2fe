"""``Preconditioner`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)


class Preconditioner(Explorable):
    """By what the optimal update multiplies the gradient along a direction of curvature h, and its limits (Eqs. 6, 7).

    Args:
        gamma: γ, in [0.01, 1000].
        dt: Δt, in [0.001, 30].
        curvature: h of the direction that is looked at, in [1e-4, 1e10].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_SHARED["gamma"], 1.0)
    dt = number_trait(_SHARED["dt"], 0.001)
    curvature = number_trait(_SHARED["curvature"], 1000.0)
