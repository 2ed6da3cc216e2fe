"""``BelievedEllipse`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_MARKS, _BELIEFS = _SHARED["marks"], _SHARED["beliefs"]
_HOLD: float = _SHARED["hold"]  # farthest gradient


class BelievedEllipse(Explorable):
    """Five beliefs about C = E[vec g vec gᵀ] of four weights in two rows, and the step that each makes (M10–M17).

    The rows do not mix: C is block-diagonal, and the picture is that of the first row. Its ellipse has the half axes
    1.5 and 0.5; that of the other row has a trace twice as large. H = cC, η = k = c = 1.

    Args:
        gradient: g of the first row, two numbers in [−1.2, 1.2].
        angle: of the ellipse's long axis, in degrees, in [−90, 90].
        turn: by how much further the other row's is turned, in degrees, in [0, 60].
        ratio: of the axes of the other row's ellipse, in [1, 3].
        gamma: γ, in [0, 10].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gradient = point_trait((0.5, 1.15), _HOLD)
    angle = number_trait(_MARKS["angle"], 35.0)
    turn = number_trait(_MARKS["turn"], 20.0)
    ratio = number_trait(_MARKS["ratio"], 1.5)
    gamma = number_trait(_MARKS["gamma"], 0.0)
