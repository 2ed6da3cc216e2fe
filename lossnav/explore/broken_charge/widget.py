"""``BrokenCharge`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, point_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]


class BrokenCharge(Explorable):
    """Two weights in a row, L = (ab − y)²: what rescaling conserves, and how decay and steps break it (T22).

    Gradient flow keeps a² − b². Steps of finite length change it by their own imbalance of speeds, weight decay pulls
    it to zero, and the gradient of no batch has a say: the target y = 1 ± ν is drawn anew at each step.

    Args:
        start: a and b at the start, two numbers in [−2.2, 2.2].
        eta: learning rate η, in [0.001, 0.1].
        beta: momentum β, in [0, 0.9].
        decay: weight decay λ, in [0, 0.1].
        noise: ν, in [0, 1].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    start = point_trait((2.0, 0.1), _SHARED["hold"])
    eta = number_trait(_MARKS["eta"], 0.03)
    beta = number_trait(_MARKS["beta"], 0.5)
    decay = number_trait(_MARKS["decay"], 0.01)
    noise = number_trait(_MARKS["noise"], 0.5)
