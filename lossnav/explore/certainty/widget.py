"""``Certainty`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class Certainty(Explorable):
    """One weight of a myopic learner with v(0) = 1, η = k = γ = 1: its variance, and its way (Eq. 148).

    Args:
        curvature: H of the task, in [0.25, 4].
        entropy: λ_S, in [0, 2].
        now: the time that is marked, in [0, 20].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    curvature = number_trait(_MARKS["curvature"], 1.0)
    entropy = number_trait(_MARKS["entropy"], 0.3)
    now = number_trait(_AXIS["range"], 4.0)
