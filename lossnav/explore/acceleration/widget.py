"""``Acceleration`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]


class Acceleration(Explorable):
    """Methods on a quadratic loss with curvatures from 1/κ to 1, each tuned to the range that it believes in.

    Gradient descent, heavy ball and Nesterov's method know the two ends of the range; the ballistic rule and Newton's
    method divide by a power of each curvature. All believe in curvatures that are ``guess`` times the true ones.

    Args:
        kappa: condition number κ, in [1, 1000].
        guess: believed over true curvature, in [0.5, 4].
        curvature: h of the mode that is marked, in [0.001, 1].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    kappa = number_trait(_MARKS["kappa"], 100.0)
    guess = number_trait(_MARKS["guess"], 1.0)
    curvature = number_trait(_MARKS["curvature"], 0.1)
