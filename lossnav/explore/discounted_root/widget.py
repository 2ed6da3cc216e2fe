"""``DiscountedRoot`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class DiscountedRoot(Explorable):
    """The step of a discounting learner for each believed variance, between the root's and gradient descent's.

    Args:
        epsilon: ε = γ/2 with ηk = c = 1, in [0.001, 10].
        size: √V that is marked, in [0.001, 100].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    epsilon = number_trait(_MARKS["epsilon"], 0.1)
    size = number_trait(_AXIS["range"], 0.1)
