"""``ExactStep`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class ExactStep(Explorable):
    """The exact step of one mode for each Δt (M3), beside its first order and what it aims at; ηk = h = 1.

    Args:
        gamma: γ, in [0, 10].
        fading: α, at which the gradient is believed to fade, in [0, 2].
        dt: Δt that is marked, in [0.01, 100].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.5)
    fading = number_trait(_MARKS["fading"], 0.0)
    dt = number_trait(_AXIS["range"], 1.0)
