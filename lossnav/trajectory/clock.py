r"""A fixed smooth map from equal steps to time, for paths that start fast and come to rest slowly.

.. math:: \frac{dt}{ds} = \Bigl(\frac1{t+c} + \frac1m\Bigr)^{-1},\qquad s(t) = \ln(1 + t/c) + t/m:

steps grow in proportion to time, from c·Δs at the start to at most m·Δs. A mode that still moves at time t has a rate
of about 1/t, so that each is resolved equally well while it lasts. As the map is smooth and does not change when Δs is
halved, a symmetric scheme keeps its error series in (Δs)².
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lossnav._checks import Array


@dataclass(frozen=True)
class Clock:
    """The map t(s).

    Attributes:
        start: c, the fastest time scale at the start.
        longest: m, the time scale that is never exceeded; inf if there is none.
    """

    start: float
    longest: float = math.inf

    def length(self, horizon: float) -> float:
        """Return s at ``horizon``: how many steps of size one there are up to then."""
        return math.log1p(horizon / self.start) + horizon / self.longest

    def times(self, horizon: float, steps: int) -> Array:
        """Return the nodes of equal steps in s up to ``horizon``, shape (N+1,)."""
        s = np.linspace(0.0, self.length(horizon), steps + 1)
        if math.isinf(self.longest):
            times = self.start * np.expm1(s)
        else:
            # u = (t + c)/m solves u + ln u = s + c/m + ln(c/m): the Wright omega function
            from scipy.special import wrightomega

            ratio = self.start / self.longest
            times = self.longest * np.real(wrightomega(s + (ratio + math.log(ratio)))) - self.start
        times[0], times[-1] = 0.0, horizon
        return times
