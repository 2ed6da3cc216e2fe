"""``MomentumWindow`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class MomentumWindow(Explorable):
    """What a step of gradient descent, heavy ball and Nesterov's method keeps of a mode, against αh.

    Args:
        beta: momentum β, in [0, 0.99].
        bend: αh that is marked, in [0, 4].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    beta = number_trait(_MARKS["beta"], 0.5)
    bend = number_trait(_AXIS["range"], 1.0)
