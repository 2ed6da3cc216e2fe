"""``DecayShrinks`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class DecayShrinks(Explorable):
    """Where modes rest under a drift −jθ, and at which rate, against their curvature (Eqs. 124, 125).

    Args:
        decay: j, in [0, 4].
        gamma: γ, in [0, 10].
        curvature: ηkh that is marked, in [0.01, 100].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    decay = number_trait(_MARKS["decay"], 1.0)
    gamma = number_trait(_MARKS["gamma"], 1.0)
    curvature = number_trait(_AXIS["range"], 1.0)
