"""``KappaSteps`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class KappaSteps(Explorable):
    """Steps in which methods that know κ make the flattest mode's loss smaller by so many digits.

    Args:
        digits: of the loss, in [1, 12].
        kappa: condition number κ that is marked, in [1.5, 1e4].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    digits = number_trait(_MARKS["digits"], 6.0)
    kappa = number_trait(_AXIS["range"], 100.0)
