"""``FadingBelief`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class FadingBelief(Explorable):
    """Adam's ε as the rate at which a gradient is believed to fade (M2): the forecast, and the step it adds up to.

    γ = 0, ηk = c = 1, so that ε = α.

    Args:
        epsilon: ε = α, in [0, 4].
        size: √V, in [0.25, 4].
        time: τ that is marked, in [0, 6].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    epsilon = number_trait(_MARKS["epsilon"], 0.5)
    size = number_trait(_MARKS["size"], 1.0)
    time = number_trait(_AXIS["range"], 1.0)
