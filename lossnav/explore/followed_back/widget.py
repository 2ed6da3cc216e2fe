"""``FollowedBack`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class FollowedBack(Explorable):
    """Kinetic energy K = θ̇²/2η of the paths that stay in and cross the double well of Fig. 1, and kL above them.

    The gap between kL and a plan's K at the start is γJ, up to a constant that both plans share.

    Args:
        gamma: γ, in [0.05, 5].
        start: θ₁(0) that is marked, in [−1.45, 1.35].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.4)
    start = number_trait(_AXIS["range"], -0.6)
