"""``ModeMemory`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class ModeMemory(Explorable):
    """The mean squared distance of one mode of SGD after n steps, beside that of a flat direction.

    Args:
        bend: ηh, step times curvature, in [0.0001, 1].
        beta: momentum β, in [0, 0.99].
        n: number of steps that is marked, 2 … 3000.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    bend = number_trait(_MARKS["bend"], 0.01)
    beta = number_trait(_MARKS["beta"], 0.9)
    n = whole_trait(_AXIS["range"], 30)
