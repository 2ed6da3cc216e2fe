"""``PullBack`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class PullBack(Explorable):
    """A weight that knows a first task with a certainty, between its minimum at −1 and that of a second at 1.

    Args:
        certainty: p = 1/v after the first task, in [0.01, 100].
        curvature: H of the second, in [0.25, 4].
        place: θ that is marked, in [−2, 2].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    certainty = number_trait(_MARKS["certainty"], 1.0)
    curvature = number_trait(_MARKS["curvature"], 2.0)
    place = number_trait(_AXIS["range"], 0.0)
