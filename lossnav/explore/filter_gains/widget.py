"""``FilterGains`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class FilterGains(Explorable):
    """The weight of the n-th datum: Adam's bias correction beside the exact filter of a random walk.

    Args:
        beta: β, in [0.5, 0.999].
        n: number of data, 1 … 3000.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    beta = number_trait(_MARKS["beta"], 0.99)
    n = whole_trait(_AXIS["range"], 60)
