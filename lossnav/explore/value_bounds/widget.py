"""``ValueBounds`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS, _RIDGE = _SHARED["marks"], _SHARED["axis"], float(_SHARED["ridge"])


class ValueBounds(Explorable):
    """The least cost on L = ln cosh θ + θ²/20 with η = k = 1, between the two bounds of (L24).

    Args:
        gamma: discount rate γ, in [0, 2].
        smoothness: M that is claimed, in [0.2, 2]; 1.1 holds everywhere.
        pl: μ that is claimed, in [0.05, 1]; 0.1 holds everywhere.
        start: θ that is marked, in [0.1, 10].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.0)
    smoothness = number_trait(_MARKS["smoothness"], 1.1)
    pl = number_trait(_MARKS["pl"], 0.1)
    start = number_trait(_AXIS["range"], 3.0)
