"""``ForgottenNoise`` in Python: its state."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad

from lossnav._checks import Array
from lossnav.explore.base import Explorable, declared
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import deadline_rate


class _Numbers:
    """What the noise of a schedule leaves, over the least."""

    power: float
    stiffness: float
    share: float

    def noise(self) -> float:
        """Return the noise that the deadline's whole schedule leaves, over the least."""
        integral, _ = quad(lambda v: 5 * v**4 * float(self._left(np.array(v**5))), 0.0, 1.0)  # finer at the end
        return float(integral)

    def _left(self, remaining: Array) -> Array:
        """Return what a step of the deadline's schedule leaves at the end over one of the best (L7)."""
        share = self._to_come(remaining) / self._to_come(1.0)
        ratio: Array = (self._rates(remaining)[1] * (1 - self.power / 2)) ** 2 * share**-self.power
        return ratio

    def _to_come(self, remaining: ArrayLike) -> Array:
        """Return the sum of the deadline's rates that are still to come, times ω²: ln cosh ωs, also for small ωs."""
        rate_sum: Array = np.log1p(2 * np.sinh(self.stiffness / 2 * np.asarray(remaining)) ** 2)
        return rate_sum

    def _rates(self, remaining: Array) -> tuple[Array, Array]:
        """Return the best rate and the deadline's, over their means, with 1 − z in (0, 1] to go."""
        p = self.power / (2 - self.power)
        deadline = deadline_rate(Objective(), self.stiffness**2, remaining)
        return (1 + p) * remaining**p, deadline * self.stiffness**2 / self._to_come(1.0)


ForgottenNoise: type[Explorable] = declared(__file__, _Numbers)
