"""``PushAndBrake`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class PushAndBrake(Explorable):
    """The optimal path, whose discount pushes, a heavy ball, whose friction brakes, and gradient flow (Eq. 3, 4).

    One mode with ηkh = 1, from θ = −1 to the minimum at 0; the ball starts at rest.

    Args:
        gamma: discount rate of the path and friction of the ball, over √(ηkh), in [0.1, 10].
        now: time that is marked, in [0, 12].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.5)
    now = number_trait(_AXIS["range"], 3.0)
