"""``Postponed`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class Postponed(Explorable):
    """A learner that plans for a deadline which every new plan finds farther away (L18), with noise.

    One direction of curvature h, γ = c = 0, time in units of 1/√(ηkh): the gain is tanh s with s left, and noise enters
    as dm/dt = −2Km + K²Σ with Σ = 0.1. The first plan is for a time of 4.

    Args:
        moved: p, how fast the date moves beside time, in [0, 1]: 0 is a date that is kept.
        every: τ, time from plan to plan, in [0.25, 3]. A plan that is shorter is carried out to its end.
        now: time that is marked, in [0, 12].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    moved = number_trait(_MARKS["moved"], 1.0)
    every = number_trait(_MARKS["every"], 2.0)
    now = number_trait(_AXIS["range"], 6.0)
