"""``Extremals`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)


class Extremals(Explorable):
    """Solutions of the Euler–Lagrange equation of L = θ²/2 with η = k = 1 from θ = 1, and their costs (Eqs. 42–53).

    Args:
        growing: c₊ of the chosen one, in [−0.45, 0.6].
        gamma: γ, in [0, 4].
        horizon: T, up to which costs count, in [0.25, 3].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    growing = number_trait(_SHARED["growing"], 0.2)
    gamma = number_trait(_SHARED["gamma"], 0.5)
    horizon = number_trait(_SHARED["horizon"], 1.0)
