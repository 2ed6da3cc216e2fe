"""``CloudEdge`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class CloudEdge(Explorable):
    """The stationary law of one mode of SGD against that of the differential equation, up to where it ends.

    Args:
        beta: momentum β, in [0, 0.99].
        stretch: ηh that is marked, in [0.01, 4].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    beta = number_trait(_MARKS["beta"], 0.5)
    stretch = number_trait(_AXIS["range"], 1.0)
