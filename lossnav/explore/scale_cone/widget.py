"""``ScaleCone`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]


class ScaleCone(Explorable):
    """Gradient descent with momentum and decay on a loss of the direction alone, against its laws (T25–T30).

    The pull along the circle has the size 1/r: a steady part, and one whose sign is drawn anew at each step. The walk
    is shown in units of the radius at which it comes to rest.

    Args:
        eta: learning rate η, in [0.01, 1].
        beta: momentum β, in [0, 0.99].
        decay: weight decay λ, in [0.001, 0.1].
        noise: share of noise in the mean square of the pull, in [0, 1].
        start: first radius over that of rest, in [0.25, 2].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    eta = number_trait(_MARKS["eta"], 0.1)
    beta = number_trait(_MARKS["beta"], 0.9)
    decay = number_trait(_MARKS["decay"], 0.01)
    noise = number_trait(_MARKS["noise"], 0.5)
    start = number_trait(_MARKS["start"], 0.5)
