"""``NormalArcs`` in Python: its state."""

from __future__ import annotations

from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait

_SHARED = constants(__file__)


class NormalArcs(Explorable):
    """Three ways from N(−1.5, 0.3²) to another normal distribution: the shortest, and two that are straight in names.

    Args:
        mu: mean of the end, in [−1.5, 2].
        sigma: its standard deviation, in [0.15, 2].
        share: of the way, where the distributions are shown, in [0, 1].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    mu = number_trait(_SHARED["mu"], 1.5)
    sigma = number_trait(_SHARED["sigma"], 0.8)
    share = number_trait(_SHARED["share"], 0.5)
