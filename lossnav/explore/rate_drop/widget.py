"""``RateDrop`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class RateDrop(Explorable):
    """Radius and angle per step of a normalised layer after its learning rate has dropped (T29, T33).

    Args:
        drop: F, by which the rate drops, in [1, 16].
        memory: μ/4kη at the new rate, in steps, in [30, 3000].
        n: steps since the drop that are marked, in [0, 2000].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    drop = number_trait(_MARKS["drop"], 4.0)
    memory = number_trait(_MARKS["memory"], 300.0)
    n = number_trait(_AXIS["range"], 200.0)
