"""``Renamed`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class Renamed(Explorable):
    """Paths of five rules that are computed for other names ψ of two parameters, θ = Mψ, and seen in θ (Eq. 10).

    M has the rows (1, mix) and (0, unit). Loss and metric are the same throughout.

    Args:
        unit: unit of θ₂, in [0.1, 10].
        mix: how much of ψ₂ is in θ₁, in [−2, 2].
        first: θ₁ of the start, in [−2.2, 2.2]; its θ₂ is 1.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    unit = number_trait(_MARKS["unit"], 3.0)
    mix = number_trait(_MARKS["mix"], 0.0)
    first = number_trait(_AXIS["range"], -1.6)
