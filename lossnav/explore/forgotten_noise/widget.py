"""``ForgottenNoise`` in Python: its state, both schedules, and its static twin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad

from lossnav._checks import Array
from lossnav.explore._curves import Curves, grid, over
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import deadline_rate

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class ForgottenNoise(Curves):
    """The schedule that a noise kernel κ ∝ u^−q asks for (L8), beside that of a deadline, tanh ωs over tanh ωT (L2).

    Both have the same sum of rates, and so forget their start alike; what they differ in is the noise at the end.

    Args:
        power: q, in [0, 1.4]; the best rate is (1 − z)^(q/(2 − q)).
        stiffness: ωT of the deadline, in [0.2, 50].
        share: share of the steps z that is marked, in [0, 0.99].

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> round(ForgottenNoise(power=1.0, stiffness=0.2).noise(), 3)  # tanh is nearly a line
        1.0
    """

    power = number_trait(_MARKS["power"], 1.0)
    stiffness = number_trait(_MARKS["stiffness"], 5.0)
    share = number_trait(_AXIS["range"], 0.5)

    def _rates(self, remaining: Array) -> tuple[Array, Array]:
        """Return the best rate and the deadline's, over their means, with 1 − z in (0, 1] to go."""
        p = self.power / (2 - self.power)
        deadline = deadline_rate(Objective(), self.stiffness**2, remaining)
        return (1 + p) * remaining**p, deadline * self.stiffness**2 / self._to_come(1.0)

    def _to_come(self, remaining: ArrayLike) -> Array:
        """Return the sum of the deadline's rates that are still to come, times ω²: ln cosh ωs, also for small ωs."""
        found: Array = np.log1p(2 * np.sinh(self.stiffness / 2 * np.asarray(remaining)) ** 2)
        return found

    def _left(self, remaining: Array) -> Array:
        """Return what a step of the deadline's schedule leaves at the end over one of the best (L7)."""
        share = self._to_come(remaining) / self._to_come(1.0)
        found: Array = (self._rates(remaining)[1] * (1 - self.power / 2)) ** 2 * share**-self.power
        return found

    def noise(self) -> float:
        """Return the noise that the deadline's whole schedule leaves, over the least."""
        found, _ = quad(lambda v: 5 * v**4 * float(self._left(np.array(v**5))), 0.0, 1.0)  # finer at the end
        return float(found)

    def lines(self) -> dict[str, Array]:
        """Return both schedules, and log₁₀ of what a step leaves, over the share of the steps."""
        z = grid(_AXIS)
        best, deadline = self._rates(1 - z)
        heights = {"best": best, "deadline": deadline, "level": np.zeros_like(z), "late": np.log10(self._left(1 - z))}
        return over(_AXIS, z, heights)

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        here = np.array([self.share])
        best, deadline = (float(part[0]) for part in self._rates(1 - here))
        return (
            f"Two schedules over the steps: the power {self.power / (2 - self.power):.3f} of what is left, which noise "
            "asks for, and that of a deadline; below, what a step's noise leaves at the end, which is level for the "
            f"first. At the mark the rates are {best:.3f} and {deadline:.3f}. In all, the deadline's schedule leaves "
            f"{self.noise():.3f} times the least noise."
        )
