"""``DriftField`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_HOLD: float = _SHARED["hold"]  # farthest start and minimum


class DriftField(Explorable):
    """The optimal path under the drift f = qQθ − jθ on L = 2|θ − θ*|², with η = k = 1 (Fig. 3c, d; Eqs. 115–132).

    Drag the start or the minimum; move the drift's rotation rate q and decay rate j, and the discount rate γ. The end
    of the path and the minimum of the effective loss are drawn: with q ≠ 0 and γ > 0 they differ.

    Args:
        start: θ(0), two numbers in [−1.9, 1.9].
        minimum: θ*, two numbers in [−1.9, 1.9].
        rate: q, in [−10, 10].
        decay: j, in [0, 4].
        gamma: γ, in [0, 10].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((1.5, 1.5), _HOLD)
    minimum = point_trait((0.0, -1.5), _HOLD)
    rate = number_trait(_MARKS["rate"], 2.5)
    decay = number_trait(_MARKS["decay"], 0.0)
    gamma = number_trait(_MARKS["gamma"], 2.0)
